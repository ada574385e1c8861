"""Local search over a graph: the worked example, and the orders by brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.links import neighbours
from clew.algo.local_search import LocalText, find_relations, find_texts, group_relations

# Four entities, and four triples of one chunk each: Alice founded Acme (chunk 0), Bob is engineer
# of Acme (2), Bob opened a factory in Lyon (4), Acme has a factory in Lyon (1).
ACME, BOB, LYON, ALICE = range(4)
SUBJECTS = np.array([ALICE, BOB, BOB, ACME])
OBJECTS = np.array([ACME, ACME, LYON, LYON])
PLACES = [0, 2, 4, 1]
ENTITY_CHUNKS = {ACME: [0, 1, 2], BOB: [2, 4], LYON: [1, 3, 4], ALICE: [0]}
COSINES = np.cos(np.radians(np.array([10, 25, 20, 60, 40, 170]) - 30.0))


def link(pairs, shape, weights=None):
    a, b = np.array(pairs, dtype=int).reshape(-1, 2).T
    data = np.ones(len(a)) if weights is None else np.array(weights, dtype=float)
    return csr_array((data, (a, b)), shape=shape)


def whole(n):
    return csr_array(np.eye(n))


def robots():
    places = link(list(enumerate(PLACES)), (4, 6), weights=[2, 3, 4, 5])
    return group_relations(SUBJECTS, OBJECTS, places, 4)


def entity_chunks():
    return link([(e, c) for e, chunks in ENTITY_CHUNKS.items() for c in chunks], (4, 6))


def named(relations, rows):
    names = ["ACME", "BOB", "LYON", "ALICE"]
    return [tuple(names[end] for end in relations.ends[row]) for row in rows]


def test_worked_example_of_the_network():
    """Bob and Acme are joined; Lyon is joined to both, Alice to Acme alone."""
    relations = robots()
    rows, n_inside = find_relations(relations, [BOB, ACME])
    assert n_inside == 1
    assert named(relations, rows) == [
        ("ACME", "BOB"),
        ("ACME", "LYON"),
        ("BOB", "LYON"),
        ("ACME", "ALICE"),
    ]
    assert relations.degree.tolist() == [3, 2, 2, 1]


def test_worked_example_of_the_texts():
    """Chunks 2 and 4 tie for Bob and in their cosine; 1 comes before 0 for Acme by its cosine."""
    found = list(find_texts([BOB, ACME], entity_chunks(), robots(), whole(6), COSINES))
    assert [(each.row, each.n_relations) for each in found] == [(2, 1), (4, 1), (1, 1), (0, 1)]
    assert [each.seed for each in found] == [BOB, BOB, ACME, ACME]


def one_by_one(seeds, entity_chunks, relations, parts, cosines):
    """List the parts as the rules say it, one chunk at a time."""
    found = []
    for seed in seeds:
        own = relations.chunks[neighbours(relations.of_entity, seed)]
        counts = np.bincount(own.indices, minlength=parts.shape[0])
        listed = {each.row for each in found}
        places = [
            LocalText(row, seed, int(counts[chunk]))
            for chunk in neighbours(entity_chunks, seed).tolist()
            for row in neighbours(parts, chunk).tolist()
            if row not in listed
        ]
        found += sorted(places, key=lambda p: (-p.n_relations, -round(cosines[p.row], 6), p.row))
    return found


@st.composite
def searches(draw):
    """Five entities, triples among them, six chunks of up to three parts, and seeds."""
    entity, chunk = st.integers(0, 4), st.integers(0, 5)
    triples = draw(st.lists(st.tuples(entity, entity, chunk), max_size=20))
    subjects, objects, places = np.array(triples, dtype=int).reshape(-1, 3).T
    where = link(list(enumerate(places)), (len(triples), 6))
    said = draw(st.sets(st.tuples(entity, chunk)))
    owners = np.repeat(range(6), draw(st.lists(st.integers(0, 3), min_size=6, max_size=6)))
    owners = np.array(draw(st.permutations(owners.tolist())), dtype=int)
    steps = draw(st.lists(st.integers(-2, 2), min_size=len(owners), max_size=len(owners)))
    noise = draw(st.lists(st.integers(-4, 4), min_size=len(owners), max_size=len(owners)))
    return (
        draw(st.lists(entity, unique=True, max_size=5)),
        link(sorted(said), (5, 6)),
        group_relations(subjects, objects, where, 5),
        link([(c, row) for row, c in enumerate(owners)], (6, len(owners))),
        np.array(steps, dtype=float) / 4 + np.array(noise, dtype=float) * 1e-7,
    )


@given(searches())
def test_texts_as_one_by_one(search):
    """Any graph, parts and seeds: the same parts in the same order, for the same seeds."""
    assert list(find_texts(*search)) == one_by_one(*search)


def test_one_relation_for_a_pair_of_entities():
    """Triples of one pair, either way round, are one relation; strengths add, chunks unite."""
    places = link([(0, 0), (1, 1), (2, 1), (2, 2)], (4, 3), weights=[2, 3, 4, 5])
    relations = group_relations(np.array([0, 1, 0, 2]), np.array([1, 0, 2, 1]), places, 3)
    assert relations.ends.tolist() == [[0, 1], [0, 2]]  # the fourth triple stands in no chunk
    assert relations.weight.tolist() == [5, 9]
    assert relations.triples.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 0]]
    assert relations.chunks.toarray().tolist() == [[2, 3, 0], [0, 4, 5]]
    assert relations.degree.tolist() == [2, 1, 1]


def test_nothing_to_search():
    """A graph without relations has none to give; its entities still have texts."""
    relations = group_relations(SUBJECTS, OBJECTS, link([], (4, 6)), 4)
    rows, n_inside = find_relations(relations, [BOB])
    assert (rows.tolist(), n_inside) == ([], 0)
    found = find_texts([BOB], entity_chunks(), relations, whole(6), COSINES)
    assert [(each.row, each.n_relations) for each in found] == [(2, 0), (4, 0)]


def test_few_relations_lead_outside():
    """A seed with many neighbours gives ten of them, those with the highest degrees."""
    others = np.arange(1, 31)
    extra = np.arange(21, 31)  # these ten have a second relation
    subjects = np.concatenate([np.zeros(30, dtype=int), extra])
    objects = np.concatenate([others, np.full(10, 31)])
    places = link([(i, 0) for i in range(40)], (40, 1))
    relations = group_relations(subjects, objects, places, 32)
    rows, n_inside = find_relations(relations, [0])
    assert n_inside == 0
    assert [relations.ends[row].tolist() for row in rows] == [[0, int(e)] for e in extra]


def test_each_seed_adds_ten_relations_outside():
    """Two seeds with twelve neighbours each: their own relation, and twenty others."""
    subjects = np.repeat([0, 1], 12)
    objects = np.arange(2, 26)
    places = link([(i, 0) for i in range(25)], (25, 1))
    relations = group_relations(np.append(subjects, 0), np.append(objects, 1), places, 26)
    rows, n_inside = find_relations(relations, [0, 1])
    assert n_inside == 1
    assert relations.ends[rows[0]].tolist() == [0, 1]
    assert len(rows) == 1 + 20


def by_hand(pairs, seeds, n):
    """Order the relations of seeds as the rules say it, one pair at a time."""
    unique = sorted({(min(p), max(p)) for p in pairs})
    degree = [sum(e in pair for pair in unique) for e in range(n)]
    rank = {pair: degree[pair[0]] + degree[pair[1]] for pair in unique}
    inside = [pair for pair in unique if pair[0] in seeds and pair[1] in seeds]
    outside = [pair for pair in unique if (pair[0] in seeds) != (pair[1] in seeds)]

    def links(pair):
        outer = pair[1] if pair[0] in seeds else pair[0]
        return sum((min(outer, s), max(outer, s)) in unique for s in set(seeds))

    inside.sort(key=lambda pair: (-rank[pair], pair))
    outside.sort(key=lambda pair: (-links(pair), -rank[pair], pair))
    return inside + outside[: 10 * len(seeds)], len(inside)


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]),
        min_size=1,
        max_size=25,
    ),
    st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True),
)
def test_network_as_by_hand(pairs, seeds):
    """Any graph and seeds: the same relations in the same order."""
    subjects, objects = np.array(pairs).T
    places = link([(i, 0) for i in range(len(pairs))], (len(pairs), 1))
    relations = group_relations(subjects, objects, places, 8)
    rows, n_inside = find_relations(relations, seeds)
    expected, expected_inside = by_hand(pairs, seeds, 8)
    assert [tuple(relations.ends[row].tolist()) for row in rows] == expected
    assert n_inside == expected_inside
