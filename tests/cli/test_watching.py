"""`clew index --watch` in a process of its own, on a folder that a user writes to."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.index.store.embedded import EmbeddedStore
from tests.cli.conftest import open_with_doubles
from tests.snapshots import contents

pytest.importorskip("watchfiles")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="nobody presses Ctrl-C there")

LONGEST_S = 120  # until a line is there, on a machine that is busy
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this process inherited
from clew.cli import main
from tests.cli.conftest import open_with_doubles
main(sys.argv[1:], obj=open_with_doubles)
"""


class Watching:
    """A process, and what it printed."""

    def __init__(self, process):
        self.process = process
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def says(self, part):
        """Wait for a line that has this part, and return those before it."""
        before = []
        while part not in (line := self.lines.get(timeout=LONGEST_S)):
            before.append(line)
        return before

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LONGEST_S)


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Work beside a folder of one note, and give that."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ada.md").write_text("# Ada\n\nAda Lane came.")
    return folder


@contextmanager
def watching(*options):
    command = [sys.executable, "-c", PROGRAM, "index", "notes", "--watch", *options]
    above = str(Path(__file__).parents[2])
    path = os.pathsep.join([*sys.path, above])
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            started = Watching(process)
            started.says("Watching notes: Ctrl-C ends it.")
            yield started
        finally:
            process.kill()


def test_an_index_follows_a_folder(notes):
    """What is added, renamed, changed and deleted is told in a line each; Ctrl-C ends it well."""
    with watching("--exclude", "drafts") as process:
        (notes / "bo.md").write_text("# Bo\n\nBo Dahl left.")
        process.says("  added notes/bo.md")
        (notes / "deep").mkdir()
        shutil.move(notes / "bo.md", notes / "deep" / "bob.md")
        process.says("  renamed notes/bo.md to notes/deep/bob.md")
        (notes / "bad.json").write_text("{")
        process.says("clew: skipped notes/bad.json: is not valid JSON")
        (notes / "drafts").mkdir()
        (notes / "drafts" / "cy.md").write_text("Cy stayed.")
        (notes / ".obsidian").mkdir()
        (notes / ".obsidian" / "state.json").write_text("{")
        (notes / "ada.md").write_text("# Ada\n\nAda Lane left.")
        before = process.says("  changed notes/ada.md")
        assert not any("drafts" in line or "state.json" in line for line in before)
        (notes / ".gitignore").write_text("deep/\n")
        process.says("  removed notes/deep/bob.md")
        assert process.interrupt() == 0
        process.says("No longer watching notes; what is reported above is in the index.")
    (notes / "bad.json").unlink()
    with open_with_doubles(Path("my.clew")) as index, open_with_doubles(Path("new")) as fresh:
        fresh.add("notes", exclude=["drafts"])
        assert contents(index.snapshot()) == contents(fresh.snapshot())


def test_another_writer_is_waited_for(notes):
    with watching() as process:
        with EmbeddedStore.open(Path("my.clew")) as other:
            other.lock()
            (notes / "bo.md").write_text("# Bo\n\nBo Dahl left.")
            process.says("clew: waiting until no other process writes to my.clew")
        process.says("  added notes/bo.md")
        shutil.rmtree(notes)
        process.says("notes is gone, so watching ends; its documents are kept")
        assert process.process.wait(LONGEST_S) == 1
    with open_with_doubles(Path("my.clew")) as index:
        assert index.documents() == ["notes/ada.md", "notes/bo.md"]


def test_a_folder_without_files_is_watched(notes):
    (notes / "ada.md").unlink()
    with watching() as process:
        assert not Path("my.clew").exists()
        (notes / "bo.md").write_text("# Bo\n\nBo Dahl left.")
        process.says("  added notes/bo.md")
        assert process.interrupt() == 0


def test_what_is_watched_is_a_folder(clew, notes, monkeypatch):
    for wrong in (["notes/ada.md"], ["notes", "--json"]):
        refused = clew("index", *wrong, "--watch")
        assert refused.exit_code == 2
        assert "--watch is for folders, and not with --json" in refused.stderr
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    refused = clew("index", "notes", "--watch")
    assert refused.exit_code == 1
    assert "pip install 'clew[watch]'" in refused.stderr
    assert not Path("my.clew").exists()
