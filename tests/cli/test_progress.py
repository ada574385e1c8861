"""Progress is for people who look on."""

import io
import sys

from clew.cli.progress import documents_done, questions_asked


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_terminal_no_progress(monkeypatch):
    """Where stderr is a file nobody is told anything."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with documents_done() as tell_documents, questions_asked() as tell_questions:
        assert tell_documents == (None, None)
        assert tell_questions is None
    assert not sys.stderr.getvalue()


def test_progress_counts_on_a_terminal(monkeypatch):
    """On a terminal the numbers so far are shown, on stderr."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with documents_done() as (tell_documents, _):
        tell_documents(1_000)
        tell_documents(234)
    with documents_done() as (_, tell_chunks):
        tell_chunks(7, 2_345)
    with questions_asked() as tell_questions:
        tell_questions(3, 40)
    shown = sys.stderr.getvalue()
    assert "1,234 documents" in shown
    assert "7 of 2,345 chunks" in shown
    assert "3 of 40" in shown
