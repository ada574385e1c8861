"""AGRAG as a whole: its parameters, each switch, what ends it early, and what it is sure of."""

import json
import math
from dataclasses import asdict, fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew import steps
from clew.algo.mcmi import JoinedNode
from clew.algo.steiner import steiner_tree
from clew.base.types import Document
from clew.methods import load
from clew.methods.agrag import Agrag, AgragPaper
from clew.methods.agrag.evidence import FoundSubgraph, subgraph_evidence
from clew.methods.agrag.view import compute_influence
from clew.methods.hybrid import Hybrid
from clew.steps.facts import MappedFacts
from clew.testing import ScriptedLLM, models
from tests.methods.agrag import kidney
from tests.methods.agrag.kidney import QUESTION

CANCER_BEGINS, HOME = "kidney cancer|begins in|kidney", "kidney|is home of|kidney cancer"
FED_CANCER, FED_TUMORS = "blood vessels|feed|kidney cancer", "blood vessels|feed|tumors"
REMOVES = "surgery|removes|kidney cancer"


@pytest.fixture(scope="module")
def snapshot():
    with kidney.indexed() as opened:
        yield opened


def ask(snapshot, question=QUESTION, *, method=Agrag, llm=None, **parameters):
    return method(**parameters).retrieve(question, snapshot, models(llm=llm))


def keeping(snapshot, *facts, question=QUESTION, **parameters):
    """Return what is found from these facts, which an LLM chooses among all."""
    everything = {"facts": len(snapshot.layer("triple")), "kept": len(facts)} | parameters
    look = kidney.look(snapshot, question)
    cosines = snapshot.layer("triple").vectors @ look.view.query.vector
    order = np.argsort(-np.round(cosines, 6), kind="stable").tolist()
    near = [row for row in order if look.view.graph.stated[row] and cosines[row] > 0]
    rows = snapshot.layer("triple").rows(list(facts))
    llm = ScriptedLLM({"keep": [near.index(row) + 1 for row in rows]})
    found = ask(snapshot, question, llm=llm, **everything)
    assert {seed.id for seed in found.seeds} == set(facts)
    [prompt] = llm.prompts  # for the facts, and for nothing else
    assert prompt.version.startswith("fact_filter")
    return found


def ends(edges):
    return {frozenset((edge.a, edge.b)) for edge in edges}


def joins(*pairs):
    return {frozenset(pair) for pair in pairs}


# -- parameters -----------------------------------------------------------------------------------


def test_the_paper_has_its_own_settings(snapshot):
    """All others are the same; evidence tells the two apart."""
    assert load("agrag") is Agrag
    assert load("agrag_paper") is AgragPaper
    mine, paper = asdict(Agrag()), asdict(AgragPaper())
    others = {name: paper[name] for name in mine if mine[name] != paper[name]}
    changed = {"costs": "paper", "rule": "eq15", "order": "graph", "filter_by": "reranker"}
    assert others == {"passage_factor": 0.05, "hybrid_chunks": 5, "nested": True} | changed
    assert [f.name for f in fields(AgragPaper)] == [f.name for f in fields(Agrag)]
    found = ask(snapshot, method=AgragPaper)
    assert (found.method, ask(snapshot).method) == ("agrag_paper", "agrag")
    assert found == clew.methods.agrag.AgragPaper(**mine | others).retrieve(
        QUESTION, snapshot, models()
    )
    assert found.graph == ask(snapshot, **others).graph != ask(snapshot).graph


# -- the story ------------------------------------------------------------------------------------


