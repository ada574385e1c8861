"""Sentences, sub-chunks, their terms, and profiles: by hand, and as an update leaves them."""

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Described, Extraction, Triple
from clew.index import recipe as recipes
from clew.index.generation import compact, open_snapshot
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch, build_statement_batch
from clew.index.store import embedded
from clew.index.store import segments as embedded_segments
from clew.index.store.embedded import EmbeddedStore
from clew.text.analyze import term_spans
from clew.text.chunking import Chunking, halve
from clew.text.normalize import title_head
from tests.index.build import (
    MODELS,
    add,
    arrays_of,
    contents,
    create,
    document,
    files,
    indexed,
    scratch,
)

ICE = document("a", "Ice grew. Boats left early.", title="Ice age")
BOATS = document("b", "Boats sank. Ice grew. Ice, ice and snow.")
HALVED = recipes.Settings(chunking=Chunking(size=10, overlap=4, subchunk_depth=1))
LAYERS = ("subchunk", "sentence", "subchunk-term", "sentence-term", "profile")


def terms_of(snapshot, layer):
    """Return the terms of each row of a layer, with the weights of its link."""
    link = snapshot.link(layer, "term")
    terms = snapshot.layer("term").ids(range(link.shape[1]))
    return [
        {terms[j]: float(w) for j, w in zip(link.indices[a:b], link.data[a:b], strict=True)}
        for a, b in zip(link.indptr[:-1], link.indptr[1:], strict=True)
    ]


def all_of(layer):
    return layer.ids(range(len(layer))), layer.texts(range(len(layer)))


def stored(store, chunk_id):
    with closing(open_snapshot(store)) as snapshot:
        [row] = snapshot.layer("chunk").rows([chunk_id])
        return int(snapshot.layer("chunk").columns["number"][row])


def give_units(store, chunk_id, *units):
    """Let an LLM have made these units of a chunk."""
    made = [ChunkExtraction(stored(store, chunk_id), "llm", units)]
    late = store.recipe["vectors"] == recipes.LATE
    store.commit(build_statement_batch(made, MODELS, store.unnamed, late=late), ())


def give_graph(store, chunk_id, *entities, triples=()):
    """Let an LLM have found these entities in a chunk."""
    extraction = Extraction(entities=entities, triples=triples)
    made = [ChunkExtraction(stored(store, chunk_id), "llm", extraction)]
    store.commit(build_graph_batch(made, MODELS, store.unnamed), ())


@pytest.fixture(params=["halved", "whole"])
def store(request):
    """Give a store with both documents."""
    chosen = HALVED if request.param == "halved" else recipes.Settings()
    with scratch() as folder, EmbeddedStore.create(folder, chosen.build_recipe(MODELS)) as opened:
        add(opened, [BOATS, ICE])
        yield opened


def test_sentences_and_their_terms():
    """A sentence of several chunks is one row, where it stands first; its title is not of it."""
    with indexed(BOATS, ICE) as (snapshot, _):
        sentences = snapshot.layer("sentence")
        ids, texts = all_of(sentences)
        assert ids == ["a:0-9", "a:10-27", "b:0-11", "b:22-40"]
        assert texts == ["Ice grew.", "Boats left early.", "Boats sank.", "Ice, ice and snow."]
        assert {name: column.tolist() for name, column in sentences.columns.items()} == {
            "chunk": [0, 0, 1, 1],
            "start": [0, 10, 0, 22],
            "end": [9, 27, 11, 40],
        }
        assert terms_of(snapshot, "sentence") == [
            {"ice": 1, "grew": 1},
            {"boats": 1, "left": 1, "early": 1},
            {"boats": 1, "sank": 1},
            {"ice": 1, "snow": 1},
        ]


def test_sentences_are_the_units_where_no_llm_made_any(store):
    """They share their vectors and their stored rows, and nothing is cached twice."""
    open_snapshot(store).close()
    snapshot = open_snapshot(store)
    sentences, units = snapshot.layer("sentence"), snapshot.layer("unit")
    assert all_of(sentences) == all_of(units)
    assert sentences.vectors is units.vectors
    assert sentences.columns["start"] is units.columns["start"]
    [path] = (store.folder / "cached").iterdir()
    assert b"column.sentence." not in path.read_bytes()
    snapshot.close()


