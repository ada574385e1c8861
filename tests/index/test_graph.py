"""A knowledge graph becomes documents of its own, beside texts or alone."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import methods, steps, testing
from clew.algo import coding
from clew.answers.method import build_method
from clew.api import open_index
from clew.base.types import GRAPH, IMPORTED, SOURCES, UNITS, Document
from clew.errors import InputError, RecipeMismatch, UnreadableSource
from clew.index import adding, choose, graph
from clew.index import recipe as recipes
from clew.index.choose import Wanted
from clew.index.extract import run_extractions
from clew.index.generation import compact, open_snapshot
from clew.index.layers.subjects import line_windows
from clew.index.store import schema, segments
from clew.index.store.embedded import EmbeddedStore
from clew.steps.entity_types import find_types
from clew.text import tokens
from clew.text.chunking import Chunking
from tests import snapshots
from tests.index.build import MODELS, add, contents, create, scratch
from tests.index.graphs import SHIPS, read_statements, take, write
from tests.index.reads import ReadsChat

pytestmark = pytest.mark.satellite


@pytest.fixture
def folder():
    with scratch() as folder:
        yield folder


@pytest.fixture
def store(folder):
    with create(folder / "index") as store:
        yield store


def held(store):
    """Return the documents' texts by id, and the triples in words."""
    found = contents(store)  # checks every reference
    return {d.id: d.text for d in found["documents"]}, found["triple"]["texts"]


def columns(store, layer):
    with closing(open_snapshot(store)) as snapshot:
        found = snapshot.layer(layer).columns
        return {name: np.array(column) for name, column in found.items()}


# -- documents ------------------------------------------------------------------------------------


def test_a_subject_is_a_document(store, folder):
    """Each subject has one, with a line for each of its triples; equal triples count once."""
    path = write(folder / "ships.jsonl", *SHIPS, ["fram", "built  by", "COLIN ARCHER"])
    done = take(store, path)
    texts, triples = held(store)
    assert texts == {
        "ships.jsonl#colin archer": "Colin Archer born in Larvik.",
        "ships.jsonl#fram": "Fram built by Colin Archer.\nFram sailed by Fridtjof Nansen.",
        "ships.jsonl#larvik": "Larvik lies in Norway.",
    }
    assert triples == [
        "Colin Archer born in Larvik",
        "Fram built by Colin Archer",
        "Fram sailed by Fridtjof Nansen",
        "Larvik lies in Norway",
    ]
    assert (done.n_triples, done.n_added, done.skipped) == (4, 3, [])
    [document] = contents(store)["documents"][1:2]
    assert (document.title, document.source) == ("Fram", f"{path}#fram")
    assert document.metadata == {}


def test_what_a_file_says_of_a_triple_is_kept(store, folder):
    """A description stands behind its triple; the strength is the triple's."""
    path = write(
        folder / "ships.jsonl",
        {"subject": "Fram", "relation": "left", "object": "Vardø Inc.", "strength": 7,
         "description": "She left Vardø in 1893."},
    )  # fmt: skip
    take(store, path)
    texts, _ = held(store)
    assert texts["ships.jsonl#fram"] == "Fram left Vardø Inc. She left Vardø in 1893."
    assert columns(store, "triple")["strength"].tolist() == [7.0]
    snapshot = open_snapshot(store)
    assert snapshot.layer("triple").descriptions(0) == ["She left Vardø in 1893."]
    snapshot.close()


def test_described_entities(store, folder):
    """What is said of a subject is the first line; one without triples has a document as well."""
    path = write(
        folder / "ships.jsonl",
        {"entity": "Fram", "type": "ship", "description": "A polar ship."},
        {"entity": "Oslo", "description": "A capital."},
        {"entity": "Vardø", "type": "place"},
        {"entity": "FRAM", "description": "Of oak."},
        {"entity": "Hut"},
        *SHIPS[:1],
    )
    assert take(store, path).n_added == 4
    texts, _ = held(store)
    assert texts == {
        "ships.jsonl#fram": "Fram: A polar ship. Of oak.\nFram built by Colin Archer.",
        "ships.jsonl#hut": "Hut",
        "ships.jsonl#oslo": "Oslo: A capital.",
        "ships.jsonl#vardo": "Vardø: place",
    }
    snapshot = open_snapshot(store)
    assert snapshot.layer("profile").texts([0, 1]) == ["A polar ship. Of oak.", "A capital."]
    layer = snapshot.layer("entity")
    types = find_types(snapshot, layer.rows(["fram", "vardø"]))
    assert types == ["product", "place"]
    snapshot.close()


