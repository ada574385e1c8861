"""Sub-chunks as a context prints them, and what that costs in tokens."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.derived import Derived
from clew.snapshot import Snapshot
from clew.text import blocks
from clew.types import Hit, Step


@dataclass(frozen=True)
class Texts:
    """The sub-chunks of a snapshot, seen from one query."""

    snapshot: Snapshot
    cosines: NDArray[np.float64]  # (n,) with the query
    _hits: dict[int, Hit] = field(default_factory=dict)
    _costs: dict[int, int] = field(default_factory=dict)

    @property
    def n_tokens(self) -> NDArray[np.integer[Any]]:
        """(n,) tokens of the texts alone."""
        return np.asarray(self.snapshot.layer("subchunk").columns["n_tokens"])

    @property
    def owners(self) -> NDArray[np.integer[Any]]:
        """(n,) the chunk of each."""
        return np.asarray(self.snapshot.layer("subchunk").columns["chunk"])

    @property
    def of_chunk(self) -> csr_array:
        """(n_chunks, n) the sub-chunks of each chunk."""
        return self.snapshot.get(_OF_CHUNK)

    def build_hit(self, row: int, channel: str = "") -> Hit:
        """Return a sub-chunk as a hit."""
        if row not in self._hits:
            score = self.cosines[row : row + 1]
            [self._hits[row]] = steps.hits(self.snapshot, [row], score, layer="subchunk")
        return replace(self._hits[row], channel=channel)

    def count_cost(self, row: int) -> int:
        """Return how many tokens a sub-chunk takes in a context."""
        if row not in self._costs:
            hit = self.build_hit(row)
            self._costs[row] = blocks.count_passage_tokens(hit.head, hit.text)
        return self._costs[row]

    def build_step(self, row: int, reason: str) -> Step:
        """Return a sub-chunk as a stop of a path; one that is a whole chunk as that chunk."""
        chunk, columns = int(self.owners[row]), self.snapshot.layer("subchunk").columns
        whole = self.snapshot.layer("chunk").columns
        if all(columns[end][row] == whole[end][chunk] for end in ("start", "end")):
            return steps.chunk_step(self.snapshot, chunk, reason, float(self.cosines[row]))
        return steps.subchunk_step(self.snapshot, row, reason, float(self.cosines[row]))


def _link_chunks(snapshot: Snapshot) -> csr_array:
    owners = snapshot.layer("subchunk").columns["chunk"]
    n, shape = len(owners), (len(snapshot.layer("chunk")), len(owners))
    return csr_array((np.ones(n, dtype=np.float32), (owners, np.arange(n))), shape=shape)


_OF_CHUNK = Derived("sub-chunks of chunks", _link_chunks)
