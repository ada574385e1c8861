"""Copies of objects on this disk: bounded, mended, and never what an index depends on."""

import os
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.base.types import Document
from clew.errors import DamagedIndex, InputError
from clew.extras.cluster.postgres.address import cache_root, parse_address
from clew.extras.cluster.postgres.store import PostgresStore
from clew.index.generation import compact
from clew.index.store.segments import SUFFIX
from clew.testing import models
from tests.extras.cluster.postgres import writers
from tests.extras.cluster.postgres.writers import commit, opened
from tests.index.build import MODELS, is_one_sentence
from tests.index.store.corpus import documents, text


def copies(address):
    """Return the copies of an index, by their names."""
    found = parse_address(address).folder.glob(f"*/*/*{SUFFIX}")
    return {f"{path.parent.name}/{path.name}": path for path in sorted(found)}


def size(paths):
    return sum(path.stat().st_size for path in paths)


def flip(path):
    """Change a byte of the last array of a file, where it stands on the disk."""
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        [byte] = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 255]))


@pytest.mark.parametrize("harm", [Path.unlink, flip, lambda p: os.truncate(p, 100),
                                  lambda p: os.truncate(p, 0)],
                         ids=["gone", "flipped", "cut off", "empty"])  # fmt: skip
def test_a_harmed_copy_is_downloaded_anew(address, harm):
    """Nobody notices, and the copy is whole afterwards."""
    with opened(address) as store:
        commit(store, 0, 4)
        commit(store, 4, 4)
    before = writers.left(address)
    whole = {name: path.read_bytes() for name, path in copies(address).items()}
    for path in copies(address).values():
        harm(path)
    assert writers.left(address) == before
    assert {name: path.read_bytes() for name, path in copies(address).items()} == whole


def test_a_copy_that_is_harmed_while_it_is_read(address):
    """It is written over, and what is mapped is sound again."""
    with opened(address) as store:
        commit(store, 0, 4)
        with closing(store.view()) as view:
            [arrays] = view.segments
            for path in copies(address).values():
                flip(path)
            found = {name: np.array(arrays[name]) for name in arrays}
        with closing(store.view()) as view:
            for name, array in found.items():
                np.testing.assert_array_equal(view.segments[0][name], array)


def test_an_object_that_is_harmed_is_told(address, tmp_path):
    """It is damage where it is kept, which no download mends; `check` has its documents."""
    with opened(address) as store:
        commit(store, 0, 4)
    for path in [*(tmp_path / "objects").rglob(f"segments/*{SUFFIX}"), *copies(address).values()]:
        os.truncate(path, 100)
    with pytest.raises(DamagedIndex, match="is damaged") as caught:
        writers.left(address)
    assert is_one_sentence(caught.value)
    with clew.open(address, models=MODELS) as index:
        [damage] = [each for each in index.check() if not each.is_cached]
    assert damage.file.startswith("segments/0001-")
    assert damage.documents == ("d00", "d01", "d02", "d03")


@pytest.fixture
def large(address, monkeypatch):
    """Give an index of several megabytes, made with copies of one."""
    monkeypatch.setenv("CLEW_CACHE_MB", "1")
    monkeypatch.setattr(writers.adding, "BATCH_CHARACTERS", 25_000)
    made = [
        Document(id=f"l{n:02d}", text=" ".join(text(n * 40 + i) for i in range(40)))
        for n in range(20)
    ]
    with clew.open(address, models=models()) as index:
        index.add(made)
    return address


def test_copies_are_bounded(large):
    """Of a larger index no more stays here than was said, beside what is in use."""
    with clew.open(large, models=models()) as index:
        total = index.show()["size_bytes"]
        assert total > 3 << 19
        assert index.search("Who crossed Bakken?").hits
        index.remove(["l00"])
        assert index.search("Who crossed Bakken?").hits
    found = copies(large).values()
    assert size(found) <= (1 << 20) + max(path.stat().st_size for path in found)
    with PostgresStore(parse_address(large)) as store:
        compact(store)
    writers.check_objects(large)


def test_processes_that_delete_the_copies_of_others(large, monkeypatch):
    """They only download more."""
    expected = writers.left(large)[1]
    monkeypatch.setenv("CLEW_CACHE_MB", "0")
    processes = [writers.start(writers.read_often, large, expected) for _ in range(2)]
    for each in processes:
        each.join()
    assert [each.exitcode for each in processes] == [0, 0]


def test_what_is_computed_is_shared(address, monkeypatch, tmp_path):
    """Another machine downloads it, and computes it where it is damaged, gone or not to be had."""
    with clew.open(address, models=models()) as index:
        index.add(documents(n=6))
        before = index.search("Who crossed Bakken?").hits
    shared = set(copies(address))
    for number, harm in enumerate((None, flip, Path.unlink)):
        for path in (tmp_path / "objects").rglob(f"cached/*{SUFFIX}"):
            _ = harm and harm(path)
        monkeypatch.setenv("CLEW_CACHE", str(tmp_path / f"machine {number}"))
        with clew.open(address, models=models()) as index:
            assert index.search("Who crossed Bakken?").hits == before
        assert {name for name in copies(address) if name.startswith("cached/")} <= shared
    with clew.open(address, models=models()) as index:
        assert index.check() == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_copies_are_where_the_system_keeps_such_files(address, monkeypatch, tmp_path):
    """A user who moved the cache is obeyed; a bound that is no number is said at once."""
    monkeypatch.setenv("CLEW_CACHE_MB", "1 GB")
    with pytest.raises(InputError, match="CLEW_CACHE_MB must be a number of megabytes"):
        opened(address)
    monkeypatch.delenv("CLEW_CACHE", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "other"))  # of another system
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "clew"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path.home() / ".cache" / "clew"
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "chosen"))
    assert cache_root() == tmp_path / "chosen"
