"""A key that is bound to a filter: nothing tells its holder of other documents.

Two servers have the documents that the key may see. One has others besides, which name things of
theirs, mention those of the first, carry fields and labels of their own and are merged with them.
Whatever is asked, both answer alike, byte for byte but for seconds.
"""

import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import methods
from clew.answers.question import Question
from clew.base.types import Document
from clew.errors import InputError
from clew.extras.server import ServerSettings
from clew.extras.server.callers import Caller
from clew.extras.server.keys import Key, KeyOptions
from clew.extras.server.rest import ENDPOINTS
from clew.extras.server.scoped import ScopedIndex
from clew.extras.wire.names import PREFIX
from clew.extras.wire.refusals import Refusal
from clew.models.budget import Budget
from clew.testing import small_documents
from tests.extras.server.conftest import Home, open_small
from tests.extras.server.every import QUESTION, Asked, reads, replies, timeless, writes

OWN = {"content-length", "x-request-id"}  # headers that differ from reply to reply
OWN_FILTER = "group = 'open' and Rank >= 1"
SEEN = [
    replace(
        each,
        metadata={"group": "open", "Rank": i + 1} | ({"rank": "r"} if i else {}),
        source=f"/srv/inbox/{each.id}.txt",
    )
    for i, each in enumerate(small_documents())
]
HIDDEN = [
    Document(
        id="vault/quillon.md",
        title="Quillon Brandywyne",
        text="Quillon Brandywyne stole the zorkmid. The Comet carried the Zorkmid Casket to Verle."
        " Ola Eriksen met Quillon Brandywyne in Xanthippe.",
        metadata={"group": "umbra", "Clearance": "wyvern", "GROUP": "gules", "label": "sable"},
        source="/srv/vault/quillon.md",
    ),
    Document(
        id="comet2",
        title="Comet",
        text="The Comet never sank. Mira Toll of Xanthippe was the Zorkmid Captain.",
        metadata={"group": "umbra", "Rank": 9, "Clearance": "wyvern"},
        source="/srv/vault/comet2.md",
    ),
    Document(
        id="aa", text="Osterland Osterland Osterland.", metadata={"group": "umbra", "Rank": 9}
    ),
]
WORDS = (
    "vault", "quillon", "brandywyne", "stole", "zorkmid", "casket", "xanthippe", "umbra",
    "clearance", "wyvern", "gules", "sable", "comet2", "captain", "never", "/srv/", ".clew",
    "group = 'open'", "rank >=",
)  # fmt: skip


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Clients of a server with hidden documents and of one without, and the header of a key."""
    folder = tmp_path_factory.mktemp("bound")
    found = []
    for name, documents in (("with", [*HIDDEN, *SEEN]), ("without", SEEN)):
        place = folder / name / "small.clew"
        place.parent.mkdir()
        with open_small(place) as index:
            index.add(documents, triples="cooccurrence")
            index.merge("Eriksen", "Ola Eriksen")
            if name == "with":
                index.merge("Quillon Brandywyne", "Mira Toll")
                index.merge("Professor Dorn", "Zorkmid Captain")
        home = Home(ServerSettings(home=folder / name / "home", indexes={"small": place}))
        key = home.key("guest", where=OWN_FILTER, tokens=1_000_000)
        found.append((home.client(), key))
    (first, key), (second, other) = found
    with first, second:
        yield (first, key), (second, other)


def same(servers, asked):
    """Send a request to both servers; return the reply of the one with hidden documents."""
    one, other = (asked.send(client, key) for client, key in servers)
    assert one.status_code == other.status_code, (asked, one.text, other.text)
    assert list(map(timeless, replies(one))) == list(map(timeless, replies(other))), asked
    kind = one.headers.get("content-type", "")
    if not kind.startswith(("application/json", "text/event-stream")):
        assert one.content == other.content
    ours = {n: v for n, v in one.headers.items() if n not in OWN}
    assert ours == {n: v for n, v in other.headers.items() if n not in OWN}
    return one


def test_hidden_words_are_in_no_reply(servers):
    body = {"query": QUESTION, "where": "id = 'nothing'"}
    empty = Asked("POST", "/indexes/{index}/search", "/indexes/small/search", body)
    for asked in [empty, *reads("small"), *writes("small")]:
        response = same(servers, asked)
        if asked.path == "/openapi.json":
            continue  # which is the same for all, and has words of its own
        told = f"{response.text} {dict(response.headers)}".casefold()
        assert not [word for word in WORDS if word in told], asked


@pytest.mark.parametrize("method", methods.names())
def test_no_method_leads_to_hidden_documents(servers, method):
    body = {"query": QUESTION, "method": method}
    for path in ("search", "graph"):
        same(servers, Asked("POST", f"/indexes/{{index}}/{path}", f"/indexes/small/{path}", body))


KNOWN = (
    "vault/quillon.md", "comet2", "vault", "Quillon Brandywyne", "zorkmid", "Zorkmid Captain",
    "Professor Dorn", "Xanthippe", "comet2:0-69", "aa", "Osterland", "umbra", "Clearance",
    "/srv/vault/quillon.md", "comet", "Comet", "*", "", "../x", "Rank", "rank", "RANK", "GROUP",
)  # fmt: skip
GUESSES = st.sampled_from(KNOWN)
FIELDS = (
    "Rank", "RANK", "rank", "group", "Group", "source", "id", "title", "clearance", "not group",
)  # fmt: skip
FILTERS = st.one_of(
    st.builds("\"{}\" = '{}'".format, GUESSES, GUESSES),
    st.builds(
        "{} {} {}".format,
        st.sampled_from(FIELDS),
        st.sampled_from([">=", "has", "like", "!="]),
        st.sampled_from(["9", "'umbra'", "'*vault*'", "2", "null"]),
    ),
)


@st.composite
def guesses(draw):
    """Draw a request by which somebody may guess at hidden documents."""
    guess, where = draw(GUESSES), draw(FILTERS)
    part, value = quote(guess, safe=""), quote(where, safe="")
    endpoint = draw(st.sampled_from([e for e in ENDPOINTS if e.path != "/openapi.json"]))
    path = endpoint.path.replace("{index}", "small")
    for name in ("{id:path}", "{name:path}", "{id}"):
        path = path.replace(name, part)
    bodies = [
        {"query": guess, "where": where},
        {"query": QUESTION, "where": where},
        {"question": f"Where was {guess}?", "where": where, "min_support": 0},
        {"question": f"Where was {guess}?"},
        {"text": guess, "label": guess, "where": where},
        {"text": f"{guess} of Verle", "label": "Clearance"},
        {"name": guess, "into": "Comet"},
        {"name": "made"},
        {guess: 1},
    ]
    body = None if endpoint.body is None else draw(st.sampled_from(bodies))
    query = f"?find={part}&pattern={part}&sort={part}&where={value}&name={part}&key={part}"
    query = draw(st.sampled_from(["", query, f"?where={value}", f"?sort={part}", f"?find={part}"]))
    return Asked(endpoint.method, endpoint.path, path + query, body)


@pytest.mark.parametrize("kind", ["documents", "files", "entities", "rows"])
def test_no_name_leads_to_hidden_documents(servers, kind):
    part = "name" if kind == "entities" else "id"
    for guess in KNOWN:
        path = f"/indexes/{{index}}/{kind}/{{{part}:path}}"
        same(servers, Asked("GET", path, f"/indexes/small/{kind}/{quote(guess, safe='')}"))


@given(asked=guesses())
def test_guesses_are_answered_alike(servers, asked):
    same(servers, asked)


def test_nothing_is_left_to_see(servers, tmp_path):
    """A key whose documents are all gone is told that, and not by which filter."""
    (client, _), _ = servers
    home = Home(client.app.state.server.settings)
    key = home.key("nobody", where="group = 'nothing'")
    for asked in reads("small"):
        response = asked.send(client, key)
        if "{index}" in asked.path:
            assert response.status_code in {403, 404}, asked
        assert "nothing'" not in response.text


def test_paths_of_the_server_are_an_admins(servers):
    """Who writes is told ids; an admin where each document came from."""
    (client, _), _ = servers
    home = Home(client.app.state.server.settings)
    key = home.key("writer", scope="write")
    for asked in reads("small"):
        response = asked.send(client, key)
        assert "/srv/" not in response.text, asked
        assert ".clew" not in response.text or asked.path == "/openapi.json", asked
    for where in ("source like '*vault*'", "not Source = 'x'"):
        found = client.get(f"{PREFIX}/indexes/small/documents?where={where}", headers=key)
        assert found.status_code == 400
    told = json.dumps([a.send(client, home.key("a", scope="admin")).text for a in reads("small")])
    assert "/srv/inbox/comet.txt" in told
    assert "small.clew" in told


class Changing:
    """An index that another process writes to while it is asked."""

    def __init__(self, index, change):
        self._index, self._change = index, change

    def __getattr__(self, name):
        return getattr(self._index, name)

    def snapshot_for(self, *given):
        self._change()
        return self._index.snapshot_for(*given)


def test_a_write_meanwhile_tells_nothing(tmp_path):
    """What fails since documents went is told as that, without the key's filter in the error."""
    options = KeyOptions(where=OWN_FILTER)
    key = Key(id="1", name="guest", options=options, made=0.0, digest=b"")
    with open_small(tmp_path / "small.clew") as index:
        index.add([*HIDDEN, *SEEN])
        changing = Changing(index, lambda: index.remove("comet"))
        scoped = ScopedIndex("small", changing, Caller(key), Budget(), lambda: index)
        with pytest.raises(Refusal, match="the index was changed meanwhile: ask again") as caught:
            scoped.search(Question(text=QUESTION, where="id = 'comet'"))
        assert (caught.value.status, caught.value.code) == (409, "index_changed")
        with pytest.raises(InputError, match="^no document matches the filter \"id = 'comet'\"$"):
            scoped.search(Question(text=QUESTION, where="id = 'comet'"))
