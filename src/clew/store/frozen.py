"""Save the assembled rows and links of a generation, to be mapped at the next opening.

Everything here can be computed again from the segments, so nothing breaks where it is missing or
belongs to another generation.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from clew.store import segments
from clew.store.assemble import Assembly
from clew.store.database import Database

_FOLDER = "frozen"
_STORED = ("documents", "chunks", "sentences", "entities", "terms")


def save(folder: Path, generation: int, assembly: Assembly) -> None:
    """Write the arrays of `assembly`, durable when this returns."""
    arrays = {f"stored.{name}": getattr(assembly, f"stored_{name}") for name in _STORED}
    arrays |= {f"column.{name}": column for name, column in assembly.columns.items()}
    for (a, b), link in assembly.links.items():
        arrays[f"link.{a}-{b}.indptr"] = link.indptr
        arrays[f"link.{a}-{b}.indices"] = link.indices
        arrays[f"link.{a}-{b}.data"] = link.data
        arrays[f"link.{a}-{b}.shape"] = np.asarray(link.shape)
    segments.write(folder / _FOLDER / f"{generation:06d}", arrays)


def load(folder: Path, database: Database) -> Assembly | None:
    """Return the generation that `database` sees as it was saved, None where it was not."""
    generation = int(database.meta("generation"))
    if database.meta("frozen") != generation:
        return None
    arrays = segments.read(folder / _FOLDER / f"{generation:06d}")
    stored = [np.asarray(arrays[f"stored.{name}"], dtype=np.int64) for name in _STORED]
    columns = {
        name.removeprefix("column."): array
        for name, array in arrays.items()
        if name.startswith("column.")
    }
    links = {}
    for name in arrays:
        if name.startswith("link.") and name.endswith(".indptr"):
            pair = name.removeprefix("link.").removesuffix(".indptr")
            a, _, b = pair.partition("-")
            parts = [arrays[f"link.{pair}.{part}"] for part in ("data", "indices", "indptr")]
            shape = tuple(int(n) for n in arrays[f"link.{pair}.shape"])
            links[a, b] = csr_array(tuple(parts), shape=shape, copy=False)
    return Assembly(*stored, columns, links)


def sweep(folder: Path, generation: int) -> None:
    """Delete what was saved of other generations."""
    keep = f"{generation:06d}"
    for path in (folder / _FOLDER).iterdir():
        if path.name != keep:
            shutil.rmtree(path, ignore_errors=True)
