"""What is cut out of shards and put together again is what one index of all of it holds."""

from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew import errors, steps, testing
from clew.index import adding
from clew.index.generation import open_snapshot
from clew.index.store.embedded import EmbeddedStore
from clew.shards import Neighbourhood, open_shards, split
from tests import snapshots
from tests.index.build import MODELS, scratch
from tests.index.generation.test_among import ALL, alone, build
from tests.index.test_update import recipe
from tests.trials import trials

ALL_OF_IT = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
SUBSETS = st.sets(st.sampled_from(ALL), min_size=1)


def made(folder, names, late, depth):
    """Make an index of some documents in a folder, and close it."""
    with EmbeddedStore.create(folder, recipe(late, depth)) as store:
        build(store, names)


@trials(5, 100)
@given(chosen=SUBSETS, n=st.integers(1, 4), late=st.booleans(), depth=st.integers(0, 1))
@example(chosen=frozenset(ALL), n=3, late=True, depth=1)
@example(chosen={"empty"}, n=2, late=False, depth=0)
def test_all_chunks_of_all_shards_are_the_whole(chosen, n, late, depth):
    """Every row, link and byte of the index is there, however many shards it was split into."""
    with scratch() as folder:
        made(folder / "whole", frozenset(chosen), late, depth)
        split(folder / "whole", folder / "parts", n)
        with open_shards(folder / "parts", models=MODELS, size=ALL_OF_IT) as shards:
            whole = alone(frozenset(chosen), late, depth)
            if not whole["chunk"]["ids"]:
                with pytest.raises(errors.InputError, match="these shards are empty"):
                    shards.gathered("Who met Bo Dahl in 1912?")
                return
            found = shards.gathered("Who met Bo Dahl in 1912?").snapshot
            has_chunks = {each.partition(":")[0] for each in whole["chunk"]["ids"]}
            if has_chunks == set(whole["document"]["ids"]):
                snapshots.check_consistent(found)
                assert snapshots.contents(found) == whole
            else:  # a document without a chunk is near to nothing
                assert snapshots.contents(found)["chunk"] == whole["chunk"]


@trials(5, 100)
@given(chosen=SUBSETS, n=st.integers(1, 3), late=st.booleans(), depth=st.integers(0, 1))
@example(chosen=frozenset(ALL), n=2, late=True, depth=1)
def test_a_shard_is_an_index_of_its_own(chosen, n, late, depth):
    with scratch() as folder:
        made(folder / "whole", frozenset(chosen), late, depth)
        ids = alone(frozenset(chosen), late, depth)["document"]["ids"]
        seen = []
        for place in split(folder / "whole", folder / "parts", n):
            with EmbeddedStore.open(place) as store:
                snapshot = open_snapshot(store)
                own = snapshot.layer("document").ids(range(len(snapshot.document_layer)))
                snapshots.check_consistent(snapshot)
                if own:
                    assert snapshots.contents(snapshot) == alone(frozenset(own), late, depth)
                seen += own
                snapshot.close()
        assert sorted(seen) == ids


@lru_cache
def counted(question):
    """Return the totals of a part of three shards, and the whole numbers by key."""
    with scratch() as folder:
        texts = testing.small_documents()
        with EmbeddedStore.create(folder / "whole", recipe(True, 0)) as store:
            adding.add_documents(store, texts, MODELS)
            whole = open_snapshot(store)
        split(folder / "whole", folder / "parts", 3)
        size = Neighbourhood(chunks=2, units=1, triples=1, around=2)
        with open_shards(folder / "parts", models=MODELS, size=size) as shards:
            part = shards.gathered(question).snapshot
            return part.totals, part, whole


def test_a_part_knows_what_the_whole_has():
    """How many chunks have an entity or a term is said of all shards, not of what was gathered."""
    totals, part, whole = counted("Who built the Comet?")
    assert totals is not None
    assert totals.n_chunks == len(whole.layer("chunk")) > len(part.layer("chunk"))
    for layer, numbers, of_whole in (
        ("entity", totals.either, steps.entity_chunks(whole).counts),
        ("term", totals.term_chunks, whole.linked("term", "chunk").counts),
    ):
        keys = part.layer(layer).ids(range(len(part.layer(layer))))
        rows = np.array(whole.layer(layer).rows(keys))
        assert (rows >= 0).all()
        assert numbers.tolist() == of_whole[rows].tolist()
    assert steps.chunk_lengths(part).mean == steps.chunk_lengths(whole).mean
    scores = partial(steps.lexical_scores, query="Who built the Comet?")
    rows = whole.layer("chunk").rows(part.layer("chunk").ids(range(len(part.layer("chunk")))))
    np.testing.assert_allclose(scores(part), scores(whole)[rows])


def test_entities_of_several_shards_are_one():
    _, part, _ = counted("Mira Toll, Ola Eriksen and the Comet at Cape Lund in Verle")
    keys = part.layer("entity").ids(range(len(part.layer("entity"))))
    assert len(set(keys)) == len(keys)
    [row] = part.layer("entity").rows(["comet"])
    ids = part.layer("chunk").ids(steps.entity_chunks(part).row(row).tolist())
    assert len({each.partition(":")[0] for each in ids}) > 1
