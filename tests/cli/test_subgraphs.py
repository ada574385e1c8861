"""A reasoning subgraph on the command line: in words, bounded, and as JSON."""

import json
from dataclasses import replace
from itertools import pairwise

import click
import pytest

from clew.base.types import Edge, EvidenceGraph, Fact, Growth, Path, Step, Subgraph, Table
from clew.cli import render
from tests.cli.conftest import finding
from tests.subgraphs import EVIDENCE, NODES

QUESTION = EVIDENCE.query
SHOWN = """\
Reasoning subgraph (9 nodes, 9 edges, 2 components)
  terminals   Fram, Belgica, Antwerp
  tree        colin archer built fram and 1 more (cost 0.20)
              Archer is like Colin Archer (cost 0.12)
              Archer stands in polar/archer.md:0-80 (cost 0.50)
              belgica left antwerp (cost 0.25)
  growth      Larvik joins polar/archer.md:0-80 (ratio 0.125, limit 0.0441)
              polar ship joins polar/archer.md:0-80 (ratio 0.05, limit 0.0441)
              polar/larvik.md:0-60 joins Larvik (ratio 1.23e+03, limit 0.0441)
  components  Colin Archer, Fram, polar/archer.md:0-80 and 4 more
              Belgica, Antwerp
"""


def shown(found, facts=()):
    [block] = render.render_graph(EvidenceGraph(subgraph=found, facts=facts))
    return click.unstyle(block).splitlines()


def test_a_subgraph_is_shown_in_words(clew):
    """It stands where other graphs of evidence do; facts that it does not need are not said."""
    triples = Table(name="Triples", columns=("subject",), rows=(("Colin Archer",),))
    found = replace(EVIDENCE, tables=(triples,))
    assert clew("search", QUESTION, obj=finding(found)).stdout.startswith(f"{SHOWN}\nTriples\n")
    asked = clew("ask", QUESTION, obj=finding(found)).stdout
    assert asked.index(SHOWN) < asked.index("Triples\n")
    assert "was born in" not in asked


def subgraph(nodes, **parts):
    """Return a subgraph of which all that is not given is empty."""
    given = {"terminals": nodes[:1], "tree": (), "growth": (), "edges": (), "components": ()}
    return Subgraph(nodes=nodes, **given | parts)


def test_a_part_that_is_empty_is_not_named():
    """A single node has no tree, nothing joined it, and its component needs no line."""
    alone = subgraph(NODES[:1], components=(("colin archer",),))
    head = "Reasoning subgraph (1 node, 0 edges, 1 component)"
    assert shown(alone) == [head, "  terminals   Colin Archer"]
    found, facts = chain(11)
    lines = shown(replace(found, growth=(), components=found.components[:1]), facts)
    assert len(lines) == 1 + 2 + 20
    assert not [line for line in lines if "more" in line]


def fact(name, text, chunk_ids=()):
    ends = dict(zip(("subject", "relation", "object"), name.split("|"), strict=True))
    return Fact(id=name, text=text, chunk_ids=chunk_ids, candidate=1, **ends)


def chain(n):
    """Return `n` nodes in a chain as a tree, as what grew, and as components, with its facts."""
    ships = [Step(layer="entity", id=f"s{i}", text=f"Ship {i} of the line " * 9) for i in range(n)]
    pairs = [(a.id, b.id) for a, b in pairwise(ships)]
    facts = tuple(fact(f"{a}|met|{b}", f"{a} met {b} " * 30) for a, b in pairs)
    tree = tuple(
        Edge(a=each.subject, b=each.object, kind="fact", cost=0.1, facts=(each.id,))
        for each in facts
    )
    numbers = {"cost": 0.1, "score": 0.1, "ratio": 1.0, "limit": 1.0}
    growth = tuple(Growth(node=a, to=b, **numbers) for a, b in pairs)
    given = {"terminals": tuple(ships), "components": tuple((ship.id,) for ship in ships)}
    return subgraph(tuple(ships), tree=tree, edges=tree, growth=growth, **given), facts


@pytest.mark.parametrize("width", [60, 100])
def test_a_large_subgraph_is_cut(monkeypatch, width):
    """All terminals have two lines; so has each of ten edges, five steps, three components."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown(*chain(30))
    assert max(map(len, lines)) <= width
    assert len(lines) == 1 + 2 + (20 + 1) + (10 + 1) + (6 + 1)
    left_out = ["… and 19 more", "… and 24 more", "… and 27 more"]
    assert [line.strip() for line in lines if "more" in line] == left_out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a/1893/arctic/north/diaries/larvik.md:0-60", "…/arctic/north/diaries/larvik.md:0-60"),
        (
            "A long voyage, and eventful, of the Fram:1-9",
            "…ng voyage, and eventful, of the Fram:1-9",
        ),
        ("diaries/of/the/north/and/larvik.md:10-99", "diaries/of/the/north/and/larvik.md:10-99"),
    ],
)
def test_the_end_of_a_long_id_is_shown(name, said):
    """From a folder on where there is one; forty characters are not too long."""
    place = Step(layer="chunk", id=name, text="The Fram came home.")
    end = Edge(a="fram", b=name, kind="contains", cost=0.5)
    given = {"tree": (end,), "edges": (end,), "components": (("fram", name),)}
    found = subgraph((NODES[1], place), **given)
    assert shown(found)[2] == f"  tree        Fram stands in {said} (cost 0.50)"


def test_threads_through_statistical_entities_and_chunks():
    steps = (Step(layer="query", id="", text=QUESTION), NODES[1], NODES[2], NODES[7], NODES[8])
    assert click.unstyle(render.render_thread(Path(steps))).splitlines() == [
        "  ┌ question  Where was the builder of the Fram born?",
        "  ├ entity    Fram  (holds 0.25)",
        "  ├ chunk     polar/archer.md (on the tree)",
        "  ├ n-gram    polar ship  (holds 0.025)",
        "  └ chunk     polar/larvik.md (on the tree)",
    ]


def made(kind, values):
    """Return a dataclass from what JSON has of it; none of its fields holds another one."""
    tuples = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return kind(**tuples)


def test_json_has_the_subgraph(clew):
    """Everything in it can be made again from what searches and answers print."""
    opener = finding(EVIDENCE)
    searched = json.loads(clew("search", QUESTION, "--json", obj=opener).stdout)["graph"]
    asked = json.loads(clew("ask", QUESTION, "--json", obj=opener).stdout)["evidence"]["graph"]
    assert searched == asked
    found = searched.pop("subgraph")
    kinds = {"terminals": Step, "tree": Edge, "growth": Growth, "nodes": Step, "edges": Edge}
    parts = {name: tuple(made(kind, each) for each in found[name]) for name, kind in kinds.items()}
    parts["components"] = tuple(map(tuple, found["components"]))
    assert set(found) == set(parts)
    again = EvidenceGraph(
        subgraph=Subgraph(**parts),
        entities=tuple(made(Step, each) for each in searched.pop("entities")),
        facts=tuple(made(Fact, each) for each in searched.pop("facts")),
    )
    assert again == EVIDENCE.graph
    assert searched == {"groups": [], "candidates": [], "expansions": [], "answers": []}
