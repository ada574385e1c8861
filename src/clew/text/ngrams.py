"""Words in a row: the tokens that BLEU compares, and the n-grams that may name something."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError
from clew.text.analyze import MARKS, UNSPACED, fold, term_spans

_TOKEN = re.compile(rf"\w[\w{MARKS}]*|[^\w\s]")
# A character of a script without spaces, or a word up to the next one.
_CHARACTER = UNSPACED.pattern.removesuffix("+")
_PART = re.compile(rf"{_CHARACTER}|(?:(?!{_CHARACTER})\S)+")


def bleu_tokens(text: str) -> list[str]:
    """Return the words and punctuation marks of `text` in lower case, in order.

    Of scripts written without spaces every character is a token.
    """
    spaced = UNSPACED.sub(lambda run: f" {' '.join(run.group())} ", text.lower())
    return _TOKEN.findall(spaced)


def token_ids(texts: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the (n,) tokens of all texts, numbered by first occurrence, and where texts start.

    The (n_texts + 1,) starts end with n: text i has tokens[starts[i] : starts[i + 1]].
    """
    rows: dict[str, int] = {}
    found = [
        np.array([rows.setdefault(t, len(rows)) for t in bleu_tokens(text)], dtype=np.int32)
        for text in texts
    ]
    starts = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=np.int32), *found]), starts


def content_ngrams(text: str, longest: int = 3) -> Counter[str]:
    """Count the n-grams, n <= `longest`, inside runs of content words, in order of occurrence.

    A content word is a term of at least two characters that has a letter. A run ends at anything
    else, such as a stop word, a number, a mark or an empty line. In scripts without spaces the
    words are overlapping pairs, so an n-gram has n + 1 characters.

    Raises InputError for a `longest` below 1.
    """
    if longest < 1:
        raise InputError(f"n-grams have at least one word, so the longest cannot have {longest}")
    counts: Counter[str] = Counter()
    for run in _content_runs(text):
        for i, (word, _) in enumerate(run):
            gram = word
            counts[gram] += 1
            for _, more in run[i + 1 : i + longest]:
                gram += more
                counts[gram] += 1
    return counts


def _content_runs(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield runs of content words: each by itself, and as it continues the one before."""
    run: list[tuple[str, str]] = []
    previous = 0
    for term, start, end in term_spans(text):
        if len(term) < 2 or not any(c.isalpha() for c in term):
            continue  # the gap that it leaves ends the run
        gap = text[previous:start]
        if start < previous:
            run.append((term, fold(text[previous:end])))
        elif gap.isspace() and gap.count("\n") < 2:
            run.append((term, f" {term}"))
        else:
            yield run
            run = [(term, "")]
        previous = end
    yield run


def uncontained(counts: Mapping[str, int]) -> dict[str, int]:
    """Return `counts` without n-grams inside a longer one that stands there as often.

    "northwest" goes where it is only ever part of "northwest passage".
    """
    inside = {
        part for gram, n in counts.items() for part in _proper_parts(gram) if counts.get(part) == n
    }
    return {gram: n for gram, n in counts.items() if gram not in inside}


def _proper_parts(gram: str) -> Iterator[str]:
    """Yield the shorter n-grams of an n-gram."""
    spans = [part.span() for part in _PART.finditer(gram)]
    for i, (start, _) in enumerate(spans):
        for _, end in spans[i:]:
            if end - start < len(gram):
                yield gram[start:end]
