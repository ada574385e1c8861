"""Show the progress of long commands, and stop them cleanly on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.cli.plain import is_quiet, one_line, say
from clew.cli.program import INTERRUPTED, Failure
from clew.errors import NotAnIndex
from clew.progress import Progress
from clew.stopping import Stop
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from types import FrameType

    from rich.progress import Progress as Bars

    from clew.cli.options import Opened

T = TypeVar("T")


_LINE_S = 10.0  # between two lines, where stderr is no terminal
_MOST = 24  # characters of a file's name


@contextmanager
def show_count(stage: str, what: str = "") -> Iterator[Callable[..., None] | None]:
    """Yield a callback for the count done, or the count done and the total."""
    if not sys.stderr.isatty() or is_quiet():
        yield None
        return
    with _build_bars("{task.completed:,.0f} {task.fields[of]}", bar=not what) as progress:
        task = progress.add_task(stage, total=None, of=what)

        def tell(done: int, total: int | None = None) -> None:
            if total is None:
                progress.advance(task, done)
            else:
                of = f"of {total:,} {what}"
                progress.update(task, completed=done, total=None if what else total, of=of)

        yield tell


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Yield a `Progress` for an indexing run, and display it meanwhile."""
    progress = Progress()
    show = _show_bar if sys.stderr.isatty() else _print_lines
    with nullcontext() if is_quiet() else show(progress):
        yield progress


@contextmanager
def _show_bar(progress: Progress) -> Iterator[None]:
    """Display a progress bar, refreshed on a timer."""
    bars = _build_bars("{task.fields[told]}", bar=True)
    task = bars.add_task("starting", total=None, told="")
    drawn, of = bars.get_renderables, ("", "")

    def renderables() -> Any:  # noqa: ANN401 -- rich's
        nonlocal of
        if of != (progress.shard, progress.stage):
            of = progress.shard, progress.stage
            bars.reset(task)  # the speed of one stage says nothing of the next
        done, total = _measure_share(progress)
        shown = describe_progress(progress)
        bars.update(task, description=progress.stage, completed=done, total=total, told=shown)
        return drawn()

    bars.get_renderables = renderables  # type: ignore[method-assign]
    with bars:
        yield


@contextmanager
def _print_lines(progress: Progress) -> Iterator[None]:
    """Print a line every ten seconds."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_LINE_S):
            words = [progress.stage, describe_progress(progress)]
            click.echo(f"clew: {', '.join(filter(None, words))}", err=True)

    thread = threading.Thread(target=tell, name="clew-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def describe_progress(progress: Progress) -> str:
    """Return the progress in words: share, current file, cost."""
    done, total = _measure_share(progress)
    parts = [progress.shard] if progress.shard else []
    if progress.stage == "extracting":
        parts.append(f"{done:,.0f} of {format_count(int(total or 0), 'chunk')}")
    elif total and progress.stage != "finishing":
        parts += [f"{done / total:.0%}", f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"]
    else:
        parts.append(format_count(progress.documents, "document"))
    usage = None if progress.meter is None else progress.meter.usage
    if usage is not None and usage.llm_calls:
        tokens = f"{usage.total_tokens:,} tokens"
        parts.append(f"{tokens}, ${usage.cost_usd:.4f}" if usage.cost_usd else tokens)
    if progress.stage == "indexing" and progress.source:
        name = one_line(progress.source)
        parts.append(name if len(name) <= _MOST else f"…{name[1 - _MOST :]}")
    return ", ".join(parts)


def _measure_share(progress: Progress) -> tuple[float, float | None]:
    if progress.stage == "extracting":
        done, total = progress.chunks
        return done, total or None
    if progress.stage == "finishing":
        return 1, 1
    return progress.done_bytes, progress.total or None


def _build_bars(text: str, *, bar: bool) -> Bars:
    from rich import progress as rich
    from rich.console import Console

    # A name of a file is no markup, whatever brackets it has.
    parts: list[rich.ProgressColumn] = [rich.SpinnerColumn(), rich.TextColumn("{task.description}")]
    parts += [rich.BarColumn(16)] if bar else []
    times = rich.TimeRemainingColumn(compact=True) if bar else rich.TimeElapsedColumn()
    text_column = rich.TextColumn(text, markup=False)
    return rich.Progress(*parts, times, text_column, console=Console(stderr=True), transient=True)


# -- how it is stopped --------------------------------------------------------------------------


@contextmanager
def handle_stop() -> Iterator[Stop]:
    """Yield a `Stop` set by the first Ctrl-C or SIGTERM; a second one exits at once.

    Where nothing heeds it, as while models load, the first one ends at once too. Nothing that was
    committed is lost by either.
    """
    stop = Stop()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_asked or not stop.is_heeded:
            raise KeyboardInterrupt
        stop.ask()
        say("clew: stopping after these documents; press Ctrl-C again to stop at once", err=True)

    before = {}
    if threading.current_thread() is threading.main_thread():  # no other may set handlers
        before = {each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def report_interruption(index: Opened) -> Iterator[None]:
    """On interruption, print how many documents the index has."""
    try:
        yield
    except KeyboardInterrupt:
        try:
            n_documents = len(index.documents())
        except NotAnIndex:
            n_documents = 0
        raise Failure(describe_kept(n_documents), INTERRUPTED) from None


def describe_kept(n_documents: int) -> str:
    """Return the message for an index run that was stopped."""
    if not n_documents:
        return "stopped before the first document was complete; the same command starts again"
    kept = f"{format_count(n_documents, 'document')} {'is' if n_documents == 1 else 'are'} kept"
    return f"stopped: {kept}; run the same command again to continue"
