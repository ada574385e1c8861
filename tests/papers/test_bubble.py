"""BubbleRAG against a second implementation: candidates, ranking, growth, and the whole preset."""

import re
from zlib import crc32

import numpy as np
import pytest

from clew.algo.bubble import expand_groups, rank_pieces, subdivide
from clew.methods.bubble import BubblePaper
from clew.models import Reply
from clew.testing import models
from tests.papers import bubble_oracle as oracle
from tests.papers import worlds

# When did Lothair II's mother die? Cosines of entities and triples to the question.
ENTITIES = {
    "Ermengarde": 0.6,
    "Francia": 0.2,
    "Hub": 0.1,
    "Lothair I": 0.7,
    "Lothair II": 0.9,
    "Teutberga": 0.5,
    "851": 0.3,
    "855": 0.3,
}
TRIPLES = [
    ("Lothair II", "Ermengarde", 0.8),
    ("Ermengarde", "851", 0.7),
    ("Lothair II", "Lothair I", 0.6),
    ("Lothair I", "855", 0.6),
    ("Lothair I", "Francia", 0.2),
    ("Ermengarde", "Hub", 0.1),
    ("Teutberga", "Hub", 0.1),
    ("Lothair II", "Teutberga", 0.4),
]
NAMES = list(ENTITIES)
ENDS = [(NAMES.index(s), NAMES.index(o)) for s, o, _ in TRIPLES]
COST = {row: round(1e6 * (1 - x)) for row, x in enumerate(ENTITIES.values())}
COST |= {("t", row): round(1e6 * (1 - x)) for row, (_, _, x) in enumerate(TRIPLES)}
GROUPS = [{4}, {("t", 0), 5}, {("t", 1), ("t", 3)}]
WEIGHTS = [0.5, 0.3, 0.2]


def priced(cost):
    """Return costs as the ranking reads them."""
    return {node: each / 1e6 for node, each in cost.items()}


def test_the_oracle_follows_the_worked_example():
    """Nine candidates; the two-node piece is best at α = 0 and 1, the full one at α = 5."""
    settings = {"budget": 10, "hops": 6, "full": True, "intra": False}
    found = oracle.expand(ENDS, COST, GROUPS, **settings)
    assert len(found) == 9
    assert {kind for _, _, kind in found} == {"inter"}
    small, full = {4, ("t", 0)}, {0, 4, ("t", 0), ("t", 1)}
    for alpha, first, scores in (
        (0, small, (6.6666, 4.0)),
        (1, small, (5.4582, 4.0)),
        (5, full, (2.4525, 4.0)),
    ):
        ranked = oracle.rank(
            found, priced(COST), GROUPS, WEIGHTS, alpha=alpha, penalty=1.1, entities_only=False
        )
        assert set(ranked[0][0]) == first
        given = dict(ranked)
        assert [given[frozenset(small)], given[frozenset(full)]] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("seed", range(200))
