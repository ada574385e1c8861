"""Choose chunks as a set: each by what it adds to those chosen before it.

For `walk` itself, and for the papers' methods by `choose_hits`. What it is worth: docs/results/.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.ascending import sort_distinct
from clew.algo.choice import Candidates, ChoiceWeights, QueryTokens, choose_rows
from clew.algo.links import Entries, Link
from clew.algo.topk import min_max
from clew.base.types import Evidence, Hit, Path
from clew.index.snapshot import Snapshot
from clew.steps.evidence import text_place

Select = Literal["none", "llm", "reranker"]  # what selects further (`clew.steps.selecting`)

CANDIDATES = 30  # chunks, the first of a ranking, from which a set is chosen
_SHARES = ChoiceWeights()
_SAME_TERMS, _SAME_MEANING = 0.7, 0.7


class ChosenChunks(NamedTuple):
    """Chunks chosen as a set."""

    rows: list[int]  # in the order in which they joined it
    also: Mapping[int, tuple[int, ...]]  # those that repeat a chunk before them


def choose_chunks(
    snapshot: Snapshot,
    coverage: steps.Coverage,
    rows: Sequence[int],
    prior: NDArray[np.float64],
    named: Collection[int],
    shares: ChoiceWeights = _SHARES,
    *,
    most: int | None = None,
) -> ChosenChunks:
    """Choose chunks as a set, by the (n,) worth of each alone and the `named` entities.

    These are the entities that the question names. No more than `most` are chosen where none
    repeats another one.
    """
    vectors = snapshot.layer("chunk").vectors[rows]
    candidates = _build_candidates(snapshot, coverage, rows, prior, named, vectors)
    tokens = coverage.vectors  # of chunks as many numbers are of this kind
    query = QueryTokens(
        weights=coverage.weights, tokens=tokens, vectors=vectors[:, : tokens.shape[1]]
    )
    order = choose_rows(candidates, query, shares, most)
    return ChosenChunks([rows[i] for i in order], _find_repeated(rows, order, candidates.repeats))


def order_as_set(
    snapshot: Snapshot,
    query: steps.Query,
    chunks: Sequence[int],
    scores: Sequence[float] | NDArray[np.float64],
    coverage: steps.Coverage | None = None,
    most: int | None = None,
) -> tuple[list[int], ChosenChunks]:
    """Return the positions of ranked rows in the order in which their chunks are chosen as a set.

    `chunks` contain the rows, and `scores`, (n,), are their worth, scaled to 0..1 over the
    candidates. Rows of one chunk stay together, in order. A shared `coverage` reads each chunk only
    once per question. Where only the first `most` chunks matter, the others follow in any order.
    """
    best: dict[int, float] = {}
    for chunk, score in zip(chunks, scores, strict=True):
        best.setdefault(chunk, float(score))
    rows = list(best)
    prior = min_max(np.array([best[row] for row in rows[:CANDIDATES]]))
    entities = {link.row for link in steps.named_entities(snapshot, query.text)}
    coverage = coverage or steps.Coverage(snapshot, query)
    choice = choose_chunks(snapshot, coverage, rows[:CANDIDATES], prior, entities, most=most)
    place = {row: i for i, row in enumerate(dict.fromkeys([*choice.rows, *rows]))}
    return sorted(range(len(chunks)), key=lambda i: place[chunks[i]]), choice


def build_hits(snapshot: Snapshot, rows: Sequence[int], choice: ChosenChunks) -> tuple[Hit, ...]:
    """Return chunks as hits with a score of 1 / rank, and the chunks that repeat each."""
    hits = steps.hits(snapshot, rows, 1 / np.arange(1, len(rows) + 1))
    ids, pairs = snapshot.layer("chunk").ids, zip(hits, rows, strict=True)
    return tuple(replace(hit, also=tuple(ids(choice.also.get(row, ())))) for hit, row in pairs)


def choose_hits(
    snapshot: Snapshot, query: steps.Query, evidence: Evidence, n: int | None = None
) -> Evidence:
    """Choose the chunks of the hits as a set, and return the evidence with the first `n` hits.

    The score of a hit is 1 / its place then, and the paths follow the hits.
    """
    layer = snapshot.layer("chunk")
    chunks = layer.rows([hit.chunk_id for hit in evidence.hits])
    scores = [hit.score for hit in evidence.hits]
    order, choice = order_as_set(snapshot, query, chunks, scores, most=n)
    hits = tuple(
        replace(
            evidence.hits[i], score=1 / place, also=tuple(layer.ids(choice.also.get(chunks[i], ())))
        )
        for place, i in enumerate(order[:n], 1)
    )
    return replace(evidence, hits=hits, paths=order_paths(evidence.paths, hits))


def order_paths(paths: Sequence[Path], hits: Sequence[Hit]) -> tuple[Path, ...]:
    """Return the paths to the hits, in the hits' order."""
    order = {text_place(hit): i for i, hit in enumerate(hits)}
    places = ((order.get(text_place(path.steps[-1])), path) for path in paths if path.steps)
    pairs = [(place, path) for place, path in places if place is not None]
    return tuple(path for _, path in sorted(pairs, key=itemgetter(0)))


