"""Create the folders and files of an index, private to their owner by default.

An index holds the texts of its documents and what an LLM was asked. A new folder may be read by its
owner only, and what is made in it has its permissions: `chmod g+rx my.clew` shares what comes.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def make_folder(folder: Path) -> None:
    """Create a folder for an index and its parents, unless it exists."""
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def make_inner_folder(folder: Path) -> None:
    """Create a subfolder with the permissions of its parent, unless it exists."""
    if not folder.exists():
        folder.mkdir(mode=_mode(folder.parent, 0o777), parents=True, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file with the permissions of its folder, unless it exists."""
    with suppress(FileExistsError):
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(path, flags, _mode(path.parent, 0o666)))


def open_file(path: Path) -> BinaryIO:
    """Open a new file for writing, with the permissions of its folder."""
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, _mode(path.parent, 0o666)), "wb")


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    if os.name == "nt":  # Windows cannot sync a folder, and need not
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode(folder: Path, among: int) -> int:
    try:
        return folder.stat().st_mode & among
    except FileNotFoundError:
        return 0o700 & among
