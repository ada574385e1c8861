"""Steps that methods share, from a query to hits. Rows are positions in a snapshot's layers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array

from clew.algo import keywords, sketches
from clew.algo.bm25 import bm25_scores, bm25_weights
from clew.algo.fusion import mean_of_min_max, reciprocal_rank_fusion
from clew.algo.knn import knn_graph, overlapping, page_ranks
from clew.algo.links import neighbours
from clew.algo.maxsim import best_matches, weighted_mean
from clew.algo.topk import positive_top_k, top_k
from clew.errors import BudgetSpent
from clew.models import LLM, Models, Prompt, Reply, gives_tokens, is_late
from clew.models.maxsim import blend, unit_rows
from clew.prompts import prompt
from clew.text.analyze import term_spans, terms
from clew.text.keys import name_key
from clew.text.normalize import entity_key
from clew.types import Evidence, Hit, Snapshot, Step, TokenVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Match = Callable[[TokenVectors, Sequence[NDArray[Any]]], NDArray[np.float32]]

_MAX_KEY_WORDS = 8  # of an entity that a query is searched for


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the models see it."""

    text: str
    vector: NDArray[np.float32]  # (d,), unit length
    tokens: TokenVectors | None  # None where the embedder gives none


def read_query(models: Models, text: str) -> Query:
    """Return the query's vector, and its tokens' from the same pass where there are such."""
    if gives_tokens(models.embedder):
        [tokens] = models.embedder.embed_tokens([text])
        return Query(text, tokens.pooled, tokens)
    return Query(text, models.embedder.embed([text], kind="query")[0], None)


# -- scores of all rows ---------------------------------------------------------------------------


def dense_scores(snapshot: Snapshot, layer: str, query: Query) -> NDArray[np.float64]:
    """Return the (n,) cosines of a layer's rows to the query."""
    return np.asarray(snapshot.layer(layer).vectors @ query.vector, dtype=np.float64)


def lexical_scores(snapshot: Snapshot, query: str) -> NDArray[np.float64]:
    """Return the (n_chunks,) BM25 scores; a query term counts once."""
    known = np.array([row for row in term_rows(snapshot, query) if row >= 0], dtype=np.intp)
    return bm25_scores(bm25(snapshot), known)


def term_rows(snapshot: Snapshot, text: str) -> list[int]:
    """Return the row of each distinct term of a text, -1 where the index has none."""
    return snapshot.layer("term").rows(list(dict.fromkeys(terms(text))))


def bm25(snapshot: Snapshot) -> csr_array[Any, tuple[int, int]]:
    """Return the snapshot's BM25 weights, computed once."""
    return snapshot.derived("bm25", lambda: bm25_weights(snapshot.link("chunk", "term")))


def hybrid_scores(snapshot: Snapshot, query: Query, fusion: str = "mean") -> NDArray[np.float64]:
    """Return the (n_chunks,) fused dense and lexical scores; `fusion` is "mean" or "rrf"."""
    both = dense_scores(snapshot, "chunk", query), lexical_scores(snapshot, query.text)
    return reciprocal_rank_fusion(both) if fusion == "rrf" else mean_of_min_max(*both)


