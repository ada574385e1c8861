"""`clew index FOLDER --watch`: an index that follows what is written in folders.

A deleted folder is an error and removes nothing, since it may have been unmounted. Between updates
the lock is free, so that others can write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.cli.plain import dim, one_line, say
from clew.errors import ClewError, IndexLocked, InputError, MissingExtra

if TYPE_CHECKING:
    from clew.index.adding import AddReport

T = TypeVar("T")

_STEP_MS = 200  # without a change, and what came before is one update
_DEBOUNCE_MS = 2_000  # of changes without a pause, at most
_WAKE_MS = 500  # how often it is looked whether the folders are still there
_RETRY_S = 0.2  # until another process is done with the index
_MOST_NAMED = 3  # documents of one update


class Watcher:
    """Changes of files in folders, kept from the moment on in which it is made."""

    def __init__(self, folders: Sequence[Path], index: Path) -> None:
        """Watch folders, without what is in the folder of an index."""
        try:
            import watchfiles
        except ModuleNotFoundError:
            raise MissingExtra("watchfiles", "watch", "watching a folder") from None
        self._folders = {folder.resolve(): _identify_folder(folder) for folder in folders}
        self._index = index.resolve()
        self._changes = watchfiles.watch(
            *self._folders,
            watch_filter=lambda _, path: self._matters(Path(path)),
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_WAKE_MS,
            yield_on_timeout=True,
        )
        self._seen = self._next_changes()

    def follow(self, update: Callable[[set[Path] | None], None]) -> None:
        """Let an update follow each change until the user presses Ctrl-C.

        It takes what changed, None where anything may have. What fails is told, and tried again
        with the next change. Raises InputError where a folder is gone.
        """
        pending: set[Path] | None = set()
        with suppress(KeyboardInterrupt):
            while True:
                seen, self._seen = self._seen, set()
                if any(path.name == ".gitignore" for path in seen):
                    pending = None
                elif pending is not None:
                    pending |= seen
                try:
                    if seen:
                        update(pending)
                        pending = set()
                except ClewError as error:
                    click.echo(f"clew: {one_line(str(error))}", err=True)
                self._seen = self._next_changes()

    def _next_changes(self) -> set[Path]:
        try:
            paths = {Path(path) for _, path in next(self._changes)}
        except RuntimeError as error:  # such as too many folders for this system
            raise InputError(f"this folder cannot be watched: {error}") from error
        for folder, identity in self._folders.items():
            if _identify_folder(folder) != identity:
                raise InputError(f"{folder} is gone, so watching ends; its documents are kept")
        return paths

    def _matters(self, path: Path) -> bool:
        from clew.readers.selection import BY_DEFAULT

        if path.is_relative_to(self._index):
            return False
        root = next((each for each in self._folders if path.is_relative_to(each)), path)
        parts = path.relative_to(root).parts
        seen = parts[:-1] if path.name == ".gitignore" else parts
        return not any(fnmatchcase(part, pattern) for part in seen for pattern in BY_DEFAULT)


def has_files(folders: Sequence[Path], options: Mapping[str, Any]) -> bool:
    """Say whether some folders hold a file that would be read."""
    from clew.index.options import AddOptions
    from clew.readers.walk import files

    selection = AddOptions(**options).select_files()
    return next(files(folders, None, selection), None) is not None


def write_when_free(write: Callable[[], T], index: Path) -> T:
    """Write, as soon as no other process writes to an index."""
    has_warned = False
    while True:
        try:
            return write()
        except IndexLocked:
            if not has_warned:
                place = one_line(str(index))
                say(f"clew: waiting until no other process writes to {place}", err=True)
            has_warned = True
            time.sleep(_RETRY_S)


def print_update(report: AddReport) -> None:
    """Print what an update did, in one line; nothing where it did nothing."""
    done = {
        "added": report.added,
        "changed": report.changed,
        "restored": report.restored,
        "renamed": [f"{old} to {new}" for old, new in report.renamed.items()],
        "removed": report.gone if report.pruned else [],
    }
    done = {what: names for what, names in done.items() if names}
    if not done:
        return
    if sum(map(len, done.values())) <= _MOST_NAMED:
        changes = ", ".join(f"{what} {name}" for what, names in done.items() for name in names)
    else:
        changes = ", ".join(f"{len(names):,} {what}" for what, names in done.items())
    click.echo(f"{dim(time.strftime('%H:%M:%S'))}  {one_line(changes)}")


def _identify_folder(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another one of its name, None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
