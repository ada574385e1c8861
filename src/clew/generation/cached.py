"""Cached arrays of a generation: from disk, from an earlier generation's, or computed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from clew.algo.links import ranges
from clew.derived import Earlier
from clew.errors import DamagedIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clew.derived import Arrays, CachedArrays
    from clew.generation.rows import Rows
    from clew.snapshot import Snapshot
    from clew.store import Cache, View

_log = logging.getLogger(__name__)
_INPUT = "input."  # before the name of a layer: the stored rows that the arrays are of
_NUMBERING = "input"  # which numbering these rows are of


class Sound(Mapping[str, "NDArray[Any]"]):
    """Cached arrays that are read when they are asked for.

    Where one turns out to be damaged all are computed again, and cached in place of those.
    """

    def __init__(self, found: Arrays, again: Callable[[], Arrays]) -> None:
        self._found = found
        self._again = again
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._read(lambda found: found[name])

    def reach(self, name: str, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]:
        """Return an array of which no more than the rows from `starts` to `stops` may be sound."""
        return self._read(lambda found: ranges(found, name)(starts, stops))

    def _read(self, wanted: Callable[[Arrays], NDArray[Any]]) -> NDArray[Any]:
        found = self._found
        try:
            return wanted(found)
        except DamagedIndex as error:
            with self._lock:
                if self._found is found:
                    _log.warning(
                        "what is cached is computed again, since a file of it is damaged (%s)",
                        error,
                    )
                    self._found = self._again()
            return wanted(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


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
        return _Own(self._found(snapshot, what, given) or self._cached(snapshot, what, given))

    def _found(
        self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]
    ) -> Arrays | None:
        found = self.cache.load(what.name, self.view.generation)
        if found is None:
            return None
        return Sound(found, partial(self._again, ref(snapshot), what, given))

    def _again(
        self, snapshot: ref[Snapshot], what: CachedArrays, given: Mapping[str, Any]
    ) -> Arrays:
        """Compute damaged arrays again. They do not keep open what they were computed from."""
        alive = snapshot()
        if alive is None:
            raise DamagedIndex(f"what is cached as {what.name!r} is damaged: open the index again")
        return self._cached(alive, what, given)

    def _cached(self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]) -> Arrays:
        """Compute arrays and cache them, with what they are of.

        They are those of the cache then, if it has them: memory is for what is asked for.
        """
        arrays = {**self._computed(snapshot, what, given), **self.inputs(what)}
        self.cache.save(what.name, self.view.generation, arrays)
        return self._found(snapshot, what, given) or arrays

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

    def inputs(self, what: CachedArrays) -> Arrays:
        """Return what is cached beside arrays: what they are of."""
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
        return Earlier(_Own(found), rows, frozenset(unchanged))

    def _rows(self, layer: str) -> NDArray[np.int64]:
        """Return the stored rows of a layer; sentences are the units where no LLM made any."""
        if layer == "sentence" and layer not in self.stored:
            return self.stored["unit.sentence"]
        return self.stored[layer]


class _Own(Mapping[str, "NDArray[Any]"]):
    """Arrays as they were computed, without what they are of."""

    def __init__(self, found: Arrays) -> None:
        self._found = found
        self._names = [n for n in found if n != _NUMBERING and not n.startswith(_INPUT)]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._found[name]

    def reach(self, name: str, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]:
        return ranges(self._found, name)(starts, stops)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
