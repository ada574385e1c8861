"""Ctrl-C while documents are indexed: what is whole is kept, and the user is told how much."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.cli.program import UserInterrupt
from clew.cli.talk import say
from clew.errors import NotAnIndex
from clew.stopping import Stop
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from types import FrameType

    from clew.api import Index
    from clew.shards import Shards


@contextmanager
def handle_stop() -> Iterator[Stop]:
    """Give what the first Ctrl-C or SIGTERM asks to stop; a second one ends at once.

    Where nothing heeds it, as while models load, the first one ends at once too. Nothing that was
    committed is lost by either.
    """
    stop = Stop()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_asked or not stop.is_heeded:
            raise KeyboardInterrupt
        stop.ask()
        say("clew: stopping behind the documents at hand; once more ends at once", err=True)

    before = {}
    if threading.current_thread() is threading.main_thread():  # no other may set handlers
        before = {each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def report_interruption(index: Index | Shards) -> Iterator[None]:
    """Say of a block that was interrupted how many documents the index has."""
    try:
        yield
    except KeyboardInterrupt:
        try:
            n_documents = len(index.documents())
        except NotAnIndex:
            n_documents = 0
        raise UserInterrupt(describe_kept(n_documents)) from None


def describe_kept(n_documents: int) -> str:
    """Return the message for an index run that was stopped."""
    if not n_documents:
        return "stopped before a document was whole; the same command begins anew"
    have = "is" if n_documents == 1 else "are"
    return f"stopped: {format_count(n_documents, 'document')} {have} kept; the same command goes on"