def test_sentences_stay_where_an_llm_made_units(store):
    """Units of an LLM take the place of sentences among the units, and only there."""
    before = contents(store)
    assert before["unit"]["texts"] == before["sentence"]["texts"]
    give_units(store, before["chunk"]["ids"][0], "Ice grew in the north.", "Boats sank.")
    after = contents(store)
    assert after["unit"]["texts"][:2] == ["Ice grew in the north.", "Boats sank."]
    assert "Boats left early." not in after["unit"]["texts"]
    assert after["subchunk"]["texts"] == before["subchunk"]["texts"]
    for name in ("sentence", "sentence-term", "subchunk-term", "term"):
        assert after[name] == before[name]
    open_snapshot(store).close()
    compact(store)
    assert contents(store) == after


def test_whole_chunks_are_their_own_subchunks():
    """Without subchunk_depth the sub-chunks are the chunks: vectors, texts and link."""
    with indexed(BOATS, ICE) as (snapshot, _):
        chunks, subchunks = snapshot.layer("chunk"), snapshot.layer("subchunk")
        assert all_of(subchunks) == all_of(chunks)
        assert subchunks.rows(chunks.ids([1, 0])) == [1, 0]
        assert subchunks.vectors is chunks.vectors
        assert snapshot.link("subchunk", "term") is snapshot.link("chunk", "term")
        assert subchunks.columns["chunk"].tolist() == [0, 1]
        assert subchunks.columns["n_tokens"] is chunks.columns["n_tokens"]


def test_subchunks_and_their_terms():
    """Terms go by where they begin; what only the title has, every part of the chunk has once."""
    with indexed(BOATS, ICE, settings=HALVED) as (snapshot, _):
        assert snapshot.layer("chunk").ids(range(3)) == ["a:0-27", "b:0-21", "b:12-40"]
        subchunks = snapshot.layer("subchunk")
        ids, texts = all_of(subchunks)
        assert ids == ["a:0-12", "a:12-27", "b:0-11", "b:11-21", "b:12-26", "b:26-40"]
        assert texts == [
            "Ice grew. Bo", "ats left early.", "Boats sank.", " Ice grew.", "Ice grew. Ice,",
            " ice and snow.",
        ]  # fmt: skip
        assert subchunks.rows(["b:12-26", "b:12-27", "a:0-27"]) == [4, -1, -1]
        assert {name: column.tolist() for name, column in subchunks.columns.items()} == {
            "chunk": [0, 0, 1, 1, 2, 2],
            "start": [0, 12, 0, 11, 12, 26],
            "end": [12, 27, 11, 21, 26, 40],
            "n_tokens": [4, 4, 4, 3, 5, 4],
        }
        assert subchunks.vectors.shape == (6, 64)
        assert terms_of(snapshot, "subchunk") == [
            {"ice": 1, "grew": 1, "boats": 1, "age": 1},
            {"left": 1, "early": 1, "age": 1},
            {"boats": 1, "sank": 1},
            {"ice": 1, "grew": 1},
            {"ice": 2, "grew": 1},
            {"ice": 1, "snow": 1},
        ]


def test_subchunks_without_chunks():
    """A halved index without documents, new or emptied, has a layer of parts without rows."""
    with scratch() as folder, EmbeddedStore.create(folder, HALVED.build_recipe(MODELS)) as opened:
        empty = contents(opened)
        assert empty["subchunk"]["ids"] == []
        add(opened, [ICE])
        opened.remove(["a"])
        assert contents(opened) == empty
        compact(opened)
        assert contents(opened) == empty


