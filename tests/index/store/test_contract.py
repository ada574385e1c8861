"""The embedded store keeps the contract for stores."""

import pytest

from clew.index.store.embedded import EmbeddedStore
from tests.index.store.contract import StoreContract


class TestEmbedded(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: EmbeddedStore.create(tmp_path / "index", self.recipe)
