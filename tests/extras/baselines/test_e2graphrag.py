"""E²GraphRAG: which chunks two names share, and by what they are ranked where they share none."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import clew
from clew.extras.baselines import e2graphrag
from clew.extras.baselines.e2graphrag import E2GraphRag, count_hops
from clew.extras.baselines.summary_tree import Node, Nodes
from clew.testing import ScriptedLLM
from clew.testing import models as hashing
from tests.methods.memory import models, snapshot

QUESTION = "What have Ada and Dag in common?"
# Ada - Bo - Cy - Dag are in one sentence each with the next; Eve is with none of them.
TEXTS = {
    "a": ["Ada knows Bo."],
    "b": ["Bo met Cy."],
    "c": ["Cy paid Dag."],
    "d": ["Dag rested.", "Ada sang.", "Ada left."],
    "e": ["Eve lives in Holt."],
}
MENTIONS = {
    "Ada knows Bo.": ["ada", "bo"],
    "Bo met Cy.": ["bo", "cy"],
    "Cy paid Dag.": ["cy", "dag"],
    "Dag rested.": ["dag"],
    "Ada sang.": ["ada"],
    "Ada left.": ["ada"],
    "Eve lives in Holt.": ["eve", "holt"],
}
NAMES = ["ada", "bo", "cy", "dag", "eve", "holt"]


def at(degrees):
    return [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))]


VECTORS = {text: at(10 * i) for i, text in enumerate(MENTIONS)} | {QUESTION: at(0)}


@pytest.fixture(scope="module")
def index():
    return snapshot(TEXTS, MENTIONS, VECTORS)


def ask(index, question=QUESTION, **parameters):
    return E2GraphRag(**parameters).retrieve(question, index, models({question: at(0)}))


def documents(found):
    return [hit.document_id for hit in found.hits]


def test_two_names_near_each_other_give_the_chunks_that_they_share(index):
    """Ada and Dag are three hops apart, and one chunk has both."""
    found = ask(index)
    assert documents(found) == ["d"]
    assert [step.text for step in found.seeds] == ["ada", "dag"]
    assert [step.text for step in found.paths[0].steps] == [
        QUESTION, "ada", "dag", found.hits[0].text,
    ]  # fmt: skip
    assert (found.hits[0].score, found.notes) == (2.0, ())


def test_names_farther_apart_are_asked_of_the_tree(index):
    """Chunks are ranked by how often they mention the names; those without one are left out."""
    found = ask(index, hops=2)
    assert [(hit.document_id, hit.score) for hit in found.hits] == [("d", 3), ("a", 1), ("c", 1)]
    [note] = found.notes
    assert note.startswith(
        "no two names of the question are within 2 hops: used the nearest chunks"
    )
    assert [step.text for step in found.seeds] == ["ada", "dag"]


def test_one_name_or_none_is_asked_of_the_tree(index):
    """One name has no pair; without a name the nearest chunks come back by their cosines."""
    assert documents(ask(index, "Where does Eve live?")) == ["e"]
    found = ask(index, "who is it?", chunks=3)
    assert documents(found) == ["a", "b", "c"]
    assert found.notes == (
        "the question names no entity: used the nearest chunks, as there is no LLM to sum them up",
    )
    assert found.seeds == ()


def test_too_many_chunks_make_fewer_hops_near():
    """Two shared chunks are one too many; of the pair that stays near there is one."""
    texts = {"a": ["Ada met Bo."], "b": ["Bo met Cy."], "c": ["Ada ate.", "Cy ate."]}
    mentions = {
        "Ada met Bo.": ["ada", "bo"],
        "Bo met Cy.": ["bo", "cy"],
        "Ada ate.": ["ada"],
        "Cy ate.": ["cy"],
    }
    index = snapshot(texts, mentions, dict.fromkeys(mentions, at(0)))
    assert documents(ask(index, "Ada or Cy?")) == ["c"]
    assert sorted(documents(ask(index, "Ada or Bo or Cy?", chunks=3))) == ["a", "b", "c"]
    assert documents(ask(index, "Ada or Bo or Cy?", chunks=2)) == ["a", "b"]
    # One hop leaves two chunks still, none hop none: the best of those before.
    assert documents(ask(index, "Ada or Bo or Cy?", chunks=1)) == ["a"]


def test_hops_are_those_of_networkx():
    """Of random sentences: every pair, for each bound, and the chunks that it gives."""
    random = np.random.default_rng(7)
    seen = set()
    for _ in range(30):
        names = [f"name{i}" for i in range(14)]
        texts, mentions = {}, {}
        for d in range(10):
            texts[f"d{d}"] = [f"Text {d} {s}." for s in range(2)]
            for text in texts[f"d{d}"]:
                mentions[text] = list(random.choice(names, random.integers(0, 4), replace=False))
        index = snapshot(texts, mentions, dict.fromkeys(mentions, at(0)))
        names = list(index.layer("entity").ids(range(len(index.layer("entity")))))
        graph = nx.Graph()
        graph.add_nodes_from(names)
        for group in mentions.values():
            graph.add_edges_from(combinations(group, 2))
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        rows = random.permutation(len(names))[:5].tolist()
        for most in (1, 2, 3, 4, 5):
            expected = {
                (a, b): lengths[names[a]][names[b]]
                for a, b in combinations(rows, 2)
                if lengths[names[a]].get(names[b], 99) <= most
            }
            assert count_hops(index, rows, most) == expected
            seen.update(expected.values())
            pairs = {d: set() for d in texts}
            for a, b in expected:
                for d, group in texts.items():
                    inside = {name for text in group for name in mentions[text]}
                    if {names[a], names[b]} <= inside:
                        pairs[d] |= {a, b}
            chosen = e2graphrag.choose_chunks(index, rows, most, 99)
            assert {f"d{row}": entities for row, entities in chosen.items()} == {
                d: entities for d, entities in pairs.items() if entities
            }
    assert seen == {1, 2, 3, 4, 5}


def test_chunks_are_ranked_by_names_then_runs_then_mentions():
    """Of chunks with both names the two in a row come first, then the one with more sentences."""
    inside = [["ada", "bo"], ["ada"], ["ada", "bo", "bo"], ["ada", "bo"], ["ada", "bo", "cy"]]
    texts = {f"d{i}": [f"{i} {j}." for j in range(len(names))] for i, names in enumerate(inside)}
    mentions = {f"{i} {j}.": [n] for i, names in enumerate(inside) for j, n in enumerate(names)}
    index = snapshot(texts, mentions, dict.fromkeys(mentions, at(0)))
    ada, bo, cy = range(3)
    chosen = {row: {ada, bo} for row in (0, 2, 3)} | {4: {ada, bo, cy}}
    assert e2graphrag.rank_by_entities(index, chosen) == [4, 2, 0, 3]
    index.layer("chunk").columns["document"] = np.array([0, 0, 1, 2, 2])
    assert e2graphrag.rank_by_entities(index, chosen) == [4, 3, 2, 0]


def test_a_summary_counts_for_the_chunks_below_it(index):
    """By its mentions it stands before chunks, and the table has its text."""
    below = np.array([0, 3]), np.array([4])
    tree = Nodes(np.array([at(0), at(90)]), ("Of two.", "Of none."), below, np.arange(2))
    nodes = [Node(0.9, 0), Node(0.8, summary=1), Node(0.7, summary=0), Node(0.6, 3)]
    ada = index.layer("entity").rows(["ada"])
    ranked = e2graphrag.rank_by_occurrence(index, nodes, tree, ada)
    assert [(n.chunk, n.summary, n.score) for n in ranked] == [(-1, 0, 3), (3, -1, 2), (0, -1, 1)]


def test_what_follows_in_a_document_is_summed_up():
    """Five at a time, from two chunks on; summaries from seven on."""
    documents = np.repeat([0, 1, 2], [1, 7, 3])
    level = Nodes(np.zeros((11, 2)), [""] * 11, [np.array([i]) for i in range(11)], documents)
    groups = [each.tolist() for each in e2graphrag.group_in_order(level, 0)]
    assert groups == [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]]
    assert [each.tolist() for each in e2graphrag.group_in_order(level, 1)] == groups[:2]


def test_an_llm_sums_up(tmp_path):
    """A question without names finds a summary of the document's chunks."""
    text = "\n\n".join(f"Part {n} says much of boats. " + "It goes on. " * 50 for n in range(6))
    llm = ScriptedLLM("All of it is on boats and harbours.", "The end is on boats, too.")
    with clew.open(tmp_path / "my.clew", models=hashing(llm=llm)) as opened:
        opened.add(clew.Document(id="long", text=text))
        n_chunks = len(opened.snapshot().layer("chunk"))
        found = opened.search("what is it on, boats and harbours?", method="e2graphrag")
    assert 5 < n_chunks <= 10
    assert llm.n_left == 0
    assert found.tables[0].rows[0] == ("All of it is on boats and harbours.",)
    assert found.notes[0].endswith("used the nearest chunks and summaries")
