"""What is wrong with an index is said in one sentence that names the place."""

import os
import random
import resource
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from clew import testing
from clew.base.runtime import sqlite
from clew.errors import DamagedIndex, IndexLocked, NotAnIndex, RecipeMismatch, StoreError
from clew.index import adding
from clew.index.generation import compact, open_snapshot, wasted_share
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import MODELS, RECIPE, add, contents, create, files, is_one_sentence
from tests.index.store.deadly import fork

DOCUMENTS = testing.small_documents()


@pytest.fixture
def folder(tmp_path):
    """Give a folder with an index of two segments, closed."""
    place = tmp_path / "notes.clew"
    with create(place) as store:
        add(store, DOCUMENTS[:6])
        add(store, DOCUMENTS[6:])
    return place


def in_child(work):
    """Start `work` in a child; it exits with 0, with 3 for a StoreError, else with 1."""
    child = fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except StoreError as error:
            status = 3 if is_one_sentence(error) else 4
        finally:
            os._exit(status)
    return child


def test_other_models_are_refused(folder):
    """Adding with another embedder is an error that names both, and changes nothing."""
    with EmbeddedStore.open(folder) as store:
        generation = store.generation
        other = testing.models(testing.HashEmbedder(32))
        with pytest.raises(RecipeMismatch, match="'hash-tokens-64', not 'hash-32'|64, not 32") as e:
            adding.add_documents(store, DOCUMENTS, other)
        assert is_one_sentence(e.value)
        assert store.generation == generation


@pytest.mark.parametrize("name", ["letter.txt", "index.sqlite"])
def test_foreign_folder(tmp_path, name):
    """A folder with something else in it is refused and left as it was."""
    (tmp_path / name).write_text("Dear Sif, the ice has gone. " * 400)
    before = files(tmp_path)
    for attempt in (lambda: create(tmp_path), lambda: EmbeddedStore.open(tmp_path)):
        with pytest.raises(NotAnIndex, match=str(tmp_path)) as e:
            attempt()
        assert is_one_sentence(e.value)
    assert files(tmp_path) == before


@pytest.mark.parametrize("table", ["meta (name, value)", "meta (a)", "letters (a)"])
def test_foreign_database(tmp_path, table):
    """Another program's database of the same name is refused and left as it was."""
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as connection:
        connection.execute(f"CREATE TABLE {table}")
    before = files(tmp_path)
    for attempt in (lambda: EmbeddedStore.open(tmp_path), lambda: create(tmp_path)):
        with pytest.raises(NotAnIndex, match="index.sqlite is not a Clew index") as e:
            attempt()
        assert is_one_sentence(e.value)
    assert files(tmp_path) == before


def test_nothing_there_or_a_folder_instead(tmp_path):
    """Opening nothing says how to make an index, and makes none."""
    with pytest.raises(NotAnIndex, match="clew index PATH"):
        EmbeddedStore.open(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    (tmp_path / "index.sqlite").mkdir()
    for attempt in (lambda: EmbeddedStore.open(tmp_path), lambda: create(tmp_path)):
        with pytest.raises(StoreError, match="index.sqlite cannot be used") as e:
            attempt()
        assert is_one_sentence(e.value)


def test_blank_database_is_no_index_yet(tmp_path):
    """What a killed process leaves can be made anew; a file is no place for an index."""
    (tmp_path / "index.sqlite").touch()
    assert not EmbeddedStore.exists(tmp_path)
    with pytest.raises(NotAnIndex, match="is not a Clew index"):
        EmbeddedStore.open(tmp_path)
    with create(tmp_path) as store:
        add(store, DOCUMENTS)
    assert EmbeddedStore.exists(tmp_path)
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sif")
    with pytest.raises(NotAnIndex, match="letter.txt is a file"):
        create(path)
    with pytest.raises(NotAnIndex, match="letter.txt is not a Clew index"):
        EmbeddedStore.open(path)
    with pytest.raises(StoreError, match="letter.txt.below") as e:
        create(path / "below")
    assert is_one_sentence(e.value)


@pytest.mark.parametrize("number", [2, 99])
def test_another_format(folder, number):
    """An index of an older or a newer version says so."""
    with closing(sqlite.connect(folder / "index.sqlite", wait=1)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(number),))
    with pytest.raises(
        NotAnIndex, match=f"format {number}, and this version of Clew reads 10"
    ) as e:
        EmbeddedStore.open(folder)
    assert is_one_sentence(e.value)