def test_entities_may_be_asked_for(store, folder):
    """All of them are linkable, and have the names that the file gives them."""
    path = write(folder / "ships.jsonl", *SHIPS, ["Mercury (planet)", "orbits", "the Sun"])
    take(store, path)
    snapshot = open_snapshot(store)
    layer = snapshot.layer("entity")
    assert layer.columns["linkable"].all()
    rows = layer.rows(["mercury planet", "the sun", "fram"])
    assert layer.texts(rows) == ["Mercury (planet)", "the Sun", "Fram"]
    assert snapshot.layer("document").rows(["ships.jsonl#mercury planet"]) != [-1]
    snapshot.close()


def test_names_without_a_letter(store, folder):
    """Names and relations of marks alone are told apart by these."""
    path = write(folder / "marks.jsonl", ["$", "=", "!!!"], ["$", "<", "!!!"], ["$", "=", "$ $"])
    assert take(store, path).n_triples == 3
    found = contents(store)
    assert found["entity"]["ids"] == ["$", "!!!", "$ $"]
    assert found["triple"]["ids"] == ["$|=|!!!", "$|<|!!!", "$|=|$ $"]


def test_a_name_without_a_letter_may_be_asked_for(store, folder):
    """Where a model finds it in a question, it is linked as any other name."""
    take(store, write(folder / "marks.jsonl", ["!!!", "sang", "Hello"], ["!!", "is", "a mark"]))
    snapshot = open_snapshot(store)
    [row] = snapshot.layer("entity").rows(["!!!"])
    assert [linked.row for linked in steps.same_names(snapshot, ["!!!"])] == [row]
    snapshot.close()


def test_a_key_with_the_mark_that_joins_keys(store, folder):
    """A triple is found by its id also where a name has a bar in it."""
    take(store, write(folder / "bars.jsonl", ["|", "|", "||"], ["|", "x", "y"]))
    found = contents(store)["triple"]["ids"]
    assert found == ["||||||", "||x|y"]
    snapshot = open_snapshot(store)
    assert snapshot.layer("triple").rows([*found, "no|such|triple", "|x|y", ""]) == [
        0,
        1,
        *[-1] * 3,
    ]
    snapshot.close()


def test_what_says_nothing_is_reported(store, folder):
    """A triple of one thing alone is no triple; the rest goes on."""
    done = take(
        store, write(folder / "a.jsonl", ["Fram", "is", "the fram"], ["Fram", "is", "FRAM"], *SHIPS)
    )
    assert done.n_triples == 5
    [skipped] = done.skipped
    assert (skipped.line, skipped.reason) == (2, "relates 'Fram' to itself, which is left out")


def test_nothing_to_import(store, folder):
    """A file of which no line can be used changes nothing, and says why."""
    take(store, write(folder / "a.jsonl", *SHIPS))
    before = contents(store)
    with pytest.raises(UnreadableSource, match="contains no usable triples: .*a.jsonl, line 1: "):
        read_statements(write(folder / "a.jsonl", ["Fram", "is", "Fram"]))
    with pytest.raises(InputError, match="no file"):
        read_statements(folder / "none.jsonl")
    assert contents(store) == before


# -- chunks ---------------------------------------------------------------------------------------


