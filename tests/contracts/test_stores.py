"""The embedded store keeps the contract for stores, and so does one in memory."""

import pytest

from clew.store.embedded import EmbeddedStore
from clew.testing import StoreContract
from tests.contracts.memory_store import MemoryKind


class TestEmbedded(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: EmbeddedStore.create(tmp_path / "index", self.recipe)


class TestInMemory(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda: MemoryKind.create(str(tmp_path), self.recipe)
