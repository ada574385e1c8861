"""The k-nearest-neighbour graph of chunks, as a snapshot gives it, and two rankings together."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import steps
from clew.algo import sketches
from clew.algo.knn import choose_neighbours
from clew.algo.topk import top_k
from clew.base.types import Document
from clew.index.recipe import Settings
from clew.models import TokenVectors
from clew.models.maxsim import best_matches, unit_rows
from clew.steps import rankings
from clew.testing import QUESTIONS, HashTokenEmbedder, built, models, small_documents
from clew.text.chunking import Chunking
from tests.index.build import indexed
from tests.index.store.corpus import documents

OVERLAPPING = Settings(chunking=Chunking(size=48, overlap=24))


def test_overlapping_chunks_are_no_neighbours():
    """Chunks that share text would choose each other; in the graph they are not joined."""
    with indexed(*documents(n=6), settings=OVERLAPPING) as (snapshot, _):
        chunks = snapshot.layer("chunk")
        owners, starts, ends = (chunks.columns[name] for name in ("document", "start", "end"))
        shared = (owners[1:] == owners[:-1]) & (starts[1:] < ends[:-1])
        first = np.flatnonzero(shared)
        plain = choose_neighbours(snapshot.link("chunk", "term"), chunks.vectors, 2).to_graph()
        graph = steps.chunk_graph(snapshot)
        assert plain[first, first + 1].sum() > len(first) / 2
        assert graph[first, first + 1].sum() == 0
        assert graph.sum(axis=1).min() >= 1


def test_a_ranking_of_some_rows_gives_the_others_nothing():
    """Scores belong to rows and not to places, also where no function scores the others."""
    ranking = steps.Ranking(np.array([4, 9]), np.array([0.5, 0.25]))
    assert ranking.of(ranking.best(2)).tolist() == [0.5, 0.25]
    assert ranking.of(np.array([9, 3])).tolist() == [0.25, 0]


def test_two_rankings_together():
    """Ranks in what was found and by positive scores, 1 / rank each, added up by hand."""
    scores = steps.beside_hybrid([3, 0], np.array([0.2, 0.0, 0.9, 0.5]))
    assert scores.tolist() == [1 / 2 + 1 / 3, 0.0, 1.0, 1.0 + 1 / 2]
    hybrid = np.array([0.2, 0.0, 0.9])
    assert np.argsort(-steps.beside_hybrid([], hybrid)).tolist() == [2, 0, 1]
    assert steps.beside_hybrid([1, 0], np.zeros(3)).tolist() == [0.5, 1.0, 0.0]


@given(st.permutations(range(9)), st.lists(st.floats(0.01, 1), min_size=9, max_size=9))
def test_the_best_of_either_ranking_are_among_the_first_three(found, hybrid):
    """So neither can push the other's first one far down."""
    scores = steps.beside_hybrid(found, np.array(hybrid))
    first_three = top_k(scores, 3).tolist()
    assert found[0] in first_three
    assert top_k(np.array(hybrid), 1)[0] in first_three


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_nearest_units_of_many(monkeypatch, question):
    """Above a number of units those of the nearest chunks are compared, and no others."""
    with built(small_documents()) as snapshot:
        asked = steps.read_query(models(), question)
        assert steps.units_near(snapshot, asked) is None
        exact, cosines = steps.nearest_units(snapshot, asked, 5)
        monkeypatch.setattr(rankings, "MANY_UNITS", 0)
        assert steps.units_near(snapshot.exactly(), asked) is None
        for dense in (None, steps.dense_ranking(snapshot, asked)):
            near = steps.units_near(snapshot, asked, dense)
            rows, found = steps.nearest_units(snapshot, asked, 5, near)
            assert rows.tolist() == exact.tolist()
            np.testing.assert_allclose(found, cosines, atol=1e-6)
        monkeypatch.setattr(rankings, "CANDIDATES", 2)
        rows, _ = steps.nearest_units(snapshot, asked, 99, steps.units_near(snapshot, asked))
        [best, second] = steps.nearest(snapshot, "chunk", asked, 2)[0]
        inside = snapshot.link("chunk", "unit")[[best, second]].indices
        assert sorted(rows) == sorted(set(inside.tolist()))