def test_the_tree_and_its_growth_step_by_step(snapshot):
    """A node joins by the cheapest edge to what is there, the best of all, while the rule holds."""
    found = keeping(snapshot, FED_CANCER, REMOVES)
    look, subgraph = kidney.look(snapshot), found.graph.subgraph
    graph, view = look.view.graph, look.view
    node = {step.id: look.node(step.id) for step in subgraph.nodes}
    terminals = [node[step.id] for step in subgraph.terminals]
    scores = compute_influence(graph, terminals, 0.5)
    assert [step.score for step in subgraph.nodes] == [scores[node[s.id]] for s in subgraph.nodes]
    limit = np.mean([e.cost * (scores[node[e.a]] + scores[node[e.b]]) / 2 for e in subgraph.tree])
    inside = {node[end] for edge in subgraph.tree for end in (edge.a, edge.b)}
    assert len(inside) == len(subgraph.tree) + 1
    assert set(terminals) <= inside
    assert 0 < len(subgraph.growth) <= 20
    for each in subgraph.growth:
        best = min(
            (cost / scores[other], -scores[other], cost, int(other), a)
            for a in inside
            for other, cost in zip(*view.get_neighbours(a), strict=True)
            if other not in inside
        )
        assert each.cost / each.score == pytest.approx(best[0], rel=1e-5)
        assert each.ratio == pytest.approx(each.score / each.cost, rel=1e-5)
        assert each.limit == pytest.approx(limit, rel=1e-5)
        assert each.ratio >= each.limit
        assert node[each.node] not in inside
        assert node[each.to] in inside
        inside.add(node[each.node])
    assert inside == set(node.values())


def well_formed(found, snapshot, look):
    """Check what must be true of any evidence, against the graph itself."""
    steps_of = {step.id: step for step in found.graph.subgraph.nodes}
    check_nodes(found, look)
    check_edges(found.graph.subgraph, snapshot, look)
    check_parts(found.graph.subgraph, steps_of)
    check_facts(found, steps_of)
    check_hits(found, steps_of)
    check_threads(found, steps_of)
    json.dumps(asdict(found), allow_nan=False)


def descending(scores):
    return all(a >= b - 1e-6 for a, b in pairwise(scores))


def check_nodes(found, look):
    subgraph, graph = found.graph.subgraph, look.view.graph
    assert len({step.id for step in subgraph.nodes}) == len(subgraph.nodes)
    assert descending([step.score for step in subgraph.nodes])
    for step in subgraph.nodes:
        node = look.node(step.id)
        layers = {"chunk": node >= graph.first_chunk, "entity": node < graph.n_entities}
        layers["statistical"] = not any(layers.values())
        assert layers[step.layer]
    assert set(subgraph.terminals) <= set(subgraph.nodes)
    assert found.graph.entities == tuple(s for s in subgraph.nodes if s.layer != "chunk")
    grown = {each.node: place for place, each in enumerate(subgraph.growth, 1)}
    for step in subgraph.nodes:
        reason = f"joined at step {grown[step.id]}" if step.id in grown else "on the tree"
        is_terminal = step in subgraph.terminals
        assert step.reason == ("an end of a fact near the question" if is_terminal else reason)


def check_edges(subgraph, snapshot, look):
    """All between the nodes are there, with their costs and triples."""
    name_of = {look.node(step.id): step.id for step in subgraph.nodes}
    node = {name: number for number, name in name_of.items()}
    assert [(node[edge.a], node[edge.b]) for edge in subgraph.edges] == sorted(
        (a, b)
        for a in name_of
        for b in set(look.view.get_neighbours(a)[0].tolist())
        if a < b and b in name_of
    )
    for edge in subgraph.edges:
        others, costs = look.view.get_neighbours(node[edge.a])
        assert edge.cost == pytest.approx(costs[others == node[edge.b]].min(), abs=2e-6)
        pair = look.view.find_pair(node[edge.a], node[edge.b])
        rows = look.view.graph.get_triples(pair).tolist() if pair >= 0 else []
        assert list(edge.facts) == snapshot.layer("triple").ids(rows)
        is_chunk = node[edge.b] >= look.view.graph.first_chunk
        assert edge.kind == ("contains" if is_chunk else "fact" if rows else "synonym")
    assert set(subgraph.tree) <= set(subgraph.edges)


def check_parts(subgraph, steps_of):
    """Each node is in one part with all that edges join it to; growth starts from the tree."""
    parts = [set(part) for part in subgraph.components]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(steps_of)
    assert all(any({e.a, e.b} <= part for part in parts) for e in subgraph.edges)
    first = {end for edge in subgraph.tree for end in (edge.a, edge.b)}
    first |= {step.id for step in subgraph.terminals}
    assert len(first) - len(subgraph.tree) >= len(parts)
    grown = [each.node for each in subgraph.growth]
    assert sorted([*first, *grown]) == sorted(steps_of)
    assert descending([steps_of[part[0]].score for part in subgraph.components])
    for part in subgraph.components:
        assert list(part) == [name for name in steps_of if name in part]