def test_chunks_are_whole_lines(folder):
    """A long subject has several chunks, each with the triples of its lines."""
    recipe = recipes.Settings(chunking=Chunking(size=24, overlap=0)).build_recipe(MODELS)
    lines = [["Fram", "visited", f"Harbour {i}"] for i in range(12)]
    lines.append(["Fram", "carried " + "ever more " * 12, "dogs"])
    with EmbeddedStore.create(folder / "index", recipe) as store:
        take(store, write(folder / "ships.jsonl", *lines))
        snapshot = open_snapshot(store)
        chunks, link = snapshot.layer("chunk"), snapshot.link("chunk", "triple")
        texts = chunks.texts(range(len(chunks)))
        assert "\n".join(texts) == snapshot.documents([0])[0].text
        assert len(texts) > 3
        sizes = chunks.columns["n_tokens"]
        assert sizes[:-1].max() <= 24 < sizes[-1]
        for row, text in enumerate(texts):
            triples = snapshot.layer("triple").texts(link[[row]].indices)
            assert text == "\n".join(f"{words}." for words in triples)
        assert (chunks.columns[GRAPH] == IMPORTED).all()
        assert not len(snapshot.layer("sentence"))
        snapshots.check_consistent(snapshot)
        snapshot.close()


def test_a_chunk_is_the_mean_of_its_triples(store, folder):
    """No model reads it; one of a description alone has the vector of its own text."""
    take(store, write(folder / "ships.jsonl", *SHIPS, {"entity": "Oslo", "description": "A town."}))
    snapshot = open_snapshot(store)
    chunks, triples = snapshot.layer("chunk"), snapshot.layer("triple").vectors
    link = snapshot.link("chunk", "triple")
    for row in range(3):
        total = triples[link[[row]].indices].sum(axis=0)
        expected = total / np.linalg.norm(total)
        np.testing.assert_allclose(chunks.vectors[row], expected, atol=8e-3)
    [alone] = MODELS.embedder.embed(["Oslo: A town."], kind="document")
    np.testing.assert_allclose(chunks.vectors[3], alone, atol=4e-3)
    assert [chunks.tokens(row).shape for row in range(4)] == [(0, 64)] * 4
    snapshot.close()


def test_chunks_are_not_halved(folder):
    """Where other chunks are halved, one of a graph is its own only part."""
    recipe = recipes.Settings(chunking=Chunking(size=64, subchunk_depth=1)).build_recipe(MODELS)
    with EmbeddedStore.create(folder / "index", recipe) as store:
        add(store, [Document(id="oslo", text="Oslo lies on a fjord. " * 12)])
        take(store, write(folder / "ships.jsonl", *SHIPS))
        found = contents(store)
        parts = [i for i in found["subchunk"]["ids"] if i.startswith("ships.jsonl")]
        assert parts == [i for i in found["chunk"]["ids"] if i.startswith("ships.jsonl")]
        assert len(found["subchunk"]["ids"]) > len(found["chunk"]["ids"])


@given(
    lines=st.lists(st.text("ab .!?\u0437\u5c71\U0001f600-'", min_size=1).map(" ".join), min_size=1),
    size=st.integers(1, 12),
)
def test_windows_of_lines(lines, size):
    """Windows have all lines in order, and none but those of one line are too long."""
    lines = [f"x{line.strip()}" for line in lines]
    text = "\n".join(lines)
    windows, of_line = line_windows(lines, size)
    assert "\n".join(text[w.start : w.end] for w in windows) == text
    assert of_line == sorted(of_line)
    for place, window in enumerate(windows):
        inside = text[window.start : window.end]
        assert inside.split("\n") == [a for a, b in zip(lines, of_line, strict=True) if b == place]
        assert window.n_tokens == tokens.count(inside)
        assert window.n_tokens <= size or of_line.count(place) == 1


# -- a file is mirrored ---------------------------------------------------------------------------


def test_the_same_file_again_costs_nothing(store, folder):
    """What did not change is left as it is; nothing is committed."""
    path = write(folder / "ships.jsonl", *SHIPS)
    take(store, path)
    generation = store.generation
    done = take(store, path)
    assert (done.n_added, done.n_changed, done.n_removed, done.n_unchanged) == (0, 0, 0, 3)
    assert store.generation == generation


