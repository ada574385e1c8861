"""Quantized vectors of 1, 2, 4, 8 or 32 bits per component; each is coded on its own.

A number becomes the nearest of 2^b levels. For one to four bits these are Lloyd's and Max's for
normally distributed numbers (Max 1960, "Quantizing for minimum distortion", IRE Transactions on
Information Theory 6), times the root mean square of the vector; for eight bits equal steps up to
its largest number. The codes of a vector x are followed by the float32 factor that makes the
decoded y the unbiased estimate of Gao and Long (2024), "RaBitQ", arXiv:2405.12497: y · x = x · x.
So a vector keeps its inner product with itself, and a zero vector stays zero; scaling to unit
length instead lowers the support of answers by .06. With 32 bits numbers are plain float32, as for
papers.

Columns of int32 are kept in one or two bytes per number if their range allows it; nothing else
says so, since no column is of these types by itself.
"""

import threading
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

BITS = (1, 2, 4, 8, 32)
FLOAT32 = 32  # bits, which lose nothing

_BLOCK = 4_096  # vectors that are coded or read at once
_MANY = 2**14  # bytes of codes, for which a table of pairs of bytes comes into the cache
_BATCH_SIZE = 2**18  # multiplications; of more BLAS takes a second thread, which then spins
_SCALE = _FLOAT = np.dtype("<f4")  # of the number behind the codes, and of those that are none
_MAX_CODE = 127  # code of eight bits
_POSITIVE = {  # levels, by bits
    1: (0.7979,),
    2: (0.4528, 1.5104),
    4: (0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0691, 2.7327),
}


class Vectors(Protocol):
    """(n, d) rows of float32: an array, or an object that reads rows on access."""

    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, rows: Any, /) -> Any:  # noqa: ANN401 -- as an array takes them
        """Return decoded rows: one, a slice, or those of an index or boolean array."""
        ...

    def __matmul__(self, other: Any, /) -> Any:  # noqa: ANN401
        """Return the (n,) or (n, m) inner products with a vector or a matrix."""
        ...


def multiply_rows(
    vectors: Vectors, rows: NDArray[np.integer], other: NDArray[Any]
) -> NDArray[np.floating]:
    """Return vectors[rows] @ other without keeping decoded vectors."""
    own = getattr(vectors, "products", None)
    return np.asarray(vectors[rows] @ other if own is None else own(rows, other))


