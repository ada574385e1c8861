"""The union of candidates as evidence: facts, their chunks, the graph of it, and threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.bubble import Piece, RankedPiece
from clew.answers.context import build_context
from clew.base.types import EvidenceGraph, Expansion
from clew.methods.bubble.analysis import Concept
from clew.methods.bubble.anchors import AnchorGroup
from clew.methods.bubble.evidence import build_evidence
from clew.methods.bubble.growth import CandidateGrowth, GrownTriple
from clew.methods.bubble.merged import FoundCandidates
from clew.testing import models
from tests.methods.bubble import comet

BUILT, BORN = "ola eriksen|built|comet", "ola eriksen|born in|bakken"
LIES, SANK = "bakken|lies in|osterland", "comet|sank off|cape lund"
LIGHT, CAPITAL = "cape lund|has|lighthouse", "verle|capital of|osterland"


@pytest.fixture(scope="module")
def graph():
    with comet.indexed() as snapshot:
        yield comet.look(snapshot)


def ranked(graph, *names, covers=(True,), score=1.0, kind="inter"):
    return RankedPiece(Piece(graph.nodes(*names), (), kind), score, 0.5, 0.25, covers)


def group(graph, concept, weight, *, latent=False, **nodes):
    """Return a group; nodes are `name=(similarity, words)`."""
    anchors = {graph.nodes(name)[0]: found for name, found in nodes.items()}
    return AnchorGroup(Concept(text=concept, latent=latent), weight, anchors)


def groups(graph):
    """Return two groups, the lighter one first."""
    return (
        group(
            graph, "the land", 0.25, latent=True, **{LIES: (0.5, "land"), "verle": (0.4, "land")}
        ),
        group(graph, "Comet", 0.75, **{"comet": (1.0, "Comet"), BUILT: (0.8, "builder")}),
    )


def whole(graph, **given):
    """Return a search of three pieces, of which two were chosen and the first grew."""
    found = {
        "groups": groups(graph),
        "ranked": (
            ranked(graph, BUILT, "comet", covers=(False, True), score=5.0),
            ranked(graph, SANK, "comet", "cape lund", covers=(False, True), score=3.0),
            ranked(graph, LIES, BORN, "bakken", covers=(True, False), score=2.0, kind="intra"),
        ),
        "chosen": (0, 2),
        "grown": (
            CandidateGrowth(
                1, (GrownTriple(graph.triple(BORN), 1, "the LLM chose it among 2"),), ("one",)
            ),
            CandidateGrowth(
                2, (GrownTriple(graph.triple(CAPITAL), 1, "because", 0.5),), ("one", "two")
            ),
        ),
        "notes": ("zero", "one"),
    }
    return FoundCandidates(**(found | given))


def found(graph, chunks=15, **given):
    return build_evidence(
        graph.view, whole(graph, **given), models(), method="bubble", chunks=chunks
    )


def groups_of_all(graph, *pieces):
    """Return one group with every node of some pieces."""
    nodes = sorted({node for piece in pieces for node in piece.piece.nodes})
    return (AnchorGroup(Concept(text="all"), 1.0, dict.fromkeys(nodes, (0.5, "all"))),)


def alone(graph, piece):
    """Return the evidence of a piece that did not grow and has anchors only."""
    groups = groups_of_all(graph, piece)
    return found(graph, ranked=(piece,), chosen=(0,), grown=(), groups=groups)


def documents(evidence):
    return [hit.document_id for hit in evidence.hits]


def rows(graph, *document_ids):
    return tuple(graph.chunk(each) for each in document_ids)


# -- the graph ------------------------------------------------------------------------------------


def test_facts_come_by_candidate_cheapest_first_then_as_they_were_added(graph):
    """A triple of two candidates is the first one's; the table stands before the passages."""
    assert found(graph).notes == ("zero", "one", "two")  # of the search, then of the growth
    facts = found(graph).graph.facts
    assert [(f.id, f.candidate, f.depth) for f in facts] == [
        (BUILT, 1, 0),
        (BORN, 1, 1),
        (LIES, 2, 0),
        (CAPITAL, 2, 1),
    ]
    assert facts[0].chunk_ids == ("comet:0-74",)
    assert (facts[0].subject, facts[0].relation, facts[0].object) == (
        "ola eriksen",
        "built",
        "comet",
    )
    assert facts[0].text == "Ola Eriksen built Comet"
    result = found(graph)
    [table] = result.tables
    assert (table.name, table.columns) == ("Triples", ("subject", "relation", "object"))
    assert table.rows[:2] == (
        ("Ola Eriksen", "built", "Comet"),
        ("Ola Eriksen", "born in", "Bakken"),
    )
    context = build_context(result, budget_tokens=1_000)
    assert context.text.startswith(
        "Table: Triples\nsubject|relation|object\nOla Eriksen|built|Comet\n"
    )


