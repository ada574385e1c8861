"""Nothing opens a file of SQLite beside SQLite: closing it would drop the process's locks."""

import os
import sys
from contextlib import contextmanager

import clew
from clew.testing import small_documents
from tests.api.test_llm import opened
from tests.index.reads import ReadsChat

_watched = []  # folders, and what was opened in them beside SQLite


def _note(event, args):
    if event == "open" and _watched and isinstance(args[0], str | bytes | os.PathLike):
        name = os.fsdecode(args[0])
        is_new = isinstance(args[2], int) and args[2] & os.O_EXCL
        for folder, found in _watched:
            if name.startswith(folder) and _is_database(name) and not is_new:
                found.append(name)


def _is_database(name):
    return name.endswith((".sqlite", ".sqlite-shm", "writer.lock"))


sys.addaudithook(_note)  # SQLite opens files by itself, which no hook sees


@contextmanager
def watching(folder):
    """Give the list of a folder's databases that are opened by Python in the block."""
    _watched.append((str(folder), found := []))
    try:
        yield found
    finally:
        _watched.clear()


def test_the_watch_sees_what_is_opened(tmp_path):
    """Else the test below could not fail."""
    path = tmp_path / "calls.sqlite"
    with watching(tmp_path) as found:
        path.write_bytes(b"")
        path.read_bytes()
        os.close(os.open(path, os.O_RDONLY))
    assert found == [str(path)] * 3


def test_an_index_opens_no_database_beside_sqlite(tmp_path):
    """Neither its writes, nor its questions, nor its upkeep."""
    folder = tmp_path / "my.clew"
    with watching(folder) as found, opened(folder, ReadsChat()) as index:
        index.add(small_documents(), units=1.0, triples="llm")
        index.add(small_documents()[:3], again=True)
        index.ask("Who crossed the Analog Sea?")
        index.show()
        index.plan(small_documents())
        index.remove([small_documents()[0].id])
        index.compact()
        index.backup(tmp_path / "b.tar")
        assert not index.check()
        with clew.open(folder) as other:
            assert other.documents()
    assert found == []
