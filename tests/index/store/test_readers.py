"""Processes that read while another writes see whole generations and never an error."""

import os
import random
import time
import traceback
from contextlib import closing

import numpy as np
import pytest

from clew import testing
from clew.base.derived import CachedArrays
from clew.index import adding
from clew.index.generation import compact, open_snapshot, wasted_share
from clew.index.store import database
from clew.index.store.embedded import EmbeddedStore
from tests import snapshots
from tests.index.build import MODELS, RECIPE, add, scratch
from tests.index.store.corpus import documents
from tests.index.store.deadly import fork
from tests.models.recording import locked_elsewhere

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def read_until(stop, folder):
    """Query the index until the file `stop` is there; return how many generations were seen."""
    [asked] = MODELS.embedder.embed(["Who crossed the Analog Sea?"], kind="query")
    generations = []
    while len(generations) <= 3 or not stop.exists():  # a busy machine may have read little
        with EmbeddedStore.open(folder) as store:
            snapshot = open_snapshot(store)
            chunks = snapshot.layer("chunk")
            scores = chunks.vectors @ asked
            best = scores.argsort()[::-1][:5].tolist()
            texts = chunks.texts(best)
            time.sleep(0.002)  # the writer goes on
            snapshots.check_consistent(snapshot)
            assert chunks.texts(best) == texts
            again = MODELS.embedder.embed(texts, kind="document")
            assert len(again) == len(best)
            assert snapshot.documents(range(len(snapshot.layer("document"))))
            assert wasted_share(store) < 1
            assert snapshot.get(N_CHUNKS)["n"].tolist() == [len(chunks)]
            assert chunks.tokens(best[0]).shape[1] == MODELS.embedder.dimension
            generations.append(snapshot.generation)
            snapshot.close()
    assert generations == sorted(generations)
    return len(set(generations))


def count(snapshot):
    return {"n": np.array([len(snapshot.layer("chunk"))])}


N_CHUNKS = CachedArrays("n-chunks", count, inputs=("chunk",))


def reader(stop, folder, report):
    """Start a reading process that writes what it saw, or its error, to `report`."""
    child = fork()
    if child == 0:
        try:
            report.write_text(str(read_until(stop, folder)))
        except BaseException:  # noqa: BLE001 -- a child must not come back into pytest
            report.write_text(traceback.format_exc())
        finally:
            os._exit(0)
    return child


def test_the_log_does_not_grow_beside_a_reader(monkeypatch):
    """Who always reads the newest generation, as a server does, lets it begin anew."""
    monkeypatch.setattr(database, "_LOG", 1 << 16)
    monkeypatch.setattr(database, "_AGAIN_S", 0.0)
    with scratch() as folder, EmbeddedStore.create(folder / "index", RECIPE) as store:
        add(store, documents(0)[:5])
        snapshot, sizes, log = open_snapshot(store), [], folder / "index" / "index.sqlite-wal"
        for i in range(16):
            former, snapshot = snapshot, None
            store.remove(["d00"]) if i % 2 else add(store, documents(0)[:1])
            snapshot = open_snapshot(store)
            former.close()
            seen = snapshot.generation
            assert [each.id for each in snapshot.documents([0])] == [f"d0{i % 2}"]
            assert snapshot.generation == seen
            sizes.append(log.stat().st_size)
        snapshot.close()
    assert max(sizes) < 6 << 16


@pytest.mark.parametrize("seconds", [1.5, pytest.param(8.0, marks=pytest.mark.slow)])
def test_readers_beside_a_writer(seconds):
    """Two readers query whole snapshots while a writer adds, removes, compacts, freezes, keeps."""
    rng = random.Random(3)  # noqa: S311 -- what is written next needs no secrecy
    with scratch() as scratched:
        folder, stop = scratched / "index", scratched / "stop"
        old, new = documents(0), documents(1)
        with EmbeddedStore.create(folder, RECIPE) as store:
            add(store, old[:20])
        reports = [scratched / f"report{i}" for i in range(2)]
        children = [reader(stop, folder, report) for report in reports]
        end = time.monotonic() + seconds
        n_changes = 0
        with EmbeddedStore.open(folder) as store:
            while time.monotonic() < end or n_changes <= 10:
                changes = [
                    lambda: add(store, rng.sample(old, 10)),
                    lambda: add(store, rng.sample(new, 10)),
                    lambda: store.remove([d.id for d in rng.sample(old[20:], 5)]),
                    lambda: compact(store),
                    lambda: adding.finish_index(store, cached=[N_CHUNKS]),
                ]
                rng.choice(changes)()
                n_changes += 1
        stop.touch()
        for child in children:
            os.waitpid(child, 0)
        for report in reports:
            seen = report.read_text()
            assert seen.isdigit(), seen
            assert int(seen) > 3


def test_snapshot_outlives_its_store():
    """A snapshot reads on after its store was closed and its files were compacted away."""
    with scratch() as folder:
        with EmbeddedStore.create(folder / "index", RECIPE) as store:
            add(store, testing.small_documents())
            snapshot = open_snapshot(store)
        with EmbeddedStore.open(folder / "index") as store:
            before = snapshots.contents(open_snapshot(store))
            store.remove(["comet"])
            compact(store)
        assert snapshots.contents(snapshot) == before
        snapshot.close()


def test_mapped_arrays_cannot_be_written():
    """What a snapshot maps from disk cannot be changed by mistake."""
    with scratch() as folder, EmbeddedStore.create(folder / "index", RECIPE) as store:
        add(store, testing.small_documents())
        compact(store)
        open_snapshot(store).close()
        snapshot = open_snapshot(store)
        for array in (
            snapshot.layer("chunk").columns["start"],
            snapshot.link("chunk", "unit").data,
        ):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        snapshot.close()


def test_opening_an_index_again_keeps_its_locks(tmp_path):
    """A thread that opens, or writes to, an index leaves the locks of another one as they are."""
    folder = tmp_path / "i.clew"
    with EmbeddedStore.create(folder, RECIPE) as store:
        add(store, documents(n=3))
    with EmbeddedStore.open(folder) as reading, closing(open_snapshot(reading)) as snapshot:
        for n in (4, 5):
            with EmbeddedStore.open(folder) as other:
                add(other, documents(n=n))
            assert locked_elsewhere(folder / database.FILE) == "busy"
        assert len(snapshot.layer("document")) == 3
    assert locked_elsewhere(folder / database.FILE) == "had alone"
