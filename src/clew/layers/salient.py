"""Chunks to their salient terms, for instance as hints in a prompt."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from scipy.sparse import csr_array

from clew.algo.salience import Score, entity_rates, salient
from clew.algo.topk import top_k
from clew.text.ngrams import bleu_tokens, content_ngrams, uncontained


def salient_terms(
    texts: Sequence[str],
    *,
    longest: int = 3,
    threshold: float = 0.5,
    most: int = 12,
    score: Score = "normalised",
    nested: bool = False,
) -> list[list[str]]:
    """Return the at most `most` salient n-grams of each text, most salient first.

    They have up to `longest` words and rate above `threshold`; see `entity_rates`. How rare one is
    depends on all `texts`. One inside a longer one that stands there as often is left out, unless
    `nested`. Equal rates keep the order of the text. O(n-grams of all texts).
    """
    counts, grams = _counts(texts, longest)
    lengths = np.array([len(bleu_tokens(text)) for text in texts], dtype=np.int64)
    kept = salient(entity_rates(counts, lengths, score=score), threshold)
    found = []
    for i in range(len(texts)):
        rates = {grams[term]: rate for term, rate in _row(kept, i)}
        counted = {grams[term]: int(n) for term, n in _row(counts, i) if grams[term] in rates}
        names = list(counted if nested else uncontained(counted))
        best = top_k(np.array([rates[name] for name in names]), most)
        found.append([names[j] for j in best])
    return found


def hints(texts: Sequence[str]) -> list[list[str]]:
    """Return the salient terms of each text as it spells them, for a prompt to prefer."""
    pairs = zip(salient_terms(texts), texts, strict=True)
    return [as_written(terms, text) for terms, text in pairs]


def as_written(terms: Iterable[str], text: str) -> list[str]:
    """Return terms as `text` first spells them; of one that cuts through a name, the name.

    That is one that has some words with a capital and others without: "Colin Archer built". A
    term that the text does not spell in one piece is left as it is.
    """
    found: list[str] = []
    for term in terms:
        pattern = r"\s+".join(map(re.escape, term.split()))
        match = re.search(rf"\b{pattern}\b", text, re.IGNORECASE)
        words = match.group().split() if match else term.split()
        runs = [(named, " ".join(run)) for named, run in groupby(words, _has_capital)]
        kept = [run for named, run in runs if named or len(runs) == 1]
        found.append(max(kept, key=len))
    return list(dict.fromkeys(found))


def _has_capital(word: str) -> bool:
    return word[0].isupper()


def _counts(texts: Iterable[str], longest: int) -> tuple[csr_array, list[str]]:
    """Return the (n_texts, n_grams) counts, rows in the order of the text, and the n-grams."""
    rows: dict[str, int] = {}
    terms, data, ends = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [0]
    for text in texts:
        counted = content_ngrams(text, longest)
        terms.append(np.array([rows.setdefault(g, len(rows)) for g in counted], dtype=np.int32))
        data.append(np.array([*counted.values()], dtype=np.int32))
        ends.append(ends[-1] + len(counted))
    shape = len(ends) - 1, len(rows)
    return csr_array((np.concatenate(data), np.concatenate(terms), ends), shape=shape), list(rows)


def _row(matrix: csr_array, row: int) -> Iterable[tuple[int, float]]:
    """Return the (column, value) pairs that a row stores, in their order."""
    cells = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return zip(matrix.indices[cells].tolist(), matrix.data[cells].tolist(), strict=True)