def beside_hybrid(found: Sequence[int], hybrid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n,) scores of rows in two rankings together, 1 / rank in each.

    One is `found`, what a method ranks by itself, best first; the other is that of the (n,)
    `hybrid` scores above zero. The first row of either is among the first three of the result.
    """
    own = np.zeros(len(hybrid))
    own[list(found)] = np.arange(len(found), 0, -1)
    return reciprocal_rank_fusion((own, hybrid), constant=0)


def chunk_titles(snapshot: Snapshot) -> csr_array[Any, tuple[int, int]]:
    """Return the (n_chunks, n_entities) link of chunks to the entity that their title names."""
    documents = snapshot.layer("chunk").columns["document"]
    return csr_array(snapshot.link("document", "entity")[documents])


# -- the graph of chunks, and keywords ------------------------------------------------------------


def chunk_graph(snapshot: Snapshot, k: int = 2) -> csr_array[Any, tuple[int, int]]:
    """Return the (n_chunks, n_chunks) graph of near chunks, as the index keeps it or computed.

    Those of an imported graph have no neighbours: their triples say what they are near to.
    """
    n = len(snapshot.layer("chunk"))
    kept = snapshot.kept(f"neighbours-{k}")
    if kept is not None:
        ones = np.ones(len(kept["indices"]))
        return csr_array((ones, kept["indices"], kept["indptr"]), shape=(n, n))
    return snapshot.derived(f"chunk graph {k}", lambda: _chunk_graph(snapshot, k))


def _chunk_graph(snapshot: Snapshot, k: int) -> csr_array[Any, tuple[int, int]]:
    layer, terms = snapshot.layer("chunk"), snapshot.link("chunk", "term")
    n, rows = len(layer), np.flatnonzero(snapshot.are_texts())
    is_all = len(rows) == n
    graph = knn_graph(
        terms if is_all else terms[rows],
        layer.vectors if is_all else layer.vectors[rows],
        k,
        excluded=overlapping(*(layer.columns[name][rows] for name in ("document", "start", "end"))),
    )
    if is_all:
        return graph
    a, b = graph.nonzero()
    return csr_array((graph.data, (rows[a], rows[b])), shape=(n, n))


def chunk_ranks(snapshot: Snapshot, k: int = 2) -> NDArray[np.float64]:
    """Return the (n_chunks,) PageRank scores in the graph of near chunks, 1 in the mean."""
    return snapshot.derived(f"chunk ranks {k}", lambda: page_ranks(chunk_graph(snapshot, k)))


def keyword_lengths(snapshot: Snapshot) -> NDArray[np.float32]:
    """Return for each term the length of the sum of the vectors of the sentences with it."""
    kept = snapshot.kept("keywords")
    if kept is not None:
        return np.asarray(kept["lengths"])
    link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
    return snapshot.derived("keyword lengths", lambda: keywords.keyword_lengths(link, vectors))


# -- nearest rows ---------------------------------------------------------------------------------


def near_rows(
    snapshot: Snapshot,
    layer: str,
    vectors: NDArray[np.float32],
    k: int,
    *,
    only: NDArray[np.bool_] | None = None,
) -> list[list[tuple[int, float]]]:
    """Return the `k` rows of a layer nearest to each of the (m, d) `vectors`, with their cosines.

    Best first, ties by row, cosines to six decimals; where `only`, (n,), is given, none of the
    other rows. Few of the nearest are missed where the index keeps sketches of the layer, and none
    elsewhere.
    """
    rows = snapshot.layer(layer).vectors
    known = snapshot.derived(f"sketches {layer}", lambda: _sketches(snapshot, layer))
    if known is None:
        found = sketches.search_all(rows, vectors, k, only=only)
    else:
        found = sketches.search(known, rows, vectors, k, only=only)
    return [list(zip(near.tolist(), cosines.tolist(), strict=True)) for near, cosines in found]


def _sketches(snapshot: Snapshot, layer: str) -> sketches.Sketches | None:
    kept = snapshot.kept(f"sketches-{layer}")
    return None if kept is None else sketches.Sketches(kept["axes"], kept["codes"])


# -- entities of the query ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Linked:
    """An entity that the query was linked to: through what, and how surely."""

    row: int
    mention: str
    score: float  # 1: the same name

    @property
    def reason(self) -> str:
        """Say in words why the query leads to the entity."""
        if self.score >= 1:
            return f"the question names it: {self.mention}"
        return f"like “{self.mention}” in the question ({self.score:.2f})"


_NAMES_SCHEMA = {
    "type": "object",
    "properties": {"named_entities": {"type": "array", "items": {"type": "string"}}},
    "required": ["named_entities"],
    "additionalProperties": False,
}


def query_names(models: Models, query: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the names in a query, by the LLM if there is one, else by the tagger.

    The tagger's dates are left out. The second value is a note where the LLM gave none.
    """
    notes: tuple[str, ...] = ()
    if models.llm is not None:
        asked = prompt("query_entities", schema=_NAMES_SCHEMA, max_tokens=256, question=query)
        reply = bought(models.llm, asked)
        if not reply.error:
            return list(dict.fromkeys(n for n in reply.data["named_entities"] if n.strip())), ()
        notes = (f"the LLM named no entities ({reply.error}): the tagger's instead",)
    [mentions] = models.tagger.tag([query])
    names = [query[m.start : m.end] for m in mentions if m.label != "DATE"]
    return list(dict.fromkeys(names)), notes


def bought(llm: LLM, asked: Prompt) -> Reply:
    """Return the LLM's reply; one without a use, which says so, where the budget is spent."""
    try:
        [reply] = llm.complete([asked])
    except BudgetSpent as spent:
        return Reply(text="", calls=0, error=str(spent))
    return reply


