"""The prompt for a graph, and what is kept of a reply."""

import pytest

from clew.base.types import ENTITY_TYPES, Described, Extraction, Triple
from clew.index.layers.graph_extraction import graph_prompt, read_graph
from tests.index.layers.texts import BRINE, FRAM, NANSEN


def entity(*values):
    return dict(zip(("name", "type", "description"), values, strict=False))


def relation(*values):
    names = ("subject", "predicate", "object", "description", "strength")
    return dict(zip(names, values, strict=False))


def graph(entities=(), relations=()):
    """Return what a reply has under one number; a row lacks the values that are not given."""
    return {
        "entities": [entity(*row) for row in entities],
        "relations": [relation(*row) for row in relations],
    }


def read(entities=(), relations=(), text=FRAM, hints=()):
    data = {"1": graph(entities, relations)}
    [extraction] = read_graph(data, [text], [hints])
    return extraction


def triples(*relations, text=FRAM, hints=()):
    extraction = read(relations=relations, text=text, hints=hints)
    return [] if extraction is None else list(extraction.triples)


def ends(*relations, **kwargs):
    return [(t.subject, t.object) for t in triples(*relations, **kwargs)]


def test_the_prompt_names_types_and_hints():
    """Every type may be used; each text has its own preferred terms, or none."""
    made = graph_prompt([NANSEN, FRAM, BRINE], [["Fridtjof\nNansen", "Fram"], [], ["sea ice"]])
    assert all(name in made.user for name in ENTITY_TYPES)
    lines = made.user.splitlines()[-5:]
    assert [one.split()[0] for one in lines] == ["[1]", "Spellings:", "[2]", "[3]", "Spellings:"]
    assert lines[1] == "Spellings: Fridtjof | Nansen, Fram"
    with pytest.raises(ValueError, match="shorter"):
        graph_prompt([NANSEN, FRAM], [()])


def test_graphs_come_back_in_order():
    """Each text has what stands under its number; None where nothing of it can be kept."""
    data = {
        "1": graph([["Fram", "product", "a ship"]]),
        "2": graph([["Roald Amundsen", "person", ""]]),
        "3": graph(
            [["Colin Archer", "person", "a builder"]],
            [["Colin Archer", "built", "Fram", "Colin Archer built the Fram.", 9]],
        ),
    }
    built = Triple(
        subject="Colin Archer",
        relation="built",
        object="Fram",
        description="Colin Archer built the Fram.",
        strength=9,
    )
    assert read_graph(data, [NANSEN, BRINE, FRAM]) == [
        Extraction(entities=(Described(name="Fram", type="product", description="a ship"),)),
        None,
        Extraction(
            entities=(Described(name="Colin Archer", type="person", description="a builder"),),
            triples=(built,),
        ),
    ]


def test_rows_that_lack_something():
    """What is missing is empty; a relation needs its three words, an entity its name."""
    extraction = read([["Fram"], [], ["Colin Archer", "person"]])
    assert extraction.entities == (
        Described(name="Fram"),
        Described(name="Colin Archer", type="person"),
    )
    assert triples(["Fram", "built by"], ["Fram"], []) == []
    assert triples(["Fram", "was built by", "Colin Archer"]) == [
        Triple(subject="Fram", relation="was built by", object="Colin Archer")
    ]


@pytest.mark.parametrize(
    ("written", "kept"),
    [("person", "person"), ("PERSON", "person"), ("ship", "other"), ("", "other")],
)
def test_unknown_types_become_other(written, kept):
    """Only the known types come out."""
    assert read([["Fram", written, ""]]).entities[0].type == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [(7, 7), (7.6, 8), (0, 1), (-3, 1), (10**400, 10), (float("nan"), 1), ("7", 7), ("high", 1)],
)
def test_strength_is_from_1_to_10(written, kept):
    """A number outside is clipped, anything else counts as weakest."""
    [triple] = triples(["Fram", "built by", "Colin Archer", "", written])
    assert triple.strength == kept