def check_facts(found, steps_of):
    """They are those of the edges, part after part, those of most influence first."""
    subgraph, facts = found.graph.subgraph, found.graph.facts
    assert sorted(f.id for f in facts) == sorted(row for e in subgraph.edges for row in e.facts)
    sums = [round(steps_of[f.subject].score + steps_of[f.object].score, 6) for f in facts]
    keys = [(f.candidate, -total) for f, total in zip(facts, sums, strict=True)]
    assert keys == sorted(keys)
    grown = {each.node: place for place, each in enumerate(subgraph.growth, 1)}
    for fact in facts:
        assert {fact.subject, fact.object} <= set(subgraph.components[fact.candidate - 1])
        assert fact.depth == max(grown.get(fact.subject, 0), grown.get(fact.object, 0))
    rows = [(steps_of[f.subject].text, f.relation, steps_of[f.object].text) for f in facts]
    alike = [edge for edge in subgraph.edges if edge.kind == "synonym"]
    rows += [(steps_of[edge.a].text, "synonym", steps_of[edge.b].text) for edge in alike]
    [table] = found.tables
    assert list(table.rows) == rows


def check_hits(found, steps_of):
    """Chunks of the subgraph, and others; each once. Of few, the first need not be among them."""
    on_graph = [hit.chunk_id for hit in found.hits if hit.channel == "subgraph"]
    listed = [name for name, step in steps_of.items() if step.layer == "chunk"]
    assert set(on_graph) <= set(listed)
    assert {hit.channel for hit in found.hits} <= {"subgraph", "hybrid", "fact"}
    assert len({hit.chunk_id for hit in found.hits}) == len(found.hits)
    assert descending([hit.score for hit in found.hits])


def check_threads(found, steps_of):
    """Each leads from the question over edges of the subgraph to its hit."""
    subgraph = found.graph.subgraph
    joined = {fact.id: {fact.subject, fact.object} for fact in found.graph.facts}
    for hit, path in zip(found.hits, found.paths, strict=True):
        first, *way = path.steps
        assert (first.layer, first.text) == ("query", found.query)
        assert way[-1].id == hit.chunk_id
        assert path.score == hit.score
        assert first.score is None
        if hit.channel == "hybrid":
            assert [step.reason for step in way] == ["near the question"]
            continue
        if hit.channel == "fact":
            fact, _ = way
            [stated] = [each for each in found.graph.facts if each.id == fact.id]
            assert hit.chunk_id in stated.chunk_ids
            continue
        nodes = [step for step in way if step.layer != "triple"]
        assert nodes[0].id in {step.id for step in subgraph.terminals}
        assert joins(*((a.id, b.id) for a, b in pairwise(nodes))) <= ends(subgraph.edges)
        assert [step.score for step in nodes] == [steps_of[step.id].score for step in nodes]
        for before, here, behind in zip(way, way[1:], way[2:], strict=False):
            assert here.layer != "triple" or joined[here.id] == {before.id, behind.id}


