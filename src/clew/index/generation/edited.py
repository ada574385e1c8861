"""A generation as a base with edits applied; rows are merged on access."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.ascending import match_sorted
from clew.algo.edited_links import EditedLink, FreshRows, TransposedEdits
from clew.algo.links import Link, link_from_arrays
from clew.algo.row_edits import RowEdits
from clew.base.derived import Arrays, CachedArrays
from clew.base.runtime.cached_values import Lazily
from clew.index.generation.assembly import Assembly
from clew.index.generation.cached import ArrayLoader, VerifiedArrays
from clew.index.generation.layers import Parts, build_snapshot
from clew.index.generation.schema import LAYER_OF, ROWS_OF
from clew.index.store.cache import FileCache
from clew.index.store.segmented import View

Rows = NDArray[np.int64]


_MAX_IN_MEMORY = 1 << 20  # rows of a layer whose stored rows are kept in memory


def _chain(first: Callable[[int], int], then: Callable[[int], int]) -> Callable[[int], int]:
    return lambda row: then(first(row))


class TooManyEdits(Exception):
    """The generations differ too much, or in a way that edits do not cover."""


@dataclass(frozen=True, kw_only=True)
class EditedAssembly(Assembly):
    """The assembly of a generation that is a base with edits."""

    of: "GenerationEdits"

    def stored_rows(self, name: str, rows: Rows) -> Rows:
        if self.sizes[name] <= _MAX_IN_MEMORY:
            return self.stored[name][rows]
        return self.values(f"stored.{name}", rows)

    def values(self, name: str, rows: Rows) -> NDArray[Any]:
        if f"came.{name}" not in self.of.arrays:
            return self._present_values(name, rows)
        edits = self.of.rows(LAYER_OF[name])
        then = edits.to_former(rows)
        old, new = then >= 0, then < 0
        before = self._present_values(name, then[old])
        values = np.empty(len(rows), dtype=before.dtype)
        values[old] = before
        values[new] = self.of.arrays[f"came.{name}"][np.searchsorted(edits.at, rows[new])]
        return values

    def _present_values(self, name: str, former: Rows) -> NDArray[Any]:
        values = self.of.base.values(name, former)
        return self.of.renumber(name, values)

    def make_reader(self, name: str) -> Callable[[int], int]:
        former, came = self.of.base.make_reader(name), f"came.{name}"
        if name in ROWS_OF:
            former = _chain(former, self.of.rows(ROWS_OF[name]).present_row)
        if came not in self.of.arrays:
            return former
        edits, values = self.of.rows(LAYER_OF[name]), self.of.arrays[came].tolist()

        def read(row: int) -> int:
            place, then = edits.find_row(row)
            return int(values[place]) if then < 0 else former(then)

        return read

    def places(self, layer: str, stored: Rows) -> Rows:
        edits = self.of.rows(layer)
        rows = edits.to_present(self.of.base.places(layer, stored), followed=False)
        came = self.of.arrays[f"came.stored.{layer}"]
        order = np.argsort(came)
        new, place = match_sorted(came[order], stored)
        rows[new] = edits.at[order[place]]
        return rows


@dataclass(frozen=True)
class GenerationEdits:
    """The edits that turn one generation into another, from the arrays of `find_edits`.

    Nothing that it keeps refers to it, or to the assembly that they give: files of the base are
    open until both are gone, and Python seldom looks for what only refers to itself.
    """

    base: Assembly
    arrays: Mapping[str, NDArray[Any]]

    def rows(self, layer: str) -> RowEdits:
        """Return the edits of a layer; without rows of their own, sentences are the units."""
        return self._rows.get(layer) or self._rows["unit"]

    @cached_property
    def _rows(self) -> Mapping[str, RowEdits]:
        layers = [name.removesuffix(".at") for name in self.arrays if name.endswith(".at")]
        return Lazily({n: partial(_read_row_edits, self.base, self.arrays, n) for n in layers})

    def assemble(self) -> EditedAssembly:
        """Apply the edits to the base."""
        columns = {name: partial(self._column, name) for name in self.base.columns}
        links = {pair: partial(self._link, pair) for pair in self.base.links}
        sizes = {name: self.rows(LAYER_OF[f"stored.{name}"]).size for name in self.base.stored}
        return EditedAssembly(Lazily(columns), Lazily(links), sizes, of=self)

    def renumber(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return former values of a column with the present numbers of the rows that it holds."""
        if name not in ROWS_OF:
            return values
        return self.rows(ROWS_OF[name]).to_present(values).astype(values.dtype)

    def _column(self, name: str) -> NDArray[Any]:
        former = self.renumber(name, self.base.columns[name])
        return self.rows(LAYER_OF[name]).apply(former, self.arrays[f"came.{name}"])

    def _link(self, pair: tuple[str, str]) -> Link:
        a, b = pair
        prefix = f"link.{a}-{b}."
        entries = link_from_arrays(self.arrays, prefix).all_entries
        fresh = FreshRows(self.arrays[f"{prefix}rows"], entries)
        return EditedLink(self.base.links[pair], self.rows(a), self.rows(b), fresh)


def _read_row_edits(base: Assembly, arrays: Mapping[str, NDArray[Any]], layer: str) -> RowEdits:
    parts = (arrays[f"{layer}.{name}"] for name in ("gone", "at", "from"))
    return RowEdits(base.size(layer), *parts)


@dataclass(frozen=True)
class BaseGeneration:
    """The earlier generation from which a snapshot is derived by edits: its `Snapshot.base`."""

    cache: FileCache
    view: View
    assembly: EditedAssembly  # of the snapshot
    generation: int

    @property
    def _base(self) -> Assembly:
        return self.assembly.of.base

    def arrays(self, what: CachedArrays) -> Arrays:
        """Return the cached arrays of the base generation, computed on a miss."""
        arrays = self.cache.load(what.name, self.generation)
        return VerifiedArrays(
            self._compute_and_cache(what) if arrays is None else arrays,
            lambda: self._compute_and_cache(what),
        )

    def _compute_and_cache(self, what: CachedArrays) -> Arrays:
        snapshot = build_snapshot(Parts(self._base, self.view), recall=self._loader)
        arrays = {**self._loader(snapshot, what, {}), **self._loader.inputs(what)}
        self.cache.save(what.name, self.generation, arrays)
        return arrays

    @cached_property
    def _loader(self) -> ArrayLoader:
        return ArrayLoader(self.cache, self.view, self._base.stored, whole=False)

    def rows(self, layer: str) -> RowEdits:
        return self.assembly.of.rows(layer)

    @property
    def touched_chunks(self) -> NDArray[np.int64]:
        """The present rows of the chunks that are new or have a new unit."""
        return self.assembly.of.arrays["touched.chunks"]

    def transpose(self, stored: Link, a: str, b: str) -> TransposedEdits:
        """Return the present link from b to a; `stored` is that of the base."""
        edited = self.assembly.links[a, b]
        assert isinstance(edited, EditedLink)  # noqa: S101 -- as all of them are
        return TransposedEdits(stored, edited)