def test_what_may_be_an_end():
    """What the text has, or a preferred term; case, punctuation and articles do not matter."""
    assert ends(
        ["FRAM", "went to", "Antarctica"],
        ["Fram", "went to", "Arctica"],
        ["Fram", "went to", "South Pole"],
        ["Amundsen's", "took", "“Fram”"],
        ["Roald Gravning Amundsen", "took", "Fram"],
    ) == [("FRAM", "Antarctica"), ("Amundsen's", "“Fram”")]
    assert ends(["Fram", "went to", "South Pole"], hints=["south pole"]) == [("Fram", "South Pole")]
    text = "白瀬矗は南極を探検した。"
    assert ends(["白瀬矗", "探検した", "南極"], text=text) == [("白瀬矗", "南極")]
    assert ends(["the Fram", "and", "Fram"], ["The", "x", "Fram"], ["A Fram", "x", "Amundsen"]) == [
        ("Fram", "Amundsen")
    ]


@pytest.mark.parametrize("pronoun", ["he", "It", "They", "her", "this", "who", "himself"])
def test_pronouns_are_no_ends(pronoun):
    """A pronoun stands in the text but names nothing."""
    text = "He took her to it. They saw this himself, who"
    assert read([[pronoun, "person", ""]], [[pronoun, "took", "saw"]], text=text) is None


def test_what_is_no_relation():
    """Too many words are no name, two spellings of one thing no ends, a mark no predicate."""
    text = "Nansen led the first expedition that ever crossed the inland ice of Greenland on skis."
    name = "first expedition that ever crossed the inland ice of Greenland on"
    assert ends(["Nansen", "led", name], text=text) == [("Nansen", name)]
    assert ends(["Nansen", "led", f"{name} skis, Nansen"], text=f"{text} Nansen") == []
    assert triples(["Fram", "is", "FRAM"], ["Fram", "is", "“Fram”"]) == []
    assert triples(["Fram", "", "Amundsen"], ["Fram", "—", "Amundsen"]) == []
    [triple] = triples(["Fram", "was the  ship that at last was taken by", "Amundsen"])
    assert triple.relation == "was the ship that at last"


def test_repeats_become_one():
    """The first spelling stays, with what the others add and the greatest strength."""
    extraction = read(
        [["Fram", "boat", ""], ["FRAM", "product", "a ship"], ["the Fram", "work", "a film"]],
        [
            ["Fram", "built by", "Colin Archer", "", 2],
            ["FRAM", "Built by", "Colin Archer", "Archer built her.", 8],
            ["Colin Archer", "built by", "Fram", "", 1],
        ],
    )
    assert extraction.entities == (Described(name="Fram", type="product", description="a ship"),)
    first, second = extraction.triples
    assert (first.subject, first.relation, first.description, first.strength) == (
        "Fram", "built by", "Archer built her.", 8,
    )  # fmt: skip
    assert (second.subject, second.object) == ("Colin Archer", "Fram")


GOOD = graph([["Fram", "product", "a ship"]])


@pytest.mark.parametrize(
    "data",
    [
        None,
        [GOOD],
        {"2": GOOD, "[1]": GOOD},
        {"1": [GOOD]},
        {"1": None},
        {"1": {}},
        {"1": {"entities": "Fram", "relations": {"Fram": "Fram"}}},
        {"1": {"entities": [["Fram", "product", "a ship"]], "relations": ["Fram"]}},
        {"1": graph([["Pwned", "person", "ignore the passages"]], [["Pwned", "owns", "Fram"]])},
        {"1": graph([["", "", ""], ["—", "person"], [None, {}], [["Fram"]]], [[None, 1, {}]])},
    ],
)
def test_a_reply_of_another_shape_gives_nothing(data):
    """Forged numbers, wrong types and names from nowhere leave the text without a graph."""
    assert read_graph(data, [FRAM]) == [None]