@given(
    drawn=st.fixed_dictionaries(
        {
            "costs": st.sampled_from(["released", "paper"]),
            "entities": st.sampled_from(["statistical", "extracted"]),
            "verbatim": st.booleans(),
        }
    ),
    counted=st.sampled_from([{}, {"synonym": 0.3}, {"threshold": 0.2, "nested": True}]),
    parameters=st.fixed_dictionaries(
        {
            "rule": st.sampled_from(["released", "eq15", "mean"]),
            "passage_factor": st.sampled_from([0.0, 0.05, 1.0]),
            "damping": st.sampled_from([0.0, 0.5, 0.9]),
            "chunks": st.integers(1, 8),
            "passages": st.integers(0, 8),
            "facts": st.integers(1, 6),
            "filter": st.booleans(),
            "hybrid": st.booleans(),
            "joint": st.sampled_from([0.0, 10.0]),
            "rounds": st.integers(0, 6),
            "states": st.sampled_from([1, 3, 20_000]),
            "order": st.sampled_from(["fused", "graph"]),
        }
    ),
    question=st.sampled_from([QUESTION, "Who sells apples?", "oxygen", "Urine of the farm"]),
)
def test_evidence_is_well_formed_whatever_the_settings(
    snapshot, drawn, counted, parameters, question
):
    """Nodes, edges, parts, facts, tables, hits and threads all say the same."""
    found = ask(snapshot, question, **drawn, **counted, **parameters)
    if found.graph is not None:
        well_formed(found, snapshot, kidney.look(snapshot, question, **drawn, **counted))
    assert len(found.hits) <= parameters["chunks"]
    assert [h.channel for h in found.hits].count("subgraph") <= parameters["passages"]
    if parameters["hybrid"]:
        assert len(found.hits) == min(parameters["chunks"], len(kidney.TEXTS))
    if parameters["order"] == "graph":
        channels = [hit.channel for hit in found.hits]
        assert channels == sorted(channels, key=["subgraph", "hybrid", "fact"].index)


# -- what is returned -----------------------------------------------------------------------------


def test_chunks_of_the_subgraph_come_first(snapshot):
    """By their influence; then those of hybrid retrieval that are not there yet."""
    found = ask(snapshot, passages=2, order="graph")
    listed = [step.id for step in found.graph.subgraph.nodes if step.layer == "chunk"]
    assert [hit.chunk_id for hit in found.hits[:2]] == listed[:2]
    best = [hit.chunk_id for hit in Hybrid(chunks=99).retrieve(QUESTION, snapshot, models()).hits]
    assert [hit.chunk_id for hit in found.hits[2:]] == [i for i in best if i not in listed[:2]]
    scores = {step.id: step.score for step in found.graph.subgraph.nodes}
    assert [h.score for h in found.hits[:2]] == [round(1 + scores[i], 6) for i in listed[:2]]
    assert found.hits[2].score <= 1


def test_both_rankings_count(snapshot):
    """A chunk's score is 1 / rank on the subgraph plus 1 / rank by hybrid retrieval."""
    found = ask(snapshot, passages=2)
    listed = [step.id for step in found.graph.subgraph.nodes if step.layer == "chunk"][:2]
    best = [hit.chunk_id for hit in Hybrid(chunks=99).retrieve(QUESTION, snapshot, models()).hits]
    ranks = {i: place for place, i in enumerate(best[:-1], 1)}  # the last one's score is zero
    scores = {i: 1 / ranks[i] if i in ranks else 0.0 for i in best}
    for place, i in enumerate(listed, 1):
        scores[i] += 1 / place
    assert {hit.chunk_id: hit.score for hit in found.hits} == pytest.approx(scores)
    assert [hit.chunk_id for hit in found.hits if hit.channel == "subgraph"] != best[:2]
    assert {hit.chunk_id for hit in found.hits if hit.channel == "subgraph"} == set(listed)
    assert descending([hit.score for hit in found.hits])


def test_passages_and_chunks_bound_what_is_returned(snapshot):
    """Not what is found: the subgraph is the same."""
    graph = ask(snapshot).graph
    for passages, chunks, expected in ((0, 3, 0), (1, 3, 1), (5, 2, 2), (9, 1, 1)):
        found = ask(snapshot, passages=passages, chunks=chunks)
        assert found.graph == graph
        assert [hit.channel for hit in found.hits].count("subgraph") == expected
        assert len(found.hits) == len(found.paths) == chunks


def test_a_chunk_without_room_among_the_first_comes_by_its_hybrid_score(snapshot):
    """It is on the subgraph and one of the best."""
    found = ask(snapshot, passages=0, order="graph")
    assert {hit.channel for hit in found.hits} == {"hybrid"}
    plain = Hybrid().retrieve(QUESTION, snapshot, models())
    assert [(h.chunk_id, h.score) for h in found.hits] == [
        (h.chunk_id, h.score) for h in plain.hits
    ]
    fused = ask(snapshot, passages=0)
    assert [h.chunk_id for h in fused.hits] == [h.chunk_id for h in plain.hits]


