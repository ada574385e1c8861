"""KET-RAG on a small index: both channels, hard budgets, the variants, and what the threads say."""

from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import methods, steps
from clew.algo.links import neighbours
from clew.algo.topk import top_k
from clew.answers.context import build_context
from clew.base.types import Described, Document, Extraction, Triple
from clew.index.adding import add_documents
from clew.index.choose import Wanted
from clew.index.extract import run_extractions
from clew.index.generation import open_snapshot
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.recipe import Settings
from clew.index.store.embedded import EmbeddedStore
from clew.methods.ket import VARIANTS, Ket, text_walk
from clew.models import Reply
from clew.models.cooccurrence import Cooccurrence
from clew.steps.skeleton import read_skeleton
from clew.steps.subchunks import Texts
from clew.testing import ScriptedLLM, models
from clew.text import blocks, tokens
from clew.text.chunking import Chunking
from tests.index.build import scratch

QUESTION = "Which company did Alice found, and where does it build robots?"

ROBOTS = {
    "acme": "Alice Aubert founded Acme Robotics in Paris. It grew quickly in its first years.",
    "lyon": "Acme Robotics builds welding robots at a factory in Lyon. It has forty halls.",
    "bob": "Bob Brisset is the chief engineer of Acme Robotics. He opened the factory in Lyon.",
    "city": "Lyon is a large French city on the Rhône. It is far from Paris, and older than most.",
    "sea": "Penguins swim quickly in cold southern water. Their feathers keep them warm.",
    "sled": "Dogs pulled the sled over the ice for nine days. Carl Carlsen walked beside it.",
}


def robots():
    return [Document(id=name, text=text, source=name) for name, text in ROBOTS.items()]


@contextmanager
def stored(documents, **chunking):
    """Give the store of a new index, and what opens the snapshots that are closed with it."""
    recipe = Settings(chunking=Chunking(**{"overlap": 0} | chunking)).build_recipe(models())
    with (
        scratch() as folder,
        EmbeddedStore.create(folder / "index", recipe) as store,
        ExitStack() as opened,
    ):
        add_documents(store, documents, models())
        yield store, lambda: opened.enter_context(closing(open_snapshot(store)))


def pair_names(store):
    rules = Cooccurrence(models().tagger)
    run_extractions(store, models(), Wanted(triples="cooccurrence"), rules=rules)


@contextmanager
def searched(documents, *, triples=True, **chunking):
    """Give the snapshot of a new index, with triples by co-occurrence unless told otherwise."""
    with stored(documents, **chunking) as (store, look):
        if triples:
            pair_names(store)
        yield look()


@contextmanager
def extracted(documents, extraction_of):
    """Give the snapshot of a new index of what an LLM made of each stored chunk."""
    with stored(documents) as (store, look):
        numbers = look().layer("chunk").columns["number"].tolist()
        made = [ChunkExtraction(n, "llm", extraction_of(row)) for row, n in enumerate(numbers)]
        store.commit(build_graph_batch(made, models(), store.unnamed), ())
        yield look()


def in_lyon(description, strength=1):
    """Return the triple that Acme Robotics builds in Lyon."""
    ends = {"subject": "Acme Robotics", "relation": "builds in", "object": "Lyon"}
    return Triple(**ends, description=description, strength=strength)


@pytest.fixture(scope="module")
def index():
    with searched(robots()) as snapshot:
        yield snapshot


@pytest.fixture(scope="module")
def halved():
    with searched(robots(), size=24, subchunk_depth=1) as snapshot:
        yield snapshot


def ask(snapshot, method=None, question=QUESTION, **given):
    return (method or Ket()).retrieve(question, snapshot, models(**given))


def places(found):
    return [(hit.chunk_id, hit.start, hit.end) for hit in found.hits]


# -- the context ----------------------------------------------------------------------------------


def test_both_channels_are_printed(index):
    """Relations and texts of the graph, and texts of keywords, each marked as such.

    Nothing is said of the entities, so they have no table; they are seeds all the same.
    """
    found = ask(index, Ket(tokens=400))
    assert [table.name for table in found.tables] == ["Relations"]
    assert {hit.channel for hit in found.hits} == {"graph", "keyword"}
    assert "acme robotics" in {seed.id for seed in found.seeds if seed.layer == "entity"}
    ends = {end for row in found.tables[0].rows for end in row[1:3]}
    assert {"Acme Robotics", "Lyon"} <= ends