CHANGED = (
    ["Fram", "built by", "Colin Archer"],
    {"subject": "Colin Archer", "relation": "born in", "object": "Larvik", "strength": 5},
    ["Belgica", "built in", "Svelvik"],
)


def test_a_file_is_mirrored(store, folder):
    """Subjects are added, replaced and removed, those of this file alone."""
    others = write(folder / "others.jsonl", ["Larvik", "has", "a spring"])
    take(store, others)
    add(store, [Document(id="ships.jsonl#note", text="A note on ships.")])
    take(store, write(folder / "ships.jsonl", *SHIPS))
    done = take(store, write(folder / "ships.jsonl", *CHANGED))
    assert (done.n_added, done.n_changed, done.n_removed, done.n_unchanged) == (1, 2, 1, 0)
    texts, _ = held(store)
    assert list(texts) == [
        "others.jsonl#larvik",
        "ships.jsonl#belgica",
        "ships.jsonl#colin archer",
        "ships.jsonl#fram",
        "ships.jsonl#note",
    ]


def test_two_files_whose_names_have_the_mark_of_ids(store, folder):
    """What one has no more is not what the other has, though its ids begin like those."""
    take(store, write(folder / "a.jsonl#b.jsonl", *SHIPS[:1]))
    take(store, write(folder / "a.jsonl", *SHIPS[2:3], ["#", "is", "##"]))
    done = take(store, write(folder / "a.jsonl", *SHIPS[2:3]))
    assert done.n_removed == 1
    assert list(held(store)[0]) == ["a.jsonl#b.jsonl#fram", "a.jsonl#colin archer"]


def test_an_update_equals_a_fresh_build(folder):
    """Whatever came before, the rows are those of the file as it is now."""
    with create(folder / "updated") as updated, create(folder / "fresh") as fresh:
        for lines in (SHIPS, CHANGED, SHIPS[::-1], CHANGED):
            take(updated, write(folder / "ships.jsonl", *lines))
        take(fresh, folder / "ships.jsonl")
        assert contents(updated) == contents(fresh)
        compact(updated)
        assert contents(updated) == contents(fresh)


def test_what_comes_back_is_restored(store, folder):
    """A subject that was removed and comes back as it was needs no model."""
    path = write(folder / "ships.jsonl", *SHIPS)
    take(store, path)
    before = contents(store)
    store.remove(["ships.jsonl#fram", "ships.jsonl#larvik"])
    assert take(store, path, replace(MODELS, embedder=Silent())).n_added == 2
    assert contents(store) == before


class Silent:
    """An embedder that is asked for nothing."""

    name, dimension = MODELS.embedder.name, MODELS.embedder.dimension

    def embed(self, texts, *, kind):
        raise AssertionError(f"{len(texts)} texts of kind {kind} were to be embedded")


def test_batches_leave_no_trace(store, folder, monkeypatch):
    """The rows are the same however many commits they came in."""
    path = write(folder / "ships.jsonl", *SHIPS)
    take(store, path)
    monkeypatch.setattr(graph, "BATCH_TRIPLES", 1)
    with create(folder / "other") as other:
        told = []
        graph.import_graph(other, read_statements(path), MODELS, on_progress=told.append)
        assert sum(told) == other.generation == 3
        assert contents(other) == contents(store)


def test_vectors_are_in_their_order(store, folder, monkeypatch):
    """After several commits the rows are stored in their order, so that none is looked for."""
    monkeypatch.setattr(graph, "BATCH_TRIPLES", 1)
    take(store, write(folder / "ships.jsonl", *SHIPS[::-1]))
    snapshot = open_snapshot(store)
    for name in ("triple", "entity", "chunk"):
        column = "name" if name == "entity" else name
        [stored] = [
            arrays[f"{column}.vectors"]
            for arrays in map(segments.open_segment, (store.folder / "segments").iterdir())
        ]
        vectors = snapshot.layer(name).vectors
        bits = schema.vector_bits(f"{column}.vectors", snapshot.recipe)
        assert (vectors[:] == coding.decode(stored, vectors.shape[1], bits)).all()
    snapshot.close()


