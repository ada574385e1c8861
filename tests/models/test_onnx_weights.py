"""Weights of an ONNX file, read without a runtime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.onnx_weights import read_weights


def varint(value):
    found = bytearray()
    while value >= 128:
        found.append(value % 128 + 128)
        value //= 128
    return bytes([*found, value])


def number(field, value):
    return varint(field * 8) + varint(value)


def sized(field, value):
    return varint(field * 8 + 2) + varint(len(value)) + value


def tensor(name, array, *, packed=False):
    """Write a tensor as the format says: dimensions, type, bytes, name."""
    shape = b"".join(map(varint, array.shape))
    dimensions = sized(1, shape) if packed else b"".join(number(1, n) for n in array.shape)
    kind = {"float32": 1, "int8": 3, "int64": 7}[array.dtype.name]
    return dimensions + number(2, kind) + sized(9, array.tobytes()) + sized(8, name.encode())


def model(*tensors):
    graph = b"".join(sized(5, each) for each in tensors)
    return number(1, 10) + sized(2, b"by hand") + sized(7, sized(2, b"name") + graph)


@given(
    st.lists(st.integers(0, 12), max_size=3) | st.lists(st.integers(0, 300), max_size=2),
    st.sampled_from([np.float32, np.int8]),
)
def test_tensors_are_what_was_written(shape, dtype):
    """Shape, type and numbers of each, by its name."""
    array = (np.arange(int(np.prod(shape))) % 100).astype(dtype).reshape(shape)
    found = read_weights(model(tensor("a", array), tensor("b.weight", np.ones(2, np.float32))))
    assert list(found) == ["a", "b.weight"]
    assert (found["a"].dtype, found["a"].shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found["a"], array)


def test_other_types_and_fields_are_passed_over():
    """Numbers of 64 bits, tensors without plain bytes, and fixed-width fields are not read."""
    plain = tensor("a", np.array([1.5], np.float32))
    fixed = varint(20 * 8 + 5) + b"\x00" * 4 + varint(21 * 8 + 1) + b"\x00" * 8
    without = number(1, 1) + number(2, 1) + sized(8, b"c")
    found = read_weights(model(tensor("b", np.array([1], np.int64)), plain + fixed, without))
    assert list(found) == ["a"]


@pytest.mark.parametrize("data", [sized(7, b"")[:-1] + b"\x05", sized(7, b"\x2a\x7f"), b"\x3b\x00"])
def test_what_is_no_onnx_file_is_refused(data):
    """A field that ends behind its message, or a kind that there is not."""
    with pytest.raises(ValueError, match="no ONNX file"):
        read_weights(data)
