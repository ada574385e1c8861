"""What tokens cost, and how a user says so."""

import subprocess
import sys

import pytest

from clew.errors import InputError, MissingExtra
from clew.models.prices import (
    FREE,
    batch_share,
    cost_usd,
    embedding_price,
    list_price,
    parse_prices,
)

OPENAI = "https://api.openai.com/v1"


def test_cost_is_per_million_tokens():
    """In and out have prices of their own."""
    assert cost_usd((2.0, 8.0), 1_000, 500) == pytest.approx(0.006)
    assert cost_usd(FREE, 1_000, 500) == 0.0
    assert cost_usd(None, 1_000, 500) is None


PRICES = [
    ("gpt-5-mini", OPENAI, (0.25, 2.0)),
    ("gpt-5-mini-2025-08-07", OPENAI, (0.25, 2.0)),
    ("gpt-4o-mini", "https://API.openai.com:443/v1/", (0.15, 0.60)),
    ("gpt-4.1", OPENAI, (2.0, 8.0)),
    ("text-embedding-3-small", OPENAI, (0.02, 0.0)),
    ("gpt-999", OPENAI, None),
    # More for prompts of some hundred thousand tokens.
    ("gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/openai/", (1.25, 10.0)),
    ("llama-3.3-70b-versatile", "https://api.groq.com/openai/v1", (0.59, 0.79)),
    ("gpt-4o-mini", "https://api.mistral.ai/v1", None),
    ("gpt-4o-mini", "https://proxy.example/v1", None),
    ("gpt-4o-mini", "http://localhost:4000/v1", None),
]


@pytest.mark.parametrize(("model", "address", "price"), PRICES)
def test_a_price_is_that_of_a_model_at_an_address(model, address, price):
    """A proxy or a server of one's own may ask anything for a model of that name."""
    assert list_price(model, address) == price


def test_prices_need_no_network():
    """They are files of a package: nothing is asked for, and no thread is begun."""
    code = (
        "import socket, threading\n"
        "def refused(*_): raise AssertionError\n"
        "socket.socket.connect = socket.getaddrinfo = refused\n"
        "from clew.models.prices import list_price\n"
        f"assert list_price('gpt-5-mini', {OPENAI!r}) == (0.25, 2.0)\n"
        "assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_an_error_says_what_to_install(monkeypatch):
    """A price that could be known is not silently unknown; at home none is looked up."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingExtra, match=r"'genai-prices'.*clew\[openai\]"):
        list_price("gpt-5-mini", OPENAI)
    assert embedding_price("any", "http://127.0.0.1:8000/v1") == FREE


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("gpt-x=1,2", {"gpt-x": (1.0, 2.0)}),
        (" qwen3:8b =0,0", {"qwen3:8b": (0.0, 0.0)}),
        ("a=b=0.05,1e1", {"a=b": (0.05, 10.0)}),
        ("gpt-x=1,2,0.25", {"gpt-x": (1.0, 2.0, 0.25)}),
    ],
)
def test_prices_are_read(text, prices):
    """The last sign of equality ends the name."""
    assert parse_prices(text) == prices


def test_a_batch_costs_half_unless_the_price_says_otherwise():
    """Its share is the third number of a price."""
    assert batch_share((1.0, 2.0)) == batch_share(None) == 0.5
    assert batch_share((1.0, 2.0, 0.25)) == 0.25


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "m=",
        "m=1",
        "m=1,2,3",
        "m=1,2,-0.5",
        "m=1,2,0.5,0.5",
        "m=a,b",
        "m=-1,2",
        "m=1,nan",
        "m=inf,1",
        "=1,2",
    ],
)
def test_what_is_no_price_is_answered_with_an_example(text):
    """One sentence with the form to write."""
    with pytest.raises(InputError, match=r"is not a price.*MODEL=IN,OUT.*gpt-4o-mini=0.15,0.60"):
        parse_prices(text)
