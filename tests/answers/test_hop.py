"""Hops: from a passage, a document or an entity to the next passages."""

import numpy as np
import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError
from clew.testing import models

TEXTS = {
    "fram": ("Fram", "Colin Archer built the Fram for Nansen. She sailed from Oslo."),
    "archer": ("Colin Archer", "The architect was born in Larvik. He lived in Queensland."),
    "larvik": ("Larvik", "Larvik is a town in Norway. It has a harbour."),
    "nansen": ("Nansen", "Nansen skied across Greenland. Later Nansen came home to Oslo."),
    "quest": ("Quest", "She sank in a storm off Labrador."),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("hop") / "a.clew", models=models()) as index:
        index.add([Document(id=i, title=t, text=text) for i, (t, text) in TEXTS.items()])
        yield index


def reached(found):
    """Which documents are reached, by which entity and sentence."""
    assert len(found.paths) == len(found.hits)
    for hit, path in zip(found.hits, found.paths, strict=True):
        assert path.steps[-1].id == hit.chunk_id
    stops = [[step.text for step in path.steps[1:-1]] for path in found.paths]
    return dict(zip((hit.document_id for hit in found.hits), stops, strict=True))


def test_from_an_entity_to_what_is_titled_so_and_what_mentions_it(index):
    found = reached(index.hop("colin archer"))
    assert found == {
        "archer": ["Colin Archer"],
        "fram": ["Colin Archer", "Colin Archer built the Fram for Nansen."],
    }
    assert [*found] == ["archer", "fram"]  # a title counts twice


def test_from_a_document_to_others_that_share_an_entity(index):
    found = reached(index.hop("fram"))
    assert found.keys() == {"archer", "nansen"}
    assert found["archer"] == ["Colin Archer"]


def test_from_any_range_of_a_document_as_ids_have_it(index):
    chunk = index.hop("Larvik").hits[0].chunk_id
    assert reached(index.hop(chunk)) == reached(index.hop("larvik"))
    start = TEXTS["archer"][1].index("He lived")
    assert reached(index.hop(f"archer:{start}-{start + 5}")) == reached(index.hop("archer"))


def test_scores_are_the_rarity_of_what_is_shared(index):
    first, second = index.hop("colin archer").hits
    rarity = np.log1p(len(TEXTS) / 2)  # two of five chunks have it
    assert first.score == pytest.approx(2 * rarity)
    assert second.score == pytest.approx(rarity)


def test_what_is_looked_for_comes_first(index):
    plain = [hit.document_id for hit in index.hop("Oslo").hits]
    assert plain == ["fram", "nansen"]  # as rows are
    asked = index.hop("Oslo", query="skied across Greenland, and came home")
    assert [hit.document_id for hit in asked.hits] == ["nansen", "fram"]
    assert asked.query == "skied across Greenland, and came home"


def test_a_filter_and_a_number_bound_it(index):
    assert len(index.hop("Oslo", chunks=1).hits) == 1
    assert reached(index.hop("Oslo", where="id = 'nansen'")).keys() == {"nansen"}


def test_a_passage_that_shares_nothing_leads_nowhere(index):
    found = index.hop("quest")
    assert not found.hits
    assert found.notes == ("no other document mentions an entity of 'quest'",)


@pytest.mark.parametrize("start", ["nothing", "fram:900-950", "nothing:1-2", ""])
def test_what_is_not_there_is_named(index, start):
    with pytest.raises(InputError, match="no passage, document or entity"):
        index.hop(start)


def test_at_least_one_passage_is_asked_for(index):
    with pytest.raises(InputError, match="at least 1"):
        index.hop("Oslo", chunks=0)


def test_an_agent_walks_to_what_two_hops_know(index):
    [ship, *_] = index.hop("Fram").hits
    builder = next(hit for hit in index.hop(ship.chunk_id).hits if hit.title == "Colin Archer")
    assert "larvik" in [hit.document_id for hit in index.hop(builder.chunk_id).hits]