def test_a_candidate_s_own_triples_come_by_their_cosine(graph):
    """The nearest to the question first, whatever their rows."""
    own = [f"{s}|{r}|{o}".lower() for each in comet.TRIPLES.values() for s, r, o in each]
    one = ranked(graph, *own)
    ids = [fact.id for fact in alone(graph, one).graph.facts]
    cosines = graph.view.node_cosines(graph.nodes(*own))
    order = np.argsort(-cosines, kind="stable")
    triples = [node - graph.view.graph.n_entities for node in graph.nodes(*own)]
    assert ids == graph.view.snapshot.triples.ids([triples[i] for i in order])


def test_entities_come_as_facts_name_them(graph):
    """Then those that no triple of their candidate has; each says why it is there."""
    anchors = group(graph, "Comet", 1.0, comet=(1.0, "Comet"), lighthouse=(0.4, "light"))
    pieces = ranked(graph, BUILT, "comet"), ranked(graph, "lighthouse", kind="single")
    grown = (CandidateGrowth(1, (GrownTriple(graph.triple(BORN), 1, "because"),)),)
    result = found(graph, groups=(anchors,), ranked=pieces, chosen=(0, 1), grown=grown)
    entities = result.graph.entities
    assert [(step.id, step.reason) for step in entities] == [
        ("ola eriksen", "of candidate 1"),
        ("comet", "named “Comet”"),
        ("bakken", "of candidate 1"),
        ("lighthouse", "like “light” (0.40)"),
    ]
    nodes = [graph.entity(step.id) for step in entities]
    assert [step.score for step in entities] == graph.view.node_cosines(nodes).tolist()


def test_every_piece_is_a_candidate(graph):
    """Chosen ones first by rank, then the others; with what they cover and what they miss."""
    first, second, third = found(graph).graph.candidates
    assert [c.rank for c in (first, second, third)] == [1, 2, 3]
    assert [c.chosen for c in (first, second, third)] == [True, True, False]
    assert (first.covers, first.misses) == (("Comet",), ("the land",))
    assert (second.kind, second.score, second.cost, second.missing) == ("intra", 2.0, 0.5, 0.25)
    assert (second.covers, second.misses) == (("the land",), ("Comet",))
    assert set(second.triples) == {LIES, BORN}
    assert second.entities == ("bakken",)
    assert third.triples == (SANK,)


def test_groups_are_listed_by_weight_and_are_the_seeds(graph):
    """Anchors keep their order; a node of two groups is one seed, that of the heavier."""
    both = (*groups(graph), group(graph, "x", 0.1, comet=(0.3, "x")))
    result = found(graph, groups=both, ranked=(), chosen=(), grown=())
    heavy, light, other = result.graph.groups
    assert [(g.concept, g.kind, g.weight) for g in (heavy, light, other)] == [
        ("Comet", "explicit", 0.75),
        ("the land", "latent", 0.25),
        ("x", "explicit", 0.1),
    ]
    assert [(a.layer, a.id, a.reason, a.score) for a in heavy.anchors] == [
        ("entity", "comet", "named “Comet”", 1.0),
        ("triple", BUILT, "like “builder” (0.80)", 0.8),
    ]
    assert result.seeds == (*heavy.anchors, *light.anchors)
    assert other.anchors[0].reason == "like “x” (0.30)"