WORDS = st.sampled_from(
    ["Ice", "ice's", "boats.", "left", "1912", "南极洲", "冰", "e\u0301", "\n\n", "the", "Fram."]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    size=st.integers(4, 30),
    overlap=st.integers(0, 10),
    subchunk_depth=st.integers(0, 2),
)
def test_terms_are_those_that_begin_in_a_range(texts, size, overlap, subchunk_depth):
    """The links are what counting the terms of every chunk one by one gives."""
    cut = Chunking(size=size, overlap=min(overlap, size - 1), subchunk_depth=subchunk_depth)
    documents = [document(f"d{i}", text, title=text[:9]) for i, text in enumerate(texts)]
    with indexed(*documents, settings=recipes.Settings(chunking=cut)) as (snapshot, _):
        chunks = snapshot.layer("chunk")
        held = snapshot.documents(range(len(snapshot.layer("document"))))
        places, of_title, parts = [], [], []
        for row, text in enumerate(chunks.texts(range(len(chunks)))):
            owner, begin, end = (int(chunks.columns[c][row]) for c in ("document", "start", "end"))
            places.append([(term, begin + start) for term, start, _ in term_spans(text)])
            head = title_head(held[owner].title, text)
            of_title.append([term for term, _, _ in term_spans(head)])
            ranges = halve(held[owner].text, begin, end, subchunk_depth, size)
            parts += [(row, start, stop) for start, stop in ranges]

        def inside(chunk, start, end):
            return [term for term, place in places[chunk] if start <= place < end]

        sentences = snapshot.layer("sentence").columns
        ranges = zip(*(sentences[c].tolist() for c in ("chunk", "start", "end")), strict=True)
        assert terms_of(snapshot, "sentence") == [dict.fromkeys(inside(*r), 1.0) for r in ranges]
        columns = snapshot.layer("subchunk").columns
        assert parts == list(
            zip(*(columns[c].tolist() for c in ("chunk", "start", "end")), strict=True)
        )
        for found, (chunk, start, end) in zip(terms_of(snapshot, "subchunk"), parts, strict=True):
            own = inside(chunk, start, end)
            anywhere = {term for term, _ in places[chunk]}
            titled = of_title[chunk] if subchunk_depth == 0 else set(of_title[chunk]) - anywhere
            expected = [*own, *titled]
            assert found == {term: expected.count(term) for term in expected}


NANSEN = Described(name="Fridtjof  Nansen", type="person", description="He crossed\nGreenland.")
FRAM = Described(name="Fram", type="product", description="A ship of oak.")
BARE = Described(name="Greenland", type="place")


def test_profiles(store):
    """A description that has a text has a vector of name and text; the others have none."""
    first, second = contents(store)["chunk"]["ids"][:2]
    give_graph(store, first, BARE, NANSEN)
    sailed = Triple(subject="Fram", relation="sailed past", object="Greenland")
    give_graph(store, second, FRAM, triples=(sailed,))
    snapshot = open_snapshot(store)
    profiles, described = snapshot.layer("profile"), snapshot.layer("description")
    ids, texts = all_of(profiles)
    assert texts == ["He crossed Greenland.", "A ship of oak."]
    assert ids == [f"fridtjof nansen@{first}", f"fram@{second}"]
    assert profiles.rows([*ids, f"greenland@{first}", "nobody"]) == [0, 1, -1, -1]
    rows = profiles.columns["description"].tolist()
    assert described.ids(rows) == ids
    assert profiles.columns["chunk"].tolist() == [0, 1]
    entities = snapshot.layer("entity").ids(profiles.columns["entity"].tolist())
    assert entities == ["fridtjof nansen", "fram"]
    written = ["Fridtjof Nansen: He crossed Greenland.", "Fram: A ship of oak."]
    expected = MODELS.embedder.embed(written, kind="document")
    np.testing.assert_allclose(profiles.vectors, expected, atol=4e-3)
    snapshot.close()


def test_no_profiles(store):
    """Where no description has a text there are no rows, of the width of the other vectors."""
    for change in (
        lambda: None,
        lambda: give_graph(store, contents(store)["chunk"]["ids"][0], BARE),
    ):
        change()
        snapshot = open_snapshot(store)
        assert len(snapshot.layer("profile")) == 0
        assert snapshot.layer("profile").vectors.shape == (0, 64)
        assert snapshot.layer("profile").rows(["greenland@a:0-27"]) == [-1]
        snapshot.close()


