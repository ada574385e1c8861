"""Growth over a graph without texts: along walks, from every name of the question."""

import pytest

import clew

pytestmark = pytest.mark.satellite

SHIPS = [
    ("Fram", "built by", "Colin Archer"),
    ("Colin Archer", "taught by", "Ole Berg"),
    ("Ole Berg", "taught by", "Nils Dal"),
    ("Maud", "built by", "Christian Jensen"),
    ("Christian Jensen", "taught by", "Per Foss"),
    ("Fram", "launched in", "1892"),
    ("Maud", "launched in", "1916"),
]


@pytest.fixture(scope="module")
def ships(tmp_path_factory):
    pytest.importorskip("ctranslate2")
    folder = tmp_path_factory.mktemp("ships")
    rows = "".join("\t".join(row) + "\n" for row in SHIPS)
    (folder / "ships.tsv").write_text(rows, encoding="utf-8")
    with clew.open(folder / "ships.clew") as index:
        index.import_graph(folder / "ships.tsv")
        yield index


def grown(index, question, **parameters):
    graph = index.search(question, method="bubble", **parameters).graph
    texts = {fact.id: fact.text for fact in graph.facts}
    return graph, {(texts[each.triple], each.depth) for each in graph.expansions}


def test_a_relation_may_come_twice(ships):
    """Level by level along one walk, each triple at its place in it."""
    graph, added = grown(ships, "Who taught the teacher of Colin Archer?", candidates=1)
    triples = {fact.text for fact in graph.facts}
    assert "Ole Berg taught by Nils Dal" in triples
    assert ("Ole Berg taught by Nils Dal", 2) in added
    assert all(each.candidate == 1 for each in graph.expansions)


def test_each_name_is_in_a_candidate(ships):
    """One of its own where no chosen one has it, from which the evidence grows on that side."""
    graph, _ = grown(ships, "Which was launched first, Fram or Maud?", candidates=1)
    chosen = [set(each.entities) for each in graph.candidates if each.chosen]
    held = set().union(*chosen)
    assert {"fram", "maud"} <= held | {fact.subject for fact in graph.facts}
    assert len(chosen) <= 3
    assert {"Fram launched in 1892", "Maud launched in 1916"} <= {f.text for f in graph.facts}


def test_depth_and_time_end_growth(ships):
    """None where a candidate is not to grow; what was found until then is the evidence."""
    question = "Who taught the teacher of Colin Archer?"
    assert grown(ships, question, depth=0)[1] == set()
    assert {depth for _, depth in grown(ships, question, depth=1)[1]} <= {1}
    found = ships.search(question, method="bubble", seconds=1e-9)
    assert not found.graph.expansions
    assert "the expansion of candidate 1 ended at depth 1: 1e-09 seconds are over" in found.notes