def test_expansions_are_steps_with_reasons(graph):
    """Also a triple that an earlier candidate has is a step of the later one's growth."""
    grown = (
        CandidateGrowth(2, (GrownTriple(graph.triple(BUILT), 1, "again"),)),
        CandidateGrowth(1),
    )
    assert found(graph).graph.expansions == (
        Expansion(candidate=1, depth=1, triple=BORN, reason="the LLM chose it among 2"),
        Expansion(candidate=2, depth=1, triple=CAPITAL, reason="because", score=0.5),
    )
    later = found(graph, grown=grown).graph
    assert [(e.candidate, e.triple) for e in later.expansions] == [(2, BUILT)]
    assert later.facts[0].candidate == 1
    assert {fact.id: (fact.candidate, fact.depth) for fact in later.facts} == {
        BUILT: (1, 0),
        BORN: (2, 0),
        LIES: (2, 0),
    }


def test_nothing_found_is_no_graph(graph):
    """Then the chunks near the question are what there is."""
    near = rows(graph, "fog", "comet")
    nothing = build_evidence(
        graph.view, FoundCandidates(retrieved=near), models(), method="bubble", chunks=15
    )
    assert (nothing.tables, nothing.seeds, nothing.graph) == ((), (), EvidenceGraph())
    assert documents(nothing) == ["comet", "fog"]
    assert [[step.layer for step in path.steps] for path in nothing.paths] == [
        ["query", "chunk"],
        ["query", "chunk"],
    ]
    assert (
        build_evidence(graph.view, FoundCandidates(), models(), method="bubble", chunks=15).hits
        == ()
    )


# -- chunks ---------------------------------------------------------------------------------------


def test_chunks_of_facts_come_first_by_their_facts_weights(graph):
    """A fact counts its cosine over its candidate's rank, and less if it was added behind it."""
    result = found(graph)
    values = graph.view.node_cosines(graph.nodes(BUILT, BORN, LIES, CAPITAL))
    by_name = dict(zip(graph.nodes(BUILT, BORN, LIES, CAPITAL), values, strict=True))
    weights = {
        "comet": by_name[graph.nodes(BUILT)[0]],
        "eriksen": by_name[graph.nodes(BORN)[0]] / 2,
        "bakken": by_name[graph.nodes(LIES)[0]] / 2,
        "verle": by_name[graph.nodes(CAPITAL)[0]] / (2 * 2),
    }
    first = result.hits[:4]
    assert {hit.document_id: hit.score for hit in first} == pytest.approx(
        {name: 2 + max(weight, 0) for name, weight in weights.items()}
    )
    assert [hit.score for hit in first] == sorted((h.score for h in first), reverse=True)
    assert {hit.channel for hit in first} == {"triple"}


def test_no_fact_is_held_against_its_chunk(graph):
    """A cosine below zero counts as zero, so a further fact never lowers a chunk."""
    other = comet.look(graph.view.snapshot, "xq zw vk")
    everything = ranked(other, *(fact.id for fact in found(graph).graph.facts), SANK, LIGHT)
    assert (other.view.node_cosines(everything.piece.nodes) < 0).any()
    hits = [hit for hit in alone(other, everything).hits if hit.channel == "triple"]
    assert min(hit.score for hit in hits) == 2


def test_an_entity_s_chunk_need_not_mention_it(graph):
    """The rules take no lower-case word for a name; the extraction of the chunk has it."""
    keeper = ranked(graph, "lighthouse", kind="single")
    first, *_ = alone(graph, keeper).hits
    assert (first.document_id, first.channel) == ("lund", "entity")


def test_facts_of_one_chunk_add_up(graph):
    """Its thread goes by the one nearer to the question."""
    both = ranked(graph, BUILT, SANK)
    result = alone(graph, both)
    values = graph.view.node_cosines(graph.nodes(BUILT, SANK))
    assert result.hits[0].document_id == "comet"
    assert result.hits[0].score == pytest.approx(2 + np.maximum(values, 0).sum())
    both = ranked(graph, BUILT, SANK)
    result = alone(graph, both)
    cosines = graph.view.node_cosines(graph.nodes(BUILT, SANK))
    best = graph.nodes(BUILT, SANK)[int(np.argmax(cosines))] - graph.view.graph.n_entities
    assert thread(result, "comet")[0][0][1] == graph.view.snapshot.triples.ids([best])[0]


