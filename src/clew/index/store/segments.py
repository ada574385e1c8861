"""Immutable arrays on disk: a segment is one file in the safetensors format, written once.

The format is a length, a JSON header that names the arrays, and their bytes, so any tool that
knows it reads a segment, and nothing in it can run. The header has a checksum for each block of
each array, which is looked at when the array, or a part of it, is first asked for: opening a
segment only maps it. It has the name of the file, too: under another one the file is damaged. A
segment is synced before the database transaction that registers it. A file that no transaction
registered is an orphan of a killed writer and is swept when the next writer opens. The safetensors
package is not used: its reader copies, and it cannot write an array piece by piece. An `.npz`
archive cannot be mapped.
"""

import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.private import make_inner_folder, open_file, sync_folder
from clew.errors import DamagedIndex, StoreError

Arrays = Mapping[str, NDArray[Any]]

SUFFIX = ".safetensors"
_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4",
    "I32": "<i4", "U64": "<u8", "I64": "<i8", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LENGTH = 8  # bytes of the header's length; arrays begin at a multiple of it
_BLOCK = 1 << 16  # bytes that have a checksum
_RUN = 1 << 20  # bytes; what is looked at in one go and is longer takes no memory then
_TOUCHED = 1 << 29  # bytes of a file that are read before all of it is let go of
_AT_ONCE = 1 << 24  # bytes of an array that are copied
_LET_GO: int | None = getattr(mmap, "MADV_DONTNEED", None)


class MissingSegment(DamagedIndex):
    """The file of a segment is missing: lost, or deleted by a compaction."""