def encode(vectors: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Quantize (n, d) vectors to (n, `code_width`) bytes."""
    rows = np.empty((len(vectors), code_width(vectors.shape[1], bits)), dtype=np.uint8)
    if bits == FLOAT32:
        rows.view(_FLOAT)[...] = vectors
        return rows
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK].astype(np.float64)
        codes, levels = _encode_eight_bits(block) if bits == 8 else _encode_few_bits(block, bits)
        own = np.einsum("ij,ij->i", block, block)
        projections = np.einsum("ij,ij->i", block, levels)
        scale = np.divide(own, projections, out=np.zeros_like(own), where=projections > 0)
        rows[start : start + _BLOCK, : -_SCALE.itemsize] = codes
        rows[start : start + _BLOCK, -_SCALE.itemsize :] = scale.astype(_SCALE)[:, None].view("u1")
    return rows


def decode(rows: NDArray[np.uint8], dimension: int, bits: int) -> NDArray[np.float32]:
    """Return the (n, d) vectors approximated by `rows` of codes."""
    if bits == FLOAT32:
        return _read_floats(rows).astype(np.float32)
    codes = rows[:, : -_SCALE.itemsize]
    scale = np.ascontiguousarray(rows[:, -_SCALE.itemsize :]).view(_SCALE)
    if bits == 8:
        return np.multiply(codes.view(np.int8), scale, dtype=np.float32)
    levels = np.empty((len(rows), codes.shape[1] * 8 // bits), dtype=np.float32)
    _write_levels(codes, bits, levels)
    levels *= scale
    return levels[:, :dimension]


def multiply_codes(rows: NDArray[np.uint8], other: NDArray[Any], bits: int) -> NDArray[np.float32]:
    """Return the inner products of coded vectors with a (d,) vector or a (d, m) matrix."""
    if bits == FLOAT32:
        return multiply(_read_floats(rows), other)
    codes = rows[:, : -_SCALE.itemsize]
    levels = _ROOM.take(len(rows), codes.shape[1] * 8 // bits)
    if bits == 8:
        levels[...] = codes.view(np.int8)
    else:
        _write_levels(codes, bits, levels)
    levels = levels[:, : len(other)]
    scale = np.ascontiguousarray(rows[:, -_SCALE.itemsize :]).view(_SCALE)
    numbers = multiply(levels, other)
    return np.asarray(numbers * (scale if numbers.ndim == 2 else scale[:, 0]), dtype=np.float32)


class _Room(threading.local):
    """What a thread decodes into: the pages of a new array would take a fifth of the time."""

    numbers = np.empty(0, dtype=np.float32)

    def take(self, n: int, d: int) -> NDArray[np.float32]:
        if self.numbers.size < n * d:
            self.numbers = np.empty(n * d, dtype=np.float32)
        return self.numbers[: n * d].reshape(n, d)


_ROOM = _Room()


def multiply(numbers: NDArray[np.float32], other: NDArray[Any]) -> NDArray[np.float32]:
    """Return numbers @ other in parts so small that BLAS takes no second thread."""
    size = max(1, _BATCH_SIZE // max(1, other.size))
    if len(numbers) <= size:
        return np.asarray(numbers @ other)
    parts = [numbers[start : start + size] @ other for start in range(0, len(numbers), size)]
    return np.concatenate(parts)


def _read_floats(rows: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows).view(_FLOAT)


def digest(vectors: Vectors) -> NDArray[np.uint8]:
    """Return a 16-byte digest of vectors."""
    import hashlib  # which loads OpenSSL

    hasher = hashlib.blake2b(digest_size=16)
    for start in range(0, len(vectors), _BLOCK):
        block = np.ascontiguousarray(vectors[start : start + _BLOCK])
        hasher.update(block.reshape(-1).view(np.uint8).data)
    return np.frombuffer(hasher.digest(), dtype=np.uint8)


def code_width(dimension: int, bits: int) -> int:
    """Return the bytes of a coded vector."""
    return -(-dimension * bits // 8) + (0 if bits == FLOAT32 else _SCALE.itemsize)


def _encode_eight_bits(block: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the codes of some vectors, and the value of each level."""
    largest = np.abs(block).max(axis=1, keepdims=True, initial=0)
    steps = np.divide(block * _MAX_CODE, largest, out=np.zeros_like(block), where=largest > 0)
    codes = np.rint(steps).astype(np.int8)
    return codes.view(np.uint8), codes.astype(np.float64)


def _encode_few_bits(
    block: NDArray[np.float64], bits: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return codes of fewer than eight bits, packed into bytes high bits first, and levels."""
    levels = _code_levels(bits)
    length = np.sqrt(np.mean(block * block, axis=1, keepdims=True))
    codes = np.zeros(block.shape, dtype=np.uint8)
    for low, high in pairwise(levels.tolist()):
        codes += block > length * ((low + high) / 2)
    size = 8 // bits
    padded = np.zeros((len(block), -(-block.shape[1] // size) * size), dtype=np.uint8)
    padded[:, : block.shape[1]] = codes
    together = np.zeros((len(block), padded.shape[1] // size), dtype=np.uint8)
    for place in range(size):
        together |= padded[:, place::size] << (8 - bits * (place + 1))
    return together, levels[codes]


def _code_levels(bits: int) -> NDArray[np.float64]:
    """Return the quantization levels, ascending."""
    positive = np.array(_POSITIVE[bits])
    return np.concatenate([-positive[::-1], positive])


@cache
def _packed_levels(bits: int, n_bytes: int) -> NDArray[np.float32]:
    """Return (256^n_bytes, m): the levels of the codes packed into so many bytes."""
    shifts = 8 - bits * np.arange(1, 8 // bits + 1)
    codes = (np.arange(256)[:, None] >> shifts) & (2**bits - 1)
    levels = np.asarray(_code_levels(bits)[codes], dtype=np.float32)
    packed = np.arange(256**n_bytes, dtype=f"<u{n_bytes}").view(np.uint8).reshape(-1, n_bytes)
    return levels[packed].reshape(len(packed), -1)


def _write_levels(codes: NDArray[np.uint8], bits: int, out: NDArray[np.float32]) -> None:
    """Write the levels of codes into `out`, without a bounds check: every code has a level."""
    n_bytes = 1  # that are looked up at once; two take half the time
    if bits == 4 and codes.shape[1] % 2 == 0 and codes.strides[0] % 2 == 0 and codes.size > _MANY:
        codes, n_bytes = codes.view("<u2"), 2
    levels = _packed_levels(bits, n_bytes)
    levels.take(codes, axis=0, out=out.reshape(*codes.shape, levels.shape[1]), mode="clip")


_WIDE_TYPE = np.dtype(np.int32)
_NARROW_TYPES = (np.dtype(np.int8), np.dtype(np.uint16), np.dtype(np.int16))


def narrow_type(low: int, high: int) -> np.dtype[Any]:
    """Return the narrowest integer type for numbers from `low` to `high`."""
    for kind in _NARROW_TYPES:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return _WIDE_TYPE


def narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return an int32 column in the narrowest type; any other is unchanged."""
    if column.dtype != _WIDE_TYPE or column.ndim > 1:
        return column
    return column.astype(narrow_type(int(column.min(initial=0)), int(column.max(initial=0))))


def widen(column: NDArray[Any]) -> NDArray[Any]:
    """Undo `narrow` for a column or a part of it."""
    return column.astype(_WIDE_TYPE) if column.dtype in _NARROW_TYPES else column