@pytest.mark.parametrize("n", [0, 4, 8, 100, -1, None])
def test_a_segment_that_is_cut_off_or_gone(folder, n):
    """It is named, wherever it was cut."""
    path = min((folder / "segments").iterdir())
    data = path.read_bytes()
    path.unlink()
    if n is not None:
        path.write_bytes(data[:n])
    with EmbeddedStore.open(folder) as store:
        for attempt in (open_snapshot, compact, wasted_share):
            with pytest.raises(DamagedIndex, match=rf"{path.name} is (damaged|missing)") as e:
                attempt(store)
            assert is_one_sentence(e.value)


@pytest.mark.parametrize("seed", range(10))
def test_overwritten_segment_header(folder, seed):
    """A segment whose header was overwritten is named."""
    path = min((folder / "segments").iterdir())
    rng = random.Random(seed)  # noqa: S311 -- damage needs no secrecy
    data = bytearray(path.read_bytes())
    for _ in range(3):
        place = rng.randrange(600)
        data[place] = (data[place] + 1 + rng.randrange(255)) % 256
    path.write_bytes(data)
    with EmbeddedStore.open(folder) as store:
        with pytest.raises(DamagedIndex, match=f"{path.name} is damaged") as e:
            open_snapshot(store)
        assert is_one_sentence(e.value)


def test_damaged_lock(folder):
    """A lock file that is no lock file is named."""
    (folder / "writer.lock").write_text("not a database " * 100)
    with EmbeddedStore.open(folder) as store:
        with pytest.raises(StoreError, match="writer.lock cannot be locked") as e:
            store.remove([DOCUMENTS[0].id])
        assert is_one_sentence(e.value)


def test_full_disk(tmp_path):
    """Where nothing more can be written, that is said, and what was committed is kept."""
    folder = tmp_path / "index"
    with create(folder) as store:
        add(store, DOCUMENTS[:3])
        before = contents(store)

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with EmbeddedStore.open(folder) as store:
            add(store, DOCUMENTS)

    _, status = os.waitpid(in_child(work), 0)
    assert os.waitstatus_to_exitcode(status) == 3
    with EmbeddedStore.open(folder) as store:
        assert contents(store) == before
        add(store, DOCUMENTS)
        assert list(store.hashes()) == [d.id for d in DOCUMENTS]


def test_second_writer(folder):
    """Another process is refused at once while one writes, and reads; a kill frees the lock."""
    ready, tell = os.pipe()

    def work():
        with EmbeddedStore.open(folder) as store:
            store.remove([DOCUMENTS[0].id])
            os.write(tell, b"!")
            time.sleep(60)

    child = in_child(work)
    try:
        assert os.read(ready, 1) == b"!"
        with EmbeddedStore.open(folder) as store:
            began = time.perf_counter()
            with pytest.raises(IndexLocked, match=f"another process is writing to {folder}") as e:
                store.remove([DOCUMENTS[1].id])
            assert time.perf_counter() - began < 20  # it would wait for 60
            assert is_one_sentence(e.value)
            with pytest.raises(IndexLocked):
                adding.add_documents(store, [*DOCUMENTS, testing.small_documents()[0]][:1], MODELS)
            assert len(contents(store)["documents"]) == len(DOCUMENTS) - 1
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            assert store.remove([DOCUMENTS[1].id]) == [DOCUMENTS[1].id]
    finally:
        os.close(ready)
        os.close(tell)


@pytest.mark.parametrize("left", ["-journal", "-wal", "-shm"])
def test_what_a_kill_left_is_ours(tmp_path, left):
    """Files that SQLite keeps beside ours do not make a folder somebody else's."""
    (tmp_path / f"index.sqlite{left}").write_bytes(b"")
    (tmp_path / f"calls.sqlite{left}").write_bytes(b"")
    with create(tmp_path) as store:
        assert store.recipe == RECIPE
