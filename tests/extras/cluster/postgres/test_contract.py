"""An index in PostgreSQL keeps the contract for stores."""

import pytest

from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.store import PostgresStore
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
