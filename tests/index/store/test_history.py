"""What documents there were: which generation had which, and what an older format knows of it."""

from contextlib import closing
from dataclasses import replace

import pytest

from clew.errors import InputError
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.generation import compact, open_former
from clew.index.store.embedded import EmbeddedStore
from clew.testing import models, small_documents

RECIPE = recipes.Settings().build_recipe(models())


@pytest.fixture
def store(tmp_path):
    with EmbeddedStore.create(tmp_path / "index", RECIPE) as store:
        yield store


def add(store, *documents):
    adding.add_documents(store, documents, models())
    return store.generation


def held(store, generation):
    """Return the ids and texts of a former generation's documents."""
    with closing(open_former(store, generation)) as snapshot:
        documents = snapshot.documents(range(len(snapshot.document_layer)))
    return {each.id: each.text for each in documents}


def test_compaction_forgets_what_it_erases_alone(store):
    """What is erased cannot be compared; generations that lack nothing still can."""
    documents = small_documents()
    add(store, *documents[4:])
    add(store, *documents[:4])
    compact(store)
    assert held(store, 1) == {each.id: each.text for each in documents[4:]}
    store.remove([documents[5].id])
    gone = store.generation
    add(store, replace(documents[5], id="new"))
    compact(store)
    assert set(held(store, gone)) == {each.id for each in documents} - {documents[5].id}
    with pytest.raises(InputError, match=rf"earliest that can be compared is {gone}.*backup"):
        open_former(store, gone - 1)
    with pytest.raises(InputError, match="the newest is"):
        open_former(store, 99)