def test_hits_come_nearest_first(index):
    """The context's order is that of the cosines, whichever channel found a text."""
    found = ask(index, Ket(tokens=600, order="cosine", as_set=False))
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    cosines = index.layer("chunk").vectors @ models().embedder.embed([QUESTION], kind="query")[0]
    rows = index.layer("chunk").rows([hit.chunk_id for hit in found.hits])
    assert scores == pytest.approx(cosines[rows].tolist(), abs=1e-5)


def test_hits_come_by_influence(index):
    """By default a text's score is what a walk from the question brings to it."""
    found = ask(index, Ket(tokens=600, as_set=False))
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    query = steps.read_query(models(), QUESTION)
    influence = text_walk.spread_weight(index, query).texts
    rows = index.layer("chunk").rows([hit.chunk_id for hit in found.hits])
    assert np.exp(scores) == pytest.approx(influence[rows])


def test_texts_chosen_as_a_set_are_the_same_texts(index):
    """Where all of them fit only the order differs, and each score is 1 / the place."""
    plain, chosen = (ask(index, Ket(tokens=900, as_set=chosen)) for chosen in (False, True))
    assert {hit.chunk_id for hit in plain.hits} == {hit.chunk_id for hit in chosen.hits}
    assert [hit.score for hit in chosen.hits] == [1 / (i + 1) for i in range(len(chosen.hits))]


def test_a_keyword_and_its_sub_chunk(index):
    """A thread of the keyword channel goes from the question by a word to a text that has it."""
    found = ask(index, methods.load("keyword_rag")(tokens=200))
    assert found.tables == ()
    assert found.paths
    for path in found.paths:
        _, term, text = path.steps
        assert (term.layer, text.layer) == ("term", "chunk")
        assert term.id in text.text.casefold()
        assert term.id in {seed.id for seed in found.seeds}


def test_an_entity_its_triple_and_a_text(index):
    """A thread of the graph channel goes by an entity, and a triple where the text has one."""
    found = ask(index, methods.load("skeleton_rag")(tokens=600))
    assert {hit.channel for hit in found.hits} == {"graph"}
    layers = {tuple(step.layer for step in path.steps) for path in found.paths}
    assert ("query", "entity", "triple", "chunk") in layers
    for path in found.paths:
        *_, way, text = path.steps
        if way.layer == "triple":
            subject, _, target = way.id.split("|")
            assert subject in text.text.casefold()
            assert target in text.text.casefold()


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.9])
@pytest.mark.parametrize("rest", ["keywords", "nearest", "neighbours"])
def test_no_triples_no_graph(robots_without_triples, rest, share):
    """Without triples the other channel has the whole budget, and a note says why."""
    found = ask(robots_without_triples, Ket(tokens=100, rest=rest, graph_share=share))
    alone = ask(robots_without_triples, Ket(tokens=100, rest=rest, graph_share=0.0))
    assert found.hits == alone.hits
    assert 1 < len(found.hits) < len(ROBOTS)
    assert found.tables == ()
    assert any("no triples" in note for note in found.notes)


@pytest.fixture(scope="module")
def robots_without_triples():
    with searched(robots(), triples=False) as snapshot:
        yield snapshot


def test_a_small_budget_cuts_a_text(index):
    """It gives the beginning of the best text, without its title, instead of nothing."""
    [hit] = ask(index, methods.load("text_rag")(tokens=12)).hits
    assert ROBOTS[hit.document_id].startswith(hit.text)
    assert 0 < len(hit.text) < len(ROBOTS[hit.document_id])
    assert hit.end == hit.start + len(hit.text)
    assert blocks.count_passage_tokens(hit.title, hit.text) <= 12
    title = "A report on all the ships that left the port of Larvik for the ice"
    with searched([Document(id="a", text="The Fram was strong.", title=title)]) as snapshot:
        for name in ("text_rag", "keyword_rag", "ket"):
            [hit] = ask(snapshot, methods.load(name)(tokens=14), "the Fram").hits
            assert hit.text.startswith("The Fram")
            assert hit.title == ""