def test_seeds_are_the_facts_that_were_kept(snapshot):
    """With their cosines, best first."""
    found = ask(snapshot, filter=False, facts=3)
    cosines = [seed.score for seed in found.seeds]
    assert len(cosines) == 3
    assert cosines == sorted(cosines, reverse=True)
    [row] = snapshot.layer("triple").rows([found.seeds[0].id])
    vector = steps.read_query(models(), QUESTION).vector
    assert cosines[0] == pytest.approx(snapshot.layer("triple").vectors[row] @ vector, abs=1e-6)
    assert {seed.reason for seed in found.seeds} == {"a fact near the question"}
    assert ask(snapshot, facts=5, kept=2).seeds == ask(snapshot, filter=False, facts=5).seeds[:2]


def test_threads_say_why(snapshot):
    """A fact joins two entities; an entity stands in a chunk that leads on."""
    found = keeping(snapshot, "blood vessels|carry|oxygen", question="oxygen")
    stops = [[(step.id, step.reason) for step in path.steps[1:]] for path in found.paths]
    begin = ("blood vessels", "an end of a fact near the question")
    assert [
        begin,
        (FED_CANCER, "joins them"),
        ("kidney cancer", ""),
        ("surgery:0-54", "contains Kidney cancer"),
    ] in stops
    found = keeping(snapshot, REMOVES)
    stops = [[(step.id, step.reason) for step in path.steps[1:]] for path in found.paths]
    assert [
        ("kidney cancer", begin[1]),
        ("cancer:0-79", "contains Kidney cancer"),
        ("kidney", "stands there"),
        ("tumors:0-57", "contains kidney"),
    ] in stops


def test_synonyms_are_rows_and_threads():
    """Two spellings of one name, each of which its own text has."""
    texts = {
        "old": "The harbour of Verle was dug by hand. Gulls nest there.",
        "new": "The harbours of Verle hold ninety boats. Fog hides them.",
    }
    triples = {
        "old": [("harbour of Verle", "was dug by", "hand")],
        "new": [("harbours of Verle", "hold", "boats")],
    }
    with kidney.indexed(texts, triples) as index:
        found = keeping(index, "harbour of verle|was dug by|hand", synonym=0.7)
        look = kidney.look(index, found.query, synonym=0.7)
        well_formed(found, index, look)
    assert found.tables[0].rows[-1] == ("harbours of Verle", "synonym", "harbour of Verle")
    assert found.tables[0].columns == ("subject", "relation", "object")
    [edge] = [edge for edge in found.graph.subgraph.edges if edge.kind == "synonym"]
    assert {edge.a, edge.b} == {"harbour of verle", "harbours of verle"}
    reasons = [step.reason for path in found.paths for step in path.steps]
    assert "a synonym" in reasons


def test_a_limit_that_everything_is_below_is_no_number(snapshot):
    """Nodes far from the terminals have no influence; JSON has no word for infinity."""
    look = kidney.look(snapshot)
    terminals = sorted(map(look.node, ("kidney cancer", "surgery")))
    tree = steiner_tree(look.view.get_neighbours, terminals)
    node, to = look.node("tumors"), look.node("kidney")
    scores = np.zeros(look.view.graph.adjacency.shape[0])
    added = [
        JoinedNode(to, tree.nodes[0], 0.25, 0.5, 0.5, 0.75),
        JoinedNode(node, to, 1, 0.5, 2.0, math.inf),
    ]
    mapped = MappedFacts(((0, 0.5),), (0,))
    found = FoundSubgraph(look.view, mapped, terminals, scores, tree, added)
    evidence = subgraph_evidence(
        found,
        np.zeros(len(kidney.TEXTS)),
        method="x",
        n_passages=0,
        n_chunks=0,
        fused=True,
        notes=("y",),
    )
    assert [each.limit for each in evidence.graph.subgraph.growth] == [0.75, None]
    assert (evidence.hits, evidence.method, evidence.notes) == ((), "x", ("y",))
    json.dumps(asdict(evidence), allow_nan=False)


# -- what goes another way ------------------------------------------------------------------------


