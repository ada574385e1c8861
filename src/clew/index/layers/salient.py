"""Find the salient terms of chunks, for instance as hints in a prompt."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clew.algo.salience import Ngrams, Score, count_ngrams, entity_rates, keep_entries, mark_salient
from clew.algo.topk import top_k
from clew.base.types import Scalar
from clew.index.layers.entities import is_key
from clew.index.layers.numbers import Numbers, hash_texts, number_values
from clew.text.analyze import term_spans
from clew.text.ngrams import bleu_tokens, content_words, number_parts, split_pieces
from clew.text.normalize import entity_key

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, of the hash of what an n-gram goes on from

THRESHOLD = 0.5  # of a salient term's rate
LONGEST = 3  # words of a salient term
LEAST = 2  # statistical entities of a text that an LLM is asked to relate
_HINTS = 12  # terms of a text at most
_EDGE = re.compile(r"\b")
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class TermSettings:
    """The settings that decide which n-grams are statistical entities; see `salient_rates`.

    Those of a chunk are all that an LLM relates then, so that it can invent none: Wang et al.
    (2025), "AGRAG", arXiv:2511.05549, Eq. 4.
    """

    threshold: float = THRESHOLD  # that its rate exceeds, from 0 to below 1 [τ]
    longest: int = LONGEST  # words [b]

    def to_recipe(self) -> dict[str, Scalar]:
        """Return the settings as stored in an index's recipe."""
        return {"entity_threshold": float(self.threshold), "entity_words": self.longest}

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> Self | None:
        """Return the settings in a recipe, or None if no LLM was given terms."""
        if "entity_threshold" not in recipe:
            return None
        return cls(recipe["entity_threshold"], recipe["entity_words"])


def salient_rates(
    texts: Sequence[str],
    *,
    longest: int = LONGEST,
    threshold: float = THRESHOLD,
    score: Score = "normalised",
    nested: bool = False,
) -> tuple[csr_array, list[str]]:
    """Return the (n_texts, n_terms) rates of n-grams above `threshold`, and the n-grams.

    They have up to `longest` words; see `entity_rates`. How rare one is depends on all `texts`. One
    inside a longer one that stands there as often is left out, unless `nested`. Terms are numbered,
    and the entries of a row ordered, as they stand in the texts. O(n-grams of all texts), sorted.
    """
    from scipy.sparse import csr_array  # which takes longer to load than numpy

    counted = TextNgrams.from_texts(texts, longest)
    ngrams = counted.ngrams
    lengths = np.ones(len(texts), dtype=np.int64)  # which "eq2" alone looks at
    if score == "eq2":
        lengths = np.array([len(bleu_tokens(text)) for text in texts], dtype=np.int64)
    rates = entity_rates(ngrams.counts, lengths, score=score)
    mask = mark_salient(rates, threshold)
    if not nested:
        mask &= ~ngrams.inside
    rates = keep_entries(rates, mask)
    first, terms = number_values(rates.indices)
    salient = csr_array((rates.data, terms, rates.indptr), shape=(len(texts), len(first)))
    return salient, counted.spell(np.flatnonzero(mask)[first])


def statistical_terms(texts: Sequence[str], terms: TermSettings) -> list[list[str]]:
    """Return the statistical entities of each text, in its spelling and order of appearance.

    How rare an n-gram is depends on all `texts`. Names of one key are one.
    """
    rates, ngrams = salient_rates(texts, longest=terms.longest, threshold=terms.threshold)
    spellings = []
    for spelled in spell_rates(rates, ngrams, texts):
        names: dict[str, str] = {}
        for name in spelled:
            if is_key(entity_key(name)):
                names.setdefault(entity_key(name), name)
        spellings.append(list(names.values()))
    return spellings


@dataclass(frozen=True, slots=True)
class _ContentWords:
    """The content words of texts, concatenated; see `TextPiece`."""

    numbers: NDArray[np.int32]  # (n,)
    added: NDArray[np.int32]  # (n,)
    joins: NDArray[np.bool_]  # (n,)
    begins: NDArray[np.int64]  # (n_texts + 1,), where each text's begin
    spellings: tuple[Sequence[str], Sequence[str]]  # of `numbers` and of `added`

    def text(self, place: int, size: int) -> str:
        """Return the n-gram of `size` words that begins at a position."""
        words, added = self.spellings
        rest = self.added[place + 1 : place + size].tolist()
        return "".join([words[self.numbers[place]], *(added[number] for number in rest)])