class Blocks(NamedTuple):
    """An array written in pieces, as it may exceed memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[NDArray[Any]]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def own_name(path: Path) -> str:
    """Return the name recorded in a file: that of its folder and its own."""
    return f"{path.parent.name}/{path.name.removesuffix(SUFFIX)}"


def write_segment(
    path: Path, arrays: Mapping[str, NDArray[Any] | Blocks], *, final: Path | None = None
) -> None:
    """Write `arrays` durably as the new segment `path`.

    It is read by the name of `final`, where that is the path which it will get. Raises StoreError
    where it cannot be written, as on a full disk.
    """
    name = own_name(final or path)
    # The widest first, so that each stands at a multiple of its own width.
    ordered = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    try:
        make_inner_folder(path.parent)
        with open_file(path) as file:
            file.write(_header(ordered, {}, name))  # of the same length, whatever the checksums
            sums = {name: _write_array(file, array) for name, array in ordered.items()}
            file.seek(0)
            file.write(_header(ordered, sums, name))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
        sync_folder(path.parent.parent)
    except OSError as error:
        unlink(path)
        raise StoreError(
            f"{path} cannot be written ({error.strerror}): check its folder and the free space"
        ) from error


def _write_array(file: BinaryIO, array: NDArray[Any] | Blocks) -> list[int]:
    """Write an array, and return the checksum of each block."""
    sums, rest = [0], _BLOCK
    dtype = array.dtype.newbyteorder("<")
    for piece in array.pieces if isinstance(array, Blocks) else (array,):
        data = np.ascontiguousarray(piece, dtype=dtype).reshape(-1).view(np.uint8).data
        file.write(data)
        while len(data):
            if not rest:
                sums.append(0)
                rest = _BLOCK
            sums[-1] = crc32(data[:rest], sums[-1])
            data, rest = data[rest:], rest - len(data[:rest])
    return sums


def _header(
    arrays: Mapping[str, NDArray[Any] | Blocks], sums: dict[str, list[int]], own_name: str
) -> bytes:
    header: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<").str],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    empty = {name: [0] * _n_blocks(array.nbytes, _BLOCK) for name, array in arrays.items()}
    blocks = "".join(f"{each:08x}" for of_array in (empty | sums).values() for each in of_array)
    sums_of = {"block": str(_BLOCK), "blocks": blocks}
    crc = _checksum(header, *sums_of.values())
    own = {"name": own_name, "name_crc32": _checksum({}, crc, own_name)}
    header["__metadata__"] = {**sums_of, "crc32": crc, **own}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH)
    return len(text).to_bytes(_LENGTH, "little") + text


def _n_blocks(n_bytes: int, block: int) -> int:
    return max(-(-n_bytes // block), 1)


def _checksum(header: Mapping[str, Any], *others: str) -> str:
    return f"{crc32(json.dumps([header, *others]).encode()):08x}"


@dataclass(slots=True)
class _Mapped:
    """An array of a memory-mapped file, and its verified blocks."""

    array: NDArray[Any]
    width: int  # bytes of a row
    begin: int  # in the file
    sums: NDArray[np.uint32]  # of its blocks
    checked: NDArray[np.bool_]  # blocks that are sound
    touched: NDArray[np.bool_]  # those, of these, that were read since the file was let go of
    is_touched: bool = False  # all of them

    def let_go(self) -> None:
        self.touched[:] = self.is_touched = False


class MappedSegment(Mapping[str, "NDArray[Any]"]):
    """The arrays of a memory-mapped file, verified on first access.

    Raises DamagedIndex for an array whose bytes are not those that were written. What was read is
    let go of from time to time: the system keeps it as long as it has room, and it is no memory of
    this process.
    """

    def __init__(
        self,
        path: Path,
        data: mmap.mmap,
        arrays: Mapping[str, _Mapped],
        block: int,
        mend: Callable[[], bool] | None = None,
    ) -> None:
        self._path = path
        self._data = data
        self._arrays = arrays
        self._block = block
        self._mend = mend
        self._n_touched = 0  # blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        mapped = self._arrays[name]
        if not mapped.is_touched:
            self._touch(name, np.flatnonzero(~mapped.touched))
        return mapped.array

    def length(self, name: str) -> int:
        """Return the number of rows of an array without reading any."""
        return len(self._arrays[name].array)

    def part(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Return some rows of an array; only their blocks are verified."""
        mapped = self._arrays[name]
        self._verify_span(name, start * mapped.width, stop * mapped.width)
        return mapped.array[start:stop]

    def verify_ranges(self, name: str, starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[Any]:
        """Return an array of which only the rows from `starts` to `stops` are verified."""
        mapped = self._arrays[name]
        if mapped.is_touched:
            return mapped.array
        if len(starts) <= _FEW:
            width = mapped.width
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                self._verify_span(name, start * width, stop * width)
            return mapped.array
        some = stops > starts
        firsts = starts[some].astype(np.int64) * mapped.width // self._block
        lasts = (stops[some].astype(np.int64) * mapped.width - 1) // self._block
        if (mapped.touched[firsts] & mapped.touched[lasts] & (lasts - firsts <= 1)).all():
            return mapped.array  # as mostly
        n = len(mapped.sums) + 1
        inside = np.cumsum(np.bincount(firsts, minlength=n) - np.bincount(lasts + 1, minlength=n))
        self._touch(name, np.flatnonzero((inside[:-1] > 0) & ~mapped.touched))
        return mapped.array

    def _verify_span(self, name: str, start: int, stop: int) -> None:
        """Verify some bytes of an array, unless done."""
        if stop > start:
            first, end = start // self._block, (stop - 1) // self._block + 1
            touched = self._arrays[name].touched
            if end == first + 1 and touched[first]:
                return  # as mostly
            new = np.flatnonzero(~touched[first:end])
            if len(new):
                self._touch(name, first + new)

    def _touch(self, name: str, blocks: NDArray[np.intp]) -> None:
        """Verify some blocks of an array; release memory if many were read."""
        mapped = self._arrays[name]
        self._check(name, blocks[~mapped.checked[blocks]])
        self._n_touched += len(blocks)
        if self._n_touched * self._block > _TOUCHED:
            for each in self._arrays.values():
                each.let_go()
            self._n_touched = len(blocks)
            if _LET_GO is not None:
                self._data.madvise(_LET_GO)
        mapped.touched[blocks] = True
        mapped.is_touched = bool(mapped.touched.all())

    def let_go(self, name: str) -> None:
        mapped = self._arrays[name]
        self._let_go(mapped.begin, mapped.begin + mapped.array.nbytes)
        mapped.let_go()

    def _let_go(self, begin: int, end: int) -> None:
        if _LET_GO is not None and end > begin:
            page = begin - begin % mmap.PAGESIZE
            self._data.madvise(_LET_GO, page, end - page)

    def _check(self, name: str, blocks: NDArray[np.intp]) -> None:
        """Compare ascending blocks with their checksums."""
        mapped, data = self._arrays[name], memoryview(self._data)
        end, since = mapped.begin + mapped.array.nbytes, -1
        for block, checksum in zip(blocks.tolist(), mapped.sums[blocks].tolist(), strict=True):
            begin = mapped.begin + block * self._block
            last = min(begin + self._block, end)
            if crc32(data[begin:last]) != checksum:
                is_mended = self._mend is not None and self._mend()  # which writes the file again
                if not is_mended or crc32(data[begin:last]) != checksum:
                    raise DamagedIndex(
                        f"{self._path} is damaged (the array {name!r}): 'clew check' says more"
                    )
            mapped.checked[block] = True
            since = begin if since < 0 else since
            if last - since >= _RUN:  # what was only looked at takes no memory of ours
                self._let_go(since, last)
                since = -1


_FEW = 16  # ranges that are looked at one by one


def file_state(path: Path) -> tuple[str, int, int, int] | None:
    """Return a value that identifies the file at a path, or None if it cannot be read."""
    with suppress(OSError):
        stat = path.stat()
        return str(path), stat.st_ino, stat.st_mtime_ns, stat.st_size
    return None


def open_segment(path: Path, mend: Callable[[], bool] | None = None) -> MappedSegment:
    """Return the arrays of a segment, mapped into memory, read-only.

    `mend` writes the file again where an array is damaged, and says whether it could. Raises
    MissingSegment where the file is gone, DamagedIndex where it cannot be read.
    """
    try:
        return _map_file(path, mend)
    except PermissionError as error:
        raise StoreError(f"{path} is not readable: ask its owner for permission") from error
    except FileNotFoundError as error:
        raise MissingSegment(f"{path} is missing: rebuild the index from its documents") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedIndex(
            f"{path} is damaged ({error}): rebuild the index from its documents"
        ) from error


def _map_file(path: Path, mend: Callable[[], bool] | None) -> MappedSegment:
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    if begin > len(data):
        raise ValueError("its header is cut off")
    header = json.loads(data[_LENGTH:begin])
    metadata = header.pop("__metadata__")
    if metadata["crc32"] != _checksum(header, metadata["block"], metadata["blocks"]):
        raise ValueError("its header was changed")
    _check_name(path, metadata)
    size = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if begin + size != len(data):
        raise ValueError(f"the file has {len(data)} bytes instead of {begin + size}")
    block = int(metadata["block"])
    if block < 1:
        raise ValueError(f"its blocks have {block} bytes")
    sums = np.frombuffer(bytes.fromhex(metadata["blocks"]), ">u4").astype(np.uint32)
    arrays = {}
    for name, entry in header.items():
        array = _array(data, begin, entry)
        n_blocks = _n_blocks(array.nbytes, block)
        own, sums = sums[:n_blocks], sums[n_blocks:]
        if len(own) < n_blocks:
            raise ValueError("checksums are missing")
        is_checked = np.zeros((2, n_blocks), dtype=bool)
        width = array.nbytes // len(array) if len(array) else 0
        arrays[name] = _Mapped(array, width, begin + entry["data_offsets"][0], own, *is_checked)
    return MappedSegment(path, data, arrays, block, mend)


def _check_name(path: Path, metadata: Mapping[str, str]) -> None:
    """Raise ValueError if a file was renamed since it was written."""
    name = metadata.get("name")
    if name is None or metadata.get("name_crc32") != _checksum({}, metadata["crc32"], name):
        raise ValueError("its header was changed")
    if name != own_name(path):
        raise ValueError(f"it was written as {name}")


def _array(data: mmap.mmap, begin: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    # Each array has a base of its own: SciPy copies what is a small part of a larger array.
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"]
    start, end = entry["data_offsets"]
    if start == end:
        empty = np.zeros(shape, dtype)
        empty.flags.writeable = False
        return empty
    count = (end - start) // dtype.itemsize
    return np.frombuffer(data, dtype, count, begin + start).reshape(shape)


def let_go(arrays: Arrays, name: str) -> None:
    """Release the memory of one of the arrays, if mapped."""
    if hasattr(arrays, "let_go"):
        arrays.let_go(name)


def join_segments(parts: Sequence[Arrays]) -> dict[str, Blocks]:
    """Return the concatenated arrays of several segments as one segment."""
    together = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        having = [part for part in parts if name in part]
        arrays = [part[name] for part in having]
        shape = (sum(map(len, arrays)), *arrays[0].shape[1:])
        dtype = np.result_type(*(array.dtype for array in arrays))
        together[name] = Blocks(shape, dtype, _pieces(having, name))
    return together


def _pieces(parts: Sequence[Arrays], name: str) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array of several segments, releasing memory as they are read."""
    for part in parts:
        array = part[name]
        size = max(1, _AT_ONCE * len(array) // max(1, array.nbytes))
        for start in range(0, len(array), size):
            yield array[start : start + size]
            let_go(part, name)


def delete_others(folder: Path, keep: Iterable[str]) -> None:
    """Delete the segments in `folder` that are not in `keep`."""
    names = {f"{name}{SUFFIX}" for name in keep}
    for path in folder.iterdir() if folder.exists() else ():
        if path.name not in names:
            unlink(path)


def unlink(path: Path) -> None:
    """Delete a file if possible."""
    with suppress(OSError):  # Windows keeps what a reader has open: next time
        path.unlink()
