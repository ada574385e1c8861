"""Count and locate tokens for chunk sizes, budgets and costs.

The vocabulary is OpenAI's cl100k_base, and comes with Clew: nothing is fetched.
`vocabulary/LICENSE` says where it is from.
"""

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re

if TYPE_CHECKING:
    import tiktoken

NAME = "cl100k_base"
VOCABULARY = Path(__file__).parent / "vocabulary" / "cl100k_base.gz"
# Where a text is cut before its bytes are merged, as tiktoken has it for this vocabulary.
_CUTS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_GZIP = 31  # zlib's number for data with gzip's header
_SEPARATOR = b"\xff"  # two tokens; no text in UTF-8 has this byte, so it is in one token alone
_BLOCK = 1 << 18  # characters whose tokens are placed together: a whole book takes much memory
_NOT_ASCII = compile_re(r"[^\x00-\x7f]+")
_EDGE = compile_re(r"(?<=\S)(?= )")  # a token always begins here, and none depends on what follows
_MAX_RUN = (
    1 << 16
)  # characters of white space that are encoded at once: of a million it is an error
_WHITE = compile_re(rf"(?<!\s)\s{{{_MAX_RUN},}}")


@lru_cache(maxsize=1)
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # 0.1 s with the vocabulary: only when something is counted

    by_rank = zlib.decompress(VOCABULARY.read_bytes(), wbits=_GZIP).split(_SEPARATOR)
    ranks = dict(zip(by_rank, range(len(by_rank)), strict=True))
    ranks[_SEPARATOR] = ranks.pop(b"")
    return tiktoken.Encoding(NAME, pat_str=_CUTS, mergeable_ranks=ranks, special_tokens={})


def count(text: str) -> int:
    """Return the number of tokens of `text`. Markers such as <|endoftext|> are plain text."""
    encode = _encoding().encode_ordinary
    return sum(len(encode(part)) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Yield a text with long runs of white space split off."""
    begin = 0
    for match in _WHITE.finditer(text) if len(text) >= _MAX_RUN else ():
        for end in range(match.start() + _MAX_RUN, match.end(), _MAX_RUN):
            yield text[begin:end]
            begin = end
    yield text[begin:]


def count_at_least(text: str) -> int:
    """Return a lower bound of the tokens of `text` for any model.

    Half of our own count of what is ASCII, and one for eight other characters: `o200k_base`, whose
    tokens are the longest that were looked at, has 1.4 times as many or more in 114 languages,
    while its count is down to a fifth of `cl100k_base`'s in those with scripts of their own.
    """
    others = sum(len(run) for run in _NOT_ASCII.findall(text))
    return count(_NOT_ASCII.sub(" ", text)) // 2 + others // 8


def count_part_at_most(text: str, n_tokens: int) -> int:
    """Return an upper bound of the tokens of a part of a text of `n_tokens`.

    Between the first and the last place where a token always begins they are those of the text.
    What is before and behind has at most as many as bytes.
    """
    edges = [match.start() for match in _EDGE.finditer(text)]
    inside = slice(edges[0], edges[-1]) if edges else slice(0, 0)
    return count_bytes(text) - count_bytes(text[inside]) + (n_tokens if edges else 0)


def count_bytes(text: str) -> int:
    """Return the number of UTF-8 bytes of a text; every token has at least one."""
    return len(text.encode("utf-8", "surrogatepass"))


def token_starts(text: str) -> NDArray[np.int64]:
    """Return the (n,) character offsets of the tokens of `text`, ascending.

    A character that several tokens share, such as an emoji, starts all of them.
    """
    encoding = _encoding()
    starts, begin = [np.zeros(0, dtype=np.int64)], 0
    while begin < len(text):
        edge = _EDGE.search(text, begin + _BLOCK)
        end = edge.start() if edge else len(text)
        for part in _parts(text[begin:end]):
            tokens = encoding.encode_ordinary(part)
            starts.append(_places(encoding.decode_tokens_bytes(tokens)) + begin)
            begin += len(part)
    return np.concatenate(starts)


def _places(tokens: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the character offsets of tokens, given as UTF-8 bytes."""
    of_all = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    character = np.cumsum((of_all & 0xC0) != 0x80) - 1  # that each byte is of
    sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    return np.asarray(character[np.cumsum(sizes) - sizes], dtype=np.int64)


def truncate(text: str, n_tokens: int) -> str:
    """Truncate `text` to at most `n_tokens` whole tokens."""
    begins = token_starts(text)
    if len(begins) <= n_tokens:
        return text
    cut = text[: int(begins[n_tokens])] if n_tokens > 0 else ""
    # A cut could merge into other tokens than the whole did, though no such text is known.
    while cut and count(cut) > n_tokens:  # pragma: no cover
        cut = cut[:-1]
    return cut