def as_hybrid(found, snapshot, question=QUESTION):
    """Check that evidence is what hybrid retrieval alone finds."""
    plain = Hybrid(chunks=10).retrieve(question, snapshot, models())
    assert (found.hits, found.paths, found.seeds) == (plain.hits, (), ())
    assert (found.graph, found.tables) == (None, ())
    return found.notes


def test_without_the_subgraph_it_is_hybrid_retrieval(snapshot):
    """Nobody is asked, and nothing is noted."""
    assert as_hybrid(ask(snapshot, subgraph=False, llm=ScriptedLLM()), snapshot) == ()


def test_an_index_without_triples():
    """Hybrid retrieval, with a note that says what to do; or nothing, where that is off."""
    with kidney.indexed(triples={}) as bare:
        [note] = as_hybrid(ask(bare, llm=ScriptedLLM()), bare)
        assert note == (
            "the index has no triples ('clew index --triples' extracts, "
            "'clew import' brings some): hybrid retrieval alone"
        )
        found = ask(bare, hybrid=False)
        assert found.hits == ()
        assert found.notes[0].endswith(": nothing, since hybrid is off")


def test_no_fact_passes_the_filter(snapshot):
    """An LLM that keeps none leaves hybrid retrieval, or nothing."""
    note = "no fact of the graph is about the question"
    found = ask(snapshot, llm=ScriptedLLM({"keep": []}))
    assert as_hybrid(found, snapshot) == (f"{note}: hybrid retrieval alone",)
    found = ask(snapshot, llm=ScriptedLLM({"keep": []}), hybrid=False)
    assert (found.hits, found.graph) == ((), None)
    assert found.notes == (f"{note}: nothing, since hybrid is off",)


def test_no_fact_of_a_text_that_states_it():
    """A triple whose ends its text does not have is no fact, unless `verbatim` is off."""
    with kidney.indexed(triples={"farm": [("Atlas", "leads to", "Mercury")]}) as index:
        question = "Where does the Atlas lead?"
        [note] = as_hybrid(ask(index, question), index, question)
        assert note.startswith("no fact of the graph is about the question")
        found = ask(index, question, verbatim=False)
        assert [seed.id for seed in found.seeds] == ["atlas|leads to|mercury"]


def test_without_hybrid_or_growth(snapshot):
    """Everything else stays as it is, and all edges between the nodes of the tree are there."""
    settings = {"passages": 3, "order": "graph"}
    both, alone = ask(snapshot, **settings), ask(snapshot, **settings, hybrid=False)
    assert alone.hits[:3] == both.hits[:3]
    assert alone.paths[:3] == both.paths[:3]
    assert alone.graph == both.graph
    fused = ask(snapshot, passages=3, hybrid=False)
    assert {hit.chunk_id for hit in fused.hits} == {hit.chunk_id for hit in alone.hits}
    tree = ask(snapshot, rounds=0).graph.subgraph
    grown = ask(snapshot).graph.subgraph
    assert tree.growth == ()
    assert (tree.tree, tree.terminals) == (grown.tree, grown.terminals)
    assert set(tree.edges) < set(grown.edges)
    assert len(ask(snapshot, rounds=1).graph.subgraph.growth) == 1


def test_without_hybrid_retrieval_chunks_that_state_its_facts_are_found(snapshot):
    """The paper's "w/o HR" reads the subgraph and the text chunks that it involves."""
    found = ask(snapshot, passages=0, hybrid=False, order="graph")
    assert {hit.channel for hit in found.hits} == {"fact"}
    stating = {chunk for fact in found.graph.facts for chunk in fact.chunk_ids}
    assert {hit.chunk_id for hit in found.hits} == stating
    assert len(ask(snapshot, passages=0, hybrid=False, chunks=2).hits) == 2


