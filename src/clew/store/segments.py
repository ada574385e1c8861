"""Immutable arrays on disk: a segment is one file in the safetensors format, written once.

The format is a length, a JSON header that names the arrays, and their bytes, so any tool that
knows it reads a segment, and nothing in it can run. A segment is synced before the database
transaction that registers it. A file that no transaction registered is an orphan of a killed
writer and is swept when the next writer opens.
"""

from __future__ import annotations

import json
import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from clew.errors import DamagedIndex, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

SUFFIX = ".safetensors"
_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4",
    "I32": "<i4", "U64": "<u8", "I64": "<i8", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LENGTH = 8  # bytes of the header's length; arrays begin at a multiple of it


class MissingSegment(DamagedIndex):
    """A segment's file is gone: lost, or a compaction came between."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """An array that is written piece by piece, because it may not fit into memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[NDArray[Any]]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def whole(self) -> NDArray[Any]:
        """Return the array in memory, for a store that writes no pieces."""
        pieces = [np.zeros((0, *self.shape[1:]), self.dtype), *self.pieces]
        return np.concatenate(pieces).astype(self.dtype, copy=False)


def write(path: Path, arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
    """Write `arrays` as the new segment `path`, durable when this returns.

    Raises StoreError where that cannot be, as on a full disk.
    """
    # The widest first, so that each stands at a multiple of its own width.
    ordered = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(_header(ordered))
            for array in ordered.values():
                pieces = array.pieces if isinstance(array, Blocks) else (array,)
                dtype = array.dtype.newbyteorder("<")
                file.writelines(np.ascontiguousarray(p, dtype=dtype).data for p in pieces)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
        _sync_folder(path.parent.parent)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise StoreError(
            f"{path} cannot be written ({error.strerror}): check its folder and the free space"
        ) from error


def _header(arrays: Mapping[str, NDArray[Any] | Blocks]) -> bytes:
    header: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<").str],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    header["__metadata__"] = {"crc32": _checksum(header)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH)
    return len(text).to_bytes(_LENGTH, "little") + text


def _checksum(header: Mapping[str, Any]) -> str:
    return f"{crc32(json.dumps(header).encode()):08x}"


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment, mapped into memory, not to be written to.

    Raises MissingSegment where the file is gone, DamagedIndex where it cannot be read.
    """
    try:
        return _mapped(path)
    except FileNotFoundError as error:
        raise MissingSegment(f"{path} is missing: rebuild the index from its documents") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedIndex(
            f"{path} is damaged ({error}): rebuild the index from its documents"
        ) from error


def _mapped(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    if begin > len(data):
        raise ValueError("its header is cut off")
    header = json.loads(data[_LENGTH:begin])
    if header.pop("__metadata__")["crc32"] != _checksum(header):
        raise ValueError("its header was changed")
    size = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if begin + size != len(data):
        raise ValueError(f"it has {len(data)} bytes, not {begin + size}")
    return {name: _array(data, begin, entry) for name, entry in header.items()}


def _array(data: mmap.mmap, begin: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    # Each array has a base of its own: SciPy copies what is a small part of a larger array.
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"]
    start, end = entry["data_offsets"]
    if start == end:
        empty = np.zeros(shape, dtype)
        empty.flags.writeable = False
        return empty
    flat = np.frombuffer(data, dtype, (end - start) // dtype.itemsize, begin + start)
    return flat.reshape(shape)


def joined(parts: Sequence[Arrays]) -> dict[str, Blocks]:
    """Return several segments' arrays end to end, as one segment."""
    together = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        pieces = [part[name] for part in parts if name in part]
        shape = (sum(map(len, pieces)), *pieces[0].shape[1:])
        together[name] = Blocks(shape, pieces[0].dtype, pieces)
    return together


def sweep(folder: Path, keep: Iterable[str]) -> None:
    """Delete the segments in `folder` whose names are not in `keep`."""
    kept = {f"{name}{SUFFIX}" for name in keep}
    if folder.exists():
        for path in folder.iterdir():
            if path.name not in kept:
                with suppress(OSError):  # Windows keeps what a reader has open: next time
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot sync a folder, and need not
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
