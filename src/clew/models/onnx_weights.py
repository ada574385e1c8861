"""The weights in an ONNX file, read without a runtime.

Such a file is a message of Protocol Buffers: for each field its number and kind, then its value. Of
all that may stand in one, this reads the tensors of the graph that are stored as plain bytes.
https://onnx.ai/onnx/repo-docs/IR.html, https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Weights = NDArray[np.float32 | np.int8]

_GRAPH = 7  # of a model
_TENSOR = 5  # of a graph
_DIMENSION, _TYPE, _NAME, _BYTES = 1, 2, 8, 9  # of a tensor
_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype(np.float32), 3: np.dtype(np.int8)}
_VARINT, _SIZED = 0, 2  # kinds of values
_WIDTHS = {1: 8, 5: 4}  # bytes of the other ones


def read_weights(data: bytes) -> dict[str, Weights]:
    """Return the float32 and int8 tensors of a model by name: views of its bytes."""
    weights: dict[str, Weights] = {}
    [graph] = _fields(memoryview(data))[_GRAPH]
    for tensor in map(_fields, _fields(graph)[_TENSOR]):
        dtype = _DTYPES.get(tensor[_TYPE][0])
        if dtype is not None and _BYTES in tensor:
            [name], [raw] = tensor[_NAME], tensor[_BYTES]
            array: Weights = np.frombuffer(raw, dtype)
            weights[str(name, "utf-8")] = array.reshape(tensor[_DIMENSION])
    return weights


def _fields(message: memoryview) -> Mapping[int, list[Any]]:
    """Return the values of each field of a message: numbers, and parts of the message."""
    found: dict[int, list[Any]] = defaultdict(list)
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = divmod(key, 8)
        if kind == _VARINT:
            value, place = _varint(message, place)
            found[number].append(value)
            continue
        size = _WIDTHS.get(kind)
        if kind == _SIZED:
            size, place = _varint(message, place)
        if size is None or place + size > len(message):
            raise ValueError("this is no ONNX file")
        found[number].append(message[place : place + size])
        place += size
    return found


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return the number at a place, seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # no more bytes follow
            return value, place
        shift += 7
