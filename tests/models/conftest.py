"""A server of models on loopback, which says what a test lets it."""

import gc

import pytest

from tests.models.server import serving


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as found:
        yield found
        gc.collect()  # connections close with their endpoint
