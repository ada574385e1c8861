"""What documents there were: which generation had which, and what an older format knows of it."""

from contextlib import closing
from dataclasses import replace

import pytest

from clew.base.runtime import sqlite
from clew.base.types import VocabularyEntry
from clew.errors import InputError
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.generation import compact, open_former
from clew.index.store.database import FILE
from clew.index.store.embedded import EmbeddedStore
from clew.testing import models, small_documents
from tests.index.build import contents

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


def make_older(folder):
    """Give an index the format before, as one wrote it."""
    with closing(sqlite.connect(folder / FILE, wait=1.0)) as connection, connection:
        connection.execute("DROP TABLE history")
        connection.execute("CREATE TABLE plain AS SELECT key, target FROM alias")
        connection.execute("DROP TABLE alias")
        made = "CREATE TABLE alias (key TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID"
        connection.execute(made)
        connection.execute("INSERT INTO alias SELECT key, target FROM plain")
        connection.execute("DROP TABLE plain")
        connection.execute("DELETE FROM meta WHERE name = 'remembered'")
        connection.execute("UPDATE meta SET value = '8' WHERE name = 'format'")


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


def test_an_index_of_the_format_before_opens_and_is_made_anew_by_a_write(tmp_path):
    """It reads as it did; from its next write on it is known what there was."""
    documents = small_documents()
    with EmbeddedStore.create(tmp_path / "index", RECIPE) as store:
        add(store, *documents[:3])
        keys = ["bo dahl", "mira toll"]
        store.set_aliases({keys[0]: keys[1]})
        before = contents(store)
    make_older(tmp_path / "index")
    with EmbeddedStore.open(tmp_path / "index") as store:
        assert contents(store) == before
        assert store.aliases() == {keys[0]: keys[1]}
        assert store.vocabulary() == {keys[0]: VocabularyEntry(target=keys[1])}
        generation = store.generation
        with pytest.raises(InputError, match="erased or was not noted"):
            open_former(store, generation - 1)
        add(store, documents[3])
        assert store.aliases() == {keys[0]: keys[1]}
        assert set(held(store, generation)) == {each.id for each in documents[:3]}