@pytest.mark.parametrize("fusion", ["mean", "rrf"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_rankings_of_many_chunks(monkeypatch, question, fusion):
    """Of many chunks some are ranked, with the scores that they have among all."""
    with built(small_documents()) as snapshot:
        asked, rows = steps.read_query(models(), question), np.arange(len(snapshot.layer("chunk")))
        every = steps.hybrid_ranking(snapshot, asked, fusion)
        assert every.rows is None
        np.testing.assert_allclose(every.scores, steps.hybrid_scores(snapshot, asked, fusion))
        monkeypatch.setattr(sketches, "EXACT_UP_TO", 0)
        assert steps.hybrid_ranking(snapshot.exactly(), asked, fusion).rows is None
        wide = steps.hybrid_ranking(snapshot, asked, fusion)
        np.testing.assert_allclose(wide.of(rows[::-1]), every.of(rows[::-1]), atol=1e-6)
        assert wide.best(5).tolist() == every.best(5).tolist()
        for module in (rankings, sketches):
            monkeypatch.setattr(module, "CANDIDATES", 2)
        monkeypatch.setattr(sketches, "_N_FARTHEST", 1)
        narrow = steps.hybrid_ranking(snapshot, asked, fusion)
        assert len(narrow.rows) < len(rows)
        assert set(narrow.best(99).tolist()) == set(narrow.rows.tolist())
        np.testing.assert_allclose(narrow.of(narrow.rows), narrow.scores, atol=1e-12)
        assert (narrow.of(rows) >= 0).all()


def test_nearest_rows_of_many(monkeypatch):
    """By sketches as by all rows, among some of them too."""
    with built(small_documents()) as snapshot:
        asked = steps.read_query(models(), QUESTIONS[0])
        only = np.arange(len(snapshot.layer("chunk"))) % 2 > 0
        exact = [steps.nearest(snapshot, "chunk", asked, 4, only=some) for some in (None, only)]
        monkeypatch.setattr(sketches, "EXACT_UP_TO", 0)
        for (rows, cosines), some in zip(exact, (None, only), strict=True):
            found, near = steps.nearest(snapshot, "chunk", asked, 4, only=some)
            assert found.tolist() == rows.tolist()
            np.testing.assert_allclose(near, cosines, atol=1e-6)


def in_pieces(text, size):
    """Return a question whose tokens are so many characters each."""
    spans = np.array([(a, min(a + size, len(text))) for a in range(0, len(text), size)])
    vectors = np.zeros((len(spans), 2), dtype=np.float32)
    ids = np.zeros(len(spans), dtype=np.int32)
    return steps.Query(text, vectors[0], TokenVectors(vectors, ids, spans, vectors[0]))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_a_token_weighs_as_the_word_that_it_is_part_of(size):
    """However tokens divide words or span them; of several words in a token the last counts."""
    text = "Who built the Fram, which carried Nansen north and a red thread in document?"
    with indexed(*documents(n=6), models=models(HashTokenEmbedder())) as (snapshot, _):
        asked = in_pieces(text, size)
        coverage = steps.Coverage(snapshot, asked)
        words = steps.Coverage(snapshot, asked._replace(tokens=None))
        weights = dict(zip(map(tuple, words.spans.tolist()), words.weights, strict=True))
        for (start, end), weight in zip(coverage.spans.tolist(), coverage.weights, strict=True):
            met = [each for (a, b), each in weights.items() if a < end and start < b]
            assert weight == met[-1] if met else weight < min(weights.values())


def test_weights_of_a_long_question_take_time_linear_in_it():
    """Each word looks for its own tokens and not through all of them."""
    query = in_pieces("north " * 80_000, 6)
    with indexed(*documents(n=2), models=models(HashTokenEmbedder())) as (snapshot, _):
        coverage = steps.Coverage(snapshot, query)
        assert len(coverage.words) == 80_000
        began = time.process_time()
        assert len(coverage.weights) == 80_000
        assert time.process_time() - began < 2


def test_a_code_is_met_by_itself():
    """The pieces of one that a chunk lacks are met by half; other words are as they were."""
    texts = ["Valve PX-4471-A is red.", "Valve PX-4472-B is red."]
    found = [Document(id=f"{i}", text=text) for i, text in enumerate(texts)]
    given = models(HashTokenEmbedder())
    with indexed(*found, models=given) as (snapshot, _):
        asked = steps.read_query(given, "Which valve is PX-4471-A?")
        coverage = steps.Coverage(snapshot, asked)
        plain = [snapshot.layer("chunk").tokens(row) for row in (0, 1)]
        exact = best_matches(unit_rows(asked.tokens.vectors), plain)
        code = asked.text.index("PX"), asked.text.index("?")
        inside = np.array([code[0] <= a and b <= code[1] for a, b in coverage.spans])
        has, lacks = coverage.of("chunk", [0, 1])
        np.testing.assert_allclose(has, exact[0])
        assert inside.any()
        np.testing.assert_allclose(lacks, np.where(inside, exact[1] * 0.5, exact[1]))