def _find_repeated(
    rows: Sequence[int], order: Sequence[int], repeats: NDArray[np.bool_]
) -> dict[int, tuple[int, ...]]:
    """Return for each row the later rows that repeat it but no earlier row."""
    also: dict[int, list[int]] = {}
    place = {i: n for n, i in enumerate(order)}
    for i in order:
        better = [j for j in np.flatnonzero(repeats[i]).tolist() if place[j] < place[i]]
        if better:
            first = min(better, key=place.__getitem__)
            also.setdefault(rows[first], []).append(rows[i])
    return {row: tuple(others) for row, others in also.items()}


# -- what chunks have for a question ---------------------------------------------------------------


def _build_candidates(
    snapshot: Snapshot,
    coverage: steps.Coverage,
    rows: Sequence[int],
    prior: NDArray[np.float64],
    named: Collection[int],
    vectors: NDArray[np.float32],
) -> Candidates:
    """Return the candidates to choose from: chunks, their (n,) worth, and the `named` entities.

    A chunk counts as named if the query or another chunk names its title entity, by ln(1 + N / df)
    of that entity as a share of the maximum.
    """
    chunks, n = np.asarray(rows, dtype=np.intp), steps.n_chunks(snapshot)
    titles = steps.chunk_titles(snapshot, chunks)
    mentions = _read_mentions(steps.chunk_entities(snapshot), chunks)
    if snapshot.totals is None:
        by_title, _ = _read_mentions(steps.entity_chunks(snapshot), titles.indices)
        df = np.bincount(by_title, minlength=len(titles.indices))
    else:
        df = snapshot.totals.mentioned[titles.indices]
    rare = np.log1p(n / np.maximum(df, 1)) / np.log1p(n)
    owners = titles.owners
    naming, own = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    entry, title = np.nonzero(mentions[1][:, None] == titles.indices)
    naming[owners[title], mentions[0][entry]] = rare[title]
    np.fill_diagonal(naming, 0.0)
    own[owners] = rare * [title in named for title in titles.indices.tolist()]
    return Candidates(
        prior=prior,
        matches=coverage.of("chunk", rows),
        naming=naming,
        named=own,
        repeats=_find_repeats(snapshot, rows, coverage.words, titles, vectors),
    )


def _read_mentions(
    link: Link, rows: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
    """Return the link between some chunks and the entities in their texts, in either direction."""
    entries = link.entries_of(rows)
    in_text = entries.data & steps.MENTIONED > 0
    return entries.owners[in_text], entries.indices[in_text]


def _find_repeats(
    snapshot: Snapshot,
    rows: Sequence[int],
    words: Sequence[int],
    titles: Entries,
    vectors: NDArray[np.float32],
) -> NDArray[np.bool_]:
    """Return (n, n) booleans: whether chunks i and j say the same.

    Chunk j repeats i if it has 0.7 of i's terms, equally often, and a cosine of 0.7 with it: the
    shorter of two versions repeats the longer one. It does not if the question, or a chunk unlike
    both, distinguishes them: one has a word of the question, or a number or code of that chunk,
    which the other lacks; nor if their titles name two entities, unless all else is the same.
    """
    same = vectors @ vectors.T >= _SAME_MEANING
    np.fill_diagonal(same, val=False)
    if not same.any():
        return same
    terms = snapshot.linked("chunk", "term").entries_of(np.asarray(rows, dtype=np.intp))
    used = sort_distinct(terms.indices)
    counts = np.zeros((len(rows), len(used)), dtype=terms.data.dtype)
    counts[terms.owners, np.searchsorted(used, terms.indices)] = terms.data
    one, other = np.nonzero(np.triu(same))
    shared, own = np.zeros(same.shape), np.maximum(counts.sum(axis=1), 1)[:, None]
    shared[one, other] = shared[other, one] = np.minimum(counts[one], counts[other]).sum(axis=1)
    same &= shared >= _SAME_TERMS * own
    if not same.any():
        return same
    has = counts > 0
    has_words = has[:, np.isin(used, words)]
    same &= (has_words[:, None] == has_words).all(axis=-1)
    own_terms = np.flatnonzero(has[same.any(axis=0) | same.any(axis=1)].any(axis=0))
    words_used = snapshot.layer("term").ids(used[own_terms].tolist())
    is_code = np.array([not word.isalpha() for word in words_used], dtype=bool)
    codes = has[:, own_terms[is_code]]
    alike = same | np.eye(len(rows), dtype=bool)
    is_said = (~alike & ~alike.T).astype(np.intp) @ codes > 0
    own_codes = codes & is_said
    same &= (own_codes[:, None] <= codes).all(axis=-1)
    of_title = titles.indptr[1:] > titles.indptr[:-1]
    name = np.full(len(rows), -1)
    name[titles.owners] = titles.indices
    same_title = of_title[:, None] & (name[:, None] == name)
    same &= same_title | ~(of_title[:, None] & of_title) | (shared == own)
    return np.asarray(same, dtype=np.bool_)
