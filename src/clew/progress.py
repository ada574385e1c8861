"""How far a run is that reads documents: one thread writes it down, any other looks at it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Progress:
    """What was done so far. Bytes are those of files, as far as their documents are in the index.

    A document that was read counts while it is embedded, and wholly once it is committed.
    """

    stage: str = "starting"  # then "indexing", "extracting", "finishing"
    total: int | None = None  # bytes of all files; None: not known, as where documents are given
    shard: str = ""  # of an index in shards the one at hand, such as "shard 3 of 16"
    source: str = ""  # of the file at hand
    documents: int = 0  # done with
    chunks: tuple[int, int] = (0, 0)  # extracted, and to be extracted
    meter: Any = None  # what the run costs: a `clew.models.metered.Meter`
    _before: int = 0  # bytes of files that are read
    _size: int = 0  # of the file at hand
    _characters: int = 0  # of the documents that came from it
    _last: str = ""  # the document that was read last
    _weights: dict[str, float] = field(default_factory=dict)  # bytes of each document at hand
    _at_hand: float = 0.0  # bytes of all these
    _expected: float = 0.0  # characters that are to be embedded for them
    _embedded: float = 0.0

    def enter(self, shard: str) -> None:
        """Begin anew for one shard of several."""
        documents = self.documents
        self.__init__()  # type: ignore[misc]
        self.shard, self.documents = shard, documents

    @property
    def done(self) -> float:
        """Bytes that are done with."""
        share = min(self._embedded / self._expected, 1.0) if self._expected else 0.0
        return self._read - self._at_hand * (1.0 - share)

    @property
    def _read(self) -> float:
        return self._before + min(self._size, self._characters)

    def open(self, source: str, size: int) -> None:
        """Begin with a file of so many bytes; the last one's markup counts with its document."""
        rest = self._size - min(self._size, self._characters)
        if self._last in self._weights:
            self._weights[self._last] += rest
            self._at_hand += rest
        self._before += self._size
        self.source, self._size, self._characters = source, size, 0

    def read(self, document_id: str, characters: int) -> None:
        """Note a document of the file at hand."""
        before, self._last = self._read, document_id
        self._characters += characters
        self._weights[document_id] = self._read - before
        self._at_hand += self._read - before

    def expect(self, characters: float) -> None:
        """Say how many characters will be embedded for the documents at hand."""
        self._expected, self._embedded = characters, 0.0

    def embedded(self, characters: int) -> None:
        """Note that so many characters more were embedded."""
        self._embedded += characters

    def settle(self, document_ids: Iterable[str]) -> None:
        """Note that documents are in the index, or will not come into it."""
        for each in document_ids:
            self._at_hand -= self._weights.pop(each, 0.0)
            self.documents += 1
        if not self._weights:
            self._at_hand = self._expected = self._embedded = 0.0
