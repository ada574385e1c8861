"""BubbleRAG (arXiv:2603.20309) written down once more, plainly: Algorithm 1, Eqs. 5 and 6, §3.5.

A triple is a node of its own, joined to its ends. Nothing here is fast, and nothing is taken from
`clew.algo` or `clew.methods`.
"""

import heapq
import math
from itertools import pairwise

EPSILON = 1e-6


def neighbours(triples):
    """The subdivided graph: entities are numbers, triple t is ("t", t)."""
    beside = {}
    for row, ends in enumerate(triples):
        for end in set(ends):
            beside.setdefault(end, set()).add(("t", row))
            beside.setdefault(("t", row), set()).add(end)
    return beside


def order(node):
    """Entities before triples, each by number."""
    return (1, node[1]) if isinstance(node, tuple) else (0, node)


def prune(nodes, edges, anchors):
    """Take away ends that are no anchors, again and again."""
    nodes, edges = set(nodes), set(edges)
    while True:
        ends = {n for n in nodes - anchors if sum(n in edge for edge in edges) <= 1}
        if not ends:
            return frozenset(nodes), frozenset(edges)
        nodes -= ends
        edges = {edge for edge in edges if not edge & ends}


def expand(triples, cost, groups, *, budget, hops, full, intra):  # noqa: C901 -- its lines in order
    """Algorithm 1 with a distance and a predecessor for each node and group.

    Costs are whole numbers. Returns candidates in the order in which they are found, each as its
    nodes, its edges and its kind.
    """
    groups = [set(group) for group in groups if group]
    anchors = set().union(*groups)
    if len(groups) < 2:
        return [(frozenset({a}), frozenset(), "single") for a in sorted(anchors, key=order)]
    beside, found, joined = neighbours(triples), {}, set()
    paths, turn = {}, {}  # of each settled node and group: its path to the anchor, and when
    best = {(g, a): 0 for g, group in enumerate(groups) for a in group}
    queue = [(0, g, order(a), a, (a,)) for g, a in best]
    heapq.heapify(queue)

    def covers(nodes):
        return all(nodes & group for group in groups)

    def add(ways, kind, *bridges):
        steps = [*bridges, *(pair for way in ways for pair in pairwise(way))]
        nodes, edges = prune(set().union(*ways), {frozenset(step) for step in steps}, anchors)
        found.setdefault(nodes, (nodes, edges, kind))

    while queue and (len(found) < budget or (full and not any(map(covers, found)))):
        here, g, _, node, path = heapq.heappop(queue)
        if (g, node) in paths:
            continue
        paths[g, node], turn[g, node] = path, len(turn)
        met = [paths[h, node] for h in range(len(groups)) if (h, node) in paths]
        if len(met) > 1 and (len(found) < budget or len(met) == len(groups)):
            add(met, "inter")
        near = [other for other in beside.get(node, ()) if (g, other) in paths]
        for other in sorted(near, key=lambda other: turn[g, other]):
            pair = g, frozenset((path[-1], paths[g, other][-1]))
            if intra and len(pair[1]) > 1 and pair not in joined and len(found) < budget:
                joined.add(pair)
                add([path, paths[g, other]], "intra", (node, other))
        if len(path) <= 2 * hops + isinstance(path[-1], tuple):
            for other in sorted(beside.get(node, ()), key=order):
                if here + cost[other] < best.get((g, other), math.inf):
                    best[g, other] = here + cost[other]
                    entry = best[g, other], g, order(other), other, (other, *path)
                    heapq.heappush(queue, entry)
    return list(found.values()) or [(frozenset(anchors), frozenset(), "fallback")]


def rank(candidates, cost, groups, weights, *, alpha, penalty, entities_only):
    """Eqs. 5 and 6: candidates with scores, best first; then the smaller ones, then by nodes."""
    scored = []
    for nodes, _, kind in candidates:
        entities = [n for n in nodes if not isinstance(n, tuple)]
        counted = entities if entities_only and entities else list(nodes)
        mean = sum(cost[n] for n in counted) / len(counted)
        missing = sum(w for w, group in zip(weights, groups, strict=True) if not nodes & set(group))
        score = mean * math.exp(alpha * missing) * (penalty if kind == "intra" else 1)
        scored.append((nodes, 1 / (score + EPSILON)))
    return sorted(scored, key=lambda c: (-round(c[1], 6), len(c[0]), sorted(map(order, c[0]))))


def options(entities, held, triples, similarity, width):
    """§3.5: the triples beside some entities, the most similar to the question."""
    beside = {t for t, ends in enumerate(triples) if set(ends) & entities} - set(held)
    return sorted(beside, key=lambda t: (-round(similarity[t], 6), t))[:width]


def grow(nodes, triples, similarity, choose, *, depth, width):
    """§3.5: the triples of a candidate, with the depth at which each was chosen, 0 for its own."""
    held = {n[1]: 0 for n in sorted(nodes, key=order) if isinstance(n, tuple)}
    entities = {n for n in nodes if not isinstance(n, tuple)}
    entities |= {end for t in held for end in triples[t]}
    frontier = set(entities)
    for level in range(1, depth + 1):
        listed = options(frontier, held, triples, similarity, width)
        if not listed:
            break
        new, enough = choose(held, listed)
        held |= dict.fromkeys(new, level)
        frontier = {end for t in new for end in triples[t]} - entities
        entities |= frontier
        if enough or not frontier:
            break
    return held
