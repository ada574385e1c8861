"""An index in PostgreSQL keeps the contract for stores."""

from contextlib import closing

import pytest

from clew.base.types import VocabularyEntry
from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.store import PostgresStore
from clew.index import adding
from clew.testing import models, small_documents
from tests.index.store.contract import StoreContract


class TestPostgres(StoreContract):
    @pytest.fixture
    def open_store(self, address):
        return lambda: PostgresStore.create(parse_address(address), self.recipe)


@pytest.mark.slow  # objects are put and read alike; what S3 alone does is tested beside this
class TestPostgresAndS3(StoreContract):
    @pytest.fixture
    def open_store(self, s3_address):
        return lambda: PostgresStore.create(parse_address(s3_address), self.recipe)


def test_an_index_of_the_format_before_is_made_anew_by_a_write(address):
    """Its aliases stay; what documents there were is known from then on."""
    with PostgresStore.create(parse_address(address), StoreContract.recipe) as store:
        adding.add_documents(store, small_documents()[:3], models())
        store.set_aliases({"bo dahl": "mira toll"})
        catalogue = store._catalogue  # noqa: SLF001 -- what an older version left
        with catalogue.transaction():
            for statement in (
                "DROP TABLE history",
                "ALTER TABLE alias DROP name, DROP type, DROP apart, DROP listed",
                "UPDATE meta SET value = '8' WHERE name = 'format'",
                "DELETE FROM meta WHERE name = 'remembered'",
            ):
                catalogue._select(statement)  # noqa: SLF001
    with PostgresStore.create(parse_address(address), StoreContract.recipe) as store:
        assert store.vocabulary() == {"bo dahl": VocabularyEntry(target="mira toll")}
        generation = store.generation
        adding.add_documents(store, small_documents()[3:4], models())
        assert store.aliases() == {"bo dahl": "mira toll"}
        with closing(store.view()) as view:
            assert view.remembered == generation
            assert len(view.documents_at(generation)) == 3
