"""Numbers for strings and values, by first occurrence, and hashes of strings."""

from collections.abc import Callable, Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class Numbers:
    """`numbers[text]` is the number of a string, which gets the next one when it is new.

    `form` brings spellings of one string together; it is applied to what is not known as it is.
    """

    def __init__(self, form: Callable[[str], str] = str) -> None:
        self._form = form
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers.setdefault(self._form(text), len(self._numbers))
        return number

    def texts(self) -> list[str]:
        """Return the strings in the order of their numbers."""
        return list(self._numbers)


def number_values(values: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return where each distinct value first stands, ascending, and the (n,) numbers of values."""
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return first[order], rank[place]


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return 64 bits of a hash for each text, the same in every process."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = b"".join(blake2b(each, digest_size=8).digest() for each in encoded)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
