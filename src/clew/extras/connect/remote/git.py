"""Read the files of a git repository with their history as metadata, using `git`.

    git+PATH, git+https://..., git+ssh://...    then @BRANCH, a tag or a commit, and #FOLDER

A repository of another machine is cloned where its commit is not the one of the last run.
"""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from clew.base.types import Skipped, Value
from clew.errors import InputError, UnreadableSource
from clew.readers.remote import Entry, RemotePlace, to_seconds

# A repository may be hostile: nothing that its own settings name is run.
_SETTINGS = [
    word
    for setting in (
        "protocol.ext.allow=never", "log.showSignature=false", "core.fsmonitor=false",
        "core.hooksPath=/dev/null", "core.quotePath=false", "diff.relative=false",
    )
    for word in ("-c", setting)
]  # fmt: skip
_VARIABLES = {
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# What a process in a hook of git is given, and what would lead to another repository.
_OTHERS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
_BREAK, _PART = "\x01", "\x02"
_COMMIT = re.compile(f"{_BREAK}(?=[0-9a-f]{{40,64}}{_PART})")


class _Commit(NamedTuple):
    """The author, date and message of a commit."""

    name: str
    date: str
    author: str
    message: str


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the files of a commit, ordered by path.

    Raises UnreadableSource where the repository, the commit or the folder is not there.
    """
    if shutil.which("git") is None:
        raise InputError(f"{place.id} needs the program git: install it")
    given = re.sub("^git[+]", "", place.address, flags=re.IGNORECASE)
    if re.match("[^/]{2,}:(?!//)", given):
        raise InputError(f"{place.id} is not an address: write git+ssh://HOST/PATH for HOST:PATH")
    address, commit, folder = _split(given)
    if "://" not in address:
        yield from _list_files(place, Path(address), commit or "HEAD", folder)
        return
    named = _git(place, None, "ls-remote", "--", address, commit or "HEAD")
    if place.is_unchanged(" ".join(named.split()[::2]) or commit):  # several may have a name
        return
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as clone:
        branch = ["--branch", commit] if commit and named else []
        _git(place, None, "clone", "--bare", "--quiet", *branch, "--", address, clone)
        yield from _list_files(place, Path(clone), "HEAD" if named else commit, folder)


def _split(address: str) -> tuple[str, str, str]:
    """Split an address into repository, commit and folder, "" for missing parts."""
    address, _, folder = address.partition("#")
    head, slash, last = address.rpartition("/")
    name, _, commit = last.partition("@")
    address = f"{head}{slash}{name}"
    if address.startswith("file://"):
        address = url2pathname(urlsplit(address).path)
    if commit.startswith("-"):
        raise InputError(f"{commit!r} is not a commit of this repository")
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
        f"--format={_BREAK}%H{_PART}%aI{_PART}%an{_PART}%s", commit, *only,
    )  # fmt: skip
    history = _read_log(log)
    root = place.id.partition("#")[0]
    for mode, blob, size, path in sorted(files, key=lambda file: file[3]):
        if mode.startswith("100"):  # a file: no link, and no other repository
            commits = history.get(path, [])
            newest = commits[0] if commits else _Commit("", "", "", "")
            yield Entry(
                id=f"{root}/{path}",
                below=path,
                suffix=PurePosixPath(path).suffix,
                fetch=partial(_fetch, place, folder, blob),
                fingerprint=f"{blob} {newest.name}",
                size=size,
                modified=to_seconds(newest.date),
                metadata=_describe(commits) if commits else {},
            )


def _parse_line(line: str) -> tuple[str, str, int, str]:
    """Return mode, blob, size and path of a file in a listing."""
    about, _, path = line.partition("\t")
    mode, _, blob, size = about.split()
    return mode, blob, int(size) if size.isdigit() else 0, path


def _read_log(log: str) -> dict[str, list[_Commit]]:
    """Return the commits of each path, newest first."""
    history: dict[str, list[_Commit]] = defaultdict(list)
    for part in _COMMIT.split(log)[1:]:
        about, *paths = part.split("\0")
        name, date, author, message = (*about.split(_PART, 3), "", "")[:4]
        date = date if to_seconds(date) else ""  # commits may have any
        commit = _Commit(name, date, author, message.strip())
        for path in filter(None, (each.strip("\n") for each in paths)):
            history[path].append(commit)
    return history


def _describe(commits: Sequence[_Commit]) -> dict[str, Value]:
    """Return the metadata of a file from its commits."""
    newest = commits[0]
    said: dict[str, str | int] = {
        "author": newest.author,
        "created": commits[-1].date,
        "modified": newest.date,
        "commit": newest.name,
        "message": newest.message,
        "commits": len(commits),
    }
    return {name: value for name, value in said.items() if value != ""}


def _fetch(place: RemotePlace, folder: Path, blob: str, path: Path) -> Path:
    with path.open("wb") as file:
        _run(place, folder, ("cat-file", "blob", blob), file.fileno())
    return path


def _git(place: RemotePlace, folder: Path | None, *words: str) -> str:
    """Run git and return its output. Raises UnreadableSource with its message if it fails."""
    return _run(place, folder, words, subprocess.PIPE).decode("utf-8", "replace")


def _run(place: RemotePlace, folder: Path | None, words: tuple[str, ...], output: int) -> bytes:
    where = [] if folder is None else ["-C", str(folder)]
    done = subprocess.run(  # noqa: S603 -- no shell, and addresses stand behind "--"
        ["git", *_SETTINGS, *where, *words],  # noqa: S607
        stdout=output,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**{k: v for k, v in os.environ.items() if k not in _OTHERS}, **_VARIABLES},
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
        raise UnreadableSource(place.id, f"git says: {said[-1].removeprefix('fatal: ')}")
    return done.stdout or b""
