"""Vectors in few bits: what is read back of them, by itself and beside others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.coding import BITS, code_width, decode, encode, multiply_codes


def unit(n, d, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def there_and_back(vectors, bits):
    return decode(encode(vectors, bits), vectors.shape[1], bits)


@pytest.mark.parametrize(("bits", "error"), [(1, 0.05), (2, 0.03), (4, 0.008), (8, 0.0006)])
def test_inner_products_are_nearly_kept(bits, error):
    """The more bits, the less is lost; on average products are neither larger nor smaller."""
    vectors, others = unit(200, 384), unit(200, 384, seed=1)
    lost = there_and_back(vectors, bits) @ others.T - vectors @ others.T
    assert lost.std() < error
    assert abs(lost.mean()) < error / 10


def test_32_bits_lose_nothing():
    """Neither of a number nor of a product, and the bytes are those of float32."""
    vectors, others = unit(5_000, 17), unit(3, 17, seed=1)
    rows = encode(vectors, 32)
    np.testing.assert_array_equal(rows.view("<f4"), vectors)
    np.testing.assert_array_equal(decode(rows, 17, 32), vectors)
    products = multiply_codes(rows, others.T, 32)
    np.testing.assert_array_equal(products, vectors @ others.T)


@given(st.integers(1, 40), st.integers(0, 5), st.sampled_from(BITS), st.integers(0, 99))
def test_product_with_itself_is_kept(d, n, bits, seed):
    """Of any dimension, also one whose codes do not fill their last byte."""
    vectors = unit(n, d, seed)
    assert encode(vectors, bits).shape == (n, code_width(d, bits))
    own = np.einsum("ij,ij->i", there_and_back(vectors, bits), vectors)
    np.testing.assert_allclose(own, np.ones(n), atol=1e-5)


@pytest.mark.parametrize("bits", BITS)
def test_zero_stays_zero(bits):
    vectors = np.zeros((2, 10), dtype=np.float32)
    vectors[1, 3] = 1
    assert not there_and_back(vectors, bits)[0].any()
    assert there_and_back(vectors, bits)[1].argmax() == 3


@pytest.mark.parametrize("bits", BITS)
def test_a_vector_is_coded_by_itself(bits):
    """Its bytes are the same alone and among so many that they are coded in blocks."""
    vectors = unit(5_000, 16)
    together = encode(vectors, bits)
    for row in (0, 4_095, 4_096, 4_999):
        np.testing.assert_array_equal(encode(vectors[row : row + 1], bits)[0], together[row])
        alone = decode(together[row : row + 1], 16, bits)
        np.testing.assert_array_equal(alone[0], decode(together, 16, bits)[row])


@pytest.mark.parametrize("d", [383, 384])
@pytest.mark.parametrize("bits", BITS)
def test_many_vectors_are_decoded_as_each_alone(bits, d):
    """Of many, two bytes are looked up at once, where their number is even."""
    vectors = np.random.default_rng(4).normal(size=(200, d)).astype(np.float32)
    codes = encode(vectors, bits)
    alone = np.concatenate([decode(row[None], d, bits) for row in codes])
    np.testing.assert_array_equal(decode(codes, d, bits), alone)


def test_bytes_by_hand():
    """The first number stands in the highest bits; behind the codes stands the factor."""
    vectors = np.array([[3, -3, 3, 3, -3, -3, -3, 3, 3]], dtype=np.float32)
    found = encode(vectors, 1)
    assert found[0, :2].tolist() == [0b10110001, 0b10000000]
    assert found[0, 2:].view("<f4") == pytest.approx(3 / 0.7979, abs=1e-5)
    levels = np.array([[-1.5104, -0.4528, 0.4528, 1.5104]], dtype=np.float32)
    assert encode(levels, 2)[0, 0] == 0b00_01_10_11
    np.testing.assert_allclose(there_and_back(levels, 2), levels, atol=1e-5)
    whole = np.array([[127, -127, 5, 0]], dtype=np.float32)
    assert encode(whole, 8)[0, :4].view(np.int8).tolist() == [127, -127, 5, 0]
    np.testing.assert_allclose(there_and_back(whole, 8), whole)


@pytest.mark.parametrize("bits", BITS[:-1])
def test_int8_and_float_are_coded_alike(bits):
    """Token vectors come as int8: their length does not matter to the codes."""
    vectors = np.rint(unit(20, 64) * 127)
    np.testing.assert_array_equal(
        encode(vectors.astype(np.int8), bits), encode(vectors.astype(np.float32), bits)
    )
