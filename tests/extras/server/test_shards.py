"""Shards behind servers: indexes of real servers on loopback, asked as one."""

from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew import errors, methods, plugins, testing
from clew.base.types import Apparatus, Heading
from clew.extras.cluster.shards import wire
from clew.extras.cluster.shards.exchange import Describe, Take
from clew.extras.server import ServerSettings
from clew.shards import Neighbourhood, open_shards
from clew.testing.small import QUESTIONS
from tests.extras.cluster.shards.small import whole_and_parts
from tests.extras.cluster.shards.test_shards import told
from tests.extras.server.conftest import Home
from tests.index.build import MODELS

ALL_OF_IT = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
# Variants of a method exchange what it does: tests/extras/cluster/shards asks all of them.
MODULES = [*methods.list_modules(), *plugins.find_registered("methods")]
WITHOUT_LLM = [name for name in MODULES if name not in {"chain_of_thought", "ircot", "raptor"}]


@pytest.fixture(scope="module")
def place():
    """An index, the same in three shards, and a server for the first and one for the others."""
    with whole_and_parts(parts=3) as found:
        yield found


@pytest.fixture(scope="module")
def homes(place):
    shards = [place / "parts" / f"shard-{number:04d}" for number in range(3)]
    return [
        Home(ServerSettings(home=place / "one", indexes={"a": shards[0]})),
        Home(ServerSettings(home=place / "two", indexes={"b": shards[1], "c": shards[2]})),
    ]


@pytest.fixture(scope="module")
def served(homes):
    """The addresses of the three shards."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(home.serving()) for home in homes)
        yield [f"{at}/api/v1/indexes/{name}" for at, name in ((one, "a"), (two, "b"), (two, "c"))]


@pytest.fixture(scope="module")
def both(place, served):
    """The shards behind servers, of which everything is gathered, and the whole."""
    with (
        open_shards(served, models=MODELS, size=ALL_OF_IT, deadline_s=120) as there,
        clew.open(place / "whole", models=MODELS) as whole,
    ):
        yield there, whole


@pytest.mark.parametrize("name", WITHOUT_LLM)
def test_shards_behind_servers_reply_as_those_here(both, name):
    for question in QUESTIONS[:3]:
        found, same = (each.search(question, method=name) for each in both)
        assert told(found) == told(same)


def test_some_are_here_and_some_behind_servers(place, served):
    home = place / "mixed"
    home.mkdir()
    local = place / "parts" / "shard-0000"
    names = ", ".join(f'"{each}"' for each in (local, *served[1:]))
    (home / "shards.json").write_text(f'{{"shards": [{names}]}}', encoding="utf-8")
    with (
        open_shards(home, models=MODELS) as mixed,
        open_shards(place / "parts", models=MODELS) as here,
    ):
        assert len(mixed) == 12
        for where in (None, "title != 'Comet'"):
            found, same = (each.search(QUESTIONS[0], where=where) for each in (mixed, here))
            assert told(found) == told(same)
        with pytest.raises(errors.InputError, match="is behind a server: list it"):
            mixed.add(testing.small_documents())
        with pytest.raises(errors.InputError, match="no document matches the filter"):
            mixed.search("Who?", where="title = 'nothing'")


def test_only_an_admin_who_sees_all_may_ask_a_shard(place):
    """A key of another scope, a bound one and none are refused; the sentence says what helps."""
    home = Home(ServerSettings(home=place / "four", indexes={"a": place / "whole"}))
    headers = [home.key(scope, scope=scope) for scope in ("admin", "read")]
    headers.append(home.key("bound", where="title = 'Comet'"))
    admin, *others = (each["Authorization"].removeprefix("Bearer ") for each in headers)
    with home.serving() as at:
        opened = partial(open_shards, [f"{at}/api/v1/indexes/a"], models=MODELS, deadline_s=120)
        for key in (*others, ""):
            with opened(key=key) as shards, pytest.raises(errors.StoreError, match="scope 'admin'"):
                shards.search("Who built the Comet?")
        with opened(key=admin) as shards:
            assert shards.search("Who built the Comet?").hits


def test_a_server_that_is_gone_is_named(place, homes):
    with homes[0].serving() as at:
        shards = open_shards([f"{at}/api/v1/indexes/a"], models=MODELS, deadline_s=120)
        assert shards.search(QUESTIONS[0]).hits
    with (
        shards,
        pytest.raises(
            errors.StoreError, match=r"the shard http.*/a failed: http.* cannot be reached"
        ),
    ):
        shards.search(QUESTIONS[0])


@pytest.mark.parametrize(
    "address",
    ["http://localhost:1/polar", "https:///indexes/a", "http://u:p@host/api/v1/indexes/a"],
)
def test_an_address_that_names_no_index_is_refused(address):
    with pytest.raises(errors.InputError, match="a shard on a server must be https://HOST"):
        open_shards([address], models=MODELS)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{}",
        wire.pack({"a": 1}),
        wire.pack(Take(state="", where="", chunks=np.zeros(1, dtype=np.int64))),
        wire.pack(Describe()).replace(b"Describe", b"Exchange"),
        wire.pack(np.zeros(2)).replace(b"<f8", b"|O8"),
        wire.pack(np.zeros(2)).replace(b"[2]", b"[9]"),
        b"\xff" * 40,
    ],
)
def test_bytes_that_are_no_request_are_refused(home, sent):
    with home.client() as client:
        reply = client.post("/api/v1/indexes/small/shard", content=sent)
    assert reply.status_code in {400, 409}
    assert reply.json()["error"]["code"] in {"invalid_input", "shard_moved"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple),
    max_leaves=12,
)


@given(
    text=st.text(),
    metadata=st.dictionaries(st.text(), VALUES),
    numbers=st.lists(st.integers(0, 2**64 - 1)),
)
def test_values_come_as_they_went(text, metadata, numbers):
    document = clew.Document(
        id="a",
        text=text,
        metadata=metadata,
        headings=(Heading(0, 1, text),),
        pages=(0, 3),
        apparatus=(Apparatus(0, 2, "contents"),),
    )
    arrays = {"x": np.array(numbers, dtype=np.uint64), "y": np.zeros((2, 0, 3), dtype=np.float32)}
    for value in (document, metadata, [document, text], arrays):
        assert same(wire.unpack(wire.pack(value)), value)


def same(one, other):
    """Say whether two values are of the same types and have the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
