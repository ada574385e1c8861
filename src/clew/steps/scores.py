"""The query as seen by models, and scores of all rows of a layer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.bm25 import Lengths, bm25_scores
from clew.algo.coding import multiply_rows
from clew.algo.links import Entries, Link
from clew.algo.topk import mean_of_min_max, reciprocal_rank_fusion
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.models import Models, TokenVectors, gives_tokens
from clew.text.analyze import terms


class Query(NamedTuple):
    """A query with its vectors."""

    text: str
    vector: NDArray[np.float32]  # (d,), unit length
    tokens: TokenVectors | None  # None where the embedder gives none


def read_query(models: Models, text: str) -> Query:
    """Embed a query: its vector, and its token vectors if the embedder gives them."""
    if gives_tokens(models.embedder):
        [tokens] = models.embedder.embed_tokens([text])
        return Query(text, tokens.pooled, tokens)
    return Query(text, models.embedder.embed([text], kind="query")[0], None)


def n_chunks(snapshot: Snapshot) -> int:
    """Return the number of chunks in the whole index, even if the snapshot is a part of it."""
    totals = snapshot.totals
    return len(snapshot.layer("chunk")) if totals is None else totals.n_chunks


def term_chunks(snapshot: Snapshot, terms: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the (n,) numbers of chunks of the index that have each of some terms."""
    if snapshot.totals is None:
        return snapshot.linked("term", "chunk").counts_of(terms)
    return np.asarray(snapshot.totals.term_chunks[terms])


def dense_scores(snapshot: Snapshot, layer: str, query: Query) -> NDArray[np.float64]:
    """Return the (n,) cosines of all rows of a layer to the query.

    For rankings of all rows: use a ranking for the best rows, and `cosines_of` for given rows.
    Vectors are read in blocks.
    """
    return np.asarray(snapshot.layer(layer).vectors @ query.vector, dtype=np.float64)


def cosines_of(
    snapshot: Snapshot, layer: str, query: Query, rows: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the (len(rows),) cosines of some rows of a layer to the query."""
    vectors = snapshot.layer(layer).vectors
    return np.asarray(multiply_rows(vectors, rows, query.vector), dtype=np.float64)


def lexical_scores(snapshot: Snapshot, query: str) -> NDArray[np.float64]:
    """Return the (n_chunks,) BM25 scores; a query term counts once."""
    return bm25_scores(*read_lexical(snapshot, query))


def read_lexical(
    snapshot: Snapshot, query: str
) -> tuple[Link, Lengths, NDArray[np.intp], NDArray[np.integer]]:
    """Return the input of BM25: postings, chunk lengths, and the query's known terms."""
    rows = np.array([row for row in term_rows(snapshot, query) if row >= 0], dtype=np.intp)
    df = term_chunks(snapshot, rows)
    return snapshot.linked("term", "chunk"), chunk_lengths(snapshot), rows, df


def term_rows(snapshot: Snapshot, text: str) -> list[int]:
    """Return the row of each distinct term of a text, -1 if unknown."""
    return snapshot.layer("term").rows(list(dict.fromkeys(terms(text))))


def chunk_lengths(snapshot: Snapshot) -> Lengths:
    """Return the number of terms of each chunk, with the mean over the whole index."""
    lengths, totals = snapshot.get(_CHUNK_LENGTHS), snapshot.totals
    if totals is None:
        return lengths
    return Lengths(lengths.of_chunks, totals.mean_length, totals.n_chunks)


def _compute_lengths(snapshot: Snapshot) -> Arrays:
    counts = snapshot.link("chunk", "term")
    return {"lengths": np.asarray(counts.sum(axis=1), dtype=np.float64)}


def _read_chunk_lengths(snapshot: Snapshot) -> Lengths:
    arrays = snapshot.base_arrays(LENGTHS)
    if arrays is None or snapshot.base is None:
        return Lengths.from_counts(np.asarray(snapshot.get(LENGTHS)["lengths"]))
    edits = snapshot.base.rows("chunk")
    came = snapshot.linked("chunk", "term").entries_of(edits.at).sum_rows()
    return Lengths.from_counts(edits.apply(arrays["lengths"], came))


LENGTHS = CachedArrays("chunk-lengths", _compute_lengths, inputs=("chunk",), edited=True)
_CHUNK_LENGTHS = Derived("how many terms chunks have", _read_chunk_lengths)
LEXICAL = (TRANSPOSED_LINKS["term", "chunk"], LENGTHS)  # what BM25 needs of a snapshot


def hybrid_scores(snapshot: Snapshot, query: Query, fusion: str = "mean") -> NDArray[np.float64]:
    """Return the (n_chunks,) fused dense and lexical scores; `fusion` is "mean" or "rrf"."""
    both = dense_scores(snapshot, "chunk", query), lexical_scores(snapshot, query.text)
    return choose_fusion(fusion, *both)


def choose_fusion(fusion: str, *rankings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fuse rankings of all rows by the "mean" of scaled scores or by "rrf"."""
    return reciprocal_rank_fusion(rankings) if fusion == "rrf" else mean_of_min_max(*rankings)


def beside_hybrid(rows: Sequence[int], hybrid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n,) sums of 1 / rank of rows in two rankings.

    The first ranking is `rows`, best first, the other that of the (n,) positive `hybrid` scores.
    The first row of either is among the first three of the result.
    """
    own = np.zeros(len(hybrid))
    own[list(rows)] = np.arange(len(rows), 0, -1)
    return reciprocal_rank_fusion((own, hybrid), constant=0)


def chunk_titles(snapshot: Snapshot, chunks: NDArray[np.integer] | None = None) -> Entries:
    """Return the link of n chunks to the entity that their title names, if any.

    Of all chunks, or of those in some rows.
    """
    documents = snapshot.layer("chunk").columns["document"]
    wanted = documents if chunks is None else documents[chunks]
    return snapshot.linked("document", "entity").entries_of(wanted)
