"""The rows and links of one generation as arrays, in memory or cached.

Rows come in the order of their documents' ids, whatever the order in which they were added, and
entities and terms in the order of first occurrence. So the arrays of an updated index are, byte
for byte, those of a fresh build of the same documents.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import Column, Link, link_from_arrays, link_to_arrays, open_column
from clew.algo.narrow import narrow, widen
from clew.base.runtime.once import Lazily
from clew.index.generation.rows import Rows, place_by_row

Table = Mapping[str, NDArray[Any]]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Assembly:
    """The rows and links of a generation as small arrays; vectors stay in the segments.

    `stored` maps a row of this generation's layers to the row in the store. A unit is a stored
    sentence ("unit.sentence") or a stored statement ("unit.statement"), and -1 in the other's
    array; an occurrence is a stored triple. There is no "sentence" where the units are the
    sentences, nor a "subchunk" where no chunk is halved: these layers are others' rows.
    """

    stored: Mapping[str, Rows]
    columns: Mapping[str, NDArray[Any]]
    links: Mapping[tuple[str, str], Link]
    sizes: Mapping[str, int] = field(default_factory=dict)  # of `stored`, where that is not read
    lookups: Table = field(default_factory=dict)  # to find edits with, none where none are
    arrays: Table | None = None  # that all of these are read from, where they are cached
    _made: dict[str, Rows] = field(default_factory=dict)  # what `places` made
    _read: dict[str, Column] = field(default_factory=dict)  # of these arrays
    _readers: dict[tuple[str, str], Callable[[int], int]] = field(default_factory=dict)

    def size(self, layer: str) -> int:
        """Return the number of rows of a layer."""
        n_rows = self.sizes.get(layer)
        return len(self.stored[layer]) if n_rows is None else n_rows

    def stored_rows(self, layer: str, rows: Rows) -> Rows:
        """Return the stored rows of some rows of a layer, without reading the others."""
        return self._column("stored", self.stored, layer)[rows]

    def values(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return the values of some rows of a column, without reading the others."""
        return widen(self._column("column", self.columns, name)[rows])

    def value(self, name: str, row: int) -> int:
        """Return a row of a column."""
        return self._open_reader("column", name)(row)

    def numbers(self, name: str, rows: Iterable[int]) -> list[int]:
        """Return the values of a few rows; faster than `values` for up to a hundred rows."""
        return list(map(self._open_reader("column", name), rows))

    def stored_row(self, layer: str, row: int) -> int:
        """Return the stored row of a row of a layer."""
        return self._open_reader("stored", layer)(row)

    def _open_reader(self, kind: str, name: str) -> Callable[[int], int]:
        key = kind, name
        if key not in self._readers:
            self._readers[key] = self.make_reader(kind, name)
        return self._readers[key]

    def make_reader(self, kind: str, name: str) -> Callable[[int], int]:
        """Return a function from a row to its value in a column, or to its stored row."""
        table = self.columns if kind == "column" else self.stored
        return self._column(kind, table, name).get

    def _column(self, kind: str, table: Table, name: str) -> Column:
        key = f"{kind}.{name}"
        if key not in self._read:
            self._read[key] = (
                Column.from_array(table[name])
                if self.arrays is None
                else open_column(self.arrays, key)
            )
        return self._read[key]

    def places(self, layer: str, stored: Rows) -> Rows:
        """Return the row of each stored row of a layer, -1 where it has none."""
        rows = np.full(len(stored), -1, dtype=np.int64)
        places = self._places(layer)
        inside = stored < len(places)
        rows[inside] = places[stored[inside]]
        return rows

    def _places(self, layer: str) -> NDArray[np.integer] | Column:
        if f"{layer}.rows" in self.lookups:
            return self._column("lookup", self.lookups, f"{layer}.rows")
        if layer not in self._made:
            rows = self.stored[layer]
            self._made[layer] = place_by_row(rows, int(rows.max(initial=-1)) + 1)
        return self._made[layer]


def to_arrays(assembly: Assembly) -> dict[str, NDArray[Any]]:
    """Return an assembly as arrays by name, to be cached."""
    arrays: Columns = {f"stored.{layer}": rows for layer, rows in assembly.stored.items()}
    arrays |= {f"column.{name}": narrow(column) for name, column in assembly.columns.items()}
    arrays |= {f"lookup.{name}": array for name, array in assembly.lookups.items()}
    sizes = [len(assembly.stored[layer]) for layer in sorted(assembly.stored)]
    arrays["sizes"] = np.asarray(sizes, dtype=np.int64)
    for (a, b), link in assembly.links.items():
        parts = link_to_arrays(link.whole)
        arrays |= {f"link.{a}-{b}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(arrays: Table) -> Assembly:
    """Return the assembly that `to_arrays` stored; each array is read on access."""
    links = {}
    for name in arrays:
        if name.startswith("link.") and name.endswith(".indptr"):
            prefix = name.removesuffix("indptr")
            a, _, b = prefix.removeprefix("link.").removesuffix(".").partition("-")
            links[a, b] = partial(link_from_arrays, arrays, prefix)
    stored = select_prefix(arrays, "stored.")
    sizes = dict(zip(sorted(stored), arrays["sizes"].tolist(), strict=True))
    columns, lookups = select_prefix(arrays, "column."), select_prefix(arrays, "lookup.")
    return Assembly(stored, columns, Lazily(links), sizes, lookups, arrays)


def select_prefix(arrays: Table, prefix: str) -> Table:
    """Return the arrays whose names start with a prefix, keyed without it."""
    selected = [name for name in arrays if name.startswith(prefix)]
    return Lazily({n.removeprefix(prefix): partial(_read_wide, arrays, n) for n in selected})


def _read_wide(arrays: Table, name: str) -> NDArray[Any]:
    """Return a column widened to int32, read-only like a mapped one."""
    column = widen(arrays[name])
    column.flags.writeable = False
    return column
