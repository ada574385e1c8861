"""A question searches the shards that can matter, and looks names up in those that have them."""

import numpy as np
import pytest

import clew
from clew import testing
from clew.extras.cluster.shards.exchange import Counted
from clew.extras.cluster.shards.routing import OF_ENTITIES, Sketch, share_keys
from clew.index.layers.numbers import hash_texts
from clew.shards import Neighbourhood, open_shards, shard_of, split
from tests.extras.cluster.shards.small import SETTINGS
from tests.index.build import MODELS, scratch

N = 40


@pytest.fixture(scope="module")
def folder():
    """Documents of people and of the towns in which they were born, in forty shards."""
    documents = testing.small_documents()
    for n in range(200):
        town = f"{chr(65 + n % 26)}ornvik{n}"
        text = f"Builder{n} Holm built the ship Vessel{n}. Builder{n} Holm was born in {town}."
        documents.append(clew.Document(id=f"holm-{n}", title=f"Builder{n} Holm", text=text))
        text = f"{town} is a town by the sea, whose harbour has {n + 3} berths."
        documents.append(clew.Document(id=f"town-{n}", title=town, text=text))
    with scratch() as place:
        with clew.open(place / "whole", models=MODELS, settings=SETTINGS) as whole:
            whole.add(documents)
        split(place / "whole", place / "parts", N)
        yield place / "parts"


def test_the_second_hop_is_found_in_a_shard_that_is_not_searched(folder):
    """A town which only the text of the first hop names is looked up where it is."""
    n_elsewhere = 0
    with open_shards(folder, models=MODELS) as shards:
        for n in range(0, 200, 25):
            question = f"How many berths has the town in which Builder{n} Holm was born?"
            gathered = shards.gathered(question)
            assert len(gathered.searched) == 8
            assert shard_of(f"holm-{n}", N) in gathered.searched
            assert {shard_of(f"{what}-{n}", N) for what in ("holm", "town")} <= gathered.asked
            documents = gathered.snapshot.layer("document").rows([f"holm-{n}", f"town-{n}"])
            assert min(documents) >= 0
            n_elsewhere += shard_of(f"town-{n}", N) not in gathered.searched
    assert n_elsewhere


def test_all_are_searched_where_nothing_tells_them_apart(folder):
    with open_shards(folder, models=MODELS) as shards:
        everywhere = shards.gathered("xyzzy").searched
        assert len(everywhere) >= N - 3  # those with chunks
        assert shards.gathered("Builder7 Holm", exact=True).searched == everywhere
        shards.size = Neighbourhood(shards=1.0)
        assert shards.gathered("Builder7 Holm").searched == everywhere


def test_what_is_written_to_a_shard_that_is_not_asked_is_seen(folder):
    with scratch() as place:
        with clew.open(place / "whole", models=MODELS, settings=SETTINGS) as whole:
            whole.add([clew.Document(id=str(n), text=f"Item{n} is here.") for n in range(60)])
        places = split(place / "whole", place / "parts", 20)
        with open_shards(place / "parts", models=MODELS) as shards:
            asked = shards.gathered("Where is Item7?").asked
            new = next(
                id_ for id_ in map("new-{}".format, range(99)) if shard_of(id_, 20) not in asked
            )
            with clew.open(places[shard_of(new, 20)], models=MODELS) as part:
                part.add([clew.Document(id=new, text="Item7 is in the new cupboard.")])
            hits = shards.search("Where is Item7?").hits
            assert new in {hit.document_id for hit in hits}


def test_shares_of_keys_by_hand():
    """Of three chunks with "fram" two are in the first shard; nobody has "maud"."""
    names = hash_texts(["fram", "nansen"])
    counts = [np.array([[2, 1], [1, 0], [2, 1]]), np.array([[1], [0], [1]])]
    sketches = [
        Sketch.from_counts(Counted(hashes=names, numbers=counts[0])),
        Sketch.from_counts(Counted(hashes=names[:1], numbers=counts[1])),
    ]
    shares, totals = share_keys(sketches, hash_texts(["nansen", "maud", "fram"]), OF_ENTITIES)
    assert np.allclose(shares, [[1, 0, 5 + 2 / 3], [0, 0, 1 / 3]])
    assert totals.tolist() == [1, 0, 3]
