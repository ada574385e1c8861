"""What was computed from a generation and kept: files, damage, kills, open readers."""

import os
import shutil
import warnings

import numpy as np
import pytest

from clew import testing
from clew.errors import InputError
from clew.store.embedded import EmbeddedStore
from tests.index.build import add, contents, create, document, files, scratch
from tests.store.deadly import deadly

ARRAYS = {"lengths": np.arange(1_000, dtype=np.float32), "rows": np.array([[1, 2]])}
OTHER = {"lengths": np.zeros(1_000, dtype=np.float32)}


@pytest.fixture
def folder():
    """Give the folder of an index whose newest generation has something kept, closed."""
    with scratch() as place:
        with create(place / "index") as store:
            add(store, testing.small_documents())
            store.freeze()
            store.keep("keywords", ARRAYS)
        yield place / "index"


def same(found, expected):
    return found is not None and all(np.array_equal(found[n], a) for n, a in expected.items())


def n_frozen(folder):
    return len(files(folder, "frozen"))


def test_a_file_beside_the_frozen_one(folder):
    """What is kept replaces what was kept under its name, and lies where the frozen arrays do."""
    assert n_frozen(folder) == 2
    with EmbeddedStore.open(folder) as store:
        store.keep("keywords", OTHER)
        store.keep("a name/of: anything", ARRAYS)
        assert same(store.kept("keywords"), OTHER)
        assert same(store.kept("a name/of: anything"), ARRAYS)
        assert n_frozen(folder) == 3
        store.compact()
        assert n_frozen(folder) == 1
        assert store.kept("keywords") is None


def test_only_of_a_frozen_generation(folder):
    """Arrays of a generation that is not frozen are refused, and nothing is written."""
    with EmbeddedStore.open(folder) as store:
        add(store, [document("new", "Bo Dahl left.")])
        before = files(folder, "frozen")
        with pytest.raises(InputError, match="frozen generation"):
            store.keep("keywords", OTHER)
        assert files(folder, "frozen") == before
        assert same(store.kept("keywords"), ARRAYS)


def test_kept_arrays_cannot_be_written(folder):
    """They are mapped from disk and cannot be changed by mistake."""
    with EmbeddedStore.open(folder) as store, pytest.raises(ValueError, match="read-only"):
        store.kept("keywords")["lengths"][0] = 1


def test_an_open_reader_keeps_what_it_has(folder):
    """Arrays that a reader got stay as they are; what is swept before it asks is not there."""
    with EmbeddedStore.open(folder) as reader, EmbeddedStore.open(folder) as writer:
        first, second = reader.snapshot(), reader.snapshot()
        arrays = first.kept("keywords")
        writer.keep("keywords", OTHER)
        assert same(arrays, ARRAYS)
        assert second.kept("keywords") is None
        assert same(reader.kept("keywords"), OTHER)
        writer.remove(["comet"])
        writer.compact()
        assert same(arrays, ARRAYS)
        assert first.kept("keywords") is None
        assert reader.kept("keywords") is None
        first.close()
        second.close()


@pytest.mark.parametrize("damage", ["cut", "deleted", "empty", "overwritten"])
def test_damage_does_no_harm(folder, damage):
    """A kept file that is lost or damaged is as if nothing were kept, until something is."""
    [path] = [path for path in (folder / "frozen").iterdir() if "-" in path.stem]
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes({"cut": data[:100], "empty": b"", "overwritten": b"x" * 100}[damage])
    with EmbeddedStore.open(folder) as store:
        snapshot = store.snapshot()
        assert store.kept("keywords") is None
        assert snapshot.kept("keywords") is None
        snapshot.close()
        assert contents(store)
        store.keep("keywords", ARRAYS)
        assert same(store.kept("keywords"), ARRAYS)
        assert n_frozen(folder) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_killed_before_a_sync_or_deletion(folder):
    """A kill at any step of keeping, committing and freezing leaves what was kept, or newer."""
    n_killed = 0
    while killed(folder, folder.with_name(f"killed-{n_killed}"), at=n_killed + 1):
        n_killed += 1
    assert n_killed > 10


def killed(base, folder, at):
    """Use a copy of an index in a child that dies before its n-th sync or deletion, if it does."""
    shutil.copytree(base, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside BLAS threads
        child = os.fork()
    if child == 0:
        try:
            os.fsync, os.unlink = deadly(at, os.fsync, os.unlink)
            keep_anew(folder)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    with EmbeddedStore.open(folder) as store:
        found = store.kept("keywords")
        assert same(found, ARRAYS) or same(found, OTHER)
        contents(store)
    keep_anew(folder)
    with EmbeddedStore.open(folder) as store:
        assert same(store.kept("keywords"), OTHER)
    assert n_frozen(folder) == 2
    return os.WIFSIGNALED(status)


def keep_anew(folder):
    with EmbeddedStore.open(folder) as store:
        store.freeze()
        store.keep("keywords", ARRAYS)
        add(store, [document("new", "Bo Dahl left.")])
        store.freeze()
        store.keep("keywords", OTHER)
