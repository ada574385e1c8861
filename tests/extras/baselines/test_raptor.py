"""RAPTOR: summaries are the sentences in the middle, and are found beside chunks."""

from contextlib import closing

import numpy as np
import pytest

from clew import steps
from clew.extras.baselines.raptor import Raptor
from clew.extras.baselines.summaries import SUMMARIES, summaries
from clew.index import generation
from clew.testing import models, small_documents
from tests.index.build import add, create, document, scratch
from tests.methods import memory

QUESTION = "What do they trade in?"
NAMES = [f"d{i:02}" for i in range(12)]


def spread(degrees):
    return [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))]


# Each document has a sentence near the middle, and two far from it on either side.
TEXTS = {name: [f"{name} trades fish.", f"{name} is old.", f"{name} is new."] for name in NAMES}
VECTORS = {QUESTION: spread(-0.5)}
for i, name in enumerate(NAMES):
    VECTORS |= dict(zip(TEXTS[name], map(spread, (i - 5.5, 60, -60)), strict=True))


@pytest.fixture(scope="module")
def index():
    return memory.snapshot(TEXTS, {u: [] for group in TEXTS.values() for u in group}, VECTORS)


def ask(index, **parameters):
    return Raptor(**parameters).retrieve(QUESTION, index, memory.models(VECTORS))


def test_a_summary_has_the_sentences_in_the_middle(index):
    """All twelve are one cluster, of which the five sentences nearest to the mean are taken."""
    tree = summaries(index)
    assert len(tree) == 1
    middle = np.sum(index.layer("chunk").vectors, axis=0)
    cosines = index.layer("unit").vectors @ middle
    assert sorted(tree.get_units(0)) == sorted(np.argsort(-cosines)[:5])
    assert np.linalg.norm(tree.vectors, axis=1) == pytest.approx(1)


def test_a_summary_stands_for_the_chunk_of_its_nearest_sentence(index):
    """It is nearer than any chunk here, so that chunk comes first."""
    found = ask(index, chunks=3)
    first = found.hits[0]
    assert (first.document_id, first.channel) == ("d05", "summary")
    assert [step.text for step in found.paths[0].steps] == [QUESTION, TEXTS["d05"][0], first.text]
    assert found.paths[0].steps[1].reason == "in a summary near the question"
    [table] = found.tables
    [[text]] = table.rows
    assert TEXTS["d05"][0] in text
    assert text.count("trades fish.") == text.count(".") == 5
    assert {hit.channel for hit in found.hits[1:]} == {"chunk"}


def test_without_summaries_it_is_dense_search(index):
    """The nearest chunks, by their cosines."""
    found = ask(index, summaries=0)
    rows, cosines = steps.nearest(
        index, "chunk", steps.read_query(memory.models(VECTORS), QUESTION), 10
    )
    assert [hit.document_id for hit in found.hits] == [NAMES[row] for row in rows]
    assert [hit.score for hit in found.hits] == pytest.approx(cosines.tolist())
    assert found.tables == ()


def test_few_chunks_have_no_summaries():
    """Eleven are few."""
    texts = {name: TEXTS[name] for name in NAMES[:11]}
    mentions = {u: [] for group in texts.values() for u in group}
    few = memory.snapshot(texts, mentions, VECTORS)
    assert len(summaries(few)) == 0
    assert len(ask(few).hits) == 10


def test_the_tree_follows_edits():
    """After documents came and went it is that of a new index of the same."""
    more = [document(f"more{i}", f"Boats of harbour {i} carry salt. It rains.") for i in range(8)]
    with scratch() as folder, create(folder / "a") as edited, create(folder / "b") as new:
        add(edited, [*small_documents(), *more[:3]])
        arrays = [_arrays(edited)]
        add(edited, more[3:])
        edited.remove(["more0", "fjord"])
        arrays.append(_arrays(edited))
        add(new, [d for d in small_documents() if d.id != "fjord"])
        add(new, more[1:])
        assert _arrays(new) == arrays[1] != arrays[0]
        assert arrays[1]["units"]


def _arrays(store):
    with closing(generation.open_snapshot(store)) as snapshot:
        return {name: array.tolist() for name, array in snapshot.get(SUMMARIES).items()}


def test_summaries_of_summaries():
    """Hundred chunks of ten heaps have a level above the first; all its sentences are theirs."""
    random = np.random.default_rng(4)
    texts = {f"e{i:03}": [f"Sentence {i}."] for i in range(160)}
    vectors = {QUESTION: [1.0] + [0.0] * 15}
    for i, [text] in enumerate(texts.values()):
        vector = np.eye(16)[i % 16] + random.normal(0, 0.1, 16)
        vectors[text] = (vector / np.linalg.norm(vector)).tolist()
    index = memory.snapshot(texts, {text: [] for [text] in texts.values()}, vectors)
    tree = summaries(index)
    assert 16 <= len(tree) < 160
    units = [set(tree.get_units(row).tolist()) for row in range(len(tree))]
    heaps = [{unit % 16 for unit in each} for each in units]
    assert sum(len(heap) == 1 for heap in heaps) >= 16
    found = Raptor().retrieve(QUESTION, index, memory.models(vectors))
    assert {int(hit.text[9:-1]) % 16 for hit in found.hits} == {0}


def test_it_needs_no_llm():
    """And says nothing of one."""
    with scratch() as folder, create(folder / "index") as store:
        add(store, small_documents())
        with closing(generation.open_snapshot(store)) as snapshot:
            assert Raptor().retrieve("Where is Verle?", snapshot, models()).notes == ()