def test_what_takes_no_graph(store, folder):
    """An index that another embedder made; a text that has the id of a subject stays."""
    read = read_statements(write(folder / "ships.jsonl", *SHIPS))
    with pytest.raises(RecipeMismatch):
        graph.import_graph(store, read, testing.models(testing.HashEmbedder(8)))
    add(store, [Document(id="a.jsonl#larvik", text="A note on Larvik.")])
    before = contents(store)
    path = write(folder / "a.jsonl", *SHIPS)
    with pytest.raises(InputError, match="'a.jsonl#larvik' is already the id of a text: rename"):
        take(store, path)
    assert contents(store) == before


# -- beside texts ---------------------------------------------------------------------------------

NOTES = [
    Document(id="fram", title="Fram", text="Colin Archer built the Fram. She left Vardø in 1893."),
    Document(id="oslo", text="Oslo is the capital of Norway. The Fram lies in Oslo."),
]
OF_TEXTS = (
    {"subject": "Fram", "relation": "lies in", "object": "Oslo", "document": "oslo"},
    {"subject": "Oslo", "relation": "lies in", "object": "Norway", "document": "oslo"},
    {"subject": "Quest", "relation": "sank in", "object": "1962", "document": "quest"},
    {"subject": "$", "relation": "is", "object": "Money", "document": "oslo"},
    {"entity": "Oslo", "type": "place", "description": "A capital.", "document": "oslo"},
)


def test_triples_of_texts_go_there(store, folder):
    """One that names a document of the index is of its chunk, as a recorded one would be."""
    add(store, NOTES)
    done = take(store, write(folder / "a.jsonl", *OF_TEXTS, *SHIPS))
    assert (done.n_placed, done.n_unplaced, done.n_triples) == (2, 1, 6)
    texts, triples = held(store)
    assert list(texts) == [
        "a.jsonl#$", "a.jsonl#colin archer", "a.jsonl#fram", "a.jsonl#larvik", "a.jsonl#quest",
        "fram", "oslo",
    ]  # fmt: skip
    assert len(triples) == 8
    snapshot = open_snapshot(store)
    chunk = snapshot.layer("chunk").rows([f"oslo:0-{len(NOTES[1].text)}"])
    assert snapshot.layer("triple").texts(snapshot.link("chunk", "triple")[chunk].indices) == [
        "Fram lies in Oslo",
        "Oslo lies in Norway",
    ]
    made_by = snapshot.layer("chunk").columns[GRAPH][chunk]
    assert [SOURCES[by] for by in made_by] == ["recorded"]
    assert snapshot.layer("profile").texts([0]) == ["A capital."]
    snapshot.close()


def test_an_imported_document_is_no_text(store, folder):
    """A triple that names one is imported like any other, so that nothing is lost."""
    take(store, write(folder / "a.jsonl", *SHIPS))
    of_it = {"subject": "Fram", "relation": "is", "object": "a ship", "document": "a.jsonl#fram"}
    done = take(store, write(folder / "b.jsonl", of_it))
    assert (done.n_placed, done.n_unplaced) == (0, 1)
    assert len(held(store)[1]) == 5


def test_no_model_reads_an_imported_chunk(store, folder):
    """Neither an LLM nor rules extract from it, and it does not wait for them."""
    take(store, write(folder / "a.jsonl", *SHIPS))
    add(store, NOTES)
    given = testing.models(llm=ReadsChat())
    with open_index(folder / "index", models=given) as opened:
        store.close()
        chunks = [i for i in opened.show()["documents"] if "#" in i]
        done = opened.add(NOTES, units=0.6, triples="llm", core=0.5)
        assert done.extracted.llm == {UNITS: 1, GRAPH: 1}
        assert opened.show()["extraction"][UNITS] == {
            "none": 1,
            "llm": 1,
            "imported": 3,
            "waiting": 0,
        }
        [imported] = opened.show(chunks[0])["chunks"]
        assert opened.extract_triples([imported]).n_chunks == 0
        assert opened.show(imported)["units_made_by"] == "imported"
        assert opened.show(imported)["triples_made_by"] == "imported"
        done = opened.add(NOTES, units=1.0, triples="cooccurrence")
        assert done.extracted.rules + done.extracted.llm[UNITS] == 2
        assert opened.show()["extraction"][GRAPH]["imported"] == 3


