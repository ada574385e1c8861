"""How far a long command is: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.cli.talk import is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress


Documents = Callable[[int], None]
Chunks = Callable[[int, int], None]


@contextmanager
def documents_done() -> Iterator[tuple[Documents | None, Chunks | None]]:
    """Give a function that is told how many more documents are done with, and one for chunks.

    The second is told of how many chunks something was extracted, and of how many it is to be.
    """
    if not sys.stderr.isatty() or is_quiet():
        yield None, None
        return
    with _progress("{task.completed:,.0f} {task.fields[of]}", bar=False) as progress:
        task = progress.add_task("indexing", total=None, of="documents")

        def on_chunks(done: int, total: int) -> None:
            of = f"of {total:,} chunks"
            progress.update(task, description="extracting", completed=done, of=of)

        yield lambda n: progress.advance(task, n), on_chunks


@contextmanager
def questions_asked() -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that is told how many questions are asked, and of how many."""
    if not sys.stderr.isatty() or is_quiet():
        yield None
        return
    with _progress("{task.completed:,.0f} of {task.total:,.0f}", bar=True) as progress:
        task = progress.add_task("asking", total=1)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _progress(counted: str, *, bar: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts = [SpinnerColumn(), TextColumn("{task.description}"), *([BarColumn()] if bar else [])]
    return Progress(
        *parts,
        TextColumn(counted),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