def test_then_come_chunks_of_the_entities(graph):
    """Those extracted from or mentioning one, by their cosine; then those near the question."""
    near = rows(graph, "fog", "lund")
    result = found(graph, retrieved=near)
    channels = {hit.document_id: hit.channel for hit in result.hits}
    assert channels["gulls"] == "entity"  # a sentence there mentions Ola Eriksen
    assert channels["salt"] == "entity"  # its triple has Osterland
    assert channels["fog"] == "text"
    assert "lund" in channels
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_another_ranking_is_fused_with_the_graph_s(graph):
    """Each gives 1 / rank; a chunk that only the other one has is near the question."""
    alone = [hit.document_id for hit in found(graph).hits]
    assert (len(alone), "fog" in alone) == (6, False)
    hybrid = np.zeros(len(comet.TEXTS))
    hybrid[list(rows(graph, "fog", alone[3], alone[0]))] = 0.9, 0.5, 0.1
    fused = found(graph, hybrid=hybrid).hits
    scores = {alone[rank - 1]: 1 / rank for rank in range(1, 7)} | {"fog": 1.0}
    scores[alone[3]] += 1 / 2
    scores[alone[0]] += 1 / 3
    assert {hit.document_id: hit.score for hit in fused} == pytest.approx(scores)
    assert {hit.document_id: hit.channel for hit in fused}["fog"] == "text"
    assert fused[0].document_id == alone[0]
    assert [hit.document_id for hit in fused[:2]] == [alone[0], "fog"]


def test_shown_chunks_take_room(graph):
    """Facts come first, then entities; what was shown counts, and cannot be taken back."""
    assert {hit.channel for hit in found(graph, chunks=4).hits} == {"triple"}
    assert len(found(graph, chunks=2).hits) == 2
    near = rows(graph, "fog", "comet")
    free, shown = (found(graph, chunks=4, retrieved=near, shown=each) for each in (False, True))
    assert documents(free) == documents(found(graph, chunks=4))
    assert len(set(documents(shown)) | {"fog", "comet"}) == 4
    assert documents(shown)[-1] == "fog"
    assert next(h for h in shown.hits if h.document_id == "comet").channel == "triple"
    near = rows(graph, "fog", "salt", "gulls")
    result = found(graph, chunks=2, retrieved=near, shown=True)
    assert len(result.hits) == 2
    assert set(documents(result)) <= {"fog", "salt", "gulls"}


@st.composite
def searches(draw, graph):
    """Draw what a search may come to: any nodes as pieces, any of them chosen, any growth."""
    n_entities, n_triples = graph.view.graph.n_entities, len(graph.view.snapshot.triples)
    nodes = st.integers(0, n_entities + n_triples - 1)
    drawn = draw(st.lists(st.frozensets(nodes, min_size=1, max_size=5), max_size=4))
    pieces = [
        RankedPiece(Piece(tuple(sorted(each)), (), "inter"), 1.0, 0.5, 0.0, (True,))
        for each in drawn
    ]
    chosen = draw(st.permutations(range(len(pieces))))[: draw(st.integers(0, len(pieces)))]
    grown = []
    for rank, place in enumerate(chosen, 1):
        own = {node - n_entities for node in pieces[place].piece.nodes if node >= n_entities}
        ends = {node for node in pieces[place].piece.nodes if node < n_entities}
        ends |= {end for triple in own for end in graph.view.graph.ends_of(triple)}
        beside = {int(t) for end in ends for t in graph.view.graph.triples_of(end)} - own
        some = draw(st.lists(st.sampled_from(sorted(beside)), unique=True)) if beside else []
        grown.append(CandidateGrowth(rank, tuple(GrownTriple(t, 1, "drawn") for t in some)))
    chunks = st.integers(0, len(comet.TEXTS) - 1)
    one_each = {"min_size": len(comet.TEXTS), "max_size": len(comet.TEXTS)}
    return FoundCandidates(
        groups=groups_of_all(graph, *pieces),
        ranked=pieces,
        chosen=chosen,
        grown=grown,
        retrieved=draw(st.lists(chunks, unique=True, max_size=5)),
        shown=draw(st.booleans()),
        hybrid=draw(
            st.none() | st.lists(st.sampled_from([0.0, 0.3, 0.6]), **one_each).map(np.array)
        ),
    )


