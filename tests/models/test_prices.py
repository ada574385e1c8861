"""What tokens cost, and how a user says so."""

import pytest

from clew.errors import InputError
from clew.models.prices import FREE, LIST_PRICES, cost_usd, list_price, parse_prices

OPENAI = "https://api.openai.com/v1"


def test_cost_is_per_million_tokens():
    """In and out have prices of their own."""
    assert cost_usd((2.0, 8.0), 1_000, 500) == pytest.approx(0.006)
    assert cost_usd(FREE, 1_000, 500) == 0.0
    assert cost_usd(None, 1_000, 500) is None


def test_the_table_holds_for_openai_only():
    """A proxy or a server of one's own may ask anything for a model of that name."""
    assert list_price("gpt-4o-mini", OPENAI) == (0.15, 0.60)
    assert list_price("gpt-4o-mini", "http://localhost:4000/v1") is None
    assert list_price("gpt-999", OPENAI) is None


def test_the_table_is_sound():
    """Prices are positive, and answers cost more than questions or nothing."""
    assert all(0 < given < taken or not taken for given, taken in LIST_PRICES.values())


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("gpt-x=1,2", {"gpt-x": (1.0, 2.0)}),
        (" qwen3:8b =0,0", {"qwen3:8b": (0.0, 0.0)}),
        ("a=b=0.05,1e1", {"a=b": (0.05, 10.0)}),
    ],
)
def test_prices_are_read(text, prices):
    """The last sign of equality ends the name."""
    assert parse_prices(text) == prices


@pytest.mark.parametrize(
    "text", ["", "m", "m=", "m=1", "m=1,2,3", "m=a,b", "m=-1,2", "m=1,nan", "m=inf,1", "=1,2"]
)
def test_what_is_no_price_is_answered_with_an_example(text):
    """One sentence with the form to write."""
    with pytest.raises(InputError, match=r"is no price.*MODEL=IN,OUT.*gpt-4o-mini=0.15,0.60"):
        parse_prices(text)
