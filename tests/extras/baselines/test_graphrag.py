"""GraphRAG: communities of entities, reports from the graph, and both searches."""

from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.extras.baselines.communities import COMMUNITIES
from clew.extras.baselines.graphrag import GraphragGlobal, GraphragLocal
from clew.models import Reply
from clew.steps.skeleton import read_whole_graph
from clew.testing import HashEmbedder, ScriptedLLM, built, models, small_documents
from tests.methods.bubble import comet

# Two knots of names, with one relation between them.
SHIPS, BREADS = ["Fram", "Gauss", "Maud", "Scotia"], ["rye", "wheat", "spelt", "oats"]
TRIPLES = {
    f"{a}-{b}": [(a, "stands beside", b)]
    for knot in (SHIPS, BREADS)
    for i, a in enumerate(knot)
    for b in knot[i + 1 :]
} | {"both": [("Fram", "carried", "rye")]}
TEXTS = {name: f"Text {n} on {name}." for n, name in enumerate(TRIPLES)}


@contextmanager
def indexed():
    with comet.indexed(TEXTS, TRIPLES) as snapshot:
        yield snapshot


def report(title, rating=5):
    return {"title": title, "summary": f"{title} are many.", "findings": ["One."], "rating": rating}


def entities(snapshot, rows):
    return {name.lower() for name in snapshot.layer("entity").texts(list(rows))}


def test_communities_are_the_knots():
    """Each entity is in one of the top; a relation between knots makes them no one community."""
    with indexed() as snapshot:
        found = snapshot.get(COMMUNITIES)
        names = [entities(snapshot, found.members[[i]].indices) for i in found.of_level(0)]
    knots = [each for each in names if len(each) > 1]  # the others are of no relation
    assert sorted(map(sorted, knots)) == sorted([sorted(map(str.lower, SHIPS)), sorted(BREADS)])


def test_large_communities_are_parted():
    """Of at most ten entities as far as they come apart; each level covers all entities."""
    graph = nx.random_partition_graph([8] * 9, 0.9, 0.02, seed=2)
    triples = {f"d{a}-{b}": [(f"name {a}", "joins", f"name {b}")] for a, b in graph.edges}
    with comet.indexed({name: f"On {name}." for name in triples}, triples) as snapshot:
        found = snapshot.get(COMMUNITIES)
    members = [set(found.members[[i]].indices.tolist()) for i in range(len(found.parents))]
    for level in (0, 1, 2):
        rows = found.of_level(level)
        assert sum(len(members[row]) for row in rows) == graph.number_of_nodes()
    assert max(len(members[row]) for row in found.of_level(3)) <= 20
    for row, parent in enumerate(found.parents.tolist()):
        assert parent < 0 or members[row] < members[parent]


def test_local_search_reports_on_the_communities_of_entities():
    """The report on the ships alone fits; tables and texts are of the nearest entities."""
    llm = ScriptedLLM(report("Ships"))
    with indexed() as snapshot:
        found = GraphragLocal(entities=1, tokens=1_000).retrieve("Fram", snapshot, models(llm=llm))
        graph = read_whole_graph(snapshot)
        fram = snapshot.layer("entity").rows(["fram"])[0]
        n = int(np.diff(graph.entity_chunks.indptr)[fram])
    assert [table.name for table in found.tables] == ["Reports", "Relations"]
    assert found.tables[0].rows == (("Ships", "Ships. Ships are many. One."),)
    [prompt] = llm.prompts
    assert all(name in prompt.user for name in SHIPS)
    assert not any(name in prompt.user for name in BREADS)
    assert [step.text for step in found.seeds] == ["Fram"]
    assert len(found.hits) == n == 4
    assert all("Fram" in hit.text or hit.document_id == "both" for hit in found.hits)
    assert [step.layer for step in found.paths[0].steps][:2] == ["query", "entity"]