def named_entities(snapshot: Snapshot, query: str) -> list[Linked]:
    """Return the index's linkable entities whose names stand in the query.

    The longest name at a place wins; capitals, accents' encoding and punctuation do not matter,
    so this finds names in any script. A lone word counts where it is written with a capital and
    is no common word at the query's start, or where the query has no capitals at all.
    """
    words = list(_key_words(query))
    keys = {
        (i, j): " ".join(word for word, _ in words[i:j])
        for i in range(len(words))
        for j in range(i + 1, min(i + _MAX_KEY_WORDS, len(words)) + 1)
        if j - i > 1 or words[i][1]
    }
    layer = snapshot.layer("entity")
    linkable = layer.columns["linkable"]
    rows = dict(zip(keys, layer.rows(list(keys.values())), strict=True))
    taken: set[int] = set()
    linked = []
    for i, j in sorted(keys, key=lambda span: (span[0] - span[1], span[0])):
        row = rows[i, j]
        if row >= 0 and linkable[row] and not taken.intersection(range(i, j)):
            taken.update(range(i, j))
            if j - i > 1 or not _is_common_start(snapshot, i, keys[i, j]):
                linked.append(Linked(row, keys[i, j], 1.0))
    return linked


def _key_words(query: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of the query's entity key, and whether each may be a name by itself."""
    any_capital = any(c.isupper() for c in query)
    for word in query.split():
        named = any(c.isupper() or not c.islower() for c in word if c.isalpha()) or not any_capital
        for part in entity_key(word).split():
            yield part, named and bool(terms(part))


def _is_common_start(snapshot: Snapshot, place: int, word: str) -> bool:
    if place > 0:
        return False
    layer = snapshot.layer("term")
    [row] = layer.rows([word])
    return row >= 0 and bool(layer.columns["common"][row])


def same_names(snapshot: Snapshot, names: Sequence[str]) -> list[Linked]:
    """Return the linkable entities whose keys are those of `names`."""
    layer = snapshot.layer("entity")
    rows = layer.rows([name_key(name) for name in names])
    linkable = layer.columns["linkable"]
    pairs = zip(names, rows, strict=True)
    return [Linked(row, name, 1.0) for name, row in pairs if row >= 0 and linkable[row]]


def similar_entities(
    snapshot: Snapshot, models: Models, names: Sequence[str], k: int
) -> list[Linked]:
    """Return the `k` linkable entities nearest to each name ("spreading activation" in Clue)."""
    if not names or not len(snapshot.layer("entity")):
        return []
    layer = snapshot.layer("entity")
    vectors = models.embedder.embed([name_key(name) for name in names], kind="document")
    linkable = layer.columns["linkable"]
    # A cosine is at most 1: with the penalty a date falls behind every other entity.
    penalty = np.where(linkable, np.float32(0), np.float32(-3))
    linked = []
    for name, scores in zip(names, vectors @ layer.vectors.T + penalty, strict=True):
        rows = [int(row) for row in top_k(scores, k) if linkable[row]]
        linked += [Linked(row, name, float(scores[row])) for row in rows]
    return linked


# -- coverage and relevance of chosen rows --------------------------------------------------------


class Coverage:
    """How well rows of a layer meet each token of the query; each row is read once.

    By the token vectors that the index stores, where the query has such of the same model; else a
    token is a word of the query, which a row has or has not.
    """

    def __init__(self, snapshot: Snapshot, query: Query, match: Match | None = None) -> None:
        self._snapshot = snapshot
        self._query = query
        self._match = match or _best_matches
        self._known: dict[tuple[str, int], NDArray[np.float32]] = {}

    @cached_property
    def is_late(self) -> bool:
        """Whether stored token vectors are read."""
        return self._snapshot.recipe.get("vectors") == "late" and self._query.tokens is not None

    def of(self, layer: Literal["chunk", "unit"], rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the (n, m) matches of rows with the m tokens, 0 to 1 or little below 0."""
        new = [row for row in dict.fromkeys(map(int, rows)) if (layer, row) not in self._known]
        if new:
            read = self._late if self.is_late else self._lexical
            for row, match in zip(new, read(layer, new), strict=True):
                self._known[layer, row] = match
        if not len(rows):
            return np.zeros((0, len(self.weights)), dtype=np.float32)
        return np.stack([self._known[layer, int(row)] for row in rows])

    def _late(self, layer: str, rows: Sequence[int]) -> NDArray[np.float32]:
        tokens = self._query.tokens
        assert tokens is not None  # noqa: S101 -- only called where is_late is true
        return self._match(tokens, [self._snapshot.layer(layer).tokens(row) for row in rows])

    def _lexical(self, layer: str, rows: Sequence[int]) -> NDArray[np.float32]:
        of_words = self._words.rows
        if layer == "chunk":
            link = self._snapshot.link("chunk", "term")[list(rows)]
            has = [set(neighbours(link, i).tolist()) for i in range(len(rows))]
        else:
            texts = self._snapshot.layer(layer).texts(rows)
            known = self._snapshot.layer("term")
            has = [set(known.rows(list(dict.fromkeys(terms(text))))) for text in texts]
        met = [[row >= 0 and row in here for row in of_words] for here in has]
        return np.array(met, dtype=np.float32).reshape(len(rows), len(of_words))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The (m,) weight of each token: ln(1 + N / df) of the word that it is part of."""
        words, tokens = self._words, self._query.tokens
        if not self.is_late or tokens is None:
            return words.weights
        weights = np.zeros(len(tokens.ids))
        for (start, end), weight in zip(words.spans, words.weights, strict=True):
            weights[(tokens.spans[:, 0] < end) & (tokens.spans[:, 1] > start)] = weight
        common = np.log1p(1.0)  # a stop word or mark: as if it stood in every chunk
        return np.where(weights > 0, weights, common)

    @property
    def spans(self) -> NDArray[np.int32]:
        """The (m, 2) ranges of characters of the tokens or words in the query."""
        tokens = self._query.tokens
        if not self.is_late or tokens is None:
            return np.array(self._words.spans, dtype=np.int32).reshape(-1, 2)
        return tokens.spans

    @property
    def words(self) -> Sequence[int]:
        """The row of terms of each analysed word of the query, -1 where the index has none."""
        return self._words.rows

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The (m, d) vectors of the tokens, of length one; (m, 0) where words are matched."""
        tokens = self._query.tokens
        if not self.is_late or tokens is None:
            return np.zeros((len(self.weights), 0), dtype=np.float32)
        return unit_rows(tokens.vectors)

    @cached_property
    def _words(self) -> _Words:
        """The words of the query, with how rare they are in the index."""
        words = list(term_spans(self._query.text))
        link = self._snapshot.link("chunk", "term")
        df = self._snapshot.derived(
            "df", lambda: np.bincount(link.indices, minlength=link.shape[1])
        )
        rows = self._snapshot.layer("term").rows([term for term, _, _ in words])
        counts = np.array([df[row] if row >= 0 else 0 for row in rows], dtype=np.float64)
        return _Words(
            [(start, end) for _, start, end in words],
            rows,
            np.log1p(link.shape[0] / (counts + 1)),
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """The analysed words of a query: where each stands, its row of terms or -1, its weight."""

    spans: Sequence[tuple[int, int]]
    rows: Sequence[int]
    weights: NDArray[np.float64]


def _best_matches(
    tokens: TokenVectors, texts: Sequence[NDArray[np.generic]]
) -> NDArray[np.float32]:
    return best_matches(unit_rows(tokens.vectors), texts)


class Relevance:
    """How well units and chunks answer the query, by the reranker; each row is read once.

    Where the index stores token vectors of the reranker's own model, no model runs.
    """

    def __init__(self, snapshot: Snapshot, models: Models, query: Query) -> None:
        self._snapshot = snapshot
        self._models = models
        self._query = query
        reranker = models.reranker
        match = reranker.matches if is_late(reranker) else None
        self._coverage = Coverage(snapshot, query, match)
        self._text_scores: dict[str, float] = {}

    def of_chunks(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the (n,) scores of chunks, read with their titles."""
        if self._stored:
            cosines = self._snapshot.layer("chunk").vectors[list(rows)] @ self._query.vector
            matches = self._coverage.of("chunk", rows)
            return blend(weighted_mean(matches, self._coverage.weights), cosines)
        return self._of_texts(self._snapshot.titled_texts(rows))

    def of_unit_sets(self, sets: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """Return the (n,) scores of sets of units, each read as one text."""
        if self._stored:
            units = sorted({unit for chosen in sets for unit in chosen})
            place = {unit: i for i, unit in enumerate(units)}
            late = _LateSets(
                self._coverage.of("unit", units),
                self._snapshot.layer("unit").vectors[units],
                self._coverage.weights,
                self._query.vector,
            )
            return late.score([tuple(place[unit] for unit in chosen) for chosen in sets])
        layer = self._snapshot.layer("unit")
        return self._of_texts([" ".join(sorted(layer.texts(units))) for units in sets])

    def _of_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        new = list(dict.fromkeys(t for t in texts if t not in self._text_scores))
        if new:
            scores = self._models.reranker.score(self._query.text, new)
            self._text_scores.update(zip(new, scores.tolist(), strict=True))
        return np.array([self._text_scores[text] for text in texts])

    @cached_property
    def _stored(self) -> bool:
        reranker = self._models.reranker
        own = f"maxsim/{self._snapshot.recipe.get('embedder')}"
        return self._coverage.is_late and is_late(reranker) and reranker.name == own


@dataclass(frozen=True, slots=True)
class _LateSets:
    """Texts that were read once, to be scored in sets by late interaction."""

    matches: NDArray[np.float32]  # (n, m), of each text with each query token
    vectors: NDArray[np.float32]  # (n, d)
    weights: NDArray[np.float64]  # (m,), of the query tokens
    query: NDArray[np.float32]  # (d,), unit length

    def score(self, sets: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """Return the score of each set of texts, none of them empty, as if it were one text."""
        members = [i for chosen in sets for i in chosen]
        starts = np.cumsum([0, *(len(chosen) for chosen in sets[:-1])])
        best = np.maximum.reduceat(self.matches[members], starts, axis=0)
        sums = np.add.reduceat(self.vectors[members], starts, axis=0)
        lengths = np.maximum(np.linalg.norm(sums, axis=1), 1e-12)  # a zero sum has no cosine
        return blend(weighted_mean(best, self.weights), sums @ self.query / lengths)


# -- rows to evidence -----------------------------------------------------------------------------


def ranked(
    snapshot: Snapshot,
    query: str,
    method: str,
    scores: NDArray[np.floating],
    k: int,
    *,
    positive: bool = False,
    notes: tuple[str, ...] = (),
) -> Evidence:
    """Return the `k` best chunks of (n_chunks,) scores as evidence without paths."""
    rows = positive_top_k(scores, k) if positive else top_k(scores, k)
    found = hits(snapshot, rows, scores[rows])
    return Evidence(query=query, method=method, hits=found, notes=notes)


def hits(
    snapshot: Snapshot,
    rows: Iterable[int],
    scores: NDArray[np.floating],
    *,
    layer: Literal["chunk", "subchunk"] = "chunk",
) -> tuple[Hit, ...]:
    """Return chunks or parts of them as hits; `scores` are those of `rows`, in the same order."""
    rows = [int(row) for row in rows]
    chunks, columns = snapshot.layer("chunk"), snapshot.layer(layer).columns
    owners = rows if layer == "chunk" else [int(columns["chunk"][row]) for row in rows]
    documents = snapshot.documents([int(chunks.columns["document"][row]) for row in owners])
    texts = snapshot.layer(layer).texts(rows)
    found = zip(rows, chunks.ids(owners), texts, documents, scores, strict=True)
    return tuple(
        Hit(
            chunk_id=chunk_id,
            score=float(score),
            document_id=document.id,
            title=document.title,
            source=document.source,
            start=int(columns["start"][row]),
            end=int(columns["end"][row]),
            text=text,
        )
        for row, chunk_id, text, document, score in found
    )


def unit_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return a unit as a stop of a path, with its place in its document."""
    return _range_step(snapshot, "unit", row, reason, score)


def chunk_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return a chunk as a stop of a path, with its place in its document."""
    return _range_step(snapshot, "chunk", row, reason, score)


def subchunk_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return a part of a chunk as a stop of a path, with its place in its document."""
    return _range_step(snapshot, "subchunk", row, reason, score)


def _range_step(snapshot: Snapshot, name: str, row: int, reason: str, score: float | None) -> Step:
    layer = snapshot.layer(name)
    chunk = row if name == "chunk" else int(layer.columns["chunk"][row])
    document = int(snapshot.layer("chunk").columns["document"][chunk])
    return Step(
        layer=name,
        id=layer.ids([row])[0],
        text=layer.texts([row])[0],
        reason=reason,
        score=score,
        document_id=snapshot.layer("document").ids([document])[0],
        start=int(layer.columns["start"][row]),
        end=int(layer.columns["end"][row]),
    )


def entity_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return an entity as a stop of a path."""
    return _named_step(snapshot, "entity", row, reason, score)


def triple_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return a triple as a stop of a path."""
    return _named_step(snapshot, "triple", row, reason, score)


def term_step(snapshot: Snapshot, row: int, reason: str, score: float | None = None) -> Step:
    """Return a term as a stop of a path."""
    return _named_step(snapshot, "term", row, reason, score)


def _named_step(snapshot: Snapshot, name: str, row: int, reason: str, score: float | None) -> Step:
    layer = snapshot.layer(name)
    return Step(
        layer=name,
        id=layer.ids([row])[0],
        text=layer.texts([row])[0],
        reason=reason,
        score=score,
    )
