"""A reasoning subgraph on the command line: in words, bounded, and as JSON."""

import json
from itertools import pairwise

import click

from clew.base.types import Edge, EvidenceGraph, Fact, Growth, Step, Subgraph
from clew.cli import render
from tests.cli.conftest import finding
from tests.subgraphs import EVIDENCE

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


def subgraph(nodes, **parts):
    """Return a subgraph of which all that is not given is empty."""
    given = {"terminals": nodes[:1], "tree": (), "growth": (), "edges": (), "components": ()}
    return Subgraph(nodes=nodes, **given | parts)


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
