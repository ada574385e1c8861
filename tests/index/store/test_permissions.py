"""Whose an index is, and what may be done with one that may not be written."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clew import testing
from clew.api import open_index
from clew.base.types import Usage
from clew.errors import StoreError
from clew.index.store.opening import address_of
from clew.models.ledger import Cost, Ledger

MODELS = testing.models()
NOBODY = 65_534
pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")


def build(folder):
    with open_index(folder, models=MODELS) as index:
        index.add(testing.small_documents(), triples="cooccurrence")
        index.search("Who built the Comet?", method="walk")


def modes(folder):
    paths = [folder, *folder.rglob("*")]
    return {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()}, {
        stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()
    }


def test_whose_a_new_index_is(tmp_path):
    """It holds the texts of documents."""
    build(tmp_path / "i.clew")
    assert modes(tmp_path / "i.clew") == ({0o600}, {0o700})
    folder = tmp_path / "shared.clew"
    folder.mkdir(mode=0o750)
    folder.chmod(0o750)
    build(folder)
    assert modes(folder) == ({0o640}, {0o750})


@pytest.fixture
def shared():
    """Give an index of somebody else's that all may read and only its owner may write."""
    place = Path("/tmp") / f"clew-shared-{os.getpid()}"  # noqa: S108 -- where others may look
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    place.chmod(0o755)
    build(place / "i.clew")
    for path in [place / "i.clew", *(place / "i.clew").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield place / "i.clew"
    shutil.rmtree(place)


ASK = """
import os, sys
from clew import testing
from clew.api import open_index
from clew.errors import ClewError

def look(folder):
    with open_index(folder, models=testing.models()) as index:
        for method in ("walk", "ket", "agrag"):
            print(len(index.search("Who built the Comet?", method=method).hits))
        kind = index.ask("Who built the Comet?").kind
        print(kind, len(index.documents()), index.show()["wasted"])

look(sys.argv[3])  # what is imported late may be imported now
with open_index(sys.argv[3], models=testing.models()) as index:
    index.add(testing.small_documents()[0], units=None)
os.setuid(int(sys.argv[2]))
look(sys.argv[1])
with open_index(sys.argv[1], models=testing.models()) as index:
    try:
        index.add(testing.small_documents()[0], units=None)
        index.remove("comet")
    except ClewError as error:
        print(error)
"""


def as_nobody(folder, own):
    return subprocess.run(
        [sys.executable, "-c", ASK, str(folder), str(NOBODY), str(own)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another user")
def test_reading_needs_no_write(shared, tmp_path):
    """Another user searches, asks and looks; what would write is refused in a sentence."""
    shutil.copytree(shared, tmp_path / "own.clew")
    before = {path: path.stat().st_mtime_ns for path in shared.rglob("*")}
    result = as_nobody(shared, tmp_path / "own.clew")
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert lines[:4] == lines[4:8]
    assert lines[3].startswith("quoted 12 ")
    assert "is not writable: ask its owner for permission" in lines[8]
    assert {path: path.stat().st_mtime_ns for path in shared.rglob("*")} == before


def test_commits_that_nobody_took_over(tmp_path, monkeypatch):
    """Where the newest commits are in SQLite's log, which only a writer takes over, it is said."""
    build(tmp_path / "i.clew")
    (tmp_path / "i.clew" / "index.sqlite-wal").write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with (
        open_index(tmp_path / "i.clew", models=MODELS) as index,
        pytest.raises(StoreError, match="index.sqlite-wal holds commits that"),
    ):
        index.search("x")


def test_a_folder_that_may_be_read_alone(tmp_path, monkeypatch):
    """The database is opened as one that nobody writes."""
    build(tmp_path / "i.clew")
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with open_index(tmp_path / "i.clew", models=MODELS) as index:
        assert index.search("Who built the Comet?").hits
        assert len(index.documents()) == 12


def test_the_ledger_of_a_folder_that_may_be_read_alone(tmp_path, monkeypatch):
    """What is recorded is found; a request that would be paid for and not kept is not made."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    ledger.bill(Cost(kind="add", before=0, generation=1, usage=Usage()))
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    assert [cost.kind for cost in ledger.costs()] == ["add"]
    with pytest.raises(StoreError, match="readonly"):
        ledger.bill(Cost(kind="add", before=1, generation=2, usage=Usage()))
    with pytest.raises(StoreError, match="is not writable: ask its owner"):
        Ledger(tmp_path / "none.sqlite").costs()


def test_a_folder_whose_files_may_not_be_looked_at(tmp_path, monkeypatch):
    """A folder without the right to enter it is told in a sentence."""

    def refused(*_given, **_named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(StoreError, match="i.clew is not readable: ask its owner for permission"):
        address_of(tmp_path / "i.clew")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    """One sentence says whom to ask."""
    build(tmp_path / "i.clew")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with (
        open_index(tmp_path / "i.clew", models=MODELS) as index,
        pytest.raises(StoreError, match="is not readable: ask its owner for permission"),
    ):
        index.documents()
