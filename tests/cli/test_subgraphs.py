"""A reasoning subgraph on the command line, as JSON."""

import json

from clew.base.types import Edge, EvidenceGraph, Fact, Growth, Step, Subgraph
from tests.cli.conftest import finding
from tests.subgraphs import EVIDENCE

QUESTION = EVIDENCE.query


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