@given(data=st.data(), limit=st.integers(0, 9))
def test_never_more_distinct_chunks_than_allowed(graph, data, limit):
    """Shown ones and hits together; hits are distinct and in order.

    Facts' chunks come first where no other ranking counts.
    """
    search = data.draw(searches(graph))
    result = build_evidence(graph.view, search, models(), method="bubble", chunks=limit)
    shown = set(search.retrieved) if search.shown else set()
    hit_rows = graph.view.snapshot.layer("chunk").rows([hit.chunk_id for hit in result.hits])
    assert len(hit_rows) == len(set(hit_rows)) <= limit
    assert len(shown | set(hit_rows)) <= max(limit, len(shown))
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    of_facts = {chunk for fact in result.graph.facts for chunk in fact.chunk_ids}
    kinds = [hit.channel for hit in result.hits]
    assert all((hit.channel == "triple") == (hit.chunk_id in of_facts) for hit in result.hits)
    if search.hybrid is None:
        assert kinds == sorted(kinds, key=["triple", "entity", "text"].index)
    if search.hybrid is None and not shown:
        assert kinds.count("triple") == min(limit, len(of_facts))
    assert len({fact.id for fact in result.graph.facts}) == len(result.graph.facts)
    assert len(result.paths) == len(result.hits)
    assert result == build_evidence(graph.view, search, models(), method="bubble", chunks=limit)


def test_documents_of_triples_are_sources_as_texts_are(graph):
    """Whatever made a chunk's triples, the chunk is where they stand."""
    with comet.indexed(source="imported") as snapshot:
        assert found(comet.look(snapshot)) == found(graph)


# -- threads --------------------------------------------------------------------------------------


def thread(evidence, document_id):
    [path] = [p for p in evidence.paths if p.steps[-1].document_id == document_id]
    assert path.steps[0].layer == "query"
    return [(step.layer, step.id, step.reason) for step in path.steps[1:-1]], path.steps[-1].reason


def test_a_thread_goes_from_an_anchor_by_triples_to_the_chunk(graph):
    """Each triple says from which entity it goes on, and why."""
    result = found(graph)
    assert thread(result, "eriksen") == (
        [
            ("triple", BUILT, "like “builder” (0.80)"),
            ("triple", BORN, "continues from Ola Eriksen: the LLM chose it among 2"),
        ],
        "holds it",
    )
    assert thread(result, "comet")[0][0] == ("triple", BUILT, "like “builder” (0.80)")
    assert thread(result, "verle") == (
        [
            ("entity", "verle", "like “land” (0.40)"),
            ("triple", CAPITAL, "continues from Verle: because"),
        ],
        "holds it",
    )
    result = found(graph)
    assert thread(result, "gulls") == (
        [("triple", BUILT, "like “builder” (0.80)"), ("entity", "ola eriksen", "an end of it")],
        "is about it",
    )


def test_a_thread_begins_at_the_nearest_anchor_and_of_two_at_the_heavier(graph):
    """However the nodes are numbered, and in whichever order a search comes to them."""
    chain = ranked(graph, BUILT, SANK, LIGHT, "comet", "cape lund", covers=(True, True))
    for heavy, light in (("ola eriksen", "comet"), ("comet", "ola eriksen")):
        anchors = (group(graph, "b", 0.1, **{light: (0.5, "b")}),)
        anchors += (group(graph, "a", 0.9, **{heavy: (0.5, "a")}),)
        result = found(graph, groups=anchors, ranked=(chain,), chosen=(0,), grown=())
        assert thread(result, "comet")[0][0][1] == heavy
    far = group(graph, "far", 0.1, **{"ola eriksen": (0.5, "far")})
    near = group(graph, "near", 0.9, lighthouse=(0.5, "near"))
    result = found(graph, groups=(far, near), ranked=(chain,), chosen=(0,), grown=())
    assert [name for _, name, _ in thread(result, "lund")[0]] == ["lighthouse", LIGHT]
