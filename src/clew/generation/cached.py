"""Cached arrays of a generation: from disk, from an earlier generation's, or computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived import Earlier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clew.derived import Arrays, CachedArrays
    from clew.generation.rows import Rows
    from clew.store import Cache, View
    from clew.types import Snapshot

_INPUT = "input."  # before the name of a layer: the stored rows that the arrays are of
_NUMBERING = "input"  # which numbering these rows are of


@dataclass(frozen=True, slots=True)
class Recall:
    """Gives the cached arrays of one generation, and caches what it has to compute.

    Those of some documents alone are computed from what is cached of all, and not cached.
    """

    cache: Cache
    view: View
    stored: Mapping[str, Rows]  # the stored row of each row of a layer
    whole: bool = True

    def __call__(self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]) -> Arrays:
        if not self.whole:
            return self._computed(snapshot, what, given)
        generation = self.view.generation
        found = self.cache.load(what.name, generation)
        if found is not None:
            return _own(found)
        arrays = self._computed(snapshot, what, given)
        self.cache.save(what.name, generation, {**arrays, **self._inputs(what)})
        return arrays

    def _computed(self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]) -> Arrays:
        found = self.cache.newest(what.name)
        if found is None:
            return what.compute(snapshot, **given)
        earlier = self._earlier(what, found)
        if what.update is not None:
            return what.update(snapshot, earlier, **given)
        if earlier.unchanged.issuperset(what.inputs):
            return earlier.arrays
        return what.compute(snapshot, **given)

    def _inputs(self, what: CachedArrays) -> Arrays:
        rows = {f"{_INPUT}{name}": self._rows(name) for name in what.inputs}
        return {**rows, _NUMBERING: np.array([self.view.numbering])}

    def _earlier(self, what: CachedArrays, found: Arrays) -> Earlier:
        """Return what was cached, with the row that each row of its inputs was then."""
        same_numbers = int(found[_NUMBERING][0]) == self.view.numbering
        rows, unchanged = {}, set()
        for name in what.inputs:
            now, then = self._rows(name), found[f"{_INPUT}{name}"]
            if not same_numbers:
                rows[name] = np.full(len(now), -1, dtype=np.int64)
                continue
            place = np.full(max(int(now.max(initial=-1)), int(then.max(initial=-1))) + 1, -1)
            place[then] = np.arange(len(then))
            rows[name] = place[now]
            if np.array_equal(now, then):
                unchanged.add(name)
        return Earlier(_own(found), rows, frozenset(unchanged))

    def _rows(self, layer: str) -> NDArray[np.int64]:
        """Return the stored rows of a layer; sentences are the units where no LLM made any."""
        if layer == "sentence" and layer not in self.stored:
            return self.stored["unit.sentence"]
        return self.stored[layer]


def _own(found: Arrays) -> Arrays:
    """Return the arrays as they were computed, without what they are of."""
    return {
        name: array
        for name, array in found.items()
        if name != _NUMBERING and not name.startswith(_INPUT)
    }