def test_candidates_are_those_of_the_paper(seed):
    """Multigraphs with loops, costs that tie, groups that overlap: pieces in order, and ranks."""
    draw = worlds.drawing(seed)
    n = draw.randint(2, 9)
    ends = [(draw.randrange(n), draw.randrange(n)) for _ in range(draw.randint(1, 16))]
    nodes = [*range(n), *(("t", row) for row in range(len(ends)))]
    prices = draw.choice([(0, 1, 2, 3, 7), tuple(range(1, 90))])
    cost = {node: draw.choice(prices) * 10_000 for node in nodes}
    groups = [
        set(draw.sample(nodes, draw.randint(1, min(4, len(nodes)))))
        for _ in range(draw.randint(1, 4))
    ]
    settings = {
        "budget": draw.randint(1, 12),
        "hops": draw.randint(1, 6),
        "full": draw.random() < 0.5,
        "intra": draw.random() < 0.7,
    }
    numbers = {node: place for place, node in enumerate(nodes)}
    columns = np.array(ends, dtype=np.int32).T
    costs = np.array([cost[node] / 1e6 for node in nodes])
    own = [{numbers[node] for node in group} for group in groups]
    found = expand_groups(subdivide(n, *columns), lambda rows: costs[rows], own, **settings)
    expected = oracle.expand(ends, cost, groups, **settings)
    assert [piece.nodes for piece in found.pieces] == [
        tuple(sorted(numbers[node] for node in nodes_)) for nodes_, _, _ in expected
    ]
    assert [piece.kind for piece in found.pieces] == [kind for *_, kind in expected]
    assert [{frozenset(edge) for edge in piece.edges} for piece in found.pieces] == [
        {frozenset(numbers[node] for node in edge) for edge in edges} for _, edges, _ in expected
    ]
    weights = [draw.randint(0, 5) / 5 for _ in groups]
    ranking = {
        "alpha": draw.choice([0, 0.1, 1, 5, 10]),
        "penalty": draw.choice([1, 1.1, 2]),
        "entities_only": draw.random() < 0.5,
    }
    ranked = rank_pieces(
        found.pieces, lambda rows: costs[rows], own, weights, n_entities=n, **ranking
    )
    scored = oracle.rank(expected, priced(cost), groups, weights, **ranking)
    assert [each.piece.nodes for each in ranked] == [
        tuple(sorted(numbers[node] for node in nodes_)) for nodes_, _ in scored
    ]
    assert [each.score for each in ranked] == pytest.approx([score for _, score in scored])


# -- the whole preset -----------------------------------------------------------------------------


def choose(texts):
    """Choose some of the triples offered, and say whether they suffice, by their letters alone."""
    numbers = [place for place, text in enumerate(texts) if crc32(text.encode()) % 3 == 0][:2]
    return numbers, crc32(" ".join(texts).encode()) % 5 == 0


class Judge:
    """An LLM that decides by rules which the oracle follows, too."""

    name = "judge"

    def __init__(self, concepts):
        self.concepts = concepts

    def complete(self, prompts):
        return [self.reply(prompt) for prompt in prompts]

    def reply(self, prompt):
        listed = re.findall(
            r"^\[(\d+)\] (.*)$", prompt.user.rpartition("Question: ")[2], re.MULTILINE
        )
        if prompt.name == "bubble_analysis":
            data = {"sufficient": False, "answer": "", "passage": 0, "quote": ""}
            data |= {"query_type": "default", "concepts": [
                {"text": text, "kind": "explicit", "specialised": "", "relaxed": []}
                for text in self.concepts
            ]}  # fmt: skip
        elif prompt.name == "bubble_groups":
            candidates = listed[len(self.concepts) :]
            data = {"groups": [
                {"concept": n, "weight": n, "candidates": [
                    int(number) for number, text in candidates if crc32(text.encode()) % 4 == n % 4
                ]}
                for n in range(1, len(self.concepts) + 1)
            ]}  # fmt: skip
        else:
            numbers, enough = choose([text for _, text in listed])
            data = {"select": [place + 1 for place in numbers], "sufficient": enough}
        return Reply(text="", data=data, prompt_tokens=1, completion_tokens=1, cost_usd=0.0)


