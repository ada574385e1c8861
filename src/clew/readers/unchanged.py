"""Know the files and remote entries that are as they were when an index read them.

Each has a mark, a digest of its fingerprint and of the contents that the index has of its
documents: where it is another one, the file is read. What a file is read by counts, too.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

from clew.readers.walk import File

LOCAL = ""  # the place of files of this machine
_MARGIN = 2.0  # seconds: a file system may give two writes within this time the same times
_MOST = 1_000_000  # documents of files that are known: files beyond are always read

Entries = dict[str, list[Any]]  # of each its mark and the ids of its documents, as JSON has them


@dataclass
class UnchangedFiles:
    """Tells which files and remote entries are unchanged since the last run, to leave unread."""

    rules: object = ()  # the options by which files are read
    load: Callable[[], Mapping[str, Any]] = dict  # the state that `to_note` returned last
    list_contents: Callable[[], Mapping[str, str]] = dict  # content hashes by document id
    kept: dict[str, str] = field(default_factory=dict)  # documents that are left unread, and files
    _now: dict[str, Entries] = field(default_factory=dict)  # by place
    _read: list[tuple[File, list[str]]] = field(default_factory=list)

    def open_place(self, place_id: str) -> None:
        """Begin a remote place."""
        self._now[place_id] = {}

    def keep(self, place_id: str, entry_id: str, fingerprint: str) -> bool:
        """Check whether an entry is unchanged; its documents are then kept."""
        mark, ids = self.load().get(place_id, {}).get(entry_id, ("", []))
        contents = self.list_contents()
        if not (fingerprint and mark and mark == self._mark(place_id, fingerprint, ids, contents)):
            return False
        if place_id:
            self._now[place_id][entry_id] = [mark, ids]
        self.kept |= dict.fromkeys(ids, entry_id)
        return True

    def fail(self, place_id: str, entry_id: str) -> None:
        """Record that an entry, or for "" the place, failed; its documents are kept."""
        former = self.load().get(place_id, {}).items()
        stays = {entry: known for entry, known in former if entry_id in {"", entry}}
        self._now[place_id] = {**stays, **self._now[place_id]}

    def note(self, file: File, ids: list[str], began: float) -> None:
        """Record the ids of a file's documents; reading it `began` at that time.

        A file that was written just before may be written again without a trace in its times.
        """
        if file.place:
            self._now[file.place][file.id] = ["", ids]
        if file.fingerprint and began - file.changed > _MARGIN:
            self._read.append((file, ids))

    def find_gone(self) -> list[str]:
        """Return the ids of documents whose remote entries no longer exist."""
        seen = {own for entries in self._now.values() for _, ids in entries.values() for own in ids}
        former = (self.load().get(place_id, {}) for place_id in self._now)
        ids = (own for entries in former for _, documents in entries.values() for own in documents)
        return list(
            dict.fromkeys(own for own in ids if own not in seen and own in self.list_contents())
        )

    def to_note(
        self, read: Mapping[str, str], list_contents: Callable[[], Mapping[str, str]]
    ) -> Mapping[str, Any] | None:
        """Return the state to store for the next run, None where it is as before.

        A file is known where the index has its documents with the contents that were `read`.
        """
        if not (self._read or self._now):
            return None
        contents = list_contents()  # after the last commit
        there = {own: content for own, content in read.items() if contents.get(own) == content}
        now = {LOCAL: dict(self.load().get(LOCAL, {})), **self._now}
        for file, ids in self._read:
            mark = self._mark(file.place, file.fingerprint, ids, there)
            now[file.place][file.id] = [mark, ids]
        files, room = Entries(), _MOST
        for own, (mark, ids) in now[LOCAL].items():
            if mark and len(ids) <= room and contents.keys() >= set(ids):
                files[own], room = [mark, ids], room - len(ids)
        return {**self.load(), **now, LOCAL: files}

    @cached_property
    def _reading(self) -> bytes:
        """A digest of what decides how files are read: options, and the packages that read them."""
        packages = []
        for folder in sys.path:
            with suppress(OSError):
                packages += [each.name for each in os.scandir(folder) if "-info" in each.name]
        return blake2b(repr((self.rules, sys.version, sorted(packages))).encode()).digest()

    def _mark(
        self, place_id: str, fingerprint: str, ids: Sequence[str], contents: Mapping[str, str]
    ) -> str:
        """Return the mark of an entry, "" where the index lacks a document of it."""
        found = [contents.get(each, "") for each in ids]
        if not all(found):
            return ""
        key = b"" if place_id else self._reading
        return blake2b(repr((fingerprint, found)).encode(), key=key, digest_size=12).hexdigest()
