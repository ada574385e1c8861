"""Clue-RAG (arXiv:2507.08445) written down once more, plainly: Algorithms 2, 3 and 4.

Nothing here is fast, and nothing is taken from `clew.algo` or `clew.methods`.
"""

import math
from collections import Counter

import numpy as np

from tests.papers.worlds import ranked


def bleu(tokens, i, smooth=0.1):
    """BLEU of text i against all others at once: up to 4-grams, the closest reference length."""
    own, others = tokens[i], [text for j, text in enumerate(tokens) if j != i]
    logs, matched = [], 0
    for n in range(1, 5):
        total = len(own) - n + 1
        if total <= 0:
            break
        counts = Counter(tuple(own[k : k + n]) for k in range(total))
        seen = [Counter(tuple(t[k : k + n]) for k in range(len(t) - n + 1)) for t in others]
        hits = sum(min(c, max((s[gram] for s in seen), default=0)) for gram, c in counts.items())
        matched += hits
        if not hits and not smooth:
            return 0.0
        logs.append(math.log((hits or smooth) / total))
    if not matched:
        return 0.0
    closest = min((abs(len(t) - len(own)), len(t)) for t in others)[1]
    penalty = 1.0 if len(own) >= closest else math.exp(1 - closest / len(own))
    return penalty * math.exp(sum(logs) / len(logs))


def best_value(weights, values, capacity):
    """The highest value of the 0/1 knapsack, by dynamic programming over the capacity."""
    best = [0.0] * (capacity + 1)
    for weight, value in zip(weights, values, strict=True):
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def anchor(query, mentions, entities, linkable, units, entities_of, k):
    """Algorithm 4: the K entities nearest to each mention, and those of the K nearest units."""
    seeds = set()
    for mention in mentions:
        near = {e: float(entities[e] @ mention) for e in range(len(entities)) if linkable[e]}
        seeds.update(ranked(near, k))
    near = ranked({unit: float(vector @ query) for unit, vector in enumerate(units)}, k)
    return sorted(seeds.union(*(entities_of[unit] for unit in near)))


def q_iter(seeds, query, units, entities_of, units_of, rerank, *, k, depth, width, ways, update):
    """Algorithm 3, lines 1 to 20: the kept unit sets of all depths, best first in each.

    `ways` to one set of units: "separate" tuples (V', φ', S') as printed, the "last" one met as in
    the released code, or one state with the "union" of the frontiers.
    """
    states = [(entity, np.array(query, dtype=np.float64), ()) for entity in seeds]
    kept = []
    for _ in range(depth):
        found = {}
        for entity, residual, own in states:
            length = np.linalg.norm(residual)
            towards = residual / length if length else residual
            pool = {u: float(units[u] @ towards) for u in units_of[entity] if u not in own}
            for unit in ranked(pool, k):
                both, frontier = tuple(sorted((*own, unit))), frozenset(entities_of[unit])
                key = (both, tuple(sorted(frontier)) if ways == "separate" else ())
                if ways == "union" and key in found:
                    frontier |= found[key][0]
                found[key] = frontier, residual - units[unit] if update else residual
        if not found:
            break
        scores = {key: rerank(key[0]) for key in found}
        beam = ranked(scores, width)
        kept += [(units_, frozenset(found[units_, v][0]), scores[units_, v]) for units_, v in beam]
        states = [(e, found[key][1], key[0]) for key in beam for e in sorted(found[key][0])]
    return kept


def chunks(kept, chunks_of, rerank, n):
    """Lines 21 to 23: the N best chunks that hold a unit of a kept set, by the reranker."""
    candidates = {chunk for own, _, _ in kept for unit in own for chunk in chunks_of[unit]}
    return ranked({chunk: rerank(chunk) for chunk in candidates}, n)
