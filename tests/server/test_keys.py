"""Keys: what is kept of them, who they let in, and what they may not do."""

import pytest

from clew.errors import InputError
from clew.server.keys import KeyOptions, Keys


def test_the_text_of_a_key_is_kept_nowhere(database, tmp_path):
    """Its file has a digest, and only the text itself is taken."""
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
    """A part of it, another one's secret, and nonsense are none."""
    keys = Keys(database)
    first, text = keys.add("anna", KeyOptions())
    second, other = keys.add("berit", KeyOptions())
    assert keys.find(text) == first
    assert keys.find(other) == second
    mixed = f"clew_{first.id}_{other.split('_', 2)[2]}"
    for wrong in ("", "clew", "clew_", text[:-1], f"{text}x", text.upper(), mixed, "\ud800"):
        assert keys.find(wrong) is None


def test_a_revoked_key_and_its_sessions_end(database):
    """Nobody is let in by it, and a second time there is nothing to revoke."""
    keys = Keys(database)
    key, text = keys.add("anna", KeyOptions())
    cookie = keys.begin_session(key)
    assert keys.find_by_session(cookie) == key
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
    """Each is one sentence."""
    with pytest.raises(InputError):
        KeyOptions(**options)


def test_without_keys_this_machine_may_do_all(client):
    """As long as the home never had one."""
    assert client.get("/api/v1").json()["scope"] == "admin"


def test_with_a_key_nobody_comes_in_without(home):
    """Neither without one nor with a wrong one; a reader may not do what an admin may."""
    header = home.key("anna")
    with home.client() as client:
        assert client.get("/api/v1").status_code == 401
        wrong = client.get("/api/v1", headers={"Authorization": "Bearer clew_1_2"})
        assert wrong.status_code == 401
        assert wrong.json()["error"]["code"] == "unauthorized"
        assert client.get("/api/v1", headers=header).json()["caller"] == "anna"


def test_a_key_for_other_indexes_sees_none(home):
    """An index that a key may not use is not there for it."""
    header = home.key(indexes=("other",))
    with home.client() as client:
        assert client.get("/api/v1/indexes", headers=header).json() == {"items": [], "total": 0}
        asked = client.post("/api/v1/indexes/small/search", json={"query": "x"}, headers=header)
        assert asked.status_code == 404


def test_a_rate_is_kept(home):
    """The request after the last one of a minute is told when to come back."""
    header = home.key(requests_per_minute=3)
    with home.client() as client:
        codes = [client.get("/api/v1", headers=header).status_code for _ in range(4)]
        late = client.get("/api/v1", headers=header)
    assert codes == [200, 200, 200, 429]
    assert 1 <= int(late.headers["retry-after"]) <= 21
