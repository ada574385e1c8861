"""Keep an index. The embedded store is a folder of SQLite rows and immutable arrays.

A store is anything that keeps this protocol; `clew.testing` has the suite that proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clew.types import Batch, Scalar, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Store(Protocol):
    """One index. Many may read it while one writes."""

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """What the index was built with: chunking, models, versions."""
        ...

    def settle(self, more: Mapping[str, Scalar | None]) -> None:
        """Add to the recipe what is decided after the index was made; None takes a name out.

        Snapshots that are open keep the recipe that they have.
        """
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

    def claim(self) -> None:
        """Become the one writer now, until `close`: nobody else commits, compacts or keeps.

        Raises IndexLocked while another process writes.
        """
        ...

    def commit(self, batch: Batch, hashes: Sequence[str]) -> int:
        """Add a batch in one transaction and return the new generation.

        A document replaces the live one of the same id, an extraction those of its chunk and
        kind, which wait for it no more. Raises IndexLocked while another process writes.
        """
        ...

    def wanted(self) -> Mapping[str, Scalar]:
        """Return what `set_wanted` kept last, nothing in a new store."""
        ...

    def set_wanted(self, wanted: Mapping[str, Scalar]) -> None:
        """Keep what is to be extracted from the chunks."""
        ...

    def work(self, kind: str) -> Mapping[int, int]:
        """Return the chunks (stored rows) that were considered for a kind of extraction.

        Each has the number of its pack, the chunks that one prompt is made from, and -1 where it
        is to be left as it is. A chunk that has its extraction is not among them.
        """
        ...

    def set_work(self, kind: str, packs: Mapping[int, int], *, anew: bool = False) -> None:
        """Consider chunks for a kind of extraction, as `work` will return them.

        `anew` forgets what was considered before.
        """
        ...

    def aliases(self) -> Mapping[str, str]:
        """Return which entity key stands for which other key."""
        ...

    def set_aliases(self, targets: Mapping[str, str | None]) -> int:
        """Let keys stand for others (None: for themselves again); return the new generation."""
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

    def keep(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep what was computed from the newest generation, durable when this returns.

        It was computed from a snapshot that was opened behind `claim`: before, another session
        may add a generation meanwhile. Raises InputError where the newest one is not frozen,
        IndexLocked while another process writes.
        """
        ...

    def kept(self, name: str) -> Mapping[str, NDArray[Any]] | None:
        """Return what was kept last under a name, of the newest generation or an earlier one.

        None where nothing is, where it cannot be read, and where a compaction has numbered stored
        rows anew since.
        """
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
