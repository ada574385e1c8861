"""Addresses of documents, and the examples that docstrings of the doors have."""

import doctest

import pytest

from clew.server import across, addresses, dify
from clew.server.openai import citing, tasks


@pytest.mark.parametrize("module", [across, addresses, dify, citing, tasks])
def test_examples_in_docstrings(module):
    """Each gives what stands below it."""
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("proxies", "scheme"), [((), "http"), (("testclient",), "https"), (("10.0.0.1",), "http")]
)
def test_addresses_are_those_by_which_the_server_is_called(home, proxies, scheme):
    """The name is the client's own; that the outside is https, only a proxy of ours is believed."""
    key = home.key()
    headers = {**key, "host": "docs.example", "x-forwarded-proto": "https"}
    with home.client(proxies=proxies, hosts=("docs.example",)) as client:
        body = {"query": "Who built the Comet?", "count": 1}
        [found] = client.post("/openwebui/search", json=body, headers=headers).json()
    assert found["link"].startswith(f"{scheme}://docs.example/indexes/small/documents/")
