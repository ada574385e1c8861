"""The relations of a graph: their names in words, and the entities at their ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import entry_rows
from clew.algo.topk import DECIMALS
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot
from clew.models import Embedder
from clew.steps.graph_paths.asked import INTERROGATIVES
from clew.steps.graph_paths.named import mark_connected
from clew.text.analyze import terms

_LEAST_STEM = 3  # letters that two words begin with alike
_CACHED_WORDS = 20_000  # whose nearness is kept
_LABEL, _WORD, _STEM = 1.0, 1.0, 2.0  # weights of how near a word comes to a relation
_NOISE = 0.5  # how much nearer than to other relations a word is that means none


@dataclass(frozen=True)
class Relations:
    """The r distinct relations of a graph; step 2 i follows relation i, 2 i + 1 its inverse."""

    labels: tuple[str, ...]
    of_triple: NDArray[np.int32]  # (n_triples,)
    vectors: NDArray[np.float32]  # (r, d), of the labels
    words: tuple[str, ...]  # of all labels, each once
    word_vectors: NDArray[np.float32]  # (n_words, d)
    has_word: csr_array  # (r, n_words)
    ends: NDArray[np.float32]  # (2 r, d): the mean name where a step ends, less that of all names
    dated: NDArray[np.float64]  # (2 r,): the share of a step's ends whose names have a digit
    interrogatives: NDArray[np.float32]  # (d,), their mean
    near: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    texts: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def compute_nearness(self, words: Sequence[str], embedder: Embedder) -> NDArray[np.float64]:
        """Return the (n, r) similarity of words to relations, positive for a match.

        It adds the cosine to the relation's name, the cosine to the nearest word of the name, and
        the share of a common stem with such a word, relative to the mean over all relations.
        """
        if new := _list_unknown(words, self.near):
            vectors = embedder.embed(new, kind="document")
            for word, vector in zip(new, vectors, strict=True):
                self.near[word] = self._word_nearness(word, vector)
        return np.array([self.near[word] for word in words]).reshape(-1, len(self.labels))

    def _word_nearness(self, word: str, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        cosines = np.round(np.asarray(self.word_vectors @ vector, dtype=np.float64), DECIMALS)
        stems = np.array([prefix_share(word, other) for other in self.words], dtype=np.float64)
        label = np.round(np.asarray(self.vectors @ vector, dtype=np.float64), DECIMALS)
        nearness = (
            _LABEL * label
            + _WORD * self._max_by_relation(cosines)
            + _STEM * self._max_by_relation(stems)
        )
        return np.asarray(nearness - nearness.mean() - _NOISE)

    def _max_by_relation(self, of_words: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return each relation's highest value among the words of its name, or 0."""
        best = np.zeros(len(self.labels))
        rows = entry_rows(self.has_word)
        if len(rows):
            np.maximum.at(best, rows, of_words[self.has_word.indices])
        return best

    def embed(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
        """Return the (n, d) vectors of texts, cached."""
        if new := _list_unknown(texts, self.texts):
            self.texts.update(zip(new, embedder.embed(new, kind="document"), strict=True))
        return np.array([self.texts[text] for text in texts])


def _list_unknown(wanted: Sequence[str], memory: dict[str, Any]) -> list[str]:
    """Return the distinct uncached texts; clear the cache if they would not fit."""
    if len(memory) > _CACHED_WORDS and not memory.keys() >= set(wanted):
        memory.clear()
    return [each for each in dict.fromkeys(wanted) if each not in memory]


def read_relations(snapshot: Snapshot, embedder: Embedder) -> Relations:
    """Return the relations of all triples of an index, cached."""
    return snapshot.get(_RELATIONS, embedder=embedder)


def prefix_share(word: str, other: str) -> float:
    """Return the share of `other` that is a common prefix with a word, 0 to 1.

    Three letters count at the beginning of both, more of them anywhere in the word.

    >>> prefix_share("screenwriter", "written"), prefix_share("actors", "acted")
    (0.5714285714285714, 0.6)
    """
    n = next((n for n in range(len(other), _LEAST_STEM - 1, -1) if other[:n] in word), 0)
    short = n == _LEAST_STEM < len(other)
    return 0.0 if not n or (short and not word.startswith(other[:n])) else n / len(other)


def _read_relations(snapshot: Snapshot, *, embedder: Embedder) -> Relations:
    stated = snapshot.triples.relations(range(len(snapshot.triples)))
    labels = sorted(set(stated))
    numbers = {label: i for i, label in enumerate(labels)}
    of_triple = np.array([numbers[each] for each in stated], dtype=np.int32)
    readable = [" ".join(label.replace("_", " ").split()) for label in labels]
    of_label = [list(dict.fromkeys(terms(label))) for label in readable]
    words = sorted({word for each in of_label for word in each})
    places = {word: i for i, word in enumerate(words)}
    indptr = np.cumsum([0, *map(len, of_label)])
    indices = np.array([places[word] for each in of_label for word in each], dtype=np.int32)
    ones = np.ones(len(indices), dtype=np.float32)
    nothing = np.zeros((0, snapshot.layer("entity").vectors.shape[1]), dtype=np.float32)
    return Relations(
        labels=tuple(readable),
        of_triple=of_triple,
        vectors=embedder.embed(readable, kind="document"),
        words=tuple(words),
        word_vectors=embedder.embed(words, kind="document") if words else nothing,
        has_word=csr_array((ones, indices, indptr), shape=(len(labels), len(words))),
        ends=_mean_ends(snapshot, of_triple, len(labels)),
        dated=_count_dated(snapshot, of_triple, len(labels)),
        interrogatives=embedder.embed(list(INTERROGATIVES), kind="document").mean(axis=0),
    )


_RELATIONS = Derived("relations of all triples", _read_relations)


def _link_members(snapshot: Snapshot, of_triple: NDArray[np.int32], n: int) -> csr_array:
    """Return (2 n, n_entities): 1 for the entities where a step ends."""
    columns = snapshot.layer("triple").columns
    rows = np.concatenate([2 * of_triple, 2 * of_triple + 1])
    ends = np.concatenate([columns["object"], columns["subject"]])
    ones = np.ones(len(rows), dtype=np.float32)
    member = csr_array((ones, (rows, ends)), shape=(2 * n, len(snapshot.layer("entity"))))
    member.sum_duplicates()
    member.data[:] = 1.0
    return member


def _count_dated(snapshot: Snapshot, of_triple: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """Return (2 n,): the number of end entities of each step with a digit in their names."""
    layer = snapshot.layer("entity")
    rows = np.flatnonzero(mark_connected(snapshot)).tolist()
    digits = np.zeros(len(layer), dtype=np.float32)
    digits[rows] = [any(map(str.isdigit, name)) for name in layer.texts(rows)]
    member = _link_members(snapshot, of_triple, n)
    return np.asarray((member @ digits) / np.maximum(member.sum(axis=1), 1.0), dtype=np.float64)


def _mean_ends(snapshot: Snapshot, of_triple: NDArray[np.int32], n: int) -> NDArray[np.float32]:
    """Return (2 n, d) unit vectors: the mean name vector of each step's ends."""
    member = _link_members(snapshot, of_triple, n)
    vectors = np.asarray(snapshot.layer("entity").vectors)
    means = _normalize_rows(member @ vectors)
    of_all = vectors[mark_connected(snapshot)].mean(axis=0)[None]
    return _normalize_rows(means - _normalize_rows(of_all))


def _normalize_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return np.asarray(rows / lengths, dtype=np.float32)
