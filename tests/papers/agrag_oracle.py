"""AGRAG (arXiv:2511.05549) written down once more, plainly: Eqs. 2, 7 to 15, 20, Algorithm 3.

A graph is a dict from a node to its neighbours. Nothing here is fast, and nothing is taken from
`clew.algo` or `clew.methods`.
"""

import heapq
import math
from collections import Counter
from itertools import pairwise

JOINT = math.inf  # the pseudo node, after all others


def rates(counts, lengths, score):
    """Eq. 2 of each term of each text: as printed, divided by the text's maximum, or released."""
    n = len(counts)
    df = Counter(term for text in counts for term in text)
    found = []
    for text, length in zip(counts, lengths, strict=True):
        rarity = {term: math.log((n + 1) / (df[term] + 1)) for term in text}
        if score == "tfidf":
            own = {term: c * (1 + rarity[term]) for term, c in text.items()}
            scale = math.sqrt(sum(x * x for x in own.values()))
        else:
            own = {term: c * rarity[term] for term, c in text.items()}
            scale = length * math.log(n + 1) if score == "eq2" else max(own.values(), default=0)
        found.append({term: x / scale if scale else 0.0 for term, x in own.items()})
    return found


def ngrams(runs, longest):
    """How often each n-gram stands in a text, which is runs of words."""
    return Counter(
        " ".join(run[i : i + n])
        for run in runs
        for n in range(1, longest + 1)
        for i in range(len(run) - n + 1)
    )


def influence(weights, n, terminals, damping=0.5):
    """Eqs. 10 to 13 as PageRank that begins at the terminals; nodes without edges give to these."""
    start = [1 / len(terminals) if i in terminals else 0.0 for i in range(n)]
    degree = {i: sum(weights[i].values()) for i in weights}
    scores = list(start)
    while True:
        loose = sum(scores[i] for i in range(n) if not degree.get(i))
        after = [(1 - damping + damping * loose) * x for x in start]
        for i, near in weights.items():
            for j, weight in near.items():
                after[j] += damping * scores[i] * weight / degree[i]
        change = sum(abs(a - b) for a, b in zip(after, scores, strict=True))
        scores = after
        if change < 1e-7:
            return scores


def with_joint(costs, passages, price):
    """Join all passages to one pseudo node."""
    joined = {node: dict(near) for node, near in costs.items()}
    joined[JOINT] = dict.fromkeys(passages, price)
    for passage in passages:
        joined.setdefault(passage, {})[JOINT] = price
    return joined


def steiner_tree(costs, terminals):
    """Mehlhorn's tree: nearest terminals, the shortest bridges between their regions, no dead ends.

    Costs are whole numbers. The pseudo node and its edges are left out of what is returned.
    """
    path, far, queue = {}, {}, [(0, t, t, ()) for t in sorted(terminals)]
    heapq.heapify(queue)
    while queue:
        cost, terminal, node, before = heapq.heappop(queue)
        if node not in path:
            path[node], far[node] = (*before, node), (cost, terminal)
            for other, price in costs.get(node, {}).items():
                if other not in path:
                    heapq.heappush(queue, (cost + price, terminal, other, path[node]))
    bridges = sorted(
        (far[a][0] + price + far[b][0], a, b)
        for a in far
        for b, price in costs.get(a, {}).items()
        if a < b and b in far and far[a][1] != far[b][1]
    )
    region, edges = {t: t for t in terminals}, set()
    for _, a, b in bridges:
        one, two = region[far[a][1]], region[far[b][1]]
        if one != two:
            region = {t: one if r == two else r for t, r in region.items()}
            edges.add((a, b))
            for end in (a, b):
                steps = path[end]
                edges.update((min(s), max(s)) for s in pairwise(steps))
    nodes = {*terminals, *(node for edge in edges for node in edge)} - {JOINT}
    edges = {edge for edge in edges if JOINT not in edge}
    return nodes, edges


def shorten(x):
    """A number to 20 binary digits, which is how far two are compared."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, 20)), exponent - 20)


def grow(costs, nodes, edges, scores, rule, rounds):  # noqa: C901 -- the lines in their order
    """The rest of Algorithm 3: the nodes that join, in order.

    The next one is always that of the least cost over influence. As printed ("eq15") it joins while
    this is below the sum of c / (s_u + s_v), by "mean" while it is below their mean, and as
    released while s / c is at least the mean of c (s_u + s_v) / 2 over the tree's edges.
    """

    def term(a, b):
        both = scores[a] + scores[b]
        if rule == "released":
            return costs[a][b] * both / 2
        return costs[a][b] / both if both else math.inf

    inside, terms, added = set(nodes), [term(a, b) for a, b in sorted(edges)], []
    while len(added) < rounds:
        beside = {}
        for node in inside:
            for other, cost in costs.get(node, {}).items():
                if other not in inside and scores[other] > 0:
                    beside[other] = min(beside.get(other, math.inf), cost)
        if not beside:
            break
        best = min(
            beside,
            key=lambda v: (shorten(beside[v] / scores[v]), -shorten(scores[v]), beside[v], v),
        )
        limit = sum(terms) if rule == "eq15" else sum(terms) / max(1, len(terms))
        if rule == "released":
            goes_on = shorten(scores[best] / beside[best]) >= shorten(limit)
        else:
            goes_on = shorten(beside[best] / scores[best]) < shorten(limit)
        if not goes_on:
            break
        if rule != "released":
            to = min(u for u in inside if costs.get(best, {}).get(u) == beside[best])
            terms.append(term(best, to))
        inside.add(best)
        added.append(best)
    return added


def induced(costs, nodes):
    """All edges between some nodes."""
    return {(a, b) for a in nodes for b in costs.get(a, {}) if b in nodes and a < b}


def scaled(scores):
    """Min-max: from 0 to 1, all 0 where they are equal."""
    low, high = min(scores), max(scores)
    return [(x - low) / (high - low) if high > low else 0.0 for x in scores]


def bm25(counts, words, k1=1.2, b=0.75):
    """Okapi's BM25 of texts, each a dict of counts, for the distinct words of a question."""
    n, mean = len(counts), sum(sum(text.values()) for text in counts) / len(counts)
    scores = [0.0] * n
    for word in set(words):
        df = sum(word in text for text in counts)
        for i, text in enumerate(counts):
            if word in text:
                size = 1 - b + b * sum(text.values()) / mean
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                scores[i] += idf * text[word] * (k1 + 1) / (text[word] + k1 * size)
    return scores


def hybrid(cosines, lexical):
    """Eq. 20: the mean of both, each scaled over all texts."""
    return [(a + b) / 2 for a, b in zip(scaled(cosines), scaled(lexical), strict=True)]
