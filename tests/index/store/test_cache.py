"""Arrays cached beside an index: files, damage, kills, open readers, closed folders."""

import os
import shutil

import numpy as np
import pytest

from clew import testing
from clew.index.generation import compact, open_snapshot
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import add, contents, create, document, files, scratch
from tests.index.store.deadly import deadly, fork

ARRAYS = {"lengths": np.arange(1_000, dtype=np.float32), "rows": np.array([[1, 2]])}
OTHER = {"lengths": np.zeros(1_000, dtype=np.float32)}


@pytest.fixture
def folder():
    """Give the folder of an index whose newest generation has something cached, closed."""
    with scratch() as place:
        with create(place / "index") as store:
            add(store, testing.small_documents())
            open_snapshot(store).close()
            store.cache.save("odd", store.generation, ARRAYS)
        yield place / "index"


def same(found, expected):
    return found is not None and all(np.array_equal(found[n], a) for n, a in expected.items())


def cached(folder):
    return sorted(files(folder, "cached"))


def test_a_file_for_each_name(folder):
    """What is newer replaces what was cached under its name."""
    assert cached(folder) == ["cached/assembly-000001.safetensors", "cached/odd-000001.safetensors"]
    with EmbeddedStore.open(folder) as store:
        add(store, [document("new", "Bo Dahl left.")])
        store.cache.save("odd", store.generation, OTHER)
        assert same(store.cache.newest("odd"), OTHER)
        assert cached(folder) == [
            "cached/assembly-000001.safetensors",
            "cached/odd-000002.safetensors",
        ]


def test_a_reader_keeps_what_it_has(folder):
    """Arrays that a reader got stay as they are when their file is replaced or dropped."""
    with EmbeddedStore.open(folder) as reader, EmbeddedStore.open(folder) as writer:
        arrays = reader.cache.newest("odd")
        writer.remove(["comet"])
        writer.cache.save("odd", writer.generation, OTHER)
        assert same(arrays, ARRAYS)
        other = reader.cache.newest("odd")
        compact(writer)
        writer.sweep()
        assert same(other, OTHER)
        assert reader.cache.newest("odd") is None


@pytest.mark.parametrize("damage", ["cut", "deleted", "empty", "overwritten"])
@pytest.mark.parametrize("name", ["assembly", "odd"])
def test_damage_does_no_harm(folder, name, damage):
    """A file that is lost or damaged is as if nothing were cached, until something is."""
    path = folder / "cached" / f"{name}-000001.safetensors"
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes({"cut": data[:100], "empty": b"", "overwritten": b"x" * 100}[damage])
    with EmbeddedStore.open(folder) as store:
        assert store.cache.load(name, 1) is None
        assert contents(store)
        if name == "odd":
            store.cache.save("odd", 1, ARRAYS)
        assert path.read_bytes() == data


def test_a_file_in_place_of_the_folder_caches_nothing(folder):
    """The same for whoever may write anywhere."""
    shutil.rmtree(folder / "cached")
    (folder / "cached").write_text("")
    with EmbeddedStore.open(folder) as store:
        assert contents(store)
        store.cache.save("odd", 1, ARRAYS)
        assert store.cache.newest("odd") is None
        assert store.cache.names() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_before_a_sync_rename_or_deletion(folder, stride):
    """A kill at any step of caching and committing leaves what was cached, or newer."""
    steps = range(1, 99, stride)
    last = next(n for n in steps if not killed(folder, folder.with_name(f"killed-{n}"), at=n))
    assert last > 10


def killed(base, folder, at):
    """Use a copy of an index in a child that dies before its n-th step, if it does."""
    shutil.copytree(base, folder)
    child = fork()
    if child == 0:
        try:
            os.fsync, os.unlink, os.replace = deadly(at, os.fsync, os.unlink, os.replace)
            cache_anew(folder)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    with EmbeddedStore.open(folder) as store:
        found = store.cache.newest("odd")
        assert same(found, ARRAYS) or same(found, OTHER)
        contents(store)
    cache_anew(folder)
    with EmbeddedStore.open(folder) as store:
        assert same(store.cache.newest("odd"), OTHER)
        store.lock()
        assert [path for path in cached(folder) if "safetensors" not in path] == []
    return os.WIFSIGNALED(status)


def cache_anew(folder):
    with EmbeddedStore.open(folder) as store:
        store.cache.save("odd", store.generation, ARRAYS)
        add(store, [document("new", "Bo Dahl left.")])
        open_snapshot(store).close()
        store.cache.save("odd", store.generation, OTHER)
