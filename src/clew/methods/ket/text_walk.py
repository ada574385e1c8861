"""PageRank over sub-chunks and their terms, from the words and neighbours of a question.

Texts are linked to words only, so conjugate gradients can solve for the texts, faster and more
exactly than iterating.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import expand_ranges, neighbours, replace_data
from clew.algo.pagerank import BipartiteGraph, bipartite_pagerank
from clew.algo.topk import positive_top_k, top_k
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot
from clew.methods.ket.text_candidates import NEAR, TextCandidates
from clew.steps.rankings import CANDIDATES, MANY_UNITS
from clew.steps.subchunks import Texts

# Chosen on two training sets; recall@5 moves by some .01 between half and twice of each.
DAMPING = 0.75  # probability of continuing from a node
_SENTENCES = 3  # nearest to the question, whose words are seeds
_SENTENCES_SHARE = 1.0  # of their words together, beside the question's own
_CHUNKS = 30  # best hybrid chunks, whose texts are seeds
_CHUNKS_SHARE = 0.3  # of these together, beside the question's own words
_MIN_WEIGHT = 1e-12

_QUESTION_WORD = "a word of the question"
_NEARBY_WORD = "a word of texts near the question"


class TextSpread(NamedTuple):
    """The scores of the n sub-chunks and the m terms."""

    texts: NDArray[np.float64]  # (n,)
    terms: NDArray[np.float64]  # (m,)
    reasons: dict[int, str]  # why a term was a seed


class _Graph(NamedTuple):
    """The graph of sub-chunks and their terms, weighted by rarity."""

    edges: BipartiteGraph
    rarity: NDArray[np.float64]  # (m,), ln(1 + n / df): the weight of each edge to a term


def spread_weight(snapshot: Snapshot, query: steps.Query) -> TextSpread:
    """Return personalized PageRank from the question's terms and nearest sentences.

    The question's words share a weight of 1 by rarity; the words of the nearest sentences and the
    texts of the best hybrid chunks get their shares besides.
    """
    graph = read_text_graph(snapshot)
    restart, reasons = build_restart(snapshot, query)
    n, m = graph.edges.by_row.shape
    if not restart.any():
        return TextSpread(np.zeros(n), np.zeros(m), {})
    influence = bipartite_pagerank(graph.edges, restart, damping=DAMPING)
    return TextSpread(influence[:n], influence[n:], reasons)


def build_restart(
    snapshot: Snapshot, query: steps.Query
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return the (n + m,) restart weights, and the reason for each term."""
    graph = read_text_graph(snapshot)
    n, m = graph.edges.by_row.shape
    query_terms = [row for row in steps.term_rows(snapshot, query.text) if row >= 0]
    by_words, by_sentences, by_chunks = np.zeros((3, n + m))
    by_words[[n + row for row in query_terms]] = graph.rarity[query_terms]
    reasons: dict[int, str] = {}
    dense = steps.dense_ranking(snapshot, query)
    link = snapshot.linked("sentence", "term")
    for sentence, cosine in _find_sentences(snapshot, query, dense):
        terms = link.row(sentence)
        by_sentences[n + terms] += graph.rarity[terms] * cosine
        reasons |= dict.fromkeys(terms.tolist(), NEAR)
    reasons |= dict.fromkeys(query_terms, _QUESTION_WORD)
    hybrid = steps.hybrid_ranking(snapshot, query, dense=dense)
    chunks = hybrid.best(_CHUNKS, positive=True)
    best = np.zeros(len(snapshot.layer("chunk")))
    best[chunks] = hybrid.of(chunks)
    by_chunks[:n] = best[snapshot.layer("subchunk").columns["chunk"]]
    shares = ((by_words, 1.0), (by_sentences, _SENTENCES_SHARE), (by_chunks, _CHUNKS_SHARE))
    restart = np.zeros(n + m)
    for weights, share in shares:
        restart += weights * share / max(weights.sum(), _MIN_WEIGHT)
    return restart, reasons


def _find_sentences(
    snapshot: Snapshot, query: steps.Query, dense: steps.Ranking
) -> list[tuple[int, float]]:
    """Return the sentences with the highest positive cosines to the question.

    Of many sentences those of the 1,000 chunks nearest to it are compared.
    """
    owners = snapshot.layer("sentence").columns["chunk"]
    if snapshot.exact or len(owners) <= MANY_UNITS:
        rows, cosines = steps.nearest(snapshot, "sentence", query, _SENTENCES)
    else:
        chunks = np.sort(dense.best(CANDIDATES)).astype(owners.dtype)
        firsts, lasts = (np.searchsorted(owners, chunks, side) for side in ("left", "right"))
        _, among = expand_ranges(firsts, lasts)
        cosines = steps.cosines_of(snapshot, "sentence", query, among)
        best = top_k(cosines, _SENTENCES)
        rows, cosines = among[best], cosines[best]
    pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
    return [(row, cosine) for row, cosine in pairs if cosine > 0]


def read_text_graph(snapshot: Snapshot) -> _Graph:
    """Return the graph of sub-chunks and terms, computed once."""
    return snapshot.get(_TEXT_GRAPH)


def _build_text_graph(snapshot: Snapshot) -> _Graph:
    link = snapshot.link("subchunk", "term")
    n, m = link.shape
    df = np.bincount(link.indices, minlength=m)
    rarity = np.log1p(n / np.maximum(df, 1))
    return _Graph(BipartiteGraph.from_weights(replace_data(link, rarity[link.indices])), rarity)


_TEXT_GRAPH = Derived("the graph of sub-chunks and terms", _build_text_graph)


def find_by_walk(snapshot: Snapshot, spread: TextSpread, texts: Texts, pool: int) -> TextCandidates:
    """Return the top sub-chunks, up to `pool` tokens, but at least one.

    Each comes by the word that gave it most.
    """
    rows = positive_top_k(spread.texts, pool + 1)
    used = np.cumsum(texts.n_tokens[rows])
    best = rows[(used <= pool) | (np.arange(len(rows)) == 0)]
    graph = read_text_graph(snapshot)
    keywords: dict[int, int] = {}
    for row in best.tolist():
        words = neighbours(graph.edges.by_row, row)
        if len(words):
            given = graph.rarity[words] * spread.terms[words]
            keywords[row] = int(words[top_k(given / max(given.max(), _MIN_WEIGHT), 1)[0]])
    reasons = dict.fromkeys(keywords.values(), _NEARBY_WORD) | spread.reasons
    return TextCandidates(
        "keyword", tuple(best.tolist()), keywords=keywords, scores=spread.terms, reasons=reasons
    )
