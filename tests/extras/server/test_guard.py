"""What a browser was led to send is refused, and every reply has its headers."""

from dataclasses import replace

import httpx2
import pytest

from clew.errors import InputError


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
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "http://localhost:3000"],
)
def test_pages_of_other_sites_are_refused(client, origin):
    asked = client.post(
        "/api/v1/indexes/small/search", json={"query": "x"}, headers={"Origin": origin}
    )
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
    ],
)
def test_what_a_browser_says_of_its_page(client, site, mode, status):
    """A link of another site may lead here; a picture or a script of it may not."""
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    assert client.get("/api/v1", headers=headers).status_code == status
    posted = client.post("/api/v1/indexes/small/search", json={"query": "x"}, headers=headers)
    assert posted.status_code == (200 if site in {"same-origin", "none"} else 403)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_behind_a_proxy_a_key_is_needed(home, client, header):
    """What it passes on comes from this machine, whoever sent it."""
    assert client.get("/api/v1", headers={header: "203.0.113.7"}).status_code == 401
    key = home.key()
    assert client.get("/api/v1", headers={header: "203.0.113.7", **key}).status_code == 200


def test_other_names_and_too_many_at_once(home):
    with home.client(hosts=("clew.example.org",)) as client:
        headers = {"Host": "clew.example.org", "Origin": "https://clew.example.org"}
        assert client.get("/api/v1", headers=headers).status_code == 200
    with home.client(connections=0) as client:
        busy = client.get("/api/v1")
    assert busy.status_code == 503
    assert busy.json()["error"]["code"] == "busy"
    assert busy.headers["retry-after"] == "1"


def test_headers_of_every_reply(client):
    for path in ("/api/v1", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"


def test_below_a_path_of_a_proxy(home):
    """Which takes it off: routes are the same, and addresses that are told have it."""
    key = home.key()
    with home.serving(root_path="/clew") as address:
        assert httpx2.get(f"{address}/healthz", headers={"Host": "10.1.2.3"}).status_code == 200
        body = {"model": "clew/small", "input": "Who built the Comet?"}
        answer = httpx2.post(f"{address}/v1/responses", json=body, headers=key).text
    assert f"{address}/clew/documents?index=small&doc=" in answer
    for odd in ("clew", "/", "/a/", "//a", "/a b"):
        with pytest.raises(InputError, match="a root path is such as '/clew'"):
            replace(home.settings, root_path=odd)


def test_a_cookie_is_for_https_where_the_proxy_has_it(home):
    """A proxy of ours says so; nobody else is believed."""
    text = home.key()["Authorization"].removeprefix("Bearer ")
    for proxies, is_secure in ((("testclient",), True), ((), False)):
        with home.client(proxies=proxies) as client:
            headers = {"X-Forwarded-Proto": "https"}
            sent = client.post("/api/v1/session", json={"key": text}, headers=headers)
            assert ("Secure" in sent.headers["set-cookie"]) == is_secure
