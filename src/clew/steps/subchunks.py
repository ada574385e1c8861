"""The sub-chunks of a snapshot as passages of a context, with what they cost there."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.base.derived import Derived
from clew.base.types import Hit, Step
from clew.index.snapshot import Snapshot
from clew.text import blocks


@dataclass(frozen=True)
class Texts:
    """The sub-chunks of a snapshot, for one query."""

    snapshot: Snapshot
    cosines: NDArray[np.float64]  # (n,) with the query
    _hits: dict[int, Hit] = field(default_factory=dict)
    _costs: dict[int, int] = field(default_factory=dict)

    @property
    def n_tokens(self) -> NDArray[np.integer[Any]]:
        """(n,) number of tokens of each text."""
        return np.asarray(self.snapshot.layer("subchunk").columns["n_tokens"])

    @property
    def owners(self) -> NDArray[np.integer[Any]]:
        """(n,) the chunk of each sub-chunk."""
        return np.asarray(self.snapshot.layer("subchunk").columns["chunk"])

    @property
    def of_chunk(self) -> csr_array:
        """(n_chunks, n) the sub-chunks of each chunk."""
        return self.snapshot.get(_CHUNK_TEXTS)

    def build_hit(self, row: int, channel: str = "") -> Hit:
        """Return a sub-chunk as a hit."""
        if row not in self._hits:
            self.read_hits([row])
        return replace(self._hits[row], channel=channel)

    def read_hits(self, rows: Iterable[int]) -> None:
        """Read sub-chunks ahead, all at once."""
        new = [row for row in rows if row not in self._hits]
        hits = steps.hits(self.snapshot, new, self.cosines[new], layer="subchunk")
        self._hits.update(zip(new, hits, strict=True))

    def count_cost(self, row: int) -> int:
        """Return the tokens that a sub-chunk takes in a context."""
        if row not in self._costs:
            hit = self.build_hit(row)
            self._costs[row] = blocks.count_passage_tokens(hit.head, hit.text)
        return self._costs[row]

    def build_step(self, row: int, reason: str) -> Step:
        """Return a sub-chunk as a step of a path; a whole chunk as that chunk."""
        chunk, columns = int(self.owners[row]), self.snapshot.layer("subchunk").columns
        whole = self.snapshot.layer("chunk").columns
        if all(columns[end][row] == whole[end][chunk] for end in ("start", "end")):
            return steps.read_step(self.snapshot, "chunk", chunk, reason, float(self.cosines[row]))
        return steps.read_step(self.snapshot, "subchunk", row, reason, float(self.cosines[row]))


def _link_chunks(snapshot: Snapshot) -> csr_array:
    owners = snapshot.layer("subchunk").columns["chunk"]
    n, shape = len(owners), (len(snapshot.layer("chunk")), len(owners))
    return csr_array((np.ones(n, dtype=np.float32), (owners, np.arange(n))), shape=shape)


_CHUNK_TEXTS = Derived("sub-chunks of chunks", _link_chunks)
