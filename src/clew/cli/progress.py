"""How far a long command is: on stderr, a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from clew.cli.plain import one_line
from clew.cli.talk import is_quiet
from clew.progress import Progress, TimeLeft
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


Documents = Callable[[int], None]
Chunks = Callable[[int, int], None]

_LINE_S = 10.0  # between two lines, where stderr is no terminal
_LOOK_S = 1.0  # between two looks at the progress
_MOST = 24  # characters of a file's name


@contextmanager
def show_documents() -> Iterator[tuple[Documents | None, Chunks | None]]:
    """Give a function that counts finished documents, and one for chunks.

    The second is told of how many chunks something was extracted, and of how many it is to be.
    """
    if not sys.stderr.isatty() or is_quiet():
        yield None, None
        return
    with _build_bars("{task.completed:,.0f} {task.fields[of]}", bar=False) as progress:
        task = progress.add_task("indexing", total=None, of="documents")

        def on_chunks(done: int, total: int) -> None:
            of = f"of {total:,} chunks"
            progress.update(task, description="extracting", completed=done, of=of)

        yield lambda n: progress.advance(task, n), on_chunks


@contextmanager
def show_questions() -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that takes the number of questions asked, and of all."""
    if not sys.stderr.isatty() or is_quiet():
        yield None
        return
    with _build_bars("{task.completed:,.0f} of {task.total:,.0f}", bar=True) as progress:
        task = progress.add_task("asking", total=1)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Give what a run that indexes writes down, and show it meanwhile."""
    progress = Progress()
    if is_quiet():
        yield progress
    elif sys.stderr.isatty():
        with _show_bar(progress):
            yield progress
    else:
        with _print_lines(progress):
            yield progress


@contextmanager
def _show_bar(progress: Progress) -> Iterator[None]:
    """Show a bar that looks at the progress whenever it is drawn."""
    bars, left = (
        _build_bars("{task.fields[told]}", bar=True, timed=False),
        estimate_time_left(progress),
    )
    task = bars.add_task("starting", total=None, told="")
    drawn = bars.get_renderables

    def renderables() -> Any:  # noqa: ANN401 -- rich's
        done, total = _measure_share(progress)
        shown = describe_progress(progress, left(time.monotonic()))
        bars.update(task, description=progress.stage, completed=done, total=total, told=shown)
        return drawn()

    bars.get_renderables = renderables  # type: ignore[method-assign]
    with bars:
        yield


@contextmanager
def _print_lines(progress: Progress) -> Iterator[None]:
    """Print a line every ten seconds."""
    over, left = threading.Event(), estimate_time_left(progress)

    def tell() -> None:
        told_at = time.monotonic()
        while not over.wait(min(_LINE_S, _LOOK_S)):
            now = time.monotonic()
            seconds = left(now)
            if now - told_at < _LINE_S:
                continue
            told_at = now
            words = [progress.stage, describe_progress(progress, seconds)]
            click.echo(f"clew: {', '.join(filter(None, words))}", err=True)

    thread = threading.Thread(target=tell, name="clew-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def estimate_time_left(progress: Progress) -> Callable[[float], float | None]:
    """Return what says at a time how many seconds a stage has left; each stage begins anew."""
    of, left = ("", ""), TimeLeft()

    def seconds(now: float) -> float | None:
        nonlocal of, left
        if of != (progress.shard, progress.stage):
            of, left = (progress.shard, progress.stage), TimeLeft()
        return left.estimate_seconds_left(now, *_measure_share(progress))

    return seconds


def describe_progress(progress: Progress, left: float | None = None) -> str:
    """Return how far a run is in words: share, time left, the file at hand, what it cost."""
    done, total = _measure_share(progress)
    parts = [progress.shard] if progress.shard else []
    if progress.stage == "extracting":
        parts.append(f"{done:,.0f} of {format_count(int(total or 0), 'chunk')}")
    elif total and progress.stage != "finishing":
        parts += [f"{done / total:.0%}", f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"]
    else:
        parts.append(format_count(progress.documents, "document"))
    if left is not None:
        parts.append(f"{format_clock(round_seconds(left))} left")
    if progress.meter is not None and progress.meter.llm_calls:
        parts.append(describe_cost(progress.meter))
    if progress.stage == "indexing" and progress.source:
        name = one_line(progress.source)
        parts.append(name if len(name) <= _MOST else f"…{name[1 - _MOST :]}")
    return ", ".join(parts)


def describe_cost(meter: Any) -> str:  # noqa: ANN401 -- a `clew.models.metered.Meter`, which takes NumPy to load
    """Return what the LLM cost so far."""
    tokens = f"{meter.prompt_tokens + meter.completion_tokens:,} tokens"
    return f"{tokens}, ${meter.cost_usd:.4f}" if meter.cost_usd else tokens


def round_seconds(seconds: float) -> float:
    """Return a time that is estimated, as exactly as it can be known."""
    steps = ((3_600, 300), (600, 60), (60, 10), (0, 1))
    step = next(step for least, step in steps if seconds >= least)
    return round(seconds / step) * step


def format_clock(seconds: float) -> str:
    """Return a time as 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _measure_share(progress: Progress) -> tuple[float, float | None]:
    if progress.stage == "extracting":
        done, total = progress.chunks
        return done, total or None
    if progress.stage == "finishing":
        return 1, 1
    return progress.done_bytes, progress.total or None


def _build_bars(told: str, *, bar: bool, timed: bool = True) -> Bars:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # A name of a file is no markup, whatever brackets it has.
    parts = [SpinnerColumn(), TextColumn("{task.description}"), *([BarColumn(16)] if bar else [])]
    times = TimeRemainingColumn(compact=True) if bar and timed else TimeElapsedColumn()
    told_column = TextColumn(told, markup=False)
    return Progress(*parts, times, told_column, console=Console(stderr=True), transient=True)
