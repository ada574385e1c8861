"""What was paid for is in the book, once, and whatever happens."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.base.types import Usage
from clew.errors import StoreError
from clew.models import Prompt, Turn
from clew.models.cache import CachedEmbedder
from clew.models.ledger import Cost, Ledger, Request, Total
from clew.testing import HashEmbedder

SCHEMA = {"type": "object"}
PROMPT = Prompt(user="Who led?", system="Be brief.", schema=SCHEMA, max_tokens=9, version="q-1")
REQUEST = Request("m", PROMPT)
TURN = Turn("Nobile", "", 10, 2, 0.5, 1.5)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def test_a_reply_is_recalled_as_it_came(ledger):
    """Text, fault, tokens and cost; what is not known stays unknown."""
    unknown = Request("m", Prompt(user="Which ship?"))
    assert ledger.recall(REQUEST) is None
    ledger.record(REQUEST, TURN)
    ledger.record(unknown, Turn("", "the reply is empty"))
    other = Ledger(ledger.path)
    assert other.recall(REQUEST) == TURN
    assert other.recall(unknown) == Turn("", "the reply is empty", None, None, None, 0.0, 1)


@pytest.mark.parametrize(
    "other",
    [
        Request("m at temperature 1.0", PROMPT),
        Request("m", Prompt(user="Who led?", system="Be brief.", schema=SCHEMA, max_tokens=9)),
        Request("m", Prompt(user="Who led?", system="Be brief.", max_tokens=9, version="q-1")),
        Request("m", Prompt(user="Who led", system="?Be brief.", schema=SCHEMA, max_tokens=9)),
        Request(
            "m",
            Prompt(
                user="Who led?", system="Be brief.", schema=SCHEMA, max_tokens=10, version="q-1"
            ),
        ),
        Request("m", PROMPT, (Turn(""),)),
        Request("m", PROMPT, (Turn("Byrd"),)),
    ],
)
def test_whatever_decides_the_reply_tells_requests_apart(ledger, other):
    """Model, prompt, schema, limit, version, and what was said before."""
    ledger.record(REQUEST, TURN)
    assert ledger.recall(other) is None


def test_what_is_known_of_a_request(ledger):
    """By model and version; the wording of a fault is no part of the key."""
    assert not ledger.knows("m", "q-1")
    ledger.record(Request("m", Prompt(user="Who?", version="q-1")), Turn("Byrd"))
    asked = [("m", "q-1"), ("m", "q-2"), ("n", "q-1")]
    assert [ledger.knows(*each) for each in asked] == [True, False, False]
    ledger.record(Request("m", PROMPT, (Turn("Byrd", "no JSON"),)), TURN)
    assert ledger.recall(Request("m", PROMPT, (Turn("Byrd", "there is no JSON"),))) == TURN


def test_the_first_reply_counts(ledger):
    """Of two processes both go on with the same reply."""
    assert ledger.record(REQUEST, TURN) == TURN
    assert ledger.record(REQUEST, Turn("Byrd", "", 10, 3, 0.7)) == TURN
    assert ledger.totals()["m", "q-1"].calls == 1
    odd = replace(REQUEST, model="n")
    ledger.record(odd, Turn("a\ud800b"))
    assert ledger.recall(odd).text == "a?b"


def test_pieces_are_found_by_all_parts_of_their_keys(ledger):
    """What one text gave, whatever stood beside it in the prompt."""
    keys = [("m", "units-1", "ab", "c"), ("m", "units-1", "a", "bc"), ("m", "units-2", "ab", "c")]
    ledger.keep({key: {"n": i, "é": [None, "冰"]} for i, key in enumerate(keys)})
    assert ledger.pieces([*keys[:2], ("m", "units-1", "none")]) == {
        keys[0]: {"n": 0, "é": [None, "冰"]},
        keys[1]: {"n": 1, "é": [None, "冰"]},
    }
    ledger.keep({keys[0]: []})
    assert ledger.pieces(keys[:1]) == {keys[0]: []}
    assert ledger.pieces([]) == {}
    pieces = {("m", "v", f"{i}"): i for i in range(1_234)}
    ledger.keep(pieces)
    assert ledger.pieces(pieces) == pieces


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25)
@given(st.dictionaries(st.tuples(st.text(), st.text(), st.text()), JSON, max_size=6))
def test_any_piece_comes_back(tmp_path_factory, pieces):
    """Whatever the parts of its key and whatever JSON."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l")
    ledger.keep(pieces)
    assert ledger.pieces(pieces) == pieces


