"""The prompt for relations among statistical entities, and what is taken from its replies."""

import pytest

from clew.base.types import Described, Triple
from clew.index.layers.graph_extraction import graph_prompt, read_graph
from clew.index.layers.graph_form import GraphForm
from clew.index.layers.salient import TermSettings, statistical_terms
from tests.index.layers.texts import FRAM, NANSEN

TERMS = ["Fram", "Colin Archer", "pack ice"]
FORM = GraphForm(terms=TermSettings())


def relation(subject, predicate, object_):
    return {"subject": subject, "predicate": predicate, "object": object_}


def read(*relations, terms=TERMS):
    data = {"1": {"relations": [relation(*r) for r in relations]}}
    [extraction] = read_graph(data, [FRAM], [terms], FORM)
    return extraction


def ends(*relations, terms=TERMS):
    return [(t.subject, t.object) for t in read(*relations, terms=terms).triples]


def test_terms_of_texts_by_hand():
    """An n-gram is in a text's list where its rate is above the threshold; words are limited."""
    texts = ["Mira Toll left the harbour.", "Mira Toll slept.", "The harbour froze. Harbour fog."]
    assert statistical_terms(texts, TermSettings()) == [["Mira Toll"]] * 2 + [
        ["harbour", "harbour froze"]
    ]
    single = [["left"], ["slept"], ["harbour", "froze", "fog"]]
    assert statistical_terms(texts, TermSettings(longest=1)) == single
    few, many = (statistical_terms(texts, TermSettings(threshold=t)) for t in (0.9, 0.1))
    assert sum(map(len, few)) < sum(map(len, many))


def test_a_recipe_holds_the_settings_of_terms():
    assert TermSettings.from_recipe({"chunk_size": 256}) is None
    assert TermSettings.from_recipe(TermSettings(0.3, 5).to_recipe()) == TermSettings(0.3, 5)


def test_the_prompt_lists_the_terms_of_each_text():
    """Below each passage, on one line, in their order."""
    made = graph_prompt([NANSEN, FRAM], [["Greenland", "Arctic\nOcean"], TERMS], form=FORM)
    lines = made.user.splitlines()[-4:]
    assert [one.split()[0] for one in lines] == ["[1]", "Terms:", "[2]", "Terms:"]
    assert lines[1] == "Terms: Greenland; Arctic | Ocean"
    assert lines[3] == "Terms: Fram; Colin Archer; pack ice"
    with pytest.raises(ValueError, match="shorter"):
        graph_prompt([NANSEN, FRAM], [TERMS], form=FORM)


def test_triples_are_of_listed_terms():
    """In the spelling of the list, without articles; all listed terms are entities."""
    found = read(("the FRAM", "was built by", "colin archer"))
    assert found.triples == (
        Triple(subject="Fram", relation="was built by", object="Colin Archer"),
    )
    assert found.entities == tuple(Described(name=term) for term in TERMS)


@pytest.mark.parametrize(
    "wrong",
    [
        ("Fram", "built by", "Archer"),
        ("she", "sailed to", "pack ice"),
        ("Fram", "is", "fram"),
        ("Fram", "", "Colin Archer"),
        ("", "built", "Fram"),
    ],
    ids=["another name", "a pronoun", "itself", "no predicate", "no subject"],
)
def test_what_is_no_relation_among_terms(wrong):
    """It is left out; where nothing else is there the reply is of no use."""
    assert ends(wrong, ("Colin Archer", "built", "Fram")) == [("Colin Archer", "Fram")]
    assert read(wrong) is None


def test_equal_relations_are_one():
    """Whatever their case."""
    said = ("Colin Archer", "built", "Fram"), ("colin archer", "Built", "fram")
    more = ("Colin Archer", "designed", "Fram"), ("Fram", "built", "Colin Archer")
    assert len(ends(*said)) == 1
    assert len(ends(*said, *more)) == 3
    [triple] = read(("Fram", "one two three four five six seven", "pack ice")).triples
    assert triple.relation == "one two three four five six"
    assert ends(("The Hague", "is in", "Holland"), terms=["The Hague", "Holland"]) == [
        ("The Hague", "Holland")
    ]


def test_a_text_may_relate_nothing():
    """An empty list is a reply; no list is none."""
    found = read()
    assert (found.triples, len(found.entities)) == ((), 3)
    for data in ({"1": {"relations": None}}, {"1": []}, {"1": {}}, {}, None, "no"):
        assert read_graph(data, [FRAM], [TERMS], FORM) == [None]
    assert read_graph({"1": {"relations": ["Fram", 3]}}, [FRAM], [TERMS], FORM) == [None]