class Plain:
    """A snapshot as plain values: what the search should find for the anchors it was given."""

    def __init__(self, snapshot, query, method):
        self.snapshot, self.method = snapshot, method
        self.query = worlds.TOKENLESS.embedder.embed([query], kind="query")[0].astype(float)
        triple = snapshot.layer("triple")
        rows = range(len(triple))
        self.ends = [
            (int(s), int(o))
            for s, o in zip(triple.columns["subject"], triple.columns["object"], strict=True)
        ]
        self.texts, self.triple_ids = triple.texts(rows), triple.ids(rows)
        self.entity_ids = snapshot.layer("entity").ids(range(len(snapshot.layer("entity"))))
        self.near = {e: float(v @ self.query) for e, v in enumerate(self.described())}
        triples = worlds.vectors(snapshot, "triple")
        self.near |= {("t", t): float(v @ self.query) for t, v in enumerate(triples)}
        self.cost = {n: round(1e6 * max(0.0, 1 - round(x, 6))) for n, x in self.near.items()}

    def described(self):
        """An entity's vector: the mean of its descriptions', else its name's."""
        columns, profiles = (
            self.snapshot.layer("profile").columns,
            worlds.vectors(self.snapshot, "profile"),
        )
        for entity, name in enumerate(worlds.vectors(self.snapshot, "entity")):
            own = [v for v, e in zip(profiles, columns["entity"], strict=True) if e == entity]
            mean = np.mean(own, axis=0) if own else name
            yield mean / (np.linalg.norm(mean) or 1)

    def node(self, step):
        if step.layer == "entity":
            return self.entity_ids.index(step.id)
        return ("t", self.triple_ids.index(step.id))

    def candidates(self, groups):
        method = self.method
        anchors = [{self.node(step) for step in group.anchors} for group in groups]
        found = oracle.expand(
            self.ends, self.cost, anchors, budget=method.found, hops=method.hops,
            full=method.full, intra=method.intra,
        )  # fmt: skip
        return oracle.rank(
            found, priced(self.cost), anchors, [group.weight for group in groups],
            alpha=method.alpha, penalty=method.penalty, entities_only=method.entities_only,
        )  # fmt: skip

    def facts(self, ranked):
        """The triples of the chosen candidates, with the weight that each gives its chunks."""
        similarity = {t: self.near["t", t] for t in range(len(self.ends))}
        weights = {}

        def ask(_held, listed):
            numbers, enough = choose([self.texts[t] for t in listed])
            return [listed[place] for place in numbers], enough

        for place, (nodes, _) in enumerate(ranked[: self.method.candidates], 1):
            grown = oracle.grow(
                nodes, self.ends, similarity, ask, depth=self.method.depth, width=self.method.width
            )
            for t, depth in grown.items():
                weight = max(round(similarity[t], 6), 0.0) / (place * (1 + depth))
                weights.setdefault(t, weight)
        return weights

    def chunks(self, weights):
        """The chunks of facts, by the sums of their weights."""
        stands = worlds.linked(self.snapshot, "triple", "chunk")
        sums = {}
        for t, weight in weights.items():
            for chunk in stands[t]:
                sums[chunk] = sums.get(chunk, 0.0) + weight
        return worlds.ranked(sums)


@pytest.mark.parametrize("seed", range(8))
def test_the_whole_preset_finds_what_the_oracle_finds(seed):
    """From the anchors that an LLM groups to the chunks, over an index at 32-bit floats."""
    with worlds.indexed(worlds.write_world(seed)) as snapshot:
        for query in worlds.QUESTIONS:
            names = [n for n in (*worlds.PEOPLE, *worlds.SHIPS, *worlds.PLACES) if n in query]
            method = BubblePaper()
            given = models(worlds.TOKENLESS.embedder, llm=Judge([*names, query]))
            found = method.retrieve(query, snapshot, given)
            plain = Plain(snapshot, query, method)
            order = {concept: place for place, concept in enumerate([*names, query])}
            groups = sorted(found.graph.groups, key=lambda g: order[g.concept.split(" / ")[0]])
            ranked = plain.candidates(groups)
            parts = [
                {*(plain.entity_ids.index(e) for e in c.entities)}
                | {("t", plain.triple_ids.index(t)) for t in c.triples}
                for c in found.graph.candidates
            ]
            assert parts == [set(nodes) for nodes, _ in ranked]
            scores = [c.score for c in found.graph.candidates]
            assert scores == pytest.approx([score for _, score in ranked], rel=1e-4)
            weights = plain.facts(ranked)
            assert {fact.id for fact in found.graph.facts} == {plain.triple_ids[t] for t in weights}
            rows = snapshot.layer("chunk").rows(
                [h.chunk_id for h in found.hits if h.channel == "triple"]
            )
            assert list(rows) == plain.chunks(weights)