def test_totals_and_sizes(ledger):
    """By model and version of the prompt; a sum that leaves a price out is no sum."""
    ledger.record(REQUEST, TURN)
    ledger.record(Request("m", PROMPT, (Turn("a"),)), Turn("b", "", 20, 3, 0.25))
    ledger.record(Request("n", PROMPT), Turn("b", "", 7, 1, None))
    ledger.record(Request("n", PROMPT, (Turn("a"),)), Turn("b"))
    ledger.mark_failed([Request("n", PROMPT), Request("n", PROMPT, (Turn("a"),))])
    assert ledger.totals() == {
        ("m", "q-1"): Total(
            calls=2,
            read=0,
            repaired=1,
            failed=0,
            prompt_tokens=30,
            completion_tokens=5,
            cost_usd=0.75,
        ),
        ("n", "q-1"): Total(
            calls=2,
            read=0,
            repaired=0,
            failed=1,
            prompt_tokens=7,
            completion_tokens=1,
            cost_usd=None,
        ),
    }
    assert sorted(ledger.sizes("m", "q-1")) == [(10, 2, 1.5, False), (20, 3, 0.0, True)]
    assert ledger.sizes("n", "q-1") == [(7, 1, 0.0, False)]
    assert ledger.sizes("m", "q-2") == []


def test_files_of_others(ledger):
    """One file is not taken for the other, and both stay as they are."""
    ledger.record(REQUEST, TURN)
    with pytest.raises(StoreError, match="cannot be the vector cache"):
        CachedEmbedder(HashEmbedder(), ledger.path).embed(["a"], kind="query")
    assert ledger.recall(REQUEST) == TURN
    ledger.path.write_text("these are my notes " * 100)
    with pytest.raises(StoreError, match=r"the ledger .*ledger.sqlite cannot be used: file is not"):
        ledger.recall(REQUEST)


def test_a_damaged_ledger_is_told(ledger):
    """Nothing that it holds is taken for what was not written."""
    requests = [replace(REQUEST, model=f"m{i}") for i in range(200)]
    for request in requests:
        ledger.record(request, TURN._replace(text="x" * 1000))
    with ledger.path.open("r+b") as file:
        file.seek(ledger.path.stat().st_size // 2)
        file.write(b"damaged")
    told = []
    for request in requests:
        try:
            assert ledger.recall(request).text == "x" * 1000
        except StoreError as error:
            told.append(str(error))
    assert 0 < len(told) < 40
    assert all("restore it from a backup" in each for each in told)
    assert len(ledger.faults()) == 1


def test_costs_of_writes_come_back_in_order(ledger):
    """All of a usage, an unknown price too; a ledger without any has none."""
    assert ledger.costs() == []
    usage = Usage(
        llm_calls=2,
        prompt_tokens=30,
        completion_tokens=4,
        cost_usd=None,
        recorded_calls=1,
        seconds={"read": 0.1, "llm": 2.5},
    )
    costs = [
        Cost(kind="add", before=0, generation=3, usage=usage),
        Cost(kind="import", before=3, generation=4, usage=Usage()),
    ]
    for cost in costs:
        ledger.bill(cost)
    assert Ledger(ledger.path).costs() == costs
    assert ledger.totals() == {}


def test_servers_with_one_model_share_no_replies(ledger):
    """Nor what was made of a text."""
    here, there = "m of localhost:1/v1 at temperature 0.5", "m of localhost:2/v1 at temperature 0.5"
    ledger.record(Request(here, PROMPT), TURN)
    ledger.keep({(here, "q-1", "text"): ["here"]})
    assert ledger.recall(Request(here, PROMPT)) == TURN
    assert ledger.recall(Request(there, PROMPT)) is None
    assert ledger.pieces([(there, "q-1", "text")]) == {}
    ledger.record(Request(there, PROMPT), TURN._replace(text="there"))
    assert ledger.recall(Request(here, PROMPT)) == TURN
    assert ledger.recall(Request(there, PROMPT)).text == "there"
    assert ledger.pieces([(here, "q-1", "text")]) == {(here, "q-1", "text"): ["here"]}
    ledger.mark_failed([Request(there, PROMPT)])
    assert ledger.forget_failed() == 1
    assert ledger.recall(Request(there, PROMPT)) is None
