"""Indexes of format 6, whose vectors are float32 and int8, are read, added to and converted."""

import json
from contextlib import closing

import numpy as np
import pytest

from clew import index, testing
from clew.api import open_index
from clew.generation import open_snapshot
from clew.runtime import sqlite
from clew.store import schema, segments
from clew.store.embedded import EmbeddedStore
from clew.types import Document
from tests.snapshots import check_consistent, contents

DOCUMENTS = testing.small_documents()
QUESTION = testing.QUESTIONS[0]


class Unasked(testing.HashTokenEmbedder):
    """An embedder that has nothing left to read but questions."""

    def embed(self, texts, *, kind):
        assert kind == "query"
        return super().embed(texts, kind=kind)

    def embed_tokens(self, texts):
        assert len(texts) <= 1
        return super().embed_tokens(texts)


MODELS = testing.models(testing.HashTokenEmbedder())


def built(folder):
    with open_index(folder, models=MODELS) as opened:
        opened.add(DOCUMENTS, triples="cooccurrence")
    return folder


@pytest.fixture
def old(tmp_path):
    """An index as the version before wrote it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schema, "encode_array", lambda _name, array, recipe: array)  # noqa: ARG005
        folder = built(tmp_path / "old.clew")
    with closing(sqlite.connect(folder / "index.sqlite", wait=1)) as connection:
        [(text,)] = connection.execute("SELECT value FROM meta WHERE name = 'recipe'")
        recipe = {n: v for n, v in json.loads(text).items() if n not in schema.DEFAULT_BITS}
        values = [(json.dumps(recipe), "recipe"), ("6", "format")]
        for pair in values:
            connection.execute("UPDATE meta SET value = ? WHERE name = ?", pair)
    return folder


def format_of(folder):
    with closing(sqlite.connect(folder / "index.sqlite", wait=1)) as connection:
        return int(next(connection.execute("SELECT value FROM meta WHERE name = 'format'"))[0])


def types(folder):
    """Return the types of the arrays of vectors."""
    found = [segments.open_segment(path) for path in (folder / "segments").iterdir()]
    return {str(s[name].dtype) for s in found for name in s if name.endswith(".vectors")}


def unasked(folder):
    return open_index(folder, models=testing.models(Unasked()))


def test_it_is_read_as_it_is(old, tmp_path):
    """Reading changes nothing, and finds what a new index does."""
    new = built(tmp_path / "new.clew")
    assert types(old) == {"float32", "int8"}
    with unasked(old) as before, unasked(new) as after:
        found, expected = (
            {hit.chunk_id: hit.score for hit in i.search(QUESTION, method="dense").hits}
            for i in (before, after)
        )
        assert found == pytest.approx(expected, abs=4e-3)
        first, same = (i.search(QUESTION, method="pagerank").hits[0] for i in (before, after))
        assert first.chunk_id == same.chunk_id
        check_consistent(before.snapshot())
    assert format_of(old) == 6
    assert types(old) == {"float32", "int8"}


def test_compact_converts_it(old, tmp_path):
    """No model is asked, and the rows are those of a new index, to the byte."""
    with unasked(old) as opened:
        opened.compact()
        found = contents(opened.snapshot())
    assert types(old) == {"uint8"}
    assert format_of(old) == 8
    new = built(tmp_path / "new.clew")
    with unasked(new) as opened:
        opened.compact()
        assert contents(opened.snapshot()) == found
    mine, other = (next((folder / "segments").iterdir()) for folder in (old, new))
    assert mine.read_bytes() == other.read_bytes()


def test_it_is_added_to(old, tmp_path):
    """Old rows stay as they are beside new ones, until they are merged or compacted."""
    more = [
        Document(id=f"more {i}", title="", text=f"The Comet met ship {i} off Verle.")
        for i in range(5)
    ]
    with EmbeddedStore.open(old) as store:
        for document in more:
            index.add_documents(store, [document], MODELS)
            with closing(open_snapshot(store)) as snapshot:
                check_consistent(snapshot)
    assert types(old) == {"uint8", "float32", "int8"}
    assert format_of(old) == 8
    with open_index(old, models=MODELS) as opened:
        assert opened.search(QUESTION).hits
        opened.compact()
        found = contents(opened.snapshot())
    with EmbeddedStore.open(built(tmp_path / "new.clew")) as store:
        index.add_documents(store, more, MODELS)
    with open_index(tmp_path / "new.clew", models=MODELS) as opened:
        opened.compact()
        assert contents(opened.snapshot()) == found


def test_merges_convert_it(old):
    """The segment that several become has one type of vectors."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schema, "encode_array", lambda _name, array, recipe: array)  # noqa: ARG005
        with EmbeddedStore.open(old) as store:
            for i in range(4):
                index.add_documents(
                    store, [Document(id=f"old {i}", title="", text="Fram sank.")], MODELS
                )
    with EmbeddedStore.open(old) as store:
        for i in range(5):
            index.add_documents(
                store, [Document(id=f"new {i}", title="", text="Fram sank.")], MODELS
            )
        with closing(open_snapshot(store)) as snapshot:
            check_consistent(snapshot)
    parts = [segments.open_segment(path) for path in (old / "segments").iterdir()]
    sizes = {len(s["chunk.document"]): str(s["chunk.vectors"].dtype) for s in parts}
    assert sizes[max(sizes)] == "uint8"


def test_repair_of_a_mixed_index(old):
    """Names that were lost are embedded again, and stand beside those that were not."""
    [first, *_] = sorted((old / "segments").iterdir())
    data = first.read_bytes()
    name = segments.open_segment(first)["name.vectors"]
    at = data.index(bytes(np.ascontiguousarray(name[0]).data))
    first.write_bytes(data[:at] + b"damaged" + data[at + 7 :])
    with open_index(old, models=MODELS) as opened:
        assert opened.check()
        opened.repair()
        assert opened.check() == []
        check_consistent(opened.snapshot())
    assert types(old) == {"uint8"}