def test_a_graph_beside_texts_changes_nothing_among_these(store, folder):
    """Near chunks are those of texts, and so are their ranks; others have no neighbours."""
    texts = testing.small_documents()
    with create(folder / "alone") as alone:
        add(alone, texts)
        adding.finish_index(alone)
        expected = open_snapshot(alone)
    add(store, texts)
    take(store, write(folder / "a.jsonl", *SHIPS))
    snapshot = open_snapshot(store)
    rows = np.flatnonzero(snapshot.are_texts())
    graph = steps.chunk_graph(snapshot)
    assert (graph[rows][:, rows] != steps.chunk_graph(expected)).nnz == 0
    assert graph.nnz == steps.chunk_graph(expected).nnz
    assert graph.shape == (len(rows) + 3, len(rows) + 3)
    before, now = (np.argsort(-steps.chunk_ranks(s), kind="stable") for s in (expected, snapshot))
    assert [r for r in now if r in rows] == rows[before].tolist()
    expected.close()
    snapshot.close()


def test_a_graph_alone_has_nothing_to_wait_for(store, folder):
    """Nothing is extracted where there is no text, whatever is wanted."""
    take(store, write(folder / "a.jsonl", *SHIPS))
    wanted = Wanted(units=1.0, triples="llm", core=0.5)
    done = run_extractions(store, testing.models(llm=testing.ScriptedLLM()), wanted)
    assert (done.n_chunks, done.waiting) == (0, {UNITS: 0, GRAPH: 0})
    snapshot = open_snapshot(store)
    assert choose.count_waiting(store, snapshot) == {UNITS: 0, GRAPH: 0}
    assert steps.chunk_graph(snapshot).nnz == 0
    snapshot.close()


# -- what is done with an index -------------------------------------------------------------------


def test_aliases_of_imported_entities(folder):
    """A merged name has no row until that is taken back, names of marks alone as well."""
    path = write(folder / "a.jsonl", *SHIPS, ["$", "buys", "Fram"])
    with open_index(folder / "index", models=MODELS) as opened:
        opened.import_graph(path)
        before = snapshots.contents(opened.snapshot())
        opened.merge("$", "Norway")
        assert opened.aliases()["merged"] == {"$": "norway"}
        assert opened.show("$")["name"] == "Norway"
        snapshots.check_consistent(opened.snapshot())
        opened.compact()
        opened.unmerge("$")
        assert snapshots.contents(opened.snapshot()) == before
        assert opened.show("$")["triples"] == ["$ buys Fram"]


def test_a_new_index_needs_a_file_that_exists(folder):
    """Where nothing can be imported no index is made."""
    with open_index(folder / "index", models=MODELS) as opened, pytest.raises(InputError):
        opened.import_graph(folder / "none.jsonl")
    assert not (folder / "index").exists()


@pytest.mark.parametrize("embedder", [testing.HashTokenEmbedder(), testing.HashEmbedder()])
def test_every_method_on_a_graph_alone(folder, embedder):
    """Without one sentence every method finds chunks, or says that it found none."""
    with open_index(folder / "index", models=testing.models(embedder)) as opened:
        opened.import_graph(write(folder / "a.jsonl", *SHIPS))
        for method in sorted({*methods.names()} - {"graphrag_global", "ircot", "raptor"}):
            for question in ("Where was the builder of the Fram born?", "???", "zzz"):
                found = opened.ask(question, method=method)
                assert found.evidence.hits or found.kind == "none", method
            assert build_method(method, {}).layers <= opened.snapshot().layers.keys()
