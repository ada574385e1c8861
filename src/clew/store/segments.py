"""Immutable arrays on disk: a segment is a folder of .npy files, written once.

A segment is written under its final name, every file and the folder synced, before the database
transaction that registers it. A folder that no transaction registered is an orphan of a killed
writer and is swept when the next writer opens.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from clew.errors import DamagedIndex

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Blocks:
    """An array that is written piece by piece, because it may not fit into memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    pieces: Iterable[NDArray[np.generic]]


def write(folder: Path, arrays: Mapping[str, NDArray[np.generic] | Blocks]) -> None:
    """Write `arrays` as the new segment `folder`, durable when this returns."""
    if folder.exists():  # an orphan of the same name: its transaction never came
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            if isinstance(array, Blocks):
                _write_blocks(file, array)
            else:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    _sync_folder(folder)
    _sync_folder(folder.parent)


def _write_blocks(file: BinaryIO, blocks: Blocks) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(blocks.dtype),
        "fortran_order": False,
        "shape": blocks.shape,
    }
    np.lib.format.write_array_header_1_0(file, header)
    for piece in blocks.pieces:
        file.write(np.ascontiguousarray(piece, dtype=blocks.dtype).data)


def read(folder: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a segment, mapped into memory.

    Raises FileNotFoundError where the folder is gone (a compaction came between), DamagedIndex
    where a file in it cannot be read.
    """
    arrays = {}
    for path in sorted(folder.iterdir()):
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise DamagedIndex(
                f"{path} is damaged ({error}): rebuild the index from its documents"
            ) from error
        arrays[path.name.removesuffix(".npy")] = array
    return arrays


def sweep(folder: Path, registered: Iterable[str]) -> None:
    """Delete the segments in `folder` that are not `registered`."""
    keep = set(registered)
    if folder.exists():
        for path in folder.iterdir():
            if path.name not in keep:
                shutil.rmtree(path, ignore_errors=True)


def size_bytes(folder: Path) -> int:
    """Return how much disk a folder's files take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot sync a folder, and need not
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
