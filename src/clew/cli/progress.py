"""How far a long command is: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def documents_done() -> Iterator[Callable[[int], None] | None]:
    """Give a function that is told how many more documents are done with."""
    if not sys.stderr.isatty():
        yield None
        return
    with _progress("{task.completed:,.0f} documents", bar=False) as progress:
        task = progress.add_task("indexing", total=None)
        yield lambda n: progress.advance(task, n)


@contextmanager
def questions_asked() -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that is told how many questions are asked, and of how many."""
    if not sys.stderr.isatty():
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