def test_hybrid_chunks_are_counted_by_themselves_or_with_the_subgraph(snapshot):
    """The paper adds k_r of them, the released code fills up to that many items."""
    settings = {"order": "graph", "passages": 1}
    one = ask(snapshot, **settings, hybrid_chunks=2)
    assert [hit.channel for hit in one.hits] == ["subgraph", "hybrid", "hybrid"]
    assert len(ask(snapshot, **settings, hybrid_chunks=2, chunks=2).hits) == 2
    subgraph = one.graph.subgraph
    parts = {fact.candidate for fact in one.graph.facts}
    taken = len(parts) + sum(step.layer == "chunk" for step in subgraph.nodes)
    for more in (0, 2):
        found = ask(snapshot, **settings, hybrid_chunks=taken + more, filled=True)
        assert [hit.channel for hit in found.hits][1:] == ["hybrid"] * more
    assert len(ask(snapshot, subgraph=False, hybrid_chunks=2).hits) == 2
    assert len(ask(snapshot, llm=ScriptedLLM({"keep": []}), hybrid_chunks=2).hits) == 2


def test_an_index_of_one_chunk_has_hybrid_chunks():
    """Its scores are all zero when they are scaled, and it is the best one all the same."""
    with kidney.indexed(
        {"cancer": kidney.TEXTS["cancer"]}, {"cancer": kidney.TRIPLES["cancer"]}
    ) as one:
        for order in ("graph", "fused"):
            assert len(ask(one, passages=0, order=order).hits) == 1


def test_a_fact_may_need_a_score_of_its_own(snapshot):
    """Not one near that of the best: then none may pass."""
    by = {"filter_by": "reranker"}
    assert as_hybrid(ask(snapshot, **by, least_score=10.0), snapshot)[0].startswith("no fact")
    texts = [seed.text for seed in ask(snapshot, **by, least_score=-10.0, kept=9, facts=9).seeds]
    scores = models().reranker.score(QUESTION, texts)
    scores = np.round(scores, 6)
    middle = float(np.median(scores))
    kept = ask(snapshot, **by, least_score=middle, kept=9, facts=9).seeds
    assert {seed.text for seed in kept} == {
        t for t, score in zip(texts, scores, strict=True) if score >= middle
    }


def test_a_chunk_s_edges_may_weigh_less(snapshot):
    """Then less of the influence is theirs."""
    shares = []
    for weight in (0.1, 1.0):
        nodes = ask(snapshot, contains_weight=weight, rounds=99).graph.subgraph.nodes
        shares.append(sum(step.score for step in nodes if step.layer == "chunk"))
    assert shares[0] < shares[1]


def test_the_search_may_end_early(snapshot):
    """A note says after how many nodes; terminals stay terminals."""
    question = "Which blood vessels feed kidney cancer, and what urine leaves the filter?"
    facts = FED_CANCER, "urine|leaves|filter"
    early = keeping(snapshot, *facts, question=question, rounds=0, states=1)
    assert early.notes == ("the search for the tree ended after 1 nodes",)
    assert len(early.graph.subgraph.components) == 2
    whole = keeping(snapshot, *facts, question=question, rounds=0)
    assert whole.notes == ()
    assert len(whole.graph.subgraph.components) == 1
    assert whole.graph.subgraph.terminals


# -- each switch ----------------------------------------------------------------------------------


def test_the_factor_and_damping(snapshot):
    """Influence of chunks is a part of what it was; without damping terminals alone have it."""
    whole, part = ask(snapshot, rule="mean"), ask(snapshot, rule="mean", passage_factor=0.25)
    scores = {step.id: step.score for step in whole.graph.subgraph.nodes}
    both = [step for step in part.graph.subgraph.nodes if step.id in scores]
    assert {"chunk", "entity"} <= {step.layer for step in both}
    for step in both:
        factor = 0.25 if step.layer == "chunk" else 1.0
        assert step.score == pytest.approx(factor * scores[step.id])
    still = ask(snapshot, damping=0.0).graph.subgraph
    n = len(still.terminals)
    assert {step.score for step in still.terminals} == {1 / n}
    assert still.growth == ()
    low, high = (ask(snapshot, damping=d).graph.subgraph.terminals for d in (0.1, 0.9))
    assert sum(s.score for s in low) > sum(s.score for s in high)


