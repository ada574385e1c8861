"""Keep an index. The embedded store is a folder of SQLite rows and immutable arrays.

A store is anything that keeps this protocol; `clew.testing` has the suite that proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from clew.types import Batch, Scalar, Snapshot


class Store(Protocol):
    """One index. Many may read it while one writes."""

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """What the index was built with: chunking, models, versions."""
        ...

    @property
    def generation(self) -> int:
        """How many commits there have been."""
        ...

    def hashes(self) -> Mapping[str, str]:
        """Return the content hash of every live document by its id."""
        ...

    def unnamed(self, keys: Sequence[str]) -> list[int]:
        """Return the positions of those entity keys that have no name vector yet."""
        ...

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        """Add a batch in one transaction and return the new generation.

        A document replaces the live one of the same id. Raises IndexLocked while another
        process writes.
        """
        ...

    def revive(self, hashes: Mapping[str, str]) -> list[str]:
        """Bring removed documents back whose id and hash match; return their ids."""
        ...

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Delete documents and what only they supported; return the ids that were there."""
        ...

    def wasted(self) -> float:
        """Return the share of stored chunks that are dead or outside the largest segment."""
        ...

    def freeze(self) -> None:
        """Save what opening the newest generation would compute."""
        ...

    def compact(self) -> None:
        """Rewrite everything that is live as one segment and erase the rest."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the newest generation, unchanged by later commits."""
        ...

    def close(self) -> None:
        """Let go of files and locks."""
        ...