def test_a_newer_extraction_has_its_own_profiles(store):
    """Profiles go with their extraction, and follow an alias."""
    first = contents(store)["chunk"]["ids"][0]
    give_graph(store, first, NANSEN)
    give_graph(store, first, FRAM)
    assert contents(store)["profile"]["texts"] == ["A ship of oak."]
    store.set_aliases({"fram": "boats"})
    give_graph(store, contents(store)["chunk"]["ids"][1], Described(name="Boats"))
    assert contents(store)["profile"]["ids"] == [f"boats@{first}"]
    before = contents(store)
    for change in (contents, compact, contents):
        change(store)
        assert contents(store) == before


@pytest.mark.parametrize("subchunk_depth", [0, 1])
@pytest.mark.parametrize("vectors", [recipes.LATE, recipes.SEPARATE])
def test_an_updated_index_has_the_rows_of_a_fresh_one(vectors, subchunk_depth):
    """With units and descriptions, after removals, replacements and many commits."""
    cut = Chunking(size=16, overlap=8, subchunk_depth=subchunk_depth)
    recipe = recipes.Settings(chunking=cut, vectors=vectors).build_recipe(MODELS)
    documents = [document(f"d{i}", f"Bo Dahl saw {i} ships. Then ice came. He left Bakken in {i}.")
                 for i in range(6)]  # fmt: skip
    old = document("d3", "Nothing is known of it. Ice came.", title="Old")

    def extract(store):
        for chunk_id in (i for i in contents(store)["chunk"]["ids"] if i[1] in "024"):
            give_units(store, chunk_id, f"Of {chunk_id} is said: ice came.", "Bo Dahl left.")
            give_graph(store, chunk_id, FRAM, Described(name="Bo Dahl", description=chunk_id))

    with scratch() as folder:
        with EmbeddedStore.create(folder / "fresh", recipe) as store:
            add(store, documents)
            extract(store)
            fresh = contents(store)
            compact(store)
            segments = arrays_of(folder / "fresh")
        assert len(fresh["profile"]["ids"]) > 2
        assert fresh["unit"]["texts"] != fresh["sentence"]["texts"]
        with EmbeddedStore.create(folder / "updated", recipe) as store:
            for each in (*documents[4:], old, document("e", "Ice."), documents[0]):
                add(store, [each])
            extract(store)
            store.remove(["e", "d5"])
            add(store, documents)
            extract(store)
            assert contents(store) == fresh
            open_snapshot(store).close()
            assert contents(store) == fresh
            compact(store)
            assert contents(store) == fresh
            assert arrays_of(folder / "updated") == segments


def test_nothing_of_parts_is_stored_without_halvings():
    """An index of whole chunks stores no sub-chunks; one of halved chunks does."""
    with scratch() as folder:
        with create(folder / "whole") as store:
            add(store, [ICE])
        assert b"subchunk." not in b"".join(files(folder / "whole", "segments").values())
        with EmbeddedStore.create(folder / "halved", HALVED.build_recipe(MODELS)) as store:
            add(store, [ICE])
        assert b"subchunk.n_tokens" in b"".join(files(folder / "halved", "segments").values())


def test_what_an_open_generation_has_mapped_is_not_mapped_again(monkeypatch):
    """The next one reads the same files, which are verified; only that of the commit is new."""
    opened = []

    def open_segment(path, *others):
        opened.append(path.name)
        return embedded_segments.open_segment(path, *others)

    monkeypatch.setattr(embedded, "segments", SimpleNamespace(**vars(embedded_segments)))
    embedded.segments.open_segment = open_segment
    with scratch() as folder, create(folder / "index") as store:
        add(store, [ICE])
        with closing(open_snapshot(store)) as before:
            add(store, [BOATS])
            with closing(open_snapshot(store)) as after:
                assert len(after.layer("chunk")) == len(before.layer("chunk")) + 1
        assert opened == sorted({*opened})
        assert len(opened) == 2
