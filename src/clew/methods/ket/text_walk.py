"""A walk over sub-chunks and their words, from what the question says and resembles. Ours."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, diags_array

from clew import steps
from clew.algo.links import Matrix, neighbours, replace_data
from clew.algo.pagerank import personalized_pagerank, transition_matrix
from clew.algo.topk import positive_top_k, top_k
from clew.derived import Derived
from clew.methods.ket.text_candidates import NEAR, TextCandidates, Texts
from clew.snapshot import Snapshot

# Chosen on two training sets; recall@5 moves by some .01 between half and twice of each.
DAMPING = 0.75  # chance to go on from a node
_SENTENCES = 3  # nearest to the question, whose words are seeds
_SENTENCES_SHARE = 1.0  # of their words together, beside the question's own
_CHUNKS = 30  # best hybrid chunks, whose texts are seeds
_CHUNKS_SHARE = 0.3  # of these together, beside the question's own words
_NOTHING = 1e-12
_TOLERANCE = 1e-4  # of all weight: moves no text that matters

_ASKED = "a word of the question"
_ONWARD = "a word of texts near the question"


@dataclass(frozen=True, slots=True)
class TextSpread:
    """How much weight came to the n sub-chunks and the m terms."""

    texts: NDArray[np.float64]  # (n,)
    terms: NDArray[np.float64]  # (m,)
    reasons: dict[int, str]  # why a term was a seed


@dataclass(frozen=True, slots=True)
class _Graph:
    """Sub-chunks and terms, joined where a term stands, by how rare it is."""

    transition: Matrix  # (n + m, n + m)
    links: Matrix  # (n, m), ln(1 + n / df) of the term
    rarity: NDArray[np.float64]  # (m,)


def spread_weight(snapshot: Snapshot, query: steps.Query) -> TextSpread:
    """Return personalised PageRank from the question's words and what is near to it.

    Its words weigh 1 together, by their rarity; those of the nearest sentences and the texts of the
    best hybrid chunks each their share.
    """
    graph = read_text_graph(snapshot)
    restart, reasons = build_restart(snapshot, query)
    n, m = graph.links.shape
    if not restart.any():
        return TextSpread(np.zeros(n), np.zeros(m), {})
    influence = personalized_pagerank(
        graph.transition, restart, damping=DAMPING, tolerance=_TOLERANCE
    )
    return TextSpread(influence[:n], influence[n:], reasons)


def build_restart(
    snapshot: Snapshot, query: steps.Query
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return the (n + m,) weights from which the walk starts, and why each term has some."""
    graph = read_text_graph(snapshot)
    n, m = graph.links.shape
    asked = [row for row in steps.term_rows(snapshot, query.text) if row >= 0]
    by_words, by_sentences, by_chunks = np.zeros((3, n + m))
    by_words[[n + row for row in asked]] = graph.rarity[asked]
    reasons: dict[int, str] = {}
    cosines = steps.dense_scores(snapshot, "sentence", query)
    link = snapshot.link("sentence", "term")
    for sentence in positive_top_k(cosines, _SENTENCES).tolist():
        found = neighbours(link, sentence)
        by_sentences[n + found] += graph.rarity[found] * cosines[sentence]
        reasons |= dict.fromkeys(found.tolist(), NEAR)
    reasons |= dict.fromkeys(asked, _ASKED)
    hybrid = steps.hybrid_scores(snapshot, query)
    best = np.zeros_like(hybrid)
    chunks = positive_top_k(hybrid, _CHUNKS)
    best[chunks] = hybrid[chunks]
    by_chunks[:n] = best[snapshot.layer("subchunk").columns["chunk"]]
    shares = ((by_words, 1.0), (by_sentences, _SENTENCES_SHARE), (by_chunks, _CHUNKS_SHARE))
    restart = np.zeros(n + m)
    for weights, share in shares:
        restart += weights * share / max(weights.sum(), _NOTHING)
    return restart, reasons


def read_text_graph(snapshot: Snapshot) -> _Graph:
    """Return the graph of sub-chunks and terms, computed once."""
    return snapshot.get(_TEXT_GRAPH)


def _build_text_graph(snapshot: Snapshot) -> _Graph:
    link = csr_array(snapshot.link("term", "subchunk").T)
    n, m = link.shape
    df = np.bincount(link.indices, minlength=m)
    rarity = np.log1p(n / np.maximum(df, 1))
    links = csr_array(replace_data(link, np.ones(link.nnz)) @ diags_array(rarity))
    both: Matrix = csr_array(block_array([[None, links], [links.T, None]]))  # type: ignore[arg-type]
    return _Graph(transition_matrix(both), links, rarity)


_TEXT_GRAPH = Derived("the graph of sub-chunks and terms", _build_text_graph)


def find_by_walk(snapshot: Snapshot, found: TextSpread, texts: Texts, pool: int) -> TextCandidates:
    """Return the sub-chunks of most influence, `pool` tokens of them, the first whatever its size.

    Each comes by the word that gave it most.
    """
    rows = positive_top_k(found.texts, pool + 1)
    used = np.cumsum(texts.n_tokens[rows])
    kept = rows[(used <= pool) | (np.arange(len(rows)) == 0)]
    graph = read_text_graph(snapshot)
    keywords: dict[int, int] = {}
    for row in kept.tolist():
        here = slice(graph.links.indptr[row], graph.links.indptr[row + 1])
        words = graph.links.indices[here]
        if len(words):
            given = graph.links.data[here] * found.terms[words]
            keywords[row] = int(words[top_k(given / max(given.max(), _NOTHING), 1)[0]])
    reasons = dict.fromkeys(keywords.values(), _ONWARD) | found.reasons
    return TextCandidates(
        "keyword", tuple(kept.tolist()), keywords=keywords, scores=found.terms, reasons=reasons
    )
