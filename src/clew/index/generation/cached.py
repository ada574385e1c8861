"""Load a generation's cached arrays from disk, renew them from an earlier one, or compute them."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from clew.base.derived import Arrays, CachedArrays, EarlierArrays
from clew.errors import DamagedIndex
from clew.index.generation.rows import Rows, place_by_row
from clew.index.snapshot import Snapshot
from clew.index.store.cache import FileCache
from clew.index.store.segmented import View

_log = logging.getLogger(__name__)
_INPUT_PREFIX = "input."  # before the name of a layer: the stored rows that the arrays are of
_NUMBERING = "input"  # which numbering these rows are of


def _is_input(name: str) -> bool:
    return name == _NUMBERING or name.startswith(_INPUT_PREFIX)


def _verify(arrays: Arrays, name: str, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]:
    verify = getattr(arrays, "verify_ranges", None)
    return arrays[name] if verify is None else verify(name, starts, stops)


class VerifiedArrays(Mapping[str, "NDArray[Any]"]):
    """Cached arrays whose checksums are verified on access; their input rows are not listed.

    Where one turns out to be damaged all are computed again, and cached in place of those.
    """

    def __init__(self, arrays: Arrays, recompute: Callable[[], Arrays]) -> None:
        self._arrays = arrays
        self._again = recompute
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._read(getitem, name)

    def verify_ranges(self, name: str, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]:
        """Return an array of which only the rows from `starts` to `stops` are verified."""
        return self._read(_verify, name, starts, stops)

    def _read(self, read: Callable[..., NDArray[Any]], *which: object) -> NDArray[Any]:
        arrays = self._arrays
        try:
            return read(arrays, *which)
        except DamagedIndex as error:
            with self._lock:
                if self._arrays is arrays:
                    _log.warning(
                        "what is cached is computed again, since a file of it is damaged (%s)",
                        error,
                    )
                    self._arrays = self._again()
            return read(self._arrays, *which)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._arrays if not _is_input(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class ArrayLoader:
    """Loads the cached arrays of one generation, or computes and caches them.

    Those of some documents alone are computed from what is cached of all, and not cached.
    """

    cache: FileCache
    view: View
    stored: Mapping[str, Rows]  # the stored row of each row of a layer
    whole: bool = True

    def __call__(self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]) -> Arrays:
        if not self.whole:
            return self._compute(snapshot, what, given)
        arrays = self._load(snapshot, what, given)
        return self._compute_and_cache(snapshot, what, given) if arrays is None else arrays

    def _load(
        self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]
    ) -> Arrays | None:
        arrays = self.cache.load(what.name, self.view.generation)
        if arrays is None:
            return None
        return VerifiedArrays(arrays, partial(self._recompute, ref(snapshot), what, given))

    def _recompute(
        self, snapshot: ref[Snapshot], what: CachedArrays, given: Mapping[str, Any]
    ) -> Arrays:
        """Compute damaged arrays again, without keeping their snapshot open."""
        alive = snapshot()
        if alive is None:
            raise DamagedIndex(f"what is cached as {what.name!r} is damaged: open the index again")
        return self._compute_and_cache(alive, what, given)

    def _compute_and_cache(
        self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]
    ) -> Arrays:
        """Compute arrays and cache them with their input rows.

        They are those of the cache then, if it has them: memory is for what is asked for.
        """
        arrays = self._compute(snapshot, what, given)
        self.cache.save(what.name, self.view.generation, {**arrays, **self.inputs(what)})
        cached = self._load(snapshot, what, given)
        return arrays if cached is None else cached

    def _compute(self, snapshot: Snapshot, what: CachedArrays, given: Mapping[str, Any]) -> Arrays:
        arrays = self.cache.newest(what.name) if self.whole or not what.remember else None
        if arrays is None:
            return what.compute(snapshot, **given)
        earlier = self._open_earlier(what, arrays)
        if what.update is not None:
            return what.update(snapshot, earlier, **given)
        if earlier.unchanged.issuperset(what.inputs):
            return earlier.arrays
        return what.compute(snapshot, **given)

    def inputs(self, what: CachedArrays) -> Arrays:
        """Return the input rows that are cached with the arrays."""
        rows = {f"{_INPUT_PREFIX}{name}": self._rows(name) for name in what.inputs}
        return {**rows, _NUMBERING: np.array([self.view.numbering])}

    def _open_earlier(self, what: CachedArrays, arrays: Arrays) -> EarlierArrays:
        """Return an earlier generation's cached arrays and the former row of each input row."""
        same_numbers = int(arrays[_NUMBERING][0]) == self.view.numbering
        rows, unchanged = {}, set()
        for name in what.inputs:
            now, then = self._rows(name), arrays[f"{_INPUT_PREFIX}{name}"]
            if not same_numbers:
                rows[name] = np.full(len(now), -1, dtype=np.int64)
                continue
            place = place_by_row(then, int(max(now.max(initial=-1), then.max(initial=-1))) + 1)
            rows[name] = place[now]
            if np.array_equal(now, then):
                unchanged.add(name)
        computed = {name: arrays[name] for name in arrays if not _is_input(name)}
        return EarlierArrays(computed, rows, frozenset(unchanged))

    def _rows(self, layer: str) -> NDArray[np.int64]:
        """Return the stored rows of a layer; without LLM-made units, sentences are the units."""
        if layer == "sentence" and layer not in self.stored:
            return self.stored["unit.sentence"]
        return self.stored[layer]
