"""Tokens for BLEU, and content words for n-grams."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.text.analyze import MARKS, UNSPACED, term_spans
from clew.text.normalize import fold

_TOKEN = re.compile(rf"\w[\w{MARKS}]*|[^\w\s]")
_EMPTY_LINE = re.compile(r"\n\s*\n")


def bleu_tokens(text: str) -> list[str]:
    """Return the words and punctuation marks of `text` in lower case, in order.

    Of scripts written without spaces every character is a token.
    """
    spaced = UNSPACED.sub(lambda run: f" {' '.join(run.group())} ", text.lower())
    return _TOKEN.findall(spaced)


def token_ids(texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the (n,) token ids of all texts by first occurrence, and the texts' offsets.

    The (n_texts + 1,) starts end with n: text i has tokens[starts[i] : starts[i + 1]].
    """
    ids, starts, _ = number_parts(map(bleu_tokens, texts))
    return ids, starts


def number_parts(
    texts: Iterable[Iterable[str]],
) -> tuple[NDArray[np.int32], NDArray[np.int64], list[str]]:
    """Return the (n,) part ids and text offsets as `token_ids`, and the parts."""
    rows: dict[str, int] = {}
    ids = [
        np.array([rows.setdefault(part, len(rows)) for part in parts], dtype=np.int32)
        for parts in texts
    ]
    starts = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=np.int32), *ids]), starts, list(rows)


class TextPiece(NamedTuple):
    """The content words of a run of characters without white space.

    A content word is a term of at least two characters that has a letter. Words that stand side by
    side are a run; anything else between them ends it, such as a stop word, a number or a mark.
    In scripts without spaces the words are overlapping pairs of characters.
    """

    words: tuple[str, ...]
    added: tuple[str, ...]  # what each adds to an n-gram that it continues
    joins: tuple[bool, ...]  # whether each goes on with the run before it, or may: the first one
    closes: bool  # whether the piece ends with its last word, so that the next may go on


def split_pieces(text: str) -> list[str]:
    """Split `text` at white space, with an empty piece after each paragraph."""
    return [piece for part in _EMPTY_LINE.split(text) for piece in (*part.split(), "")]


def content_words(piece: str) -> TextPiece:
    """Return the content words of a text without white space."""
    words, added, joins = list[str](), list[str](), list[bool]()
    previous = 0
    for term, start, end in term_spans(piece):
        if len(term) > 1 and any(c.isalpha() for c in term):
            overlaps = bool(words) and start < previous
            words.append(term)
            added.append(fold(piece[previous:end]) if overlaps else f" {term}")
            joins.append(overlaps or start == 0)
            previous = end
    return TextPiece(
        tuple(words), tuple(added), tuple(joins), bool(words) and previous == len(piece)
    )