def test_reports_come_by_entities_then_rating():
    """Both communities have one entity near; the better rated one comes first, while it fits."""
    llm = ScriptedLLM(report("One", 2), report("Other", 9))
    with indexed() as snapshot:
        method = GraphragLocal(entities=2, tokens=1_000)
        found = method.retrieve("Fram rye", snapshot, models(llm=llm))
        assert entities(snapshot, snapshot.layer("entity").rows([s.id for s in found.seeds])) == {
            "fram",
            "rye",
        }
    assert [title for title, _ in found.tables[0].rows] == ["Other", "One"]
    few = ScriptedLLM(report("One", 2), report("Other", 9))
    with indexed() as snapshot:
        small = GraphragLocal(entities=2, tokens=150)
        found = small.retrieve("Fram rye", snapshot, models(llm=few))
    assert [title for title, _ in found.tables[0].rows] == ["Other"]


def test_local_search_without_an_llm_has_no_reports():
    """The graph and the texts are found all the same, which a note says."""
    with indexed() as snapshot:
        found = GraphragLocal().retrieve("Fram", snapshot, models())
        reported = GraphragLocal().retrieve(
            "Fram", snapshot, models(llm=ScriptedLLM(*[Reply(text="", error="it broke")] * 9))
        )
    assert found.notes == ("no LLM to write reports on communities: the graph and its texts alone",)
    assert reported.notes[0].startswith("the LLM wrote no report on 2 of 2 communities (it broke")
    assert found.hits == reported.hits


def test_global_search_scores_points(tmp_path):
    """Points of no help are left out, the most helpful come first, with a chunk of their part."""
    points = [
        {"text": "Ships sail.", "report": 1, "helpfulness": 40},
        {"text": "Dull.", "report": 2, "helpfulness": 0},
        {"text": "Bread rises.", "report": 2, "helpfulness": 90},
        {"text": "Of no report.", "report": 7, "helpfulness": 50},
    ]
    llm = ScriptedLLM(report("A"), report("B"), {"points": points})
    with indexed() as snapshot:
        found = GraphragGlobal().retrieve("Which matters most?", snapshot, models(llm=llm))
    [table] = found.tables
    assert (table.name, table.columns) == ("Points", ("part", "point", "helpfulness"))
    assert [row[1:] for row in table.rows] == [("Bread rises.", "90"), ("Ships sail.", "40")]
    assert {row[0] for row in table.rows} == {"A", "B"}
    assert len(found.hits) == 2
    assert found.whole
    assert all("----" not in prompt.user for prompt in llm.prompts)


def test_an_answer_is_written_from_the_points(tmp_path):
    """By the prompt of questions about the whole; reports and points come from the ledger again."""
    points = {"points": [{"text": "Grace keeps bees.", "report": 1, "helpfulness": 80}]}
    llm = ScriptedLLM(report("Bees"), points, "ANSWER: Bees matter [1].")
    with clew.open(tmp_path / "my.clew", models=models(HashEmbedder(), llm=llm)) as index:
        index.add(
            [clew.Document(id="b", text="Ada Byron met Alan Turing in Paris.")],
            triples="cooccurrence",
        )
        answer = index.ask("What matters?", method="graphrag_global")
        assert answer.text.startswith("Bees matter")
    with clew.open(tmp_path / "my.clew", models=models(HashEmbedder(), llm=ScriptedLLM())) as index:
        again = index.ask("What matters?", method="graphrag_global")
    assert (again.text, again.usage.llm_calls) == (answer.text, 0)


def test_what_is_missing_is_said():
    """An LLM for the global search, triples for both."""
    with built(small_documents()) as snapshot:
        with pytest.raises(InputError, match="name one with --llm, or use themes"):
            GraphragGlobal().retrieve("what?", snapshot, models())
        for method in (GraphragGlobal(), GraphragLocal()):
            found = method.retrieve("Where is Bakken?", snapshot, models(llm=ScriptedLLM()))
            [note] = found.notes
            assert note.startswith("the index has no triples ('clew index --triples' extracts")
            assert len(found.hits) == 10