# -- budgets, as properties -----------------------------------------------------------------------


@given(
    name=st.sampled_from(["ket", *VARIANTS]),
    n_tokens=st.integers(1, 900),
    share=st.none() | st.floats(0, 1),
    halves=st.booleans(),
    question=st.sampled_from([QUESTION, "Who opened the factory?", "sled dogs", "?"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_budget_is_exceeded(index, halved, name, n_tokens, share, halves, question):
    """Whatever the budget: the context has all that was found, once, and no token more."""
    given_share = {} if share is None else {"graph_share": share}
    method = methods.load(name)(tokens=n_tokens, **given_share)
    found = ask(halved if halves else index, method, question)
    context = build_context(found, budget_tokens=n_tokens)
    assert tokens.count(context.text) == context.n_tokens <= n_tokens
    assert len(context.passages) == len(found.hits)
    assert [passage.text for passage in context.passages] == [hit.text for hit in found.hits]
    assert context.tables == found.tables
    assert len(set(places(found))) == len(found.hits)
    for hit in found.hits:
        assert ROBOTS[hit.document_id][hit.start : hit.end] == hit.text


@given(n_tokens=st.integers(20, 900), share=st.floats(0.01, 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_and_texts_take_half_of_the_graphs_tokens_each(index, n_tokens, share):
    """Neither is above half of θλ, heads and rules counted."""
    found = ask(index, Ket(tokens=n_tokens, graph_share=share))
    tables = sum(tokens.count(blocks.format_table(t.name, t.columns, t.rows)) for t in found.tables)
    texts = [hit for hit in found.hits if hit.channel == "graph"]
    half = share * n_tokens / 2 + 1e-6
    assert tables <= half
    assert sum(blocks.count_passage_tokens(hit.title, hit.text) for hit in texts) <= half


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_keywords_fill_what_the_graph_leaves(index, share):
    """Whatever the graph's share, the next candidate would not have fitted."""
    found = ask(index, Ket(tokens=100, graph_share=share))
    others = ask(index, methods.load("keyword_rag")(tokens=900)).hits
    missing = [hit for hit in others if hit.chunk_id not in {h.chunk_id for h in found.hits}]
    dearest = max(blocks.count_passage_tokens(hit.title, hit.text) for hit in missing)
    assert 100 - build_context(found, budget_tokens=100).n_tokens < dearest


# -- settings -------------------------------------------------------------------------------------


def test_sub_chunks_are_what_is_printed(halved):
    """With a halving, hits are parts of chunks, and threads end at parts."""
    found = ask(halved, Ket(tokens=300))
    assert any(hit.chunk_id != f"{hit.document_id}:{hit.start}-{hit.end}" for hit in found.hits)
    assert {path.steps[-1].layer for path in found.paths} <= {"chunk", "subchunk"}
    assert "subchunk" in {path.steps[-1].layer for path in found.paths}


def test_a_small_core_has_fewer_entities(index):
    """Only what the core's chunks have is in the graph; another seed is another core."""
    method = methods.load("ket_rag_u")
    entities = {
        (share, seed): {
            row[1]
            for row in ask(index, method(core_share=share, seed=seed, tokens=4_000)).tables[0].rows
        }
        for share in (0.5, 1.0)
        for seed in range(4)
    }
    assert all(entities[0.5, seed] < entities[1.0, seed] for seed in range(4))
    assert len({frozenset(entities[0.5, seed]) for seed in range(4)}) > 1


def test_neighbours_follow_their_seed(index):
    """KNNG-RAG: the nearest text, its neighbours by their nearness to it, the next nearest."""
    layer = index.layer("chunk")
    scores = layer.vectors @ models().embedder.embed([QUESTION], kind="query")[0]
    graph = steps.chunk_graph(index, 2)
    order = []
    for row in np.argsort(-scores, kind="stable"):
        near = neighbours(graph, row)
        near = near[np.argsort(-(layer.vectors[near] @ layer.vectors[row]), kind="stable")]
        order += [int(each) for each in (row, *near)]
    order = layer.ids(list(dict.fromkeys(order)))
    for n_tokens in (40, 70, 100, 130):
        found = {hit.chunk_id for hit in ask(index, methods.load("knng_rag")(tokens=n_tokens)).hits}
        assert found == set(order[: len(found)])
    assert any(len(path.steps) == 3 for path in ask(index, methods.load("knng_rag")()).paths)


def test_keywords_are_ranked_and_bounded(index):
    """The pool is what the nearest keywords' postings hold, nearest first, and no more tokens."""
    layer, query = index.layer("term"), models().embedder.embed([QUESTION], kind="query")[0]
    link, vectors = index.link("sentence", "term").toarray(), index.layer("sentence").vectors
    means = link.T @ vectors
    cosines = means @ query / np.linalg.norm(means, axis=1)
    chunks, n_tokens = index.layer("chunk"), index.layer("chunk").columns["n_tokens"]
    near = chunks.vectors @ query
    for budget in (30, 45, 60):
        pool, used = [], 0
        for term in np.argsort(-np.round(cosines, 6), kind="stable"):
            rows = neighbours(index.link("term", "subchunk"), term)
            for row in rows[np.argsort(-np.round(near[rows], 6), kind="stable")]:
                if row not in pool and used <= 2 * budget:
                    used += int(n_tokens[row])
                    pool += [row] if used <= 2 * budget or not pool else []
        found = ask(index, methods.load("keyword_rag")(tokens=budget))
        best = sorted(pool, key=lambda row: (-round(float(near[row]), 6), row))
        assert [h.chunk_id for h in found.hits] == chunks.ids(best[: len(found.hits)])
        for path in found.paths:
            [term] = layer.rows([path.steps[1].id])
            assert path.steps[1].score == pytest.approx(cosines[term], abs=1e-5)


# -- the walk over texts and words -----------------------------------------------------------------


def spread_of(index, question):
    return text_walk.spread_weight(index, steps.read_query(models(), question))


def test_the_walk_is_personalised_pagerank(index):
    """Networkx gives the same weights from the same seeds."""
    networkx = pytest.importorskip("networkx")
    found = spread_of(index, "Who went over the ice?")
    link, rarity = index.link("subchunk", "term"), text_walk.read_text_graph(index).rarity
    n, m = link.shape
    graph = networkx.Graph()
    graph.add_nodes_from(range(n + m))
    graph.add_weighted_edges_from(
        (int(a), n + int(b), float(rarity[b])) for a, b in zip(*link.nonzero(), strict=True)
    )
    query = steps.read_query(models(), "Who went over the ice?")
    restart, _ = text_walk.build_restart(index, query)
    own = networkx.pagerank(
        graph, alpha=text_walk.DAMPING, personalization=dict(enumerate(restart)), tol=1e-10
    )
    both = np.concatenate([found.texts, found.terms])
    assert both == pytest.approx([own[i] for i in range(n + m)], abs=1e-6)


def test_sentences_of_the_nearest_chunks(index, monkeypatch):
    """Where there are many, the nearest ones are found in chunks near the question."""
    query = steps.read_query(models(), QUESTION)
    restart, reasons = text_walk.build_restart(index, query)
    monkeypatch.setattr(text_walk, "MANY_UNITS", 0)
    few, same = text_walk.build_restart(index, query)
    assert few == pytest.approx(restart)
    assert same == reasons
    monkeypatch.setattr(text_walk, "CANDIDATES", 1)
    few, _ = text_walk.build_restart(index, query)
    assert 0 < np.count_nonzero(few) < np.count_nonzero(restart)


def test_a_word_of_the_question_leads_to_its_text(index):
    """The only text with "ice" has most influence, and its thread says why."""
    found = spread_of(index, "ice")
    documents = index.layer("document").ids(range(len(ROBOTS)))
    assert documents[int(np.argmax(found.texts))] == "sled"
    told = ask(index, Ket(graph_share=0, tokens=600), "Who went over the ice?")
    reasons = {path.steps[1].id: path.steps[1].reason for path in told.paths}
    assert reasons["ice"] == "a word of the question"
    assert {seed.id: seed.reason for seed in told.seeds}["ice"] == "a word of the question"


def test_the_pool_ends_where_a_text_does_not_fit(index):
    """By influence, as many tokens as are asked for; the first text whatever its size."""
    query = steps.read_query(models(), QUESTION)
    texts = Texts(index, steps.dense_scores(index, "subchunk", query))
    found = text_walk.spread_weight(index, query)
    best = top_k(found.texts, len(found.texts)).tolist()
    for pool in (1, 30, 60, 10_000):
        rows = list(text_walk.find_by_walk(index, found, texts, pool).rows)
        assert rows == best[: len(rows)]
        assert len(rows) == 1 or sum(int(texts.n_tokens[row]) for row in rows) <= pool


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_variant_is_a_setting(index, name):
    """Each variant finds what `ket` finds with the same settings, and has none of ours."""
    kind = methods.load(name)
    order = "channels" if name.endswith(("_paper", "_released")) else "cosine"
    assert (kind().rest == "walk", kind().order, kind().as_set) == (False, order, False)
    same = Ket(**asdict(kind()))
    found, other = ask(index, kind()), ask(index, same)
    assert (found.hits, found.tables, found.paths) == (other.hits, other.tables, other.paths)
    assert found.method == name


# -- what an LLM says of the entities -------------------------------------------------------------

LONG = " ".join(f"It built machine number {n} for a harbour." for n in range(60))


def describe_acme(row):
    """Return an extraction that describes Acme at length, and differently in each chunk."""
    acme = Described(name="Acme Robotics", description=f"{LONG} Source {row}.")
    lyon = Described(name="Lyon", description="A city on the Rhône.")
    said = in_lyon("Acme has its factory in Lyon.", strength=7)
    return Extraction(entities=(acme, lyon), triples=(said,))


@pytest.fixture
def acme():
    with extracted(robots()[:2], describe_acme) as snapshot:
        yield snapshot


def cells(found, table, column):
    """Return one column of a table by the name in the second."""
    [wanted] = [each for each in found.tables if each.name == table]
    return {row[1]: row[wanted.columns.index(column)] for row in wanted.rows}


SKELETON = methods.load("skeleton_rag")(tokens=4_000)


def test_descriptions_of_an_llm(acme):
    """Entities and relations have what the LLM said, equal descriptions once; strengths add."""
    found = ask(acme, SKELETON)
    assert cells(found, "Entities", "description")["Lyon"] == "A city on the Rhône."
    assert cells(found, "Relations", "description") == {
        "Acme Robotics": "Acme has its factory in Lyon."
    }
    assert cells(found, "Relations", "weight") == {"Acme Robotics": "14"}
    assert found.notes == ()


def test_long_descriptions_are_cut(acme):
    """To 500 tokens of the longest, and to a quarter of the tables' tokens, whatever the budget."""
    said = cells(ask(acme, SKELETON), "Entities", "description")["Acme Robotics"]
    assert 0 < tokens.count(said) <= 500
    assert said.startswith("It built machine number 0")
    for n_tokens in (200, 400, 1_000, 2_000):
        found = ask(acme, methods.load("skeleton_rag")(tokens=n_tokens))
        assert cells(found, "Entities", "description")["Lyon"] == "A city on the Rhône."
        said = cells(found, "Entities", "description")["Acme Robotics"]
        assert 0 < tokens.count(said) <= n_tokens // 8


def test_long_descriptions_are_shortened_by_the_llm(acme):
    """With `summarise` the LLM writes one description of both; short ones cost no call."""
    llm = ScriptedLLM("Acme builds machines.")
    found = ask(acme, replace(SKELETON, summarise=True), llm=llm)
    assert cells(found, "Entities", "description")["Acme Robotics"] == "Acme builds machines."
    [prompt] = llm.prompts
    assert "Source" in prompt.user
    assert "Acme Robotics" in prompt.user
    assert ask(acme, SKELETON, llm=llm).tables != found.tables
    assert len(llm.prompts) == 1


def test_descriptions_that_nobody_shortens(acme):
    """The longest stand where the reply is of no use, or there is no LLM, and a note says why."""
    llm = ScriptedLLM(Reply(text="", error="out of order"))
    found = ask(acme, replace(SKELETON, summarise=True), llm=llm)
    assert found.tables == ask(acme, SKELETON).tables
    assert any("out of order" in note for note in found.notes)
    found = ask(acme, replace(SKELETON, summarise=True))
    assert found.tables == ask(acme, SKELETON).tables
    assert any("no LLM" in note for note in found.notes)


def test_what_finds_an_entity_or_a_text(acme, index):
    """An entity's vector is that of its descriptions."""
    found = ask(acme, SKELETON, question="a city on the Rhône")
    assert next(s for s in found.seeds if s.layer == "entity").text == "Lyon"


def test_a_thread_goes_by_the_triple_nearest_to_the_question(index):
    """Of the triples that a chunk has of a seed, the thread shows the one that is asked for."""
    layer = index.layer("triple")
    query = models().embedder.embed([QUESTION], kind="query")[0]
    threads = [
        path.steps for path in ask(index, SKELETON).paths if path.steps[-2].layer == "triple"
    ]
    assert threads
    for _, entity, triple, text in threads:
        [chunk] = index.layer("chunk").rows([text.id])
        here = neighbours(index.link("chunk", "triple"), chunk)
        ends = np.stack([layer.columns["subject"][here], layer.columns["object"][here]])
        own = here[(ends == index.layer("entity").rows([entity.id])[0]).any(axis=0)]
        assert triple.id in layer.ids(own)
        assert triple.score == pytest.approx(float((layer.vectors[own] @ query).max()))


# -- notes ----------------------------------------------------------------------------------------


def test_why_there_is_nothing(acme, index):
    """An index without triples, a core of nothing."""
    with searched(robots(), triples=False) as snapshot:
        assert [note[:10] for note in ask(snapshot).notes] == ["no triples"]
    assert ask(index, Ket(core_share=0.0)).notes == ("a core of no chunk, so no graph",)
    assert ask(acme).notes == ()
    found = ask(index, Ket(tokens=1))
    assert (found.hits, found.tables) == ((), ())
    assert any("no text fits" in note for note in found.notes)


@pytest.fixture
def four_of_six():
    """Six chunks, of which the first four in the order of adding have triples."""
    with stored(robots()[:4]) as (store, look):
        pair_names(store)
        add_documents(store, robots()[4:], models())
        yield look()


def test_the_graph_of_some_chunks_is_said_to_be(four_of_six):
    """Four of six chunks have triples, which a core of 0.8 would not choose: all four are used."""
    [first, second] = ask(four_of_six).notes
    assert first == "the graph is of the 4 of 6 chunks that have triples"
    assert "4 by co-occurrence" in second
    assert "without an LLM" in second
    assert ask(four_of_six).tables == ask(four_of_six, methods.load("ket_rag_u")()).tables


def test_the_core_is_the_best_of_what_was_extracted(four_of_six):
    """Where more chunks have triples than a core has, those of the highest rank are the core."""
    ranks = steps.chunk_ranks(four_of_six)
    extracted = np.flatnonzero(four_of_six.layer("chunk").columns["graph"])
    for share, size in ((0.2, 2), (0.5, 3), (0.6, 4)):
        view = read_skeleton(four_of_six, share, "pagerank", 0, 2)
        order = extracted[np.argsort(-np.round(ranks[extracted], 6), kind="stable")]
        assert set(view.entity_chunks.indices) <= set(order[:size].tolist())
        sampled = read_skeleton(four_of_six, share, "random", 3, 2)
        assert len(set(sampled.entity_chunks.indices)) <= size


def test_a_core_says_nothing_of_other_chunks():
    """A triple of a core chunk and of another one has only what the core chunk says of it."""
    with extracted(
        robots(), lambda row: Extraction(triples=(in_lyon(f"So says chunk {row}."),))
    ) as snapshot:
        for share in (0.3, 0.5, 1.0):
            relations = read_skeleton(snapshot, share, "pagerank", 0, 2).relations
            found = ask(snapshot, replace(SKELETON, core_share=share))
            said = cells(found, "Relations", "description")["Acme Robotics"]
            assert said == " ".join(f"So says chunk {row}." for row in relations.chunks.indices)


def test_triples_of_a_useless_reply_are_no_llms():
    """What stands in for an LLM's triples is said to be no LLM's."""
    with stored(robots()) as (store, look):
        llm = ScriptedLLM(*[Reply(text="", error="no reply") for _ in ROBOTS])
        run_extractions(store, models(llm=llm), Wanted(triples="llm"))
        assert any("the LLM's reply was unusable" in note for note in ask(look()).notes)