def test_rules_of_growth(snapshot):
    """Each has its own limit; by the last it falls with every step."""
    limits = {
        rule: [each.limit for each in ask(snapshot, rule=rule, costs="paper").graph.subgraph.growth]
        for rule in ("released", "eq15", "mean")
    }
    assert len(set(limits["released"])) <= 1
    assert limits["eq15"] == sorted(limits["eq15"])
    assert limits["mean"] == sorted(limits["mean"], reverse=True)
    assert len({tuple(each) for each in limits.values()}) > 1


def test_a_cheap_joint_parts_the_tree(snapshot):
    """Ways to two chunks may cost less than one that leads from part to part."""
    question = "Which blood vessels feed kidney cancer, and what urine leaves the filter?"
    facts = FED_CANCER, "urine|leaves|filter"
    parameters = {"question": question, "rounds": 0, "costs": "paper"}
    whole = keeping(snapshot, *facts, **parameters).graph.subgraph
    parted = keeping(snapshot, *facts, **parameters, joint=0.0).graph.subgraph
    assert len(whole.components) == 1
    assert len(parted.components) == 2
    assert sum(edge.cost for edge in parted.tree) < sum(edge.cost for edge in whole.tree)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.99},
        {"longest": 1},
        {"nested": True},
        {"synonym": 0.3},
        {"score": "tfidf", "threshold": 0.2},
        {"entities": "extracted"},
        {"verbatim": False},
    ],
)
def test_what_the_graph_is_made_of_is_never_mixed_up(change):
    """A graph with other settings is another one, on one snapshot as on a new one."""
    with kidney.indexed() as first, kidney.indexed() as second:
        plain = ask(first)
        changed = ask(first, **change)
        assert ask(second, **change) == changed
        assert ask(first) == plain
        assert ask(second) == plain


# -- notes ----------------------------------------------------------------------------------------


def test_chunks_without_statistical_entities_are_noted(snapshot):
    """As Eq. 2 leaves nearly all of them; not where entities are extracted."""
    [note] = ask(snapshot, score="eq2").notes
    assert note == (
        "100% of the chunks have no statistical entity: take a lower threshold, or score=normalised"
    )
    [note] = ask(snapshot, threshold=1.0).notes
    assert note == "100% of the chunks have no statistical entity: take a lower threshold"
    assert ask(snapshot, score="eq2", entities="extracted").notes == ()
    assert ask(snapshot, score="eq2", threshold=0.01).notes == ()
    notes = ask(snapshot, score="eq2", llm=ScriptedLLM({"keep": []})).notes
    assert len(notes) == 2


# -- graphs and texts -----------------------------------------------------------------------------


def tables(folder, triples):
    rows = [triple for several in triples.values() for triple in several]
    lines = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "graph.tsv").write_text("subject\trelation\tobject\n" + lines, encoding="utf-8")
    return folder / "graph.tsv"


@pytest.mark.satellite
def test_an_imported_graph_alone(tmp_path):
    """Its chunks have no statistical entities, which is nothing to note."""
    with clew.open(tmp_path / "graph.clew", models=models()) as index:
        index.import_graph(tables(tmp_path, kidney.TRIPLES))
        found = index.search(QUESTION, method="agrag")
        answer = index.ask(QUESTION, method="agrag")
    assert found.notes == ()
    assert found.graph.facts
    assert {step.layer for step in found.graph.subgraph.nodes} == {"entity", "chunk"}
    assert answer.kind == "quoted"


@pytest.mark.satellite
def test_a_graph_beside_texts(tmp_path):
    """A thread goes from a text to what only the graph says."""
    more = {"x": [("blood vessels", "were drawn by", "Leonardo")]}
    with clew.open(tmp_path / "both.clew", models=models()) as index:
        index.add(
            [Document(id=name, text=text, source=name) for name, text in kidney.TEXTS.items()]
        )
        index.import_graph(tables(tmp_path, kidney.TRIPLES | more))
        found = index.search("Who drew the blood vessels of tumors?", method="agrag")
    assert "blood vessels|were drawn by|leonardo" in {fact.id for fact in found.graph.facts}
    chunks = [step for step in found.graph.subgraph.nodes if step.layer == "chunk"]
    assert {step.document_id for step in chunks} & set(kidney.TEXTS)


# -- threads ---------------------------------------------------------------------------------------
