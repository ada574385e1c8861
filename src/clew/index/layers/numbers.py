"""Number values by first occurrence, and hash texts."""

from collections.abc import Callable, Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class Numbers(dict[str, int]):
    """`numbers[text]` is the number of a string; a new one gets the next number.

    `form` brings spellings of one string together; it is applied to what is not known as it is.
    """

    def __init__(self, form: Callable[[str], str] = str) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, text: str) -> int:
        return self.setdefault(self._form(text), len(self))


def number_values(values: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return the first index of each distinct one of (n,) values, and (n,) numbers."""
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty(len(order), dtype=np.int32)
    numbers[order] = np.arange(len(order))
    return first[order], numbers[place]


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text, the same in every process."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = b"".join(blake2b(each, digest_size=8).digest() for each in encoded)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
