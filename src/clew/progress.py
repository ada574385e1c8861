"""Progress of a run that reads documents: one thread updates it, others read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Progress:
    """The work done so far, in bytes of files whose documents are indexed.

    A document that was read counts while it is embedded, and wholly once it is committed.
    """

    stage: str = "starting"  # then "indexing", "extracting", "finishing"
    total: int | None = None  # bytes of all files; None: not known, as where documents are given
    shard: str = ""  # of an index in shards the one at hand, such as "shard 3 of 16"
    source: str = ""  # of the file at hand
    documents: int = 0  # done with
    chunks: tuple[int, int] = (0, 0)  # extracted, and to be extracted
    meter: Any = None  # what the run costs: a `clew.models.run.Meter`
    _before: int = 0  # bytes of files that are read
    _size: int = 0  # of the file at hand
    _characters: int = 0  # of the documents that came from it
    _last: str = ""  # the document that was read last
    _weights: dict[str, float] = field(default_factory=dict)  # bytes of each document at hand
    _at_hand: float = 0.0  # bytes of all these
    _expected: float = 0.0  # characters that are to be embedded for them
    _embedded: float = 0.0

    def enter(self, shard: str) -> None:
        """Restart for one of several shards."""
        documents = self.documents
        self.__init__()  # type: ignore[misc]
        self.shard, self.documents = shard, documents

    @property
    def done_bytes(self) -> float:
        """The number of bytes done."""
        share = min(self._embedded / self._expected, 1.0) if self._expected else 0.0
        return self._read - self._at_hand * (1.0 - share)

    @property
    def _read(self) -> float:
        return self._before + min(self._size, self._characters)

    def open(self, source: str, size: int) -> None:
        """Start a file of `size` bytes; the last file's markup counts with its document."""
        rest = self._size - min(self._size, self._characters)
        if self._last in self._weights:
            self._weights[self._last] += rest
            self._at_hand += rest
        self._before += self._size
        self.source, self._size, self._characters = source, size, 0

    def read(self, document_id: str, characters: int, *, whole: bool = False) -> None:
        """Record a document of the current file, or one that spans the `whole` file."""
        before, self._last = self._read, document_id
        self._characters += max(characters, self._size) if whole else characters
        self._weights[document_id] = self._read - before
        self._at_hand += self._read - before

    def expect(self, characters: float) -> None:
        """Add the number of characters to embed for the current documents."""
        self._expected, self._embedded = characters, 0.0

    def add_embedded(self, characters: int) -> None:
        """Add a number of embedded characters."""
        self._embedded += characters

    def settle(self, document_ids: Iterable[str]) -> None:
        """Record documents as indexed or skipped."""
        for each in document_ids:
            self._at_hand -= self._weights.pop(each, 0.0)
            self.documents += 1
        if not self._weights:
            self._at_hand = self._expected = self._embedded = 0.0
