"""Keys and sessions over HTTP: who may make, see and end them, and what a cookie is good for."""

import pytest

from clew.wire.names import COOKIE, PREFIX

KEYS, SESSION = f"{PREFIX}/keys", f"{PREFIX}/session"


def test_the_first_key_closes_the_door(client):
    """Before it this machine may do all; after it nobody may do anything without one."""
    made = client.post(KEYS, json={"name": "anna", "scope": "admin"})
    assert made.status_code == 201
    assert client.get(KEYS).status_code == 401
    headers = {"Authorization": f"Bearer {made.json()['text']}"}
    listed = client.get(KEYS, headers=headers).json()
    assert listed == {"items": [made.json()["key"]], "total": 1}
    assert made.json()["text"] not in client.get(KEYS, headers=headers).text
    ended = client.delete(f"{KEYS}/{made.json()['key']['id']}", headers=headers).json()
    assert ended["revoked"] >= ended["made"]
    assert client.get(KEYS, headers=headers).status_code == 401


@pytest.mark.parametrize("options", [{"scope": "write"}, {"scope": "admin", "indexes": ("small",)}])
def test_who_does_not_keep_all_indexes_keeps_no_keys(home, options):
    """Else a key for one index could make itself one for all."""
    headers = home.key("anna", **options)
    home.key("berit")
    with home.client() as client:
        assert client.get(KEYS, headers=headers).status_code == 403
        assert client.post(KEYS, json={"name": "x"}, headers=headers).status_code == 403
        assert client.delete(f"{KEYS}/berit", headers=headers).status_code == 403
        assert client.get(f"{PREFIX}/spend", headers=headers).json() == {"items": [], "total": 0}


def test_a_key_is_told_of_itself_without_its_filter(home):
    """Name, scope, bounds and what it spent, but not which documents it does not see."""
    headers = home.key("anna", where="group = 'open'", tokens=100, usd_per_day=1.5)
    with home.client() as client:
        about = client.get(PREFIX, headers=headers).json()
    assert (about["caller"], about["scope"]) == ("anna", "read")
    assert (about["key"]["tokens"], about["key"]["usd_per_day"]) == (100, 1.5)
    assert about["spent"] == {"tokens_today": 0, "usd_today": 0, "tokens": 0, "usd": 0}
    assert "where" not in about["key"]


def test_a_session_stands_for_its_key(home):
    """The cookie is not for scripts or other sites; it ends with its key, and when asked to."""
    text = home.key("anna", scope="read")["Authorization"].removeprefix("Bearer ")
    with home.client() as client:
        assert client.get(PREFIX).status_code == 401
        assert client.post(SESSION, json={"key": f"{text}x"}).status_code == 401
        begun = client.post(SESSION, json={"key": f" {text} "})
        assert begun.json()["caller"] == "anna"
        cookie = begun.headers["set-cookie"]
        assert all(part in cookie for part in (f"{COOKIE}=", "HttpOnly", "SameSite=strict"))
        assert text not in cookie
        assert client.get(PREFIX).json()["scope"] == "read"
        assert client.get(KEYS).status_code == 403
        value = client.cookies[COOKIE]
        assert client.delete(SESSION).status_code == 204
        client.cookies.set(COOKIE, value)
        assert client.get(PREFIX).status_code == 401
