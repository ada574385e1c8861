"""Keys: what is kept of them, who they let in, and what they may not do."""

import pytest

from clew.errors import InputError
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.wire.names import COOKIE, PREFIX


def test_the_text_of_a_key_is_kept_nowhere(database, tmp_path):
    keys = Keys(database)
    key, text = keys.add("anna", KeyOptions())
    database.close()
    secret = text.split("_", 2)[2]
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()
    assert key.to_dict()["name"] == "anna"
    assert "digest" not in key.to_dict()


def test_only_the_whole_text_is_a_key(database):
    keys = Keys(database)
    first, text = keys.add("anna", KeyOptions())
    second, other = keys.add("berit", KeyOptions())
    assert keys.find(text) == first
    assert keys.find(other) == second
    mixed = f"clew_{first.id}_{other.split('_', 2)[2]}"
    for wrong in ("", "clew", "clew_", text[:-1], f"{text}x", text.upper(), mixed, "\ud800"):
        assert keys.find(wrong) is None


def test_a_revoked_key_and_its_sessions_end(database):
    keys = Keys(database)
    key, text = keys.add("anna", KeyOptions())
    cookie = keys.begin_session(key)
    assert keys.find_by_session(cookie) == (key, "")
    keys.revoke("anna")
    assert keys.find(text) is None
    assert keys.find_by_session(cookie) is None
    with pytest.raises(InputError, match="there is no key 'anna'"):
        keys.revoke("anna")
    assert keys.has_keys()  # so the server does not open up again


@pytest.mark.parametrize(
    "options",
    [
        {"scope": "root"},
        {"indexes": ("../etc",)},
        {"where": "date >"},
        {"where": "group = 'open'", "scope": "write"},
        {"tokens": -1},
        {"citations": "footnotes"},
    ],
)
def test_options_that_cannot_be_met(options):
    with pytest.raises(InputError):
        KeyOptions(**options)


def test_what_a_key_sees_of_others_and_of_itself(home):
    header = home.key(indexes=("other",))
    with home.client() as client:
        assert client.get("/api/v1/indexes", headers=header).json() == {"items": [], "total": 0}
        asked = client.post("/api/v1/indexes/small/search", json={"query": "x"}, headers=header)
        assert asked.status_code == 404
    headers = home.key("anna", where="group = 'open'", tokens=100, usd_per_day=1.5)
    with home.client() as client:
        about = client.get(PREFIX, headers=headers).json()
    assert (about["caller"], about["scope"]) == ("anna", "read")
    assert (about["key"]["tokens"], about["key"]["usd_per_day"]) == (100, 1.5)
    assert about["spent"] == {"tokens_today": 0, "usd_today": 0, "tokens": 0, "usd": 0}
    assert "where" not in about["key"]


def test_a_rate_is_kept(home):
    header = home.key(requests_per_minute=3)
    with home.client() as client:
        codes = [client.get("/api/v1", headers=header).status_code for _ in range(4)]
        late = client.get("/api/v1", headers=header)
    assert codes == [200, 200, 200, 429]
    assert 1 <= int(late.headers["retry-after"]) <= 21


KEYS, SESSION = f"{PREFIX}/keys", f"{PREFIX}/session"


def test_the_first_key_closes_the_door(client):
    """Before it this machine may do all; after it nobody may do anything without one."""
    assert client.get(PREFIX).json()["scope"] == "admin"
    made = client.post(KEYS, json={"name": "anna", "scope": "admin"})
    assert made.status_code == 201
    for wrong in ({}, {"Authorization": "Bearer clew_1_2"}):
        refused = client.get(KEYS, headers=wrong)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
    headers = {"Authorization": f"Bearer {made.json()['text']}"}
    assert client.get(PREFIX, headers=headers).json()["caller"] == "anna"
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
