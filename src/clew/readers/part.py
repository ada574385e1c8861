"""Assign each document to a shard by a hash of its id."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from clew.base.runtime.lazy import compile_re
from clew.base.types import Document
from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clew.base.types import Skipped

_WRITTEN = compile_re(r"(\d+)/(\d+)")


def shard_of(document_id: str, n_shards: int) -> int:
    """Return the shard of a document, by a hash of its id."""
    digest = blake2b(document_id.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_shards


@dataclass(frozen=True, slots=True)
class ShardPart:
    """The documents that belong to one shard of `n`."""

    number: int  # from 0
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.n:
            raise InputError(f"there is no part {self.number} of {self.n}: parts count from 0")

    @classmethod
    def parse_part(cls, written: str | ShardPart) -> ShardPart:
        """Parse a part such as "3/16". Raises InputError."""
        if isinstance(written, ShardPart):
            return written
        match = _WRITTEN.fullmatch(str(written))
        if match is None:
            raise InputError(f"a part must be NUMBER/COUNT, such as 0/4, not {written!r}")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"{self.number}/{self.n}"

    def has(self, document_id: str) -> bool:
        """Check whether a document belongs to this shard."""
        return shard_of(document_id, self.n) == self.number

    def take_documents(
        self, items: Iterable[Document | Skipped], read: dict[str, str], *, strict: bool
    ) -> Iterator[Document | Skipped]:
        """Yield this shard's documents and all skipped items; other ids are added to `read`.

        Raises InputError for a document of another part where that is `strict`.
        """
        for item in items:
            if not isinstance(item, Document) or self.has(item.id):
                yield item
            elif strict:
                raise InputError(
                    f"the document {item.id!r:.80} is not of the part {self}, which this index is:"
                    f" add it to the shard {shard_of(item.id, self.n)}"
                )
            else:
                read[item.id] = ""
