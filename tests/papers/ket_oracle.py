"""KET-RAG (arXiv:2502.09304) written down once more, plainly: Algorithms 1 to 4.

Nothing here is fast, and nothing is taken from `clew.algo` or `clew.methods`.
"""

import math

import numpy as np

from tests.papers.worlds import ranked


def neighbours(words, vectors, k):
    """Algorithm 1, lines 2 to 6: the edges of the graph of chunks, half lexical, half semantic."""
    edges, n = set(), len(words)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        shared = {j: len(words[i] & words[j]) for j in others if words[i] & words[j]}
        lexical = ranked(shared, k // 2)
        near = {j: float(vectors[i] @ vectors[j]) for j in others if j not in lexical}
        edges.update(frozenset((i, j)) for j in (*lexical, *ranked(near, k // 2)))
    return edges


def pagerank(edges, n, teleport=0.15):
    """Uniform PageRank by power iteration; a node without edges gives to all."""
    beside = {i: [j for e in edges if i in e for j in e - {i}] for i in range(n)}
    rank = [1 / n] * n
    for _ in range(400):
        loose = sum(rank[i] for i in range(n) if not beside[i])
        rank = [
            teleport / n
            + (1 - teleport) * (loose / n + sum(rank[j] / len(beside[j]) for j in beside[i]))
            for i in range(n)
        ]
    return rank


def core(ranks, share):
    """The first ⌈β n⌉ chunks by rank, ties by number. Ranks count relative to their mean."""
    n = len(ranks)
    return ranked({i: n * rank for i, rank in enumerate(ranks)}, math.ceil(round(share * n, 6)))


def keywords(sentences, vectors, query, *, by_length=True):
    """The similarity of each word to the query: of the mean of the sentences that have it.

    By cosine, as printed, or by inner product with the mean, as released.
    """
    found = {}
    for word in set().union(*sentences):
        mean = np.mean(
            [v for v, has in zip(vectors, sentences, strict=True) if word in has], axis=0
        )
        length = np.linalg.norm(mean)
        if length > 0:
            found[word] = float(mean @ query) / (length if by_length else 1)
    return found


def keyword_channel(similarity, postings, cosines, tokens, cost, budget):
    """Algorithm 4, lines 3 to 10: a pool of twice the budget, and the best that fit into it."""
    pool = collect(similarity, postings, cosines, tokens, 2 * budget)
    return take({part: cosines[part] for part in pool}, cost, budget)


def collect(similarity, postings, cosines, tokens, limit):
    """The parts with the best words until one does not fit; the first always does."""
    pool, used = [], 0
    for word in ranked(similarity):
        for part in ranked({part: cosines[part] for part in postings.get(word, ())}):
            if part in pool:
                continue
            if pool and used + tokens[part] > limit:
                return pool
            pool.append(part)
            used += tokens[part]
    return pool


def take(scores, cost, budget):
    """The best, until one does not fit."""
    taken = []
    for part in ranked(scores):
        budget -= cost(part)
        if budget < 0:
            break
        taken.append(part)
    return taken


def local_texts(seeds, relations, entity_chunks, parts_of, cosines, *, ties=True):
    """Algorithm 2: the parts of the seeds' chunks, by seed, by relations found there, by cosine.

    `relations` are (ends, chunks). As released, the parts of a chunk keep their order (`ties`).
    """
    listed = []
    for seed in seeds:
        own = [chunks for ends, chunks in relations if seed in ends]
        rows = []
        for chunk in entity_chunks[seed]:
            count = sum(chunk in chunks for chunks in own)
            rows += [(-count, -round(cosines[p], 6) if ties else 0, p) for p in parts_of[chunk]]
        listed += [part for *_, part in sorted(rows) if part not in listed]
    return listed


def local_relations(seeds, relations, degree):
    """Algorithm 2: relations between two seeds, then of one seed, ten for each seed."""
    inside = {i for i, ends in enumerate(relations) if ends <= set(seeds)}
    outside = {}
    for i, ends in enumerate(relations):
        if i not in inside and ends & set(seeds):
            [far] = ends - set(seeds)
            outside[i] = sum(far in other and bool(other & set(seeds)) for other in relations)
    rank = [sum(degree[end] for end in ends) for ends in relations]
    first = sorted(inside, key=lambda i: (-rank[i], i))
    last = sorted(outside, key=lambda i: (-outside[i], -rank[i], i))
    return first + last[: 10 * len(seeds)]
