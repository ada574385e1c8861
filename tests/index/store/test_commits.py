"""Many commits stay cheap: few files, no cost that grows with the number of commits."""

import os
import time

import numpy as np
import pytest

from clew.base.types import Document
from clew.index.generation import compact, open_snapshot, wasted_share
from clew.index.snapshot.batch import Batch
from clew.index.store import segments
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import add, contents, create, document, files, scratch

N_COMMITS = 500


def tiny_batch(number):
    """Return one document of one chunk, one sentence, one entity and one term."""
    text = f"Person{number % 50} came."
    one = np.zeros(1, dtype=np.int32)
    columns = {
        "document.title_entity": one - 1,
        "chunk.document": one, "chunk.start": one, "chunk.end": one + len(text),
        "chunk.n_tokens": one + 4, "chunk.vectors": np.ones((1, 64), dtype=np.float32) / 8,
        "sentence.chunk": one, "sentence.start": one, "sentence.end": one + len(text),
        "sentence.key": np.array([number], dtype=np.uint64),
        "sentence.vectors": np.ones((1, 64), dtype=np.float32) / 8,
        "mention.sentence": one, "mention.entity": one, "mention.start": one,
        "mention.end": one + 6, "mention.label": one.astype(np.uint8), "mention.term": one - 1,
        "count.chunk": one, "count.term": one, "count.n": one + 1, "count.capitals": one,
    }  # fmt: skip
    entity = f"person{number % 50}"
    return Batch(
        documents=[Document(id=f"d{number:04d}", text=text)],
        entities=[entity],
        terms=[entity],
        columns=columns,
    )


@pytest.fixture(scope="module")
def many():
    """Give a folder after many tiny commits, and the processor time of each."""
    with scratch() as folder:
        times = []
        with create(folder) as store:
            for number in range(N_COMMITS):
                batch = tiny_batch(number)
                began = time.process_time()
                store.commit(batch, ["hash"])
                times.append(time.process_time() - began)
        yield folder, times


def test_cost_of_a_commit_does_not_grow(many):
    """The last of many commits cost about what the first ones did."""
    _, times = many
    assert np.median(times[-100:]) < 4 * np.median(times[:100])


def test_opening_stays_fast(many):
    """An index of many commits has few files, few of them open, and opens at once."""
    folder, _ = many
    assert len(list((folder / "segments").iterdir())) <= 28
    with EmbeddedStore.open(folder) as store:
        began = time.process_time()
        snapshot = open_snapshot(store)
        assert time.process_time() - began < 1
        assert len(snapshot.layer("chunk")) == N_COMMITS
        assert snapshot.layer("document").ids([0, 499]) == ["d0000", "d0499"]
        assert snapshot.layer("chunk").texts([7]) == ["Person7 came."]
        assert snapshot.link("unit", "entity").sum(axis=0).tolist() == [10.0] * 50
        snapshot.close()
    folder, _ = many
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112 -- it changes while it is listed
        pytest.skip("this system does not list open files")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 -- the same
    with EmbeddedStore.open(folder) as store:
        snapshot = open_snapshot(store)
        assert len(os.listdir("/proc/self/fd")) - before < 60  # noqa: PTH208 -- the same
        snapshot.close()


def test_merging_changes_no_row():
    """Segments that were merged give the rows that they gave, removed documents left out."""
    documents = [document(f"d{i:02d}", f"Bo Dahl saw {i} ships. Then ice.") for i in range(30)]
    with scratch() as folder:
        with create(folder / "one") as store:
            add(store, documents[3:])
            built = contents(store)
        with create(folder / "many") as store:
            for i, one in enumerate(documents):
                add(store, [one])
                if i == 5:
                    store.remove([d.id for d in documents[:3]])
            assert len(files(folder / "many", "segments")) < 15
            assert contents(store) == built
            generation = store.generation
        with EmbeddedStore.open(folder / "many") as store:
            assert store.generation == generation == 31
            compact(store)
            assert contents(store) == built


def test_compacting_everything_away():
    """An index whose documents were all removed compacts to nothing, and takes new ones."""
    with scratch() as folder, create(folder) as store:
        add(store, [document("a", "Bo Dahl.")])
        store.remove(["a"])
        assert wasted_share(store) == 1
        for change in (contents, compact, contents):
            change(store)
            assert contents(store)["documents"] == []
        assert files(folder, "segments") == {}
        assert wasted_share(store) == 0
        add(store, [document("b", "Ada Quist.")])
        assert contents(store)["entity"]["ids"] == ["ada quist"]


ARRAYS = {
    "a": np.arange(6, dtype=np.int32).reshape(2, 3),
    "b": np.array([True, False, True]),
    "c": np.array([2**63], dtype=np.uint64),
    "d": np.zeros((0, 7), dtype=np.float32),
    "e": np.array([-1], dtype=np.int8),
    "f": np.asfortranarray(np.arange(4.0).reshape(2, 2)),
    "g": np.array([1, 2], dtype=">i4"),
}


def test_segments_give_what_was_written(tmp_path):
    """Arrays of every kind come back with their values, shapes and types, and read-only."""
    segments.write_segment(tmp_path / "below" / "x", ARRAYS)
    back = segments.open_segment(tmp_path / "below" / "x")
    assert sorted(back) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].shape == array.shape
        assert back[name].dtype == array.dtype.newbyteorder("<")
        assert not back[name].flags.writeable
        assert back[name].flags.aligned


def test_segments_are_safetensors(tmp_path):
    """The layout is that of safetensors: a length, a JSON header, the bytes end to end."""
    import json

    segments.write_segment(tmp_path / "x", {"a": ARRAYS["a"], "c": ARRAYS["c"]})
    data = (tmp_path / "x").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__")
    assert header == {
        "c": {"dtype": "U64", "shape": [1], "data_offsets": [0, 8]},
        "a": {"dtype": "I32", "shape": [2, 3], "data_offsets": [8, 32]},
    }
    assert data[8 + length + 8 :] == ARRAYS["a"].tobytes()