@dataclass(frozen=True, slots=True)
class TextNgrams:
    """The n-grams of texts, by first occurrence."""

    ngrams: Ngrams
    _words: _ContentWords

    @classmethod
    def from_texts(cls, texts: Sequence[str], longest: int) -> Self:
        words = _read_words(texts)
        ngrams = count_ngrams(words.numbers, words.added, words.joins, words.begins, longest)
        return cls(ngrams, words)

    def spell(self, rows: NDArray[np.integer]) -> list[str]:
        """Return some n-grams, by their entries."""
        places, sizes = self.ngrams.places[rows].tolist(), self.ngrams.sizes[rows].tolist()
        return list(map(self._words.text, places, sizes))

    def hashes(self) -> NDArray[np.uint64]:
        """Return a 64-bit hash of each entry that depends on the n-gram only."""
        first, more = map(hash_texts, self._words.spellings)
        places, sizes = self.ngrams.places, self.ngrams.sizes
        hashes = first[self._words.numbers[places]]
        for i in range(1, int(sizes.max(initial=1))):
            longer = sizes > i
            hashes[longer] *= _FACTOR
            hashes[longer] += more[self._words.added[places[longer] + i]]
        return np.asarray(hashes)


def _read_words(texts: Sequence[str]) -> _ContentWords:
    """Return the content words of texts; repeated pieces are split once."""
    stream, ends, pieces = number_parts(map(split_pieces, texts))
    words, added = Numbers(), Numbers()
    numbers, more, joins, closes, sizes = (array(kind) for kind in "iibbi")
    for piece in map(content_words, pieces):
        numbers.extend(words[word] for word in piece.words)
        more.extend(added[each] for each in piece.added)
        joins.extend(piece.joins)
        closes.append(piece.closes)
        sizes.append(len(piece.words))
    n_words = np.array(sizes, dtype=np.int64)
    begins = np.append(0, np.cumsum(n_words[stream]))
    shift = (np.cumsum(n_words) - n_words)[stream] - begins[:-1]
    places = np.arange(begins[-1]) + np.repeat(shift, n_words[stream])
    joined = np.array(joins, dtype=bool)[places]
    opening = np.flatnonzero(n_words[stream])  # the last piece, without words, is before the first
    joined[begins[opening]] &= np.array(closes, dtype=bool)[stream[opening - 1]]
    return _ContentWords(
        numbers=np.array(numbers, dtype=np.int32)[places],
        added=np.array(more, dtype=np.int32)[places],
        joins=joined,
        begins=begins[ends],
        spellings=(list(words), list(added)),
    )


def find_hints(texts: Sequence[str]) -> list[list[str]]:
    """Return each text's most salient terms, as spelled there, as hints for a prompt.

    Those of the highest rate stand first; equal rates keep the order of the text.
    """
    rates, terms = salient_rates(texts)
    hints = []
    for text, (start, end) in zip(texts, pairwise(rates.indptr.tolist()), strict=True):
        best = rates.indices[start:end][top_k(rates.data[start:end], _HINTS)]
        spelled = spell_terms([terms[term] for term in best.tolist()], text)
        hints.append(list(dict.fromkeys(spelled)))
    return hints


def spell_rates(rates: csr_array, terms: Sequence[str], texts: Sequence[str]) -> list[list[str]]:
    """Return the rated terms of each text, in order, as spelled there."""
    return [
        spell_terms([terms[term] for term in rates.indices[start:end].tolist()], text)
        for text, (start, end) in zip(texts, pairwise(rates.indptr.tolist()), strict=True)
    ]


def spell_terms(terms: Iterable[str], text: str) -> list[str]:
    """Return each term as first spelled in `text`, extended to a name that it would cut.

    That is one that has some words with a capital and others without: "Colin Archer built". The
    text may spell words of a term with an ending: "patron medal" is "Patron's Medal".
    """
    plain = " ".join(text.split())
    folded = _fold(plain)
    spans: list[tuple[str, int, int]] | None = None
    spelled = []
    for term in terms:
        start = _find(term, folded)
        end = start + len(term)
        if start < 0:
            spans = list(term_spans(plain)) if spans is None else spans
            start, end = _find_words(term.split(), spans)
        words = (term if start < 0 else plain[start:end]).split()
        runs = [(upper, " ".join(run)) for upper, run in groupby(words, lambda w: w[0].isupper())]
        choices = [run for upper, run in runs if upper or len(runs) == 1]
        spelled.append(_POSSESSIVE.sub("", max(choices, key=len)))
    return spelled


def _fold(text: str) -> str:
    """Lower-case `text` without changing its length."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = "".join(f if len(f := c.casefold()) == 1 else c for c in text)
    return folded


def _find_words(words: Sequence[str], spans: Sequence[tuple[str, int, int]]) -> tuple[int, int]:
    """Return the first index of a word sequence among a text's terms, or -1."""
    n = len(words)
    for i in range(len(spans) - n + 1):
        if all(words[j] == spans[i + j][0] for j in range(n)):
            return spans[i][1], spans[i + n - 1][2]
    return -1, -1


def _find(term: str, text: str) -> int:
    """Return the first offset of `term` in `text` at word boundaries, or -1."""
    start = text.find(term)
    while start >= 0 and not (_EDGE.match(text, start) and _EDGE.match(text, start + len(term))):
        start = text.find(term, start + 1)
    return start
