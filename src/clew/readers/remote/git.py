"""The files of a git repository, with their history as metadata, by the program `git`.

    git+PATH, git+https://..., git+ssh://...    then @BRANCH, a tag or a commit, and #FOLDER

A repository of another machine is cloned where its commit is not the one of the last run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from clew.errors import InputError, UnreadableSource
from clew.readers.remote import Entry, RemotePlace
from clew.types import Skipped

# A repository may be hostile: nothing that its own settings name is run.
_SETTINGS = [
    word
    for setting in (
        "protocol.ext.allow=never", "log.showSignature=false", "core.fsmonitor=false",
        "core.hooksPath=/dev/null", "core.quotePath=false",
    )
    for word in ("-c", setting)
]  # fmt: skip
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
_BREAK, _PART = "\x01", "\x02"


@dataclass(slots=True)
class _History:
    """What the commits of a file say, the newest first."""

    commit: str
    author: str
    modified: str
    message: str
    created: str
    commits: int = 1


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the files of a commit, in the order of their paths.

    Raises UnreadableSource where the repository, the commit or the folder is not there.
    """
    if shutil.which("git") is None:
        raise InputError(f"{place.id} needs the program git: install it")
    address, commit, folder = _split(place.address.removeprefix("git+"))
    if "://" not in address:
        yield from _list_files(place, Path(address), commit or "HEAD", folder)
        return
    named = _git(place, None, "ls-remote", "--", address, commit or "HEAD")
    if place.is_unchanged(f"{named.split()[0] if named else commit}"):
        return
    with TemporaryDirectory(prefix="clew-") as clone:
        branch = ["--branch", commit] if commit else []
        _git(place, None, "clone", "--bare", "--quiet", *branch, "--", address, clone)
        yield from _list_files(place, Path(clone), "HEAD", folder)


def _split(address: str) -> tuple[str, str, str]:
    """Return the address of a repository, a commit and a folder, empty where none is named."""
    address, _, folder = address.partition("#")
    head, slash, last = address.rpartition("/")
    name, _, commit = last.partition("@")
    address = f"{head}{slash}{name}"
    if address.startswith("file://"):
        address = unquote(urlsplit(address).path)
    if commit.startswith("-"):
        raise InputError(f"{commit!r} is no commit of a git repository")
    return address, commit, folder.strip("/")


def _list_files(
    place: RemotePlace, folder: Path, commit: str, below: str
) -> Iterator[Entry | Skipped]:
    run = partial(_git, place, folder)
    only = ["--", below] if below else []
    tree = run("ls-tree", "-r", "-z", "--full-tree", "--long", commit, *only)
    files = [_parse_line(line) for line in tree.split("\0") if line]
    if not files:
        raise UnreadableSource(place.id, "has no file there")
    log = run(
        "log", "-z", "--name-only", "--no-renames",
        f"--format={_BREAK}%H{_PART}%an{_PART}%aI{_PART}%s", commit, *only,
    )  # fmt: skip
    history = _read_log(log)
    root = place.id.partition("#")[0]
    for mode, blob, size, path in sorted(files, key=lambda file: file[3]):
        if mode.startswith("100"):  # a file: no link, and no other repository
            own = history.get(path)
            yield Entry(
                id=f"{root}/{path}",
                below=path,
                suffix=PurePosixPath(path).suffix,
                fetch=partial(_fetch, place, folder, blob),
                fingerprint=f"{blob} {own.commit if own else ''}",
                size=size,
                modified=datetime.fromisoformat(own.modified).timestamp() if own else 0.0,
                metadata={}
                if own is None
                else {
                    "author": own.author,
                    "created": own.created,
                    "modified": own.modified,
                    "commit": own.commit,
                    "message": own.message,
                    "commits": own.commits,
                },
            )


def _parse_line(line: str) -> tuple[str, str, int, str]:
    """Return mode, blob, bytes and path of a file in a listing."""
    about, _, path = line.partition("\t")
    mode, _, blob, size = about.split()
    return mode, blob, int(size) if size.isdigit() else 0, path


def _read_log(log: str) -> dict[str, _History]:
    """Return the history of each path; the log has the newest commit first."""
    history: dict[str, _History] = {}
    for part in log.split(_BREAK)[1:]:
        about, *paths = part.split("\0")
        commit, author, date, message = about.split(_PART, 3)
        for path in filter(None, (each.strip("\n") for each in paths)):
            if path in history:
                history[path].created = date
                history[path].commits += 1
            else:
                history[path] = _History(commit, author, date, message.strip(), date)
    return history


def _fetch(place: RemotePlace, folder: Path, blob: str, path: Path) -> Path:
    with path.open("wb") as file:
        _run(place, folder, ("cat-file", "blob", blob), file.fileno())
    return path


def _git(place: RemotePlace, folder: Path | None, *words: str) -> str:
    """Return what git prints. Raises UnreadableSource with what it says where it fails."""
    return _run(place, folder, words, subprocess.PIPE).decode("utf-8", "replace")


def _run(place: RemotePlace, folder: Path | None, words: tuple[str, ...], output: int) -> bytes:
    where = [] if folder is None else ["-C", str(folder)]
    done = subprocess.run(  # noqa: S603 -- no shell, and addresses stand behind "--"
        ["git", *_SETTINGS, *where, *words],  # noqa: S607
        stdout=output,
        stderr=subprocess.PIPE,
        env={**os.environ, **_VARIABLES},
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
        raise UnreadableSource(place.id, f"git says: {said[-1].removeprefix('fatal: ')}")
    return done.stdout or b""
