"""Progress is for people who look on: a bar on a terminal, a line now and then elsewhere."""

import io
import sys
import time
from types import SimpleNamespace

from clew.base.types import Usage
from clew.cli import progress as shown
from clew.cli.progress import describe_progress, show_count, show_progress
from clew.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_terminal_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with show_count("indexing", "documents") as tell_documents:
        assert tell_documents is None
    assert not sys.stderr.getvalue()


def test_progress_counts_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with show_count("indexing", "documents") as tell_documents:
        tell_documents(1_000)
        tell_documents(234)
    with show_count("extracting", "chunks") as tell_chunks:
        tell_chunks(7, 2_345)
    with show_count("asking") as tell_questions:
        tell_questions(3, 40)
    printed = sys.stderr.getvalue()
    assert "1,234 documents" in printed
    assert "7 of 2,345 chunks" in printed
    assert "3 of 40" in printed


def begin(progress):
    progress.stage, progress.total = "indexing", 4_000_000
    progress.open("notes/a.md", 1_000_000)
    progress.read("a", 2_000_000)
    progress.settle(["a"])


def test_a_bar_looks_at_the_progress(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with show_progress() as progress:
        begin(progress)
    assert "25%, 1.0 of 4.0 MB, notes/a.md" in sys.stderr.getvalue()


def test_lines_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(shown, "_LINE_S", 0.02)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with show_progress() as progress:
        begin(progress)
        time.sleep(0.2)
    first, *_ = lines = sys.stderr.getvalue().splitlines()
    assert first.startswith("clew: indexing, 25%, 1.0 of 4.0 MB, notes/a.md")
    time.sleep(0.06)
    assert sys.stderr.getvalue().splitlines() == lines


def test_what_is_told():
    begin(progress := Progress())
    assert describe_progress(progress) == "25%, 1.0 of 4.0 MB, notes/a.md"
    usage = Usage(llm_calls=2, prompt_tokens=1_000, completion_tokens=234, cost_usd=0.0123)
    progress.meter = SimpleNamespace(usage=usage)
    progress.source = "a/very/long/way/to/some\nnote.md"
    *words, name = describe_progress(progress).split(", ")
    assert words == ["25%", "1.0 of 4.0 MB", "1,234 tokens", "$0.0123"]
    assert name == "…ong/way/to/some note.md"
    progress.stage, progress.chunks = "extracting", (3, 12)
    assert describe_progress(progress) == "3 of 12 chunks, 1,234 tokens, $0.0123"
    assert describe_progress(Progress(documents=3)) == "3 documents"
