"""The earlier generation from which a newer one is derived by edits, with its cached arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from clew.generation.cached import ArrayLoader, VerifiedArrays
from clew.generation.layers import Parts, build_snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.algo.edited_links import TransposedEdits
    from clew.algo.links import Link
    from clew.algo.row_edits import RowEdits
    from clew.derived import Arrays, CachedArrays
    from clew.generation.edited import GenerationEdits
    from clew.store import Cache, View


@dataclass(frozen=True)
class BaseGeneration:
    """The earlier generation from which a snapshot is derived by edits: its `Snapshot.base`."""

    cache: Cache
    view: View
    edited: GenerationEdits
    generation: int

    def arrays(self, what: CachedArrays) -> Arrays:
        """Return the cached arrays of the base generation; missing ones are computed and cached."""
        arrays = self.cache.load(what.name, self.generation)
        return VerifiedArrays(
            self._compute_and_cache(what) if arrays is None else arrays,
            lambda: self._compute_and_cache(what),
        )

    def _compute_and_cache(self, what: CachedArrays) -> Arrays:
        snapshot = build_snapshot(Parts(self.edited.base, self.view), recall=self._loader)
        arrays = {**self._loader(snapshot, what, {}), **self._loader.inputs(what)}
        self.cache.save(what.name, self.generation, arrays)
        return arrays

    @cached_property
    def _loader(self) -> ArrayLoader:
        return ArrayLoader(self.cache, self.view, self.edited.base.stored, whole=False)

    def rows(self, layer: str) -> RowEdits:
        """Return the edits of a layer's rows."""
        return self.edited.rows(layer)

    @property
    def touched_chunks(self) -> NDArray[np.int64]:
        """The chunks that came or have a unit that came, by their present rows."""
        return self.edited.arrays["touched.chunks"]

    def transpose(self, stored: Link, a: str, b: str) -> TransposedEdits:
        """Return the present link from b to a; `stored` is that of the base."""
        return self.edited.transpose(stored, a, b)
