"""What a browser was led to send is refused, and every reply has its headers."""

import pytest


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8765", 200),
        ("127.0.0.1", 200),
        ("[::1]:8765", 200),
        ("LOCALHOST", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("user@localhost@evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_the_server_has_its_names(client, host, status):
    """Another name leads here only by an attack on DNS."""
    assert client.get("/api/v1", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
def test_pages_of_other_sites_are_refused(client, origin):
    """Reads too: nothing is told to them."""
    asked = client.post(
        "/api/v1/indexes/small/search", json={"query": "x"}, headers={"Origin": origin}
    )
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers


def test_another_name_may_be_allowed(home):
    """As a proxy calls the server."""
    with home.client(hosts=("clew.example.org",)) as client:
        headers = {"Host": "clew.example.org", "Origin": "https://clew.example.org"}
        assert client.get("/api/v1", headers=headers).status_code == 200


def test_headers_of_every_reply(client):
    """Also of errors."""
    for path in ("/api/v1", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"


def test_too_many_at_once_are_refused_politely(home):
    """With a status that says so, and when to come back."""
    with home.client(connections=0) as client:
        busy = client.get("/api/v1")
    assert busy.status_code == 503
    assert busy.json()["error"]["code"] == "busy"
    assert busy.headers["retry-after"] == "1"
