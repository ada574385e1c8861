"""Save the assembled rows and links of a generation, to be mapped at the next opening.

Beside them stands what others computed from a snapshot and had kept, a file under each name.
Everything here can be computed again from the segments, so nothing breaks where it is missing,
damaged, or belongs to another generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.errors import DamagedIndex
from clew.store import segments
from clew.store.assemble import Assembly

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.store.database import Database
    from clew.store.segments import Arrays

_FOLDER = "frozen"


def save(folder: Path, generation: int, assembly: Assembly) -> None:
    """Write the arrays of `assembly`, durable when this returns."""
    arrays: dict[str, NDArray[Any]] = {
        f"stored.{layer}": rows for layer, rows in assembly.stored.items()
    }
    arrays |= {f"column.{name}": column for name, column in assembly.columns.items()}
    for (a, b), link in assembly.links.items():
        arrays[f"link.{a}-{b}.indptr"] = link.indptr
        arrays[f"link.{a}-{b}.indices"] = link.indices
        arrays[f"link.{a}-{b}.data"] = link.data
        arrays[f"link.{a}-{b}.shape"] = np.asarray(link.shape)
    segments.write(_path(folder, generation), arrays)


def load(folder: Path, database: Database) -> Assembly | None:
    """Return the generation that `database` sees as it was saved, None where it was not."""
    generation = int(database.meta("generation"))
    if database.meta("frozen") != generation:
        return None
    try:
        arrays = segments.read(_path(folder, generation))
    except DamagedIndex:
        return None
    stored, columns = _under(arrays, "stored."), _under(arrays, "column.")
    links = {}
    for name in arrays:
        if name.startswith("link.") and name.endswith(".indptr"):
            pair = name.removeprefix("link.").removesuffix(".indptr")
            a, _, b = pair.partition("-")
            parts = [arrays[f"link.{pair}.{part}"] for part in ("data", "indices", "indptr")]
            n_a, n_b = arrays[f"link.{pair}.shape"].tolist()
            links[a, b] = csr_array(tuple(parts), shape=(n_a, n_b), copy=False)
    return Assembly(stored, columns, links)


def _under(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def keep(folder: Path, database: Database, name: str, arrays: Arrays) -> None:
    """Write what was computed from the newest generation, inside a transaction."""
    number = int(database.meta("next_kept") or 0)
    generation = int(database.meta("generation"))
    file = f"{_name(generation)}-{number}"
    segments.write(folder / _FOLDER / f"{file}{segments.SUFFIX}", arrays)
    entry = {"generation": generation, "file": file}
    database.set_meta("kept", {**_kept(database), name: entry})
    database.set_meta("next_kept", number + 1)


def kept(
    folder: Path, database: Database, name: str, generation: int | None = None
) -> dict[str, NDArray[Any]] | None:
    """Return what is kept under a name, of one `generation` or of any, None where nothing is."""
    entry = _kept(database).get(name)
    if entry is None or generation not in (None, entry["generation"]):
        return None
    try:
        return segments.read(folder / _FOLDER / f"{entry['file']}{segments.SUFFIX}")
    except DamagedIndex:
        return None


def forget(database: Database) -> None:
    """Keep nothing any more, since stored rows have other numbers; inside a transaction."""
    database.set_meta("kept", {})


def _kept(database: Database) -> dict[str, Any]:
    return dict(database.meta("kept") or {})


def sweep(folder: Path, database: Database) -> None:
    """Delete the files that are neither the newest frozen generation's nor kept."""
    generation = database.meta("frozen")
    names = [] if generation is None else [_name(generation)]
    names += [entry["file"] for entry in _kept(database).values()]
    segments.sweep(folder / _FOLDER, names)


def _path(folder: Path, generation: int) -> Path:
    return folder / _FOLDER / f"{_name(generation)}{segments.SUFFIX}"


def _name(generation: int) -> str:
    return f"{generation:06d}"
