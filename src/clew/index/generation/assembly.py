"""The rows and links of one generation as arrays, in memory or cached.

Rows come in the order of their documents' ids, whatever the order in which they were added, and
entities and terms in the order of first occurrence. So the arrays of an updated index are, byte
for byte, those of a fresh build of the same documents.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import narrow, widen
from clew.algo.links import Column, Link, link_from_arrays, link_to_arrays, open_column
from clew.base.runtime.cached_values import Lazily
from clew.index.generation.rows import Rows, place_by_row
from clew.index.generation.schema import LAYERS

Table = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Assembly:
    """The rows and links of a generation as small arrays; vectors stay in the segments.

    The columns "stored.LAYER" map a row of this generation to the row in the store. A unit is a
    stored sentence ("stored.unit.sentence") or a stored statement ("stored.unit.statement"), and -1
    in the other column; an occurrence is a stored triple. There is no "sentence" where the units
    are the sentences, nor a "subchunk" where no chunk is halved: these layers are others' rows.
    """

    columns: Table
    links: Mapping[tuple[str, str], Link]
    sizes: Mapping[str, int] = field(default_factory=dict)  # of the stored columns, where cached
    lookups: Table = field(default_factory=dict)  # to find edits with, none where none are
    arrays: Table | None = None  # that all of these are read from, where they are cached
    _places: dict[str, Rows] = field(default_factory=dict)
    _read: dict[str, Column] = field(default_factory=dict)  # of these arrays
    _readers: dict[str, Callable[[int], int]] = field(default_factory=dict)

    @cached_property
    def stored(self) -> Mapping[str, Rows]:
        """The stored rows of each layer."""
        return select_prefix(self.columns, "stored.")

    def size(self, layer: str) -> int:
        """Return the number of rows of a layer."""
        stored_names = LAYERS[layer].stored_names(layer)
        if not stored_names:
            return len(self.columns[f"{layer}.{next(iter(LAYERS[layer].columns))}"])
        n_rows = self.sizes.get(stored_names[0])
        return len(self.stored[stored_names[0]]) if n_rows is None else n_rows

    def stored_rows(self, name: str, rows: Rows) -> Rows:
        """Return the stored rows of some rows of a layer, without reading the others."""
        return self.values(f"stored.{name}", rows)

    def values(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return the values of some rows of a column, without reading the others."""
        return widen(self._column(name)[rows])

    def value(self, name: str, row: int) -> int:
        """Return the value of one row of a column."""
        return self._open_reader(name)(row)

    def numbers(self, name: str, rows: Iterable[int]) -> list[int]:
        """Return the values of a few rows; faster than `values` for up to a hundred rows."""
        return list(map(self._open_reader(name), rows))

    def _open_reader(self, name: str) -> Callable[[int], int]:
        if name not in self._readers:
            self._readers[name] = self.make_reader(name)
        return self._readers[name]

    def make_reader(self, name: str) -> Callable[[int], int]:
        """Return a function from a row to its value in a column."""
        return self._column(name).get

    def _column(self, name: str) -> Column:
        if name not in self._read:
            self._read[name] = (
                Column.from_array(self.columns[name])
                if self.arrays is None
                else open_column(self.arrays, _array_name(name))
            )
        return self._read[name]

    def places(self, layer: str, stored: Rows) -> Rows:
        """Return the row of each stored row of a layer, -1 where it has none."""
        rows, places = np.full(len(stored), -1, dtype=np.int64), self._find_places(layer)
        inside = stored < len(places)
        rows[inside] = places[stored[inside]]
        return rows

    def _find_places(self, layer: str) -> NDArray[np.integer] | Column:
        name = f"{layer}.rows"
        if self.arrays is not None and name in self.lookups:
            return open_column(self.arrays, f"lookup.{name}")
        if layer not in self._places:
            self._places[layer] = place_by_row(self.stored[layer])
        return self._places[layer]


class IndexCounts(NamedTuple):
    """Counts over a whole index by stored row, for an assembly that holds only a part of it."""

    n_chunks: int
    capitals: NDArray[np.int64]  # (n_terms,) how much oftener terms have a capital than none
    mentioned: NDArray[np.int64]  # (n_entities,) how many chunks mention each


def _array_name(column: str) -> str:
    return column if column.startswith("stored.") else f"column.{column}"


def to_arrays(assembly: Assembly) -> dict[str, NDArray[Any]]:
    """Return an assembly as arrays by name, to be cached."""
    arrays = {_array_name(name): narrow(column) for name, column in assembly.columns.items()}
    arrays |= {f"lookup.{name}": array for name, array in assembly.lookups.items()}
    sizes = [len(assembly.stored[name]) for name in sorted(assembly.stored)]
    arrays["sizes"] = np.asarray(sizes, dtype=np.int64)
    for (a, b), link in assembly.links.items():
        parts = link_to_arrays(link.whole)
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(arrays: Table) -> Assembly:
    """Return the assembly that `to_arrays` stored; each array is read on access."""
    links, columns = {}, {}
    for name in arrays:
        kind, _, rest = name.partition(".")
        if kind in {"stored", "column"}:
            columns[name if kind == "stored" else rest] = partial(_read_wide, arrays, name)
        elif kind == "link" and name.endswith(".indptr"):
            a, _, b = rest.removesuffix(".indptr").partition("-")
            links[a, b] = partial(link_from_arrays, arrays, name.removesuffix("indptr"))
    stored = sorted(name.removeprefix("stored.") for name in columns if name.startswith("stored."))
    sizes = dict(zip(stored, arrays["sizes"].tolist(), strict=True))
    lookups = select_prefix(arrays, "lookup.")
    return Assembly(Lazily(columns), Lazily(links), sizes, lookups, arrays)


def select_prefix(arrays: Table, prefix: str) -> Table:
    """Return the arrays whose names start with a prefix, keyed without it."""
    selected = [name for name in arrays if name.startswith(prefix)]
    return Lazily({n.removeprefix(prefix): partial(_read_wide, arrays, n) for n in selected})


def _read_wide(arrays: Table, name: str) -> NDArray[Any]:
    """Return a column widened to int32, read-only like a mapped one."""
    column = widen(arrays[name])
    column.flags.writeable = False
    return column
