"""What well-known models cost, and what is reckoned from it. A price nobody knows is None."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from clew.errors import InputError

Price = tuple[float, float]  # dollars per million tokens of prompts, of completions

FREE: Price = (0.0, 0.0)
OPENAI_HOST = "api.openai.com"

# The list prices of OpenAI's own API, without batch or cache discounts, as known on 2025-06-01.
LIST_PRICES: Mapping[str, Price] = {
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "text-embedding-3-large": (0.13, 0.0),
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-ada-002": (0.10, 0.0),
}
_OWN = frozenset(("localhost", "127.0.0.1", "::1"))


def list_price(model: str, base_url: str) -> Price | None:
    """Return what `model` costs at OpenAI; at any other address nobody knows."""
    at_openai = urlsplit(base_url).hostname == OPENAI_HOST
    return LIST_PRICES.get(model) if at_openai else None


def embedding_price(model: str, base_url: str) -> Price | None:
    """Return what an embedder costs: its list price, nothing on this machine."""
    return FREE if urlsplit(base_url).hostname in _OWN else list_price(model, base_url)


def parse_prices(text: str) -> dict[str, Price]:
    """Read MODEL=IN,OUT, dollars per million tokens.

    >>> parse_prices("qwen3:8b=0.05,0.1")
    {'qwen3:8b': (0.05, 0.1)}
    """
    model, _, numbers = text.rpartition("=")
    try:
        given, taken = (float(number) for number in numbers.split(","))
    except ValueError:
        given = taken = -1.0
    if not model.strip() or not 0 <= given < float("inf") or not 0 <= taken < float("inf"):
        raise InputError(
            f"{text!r} is no price. Hint: write MODEL=IN,OUT in dollars per million tokens of"
            f" prompts and of completions, such as gpt-4o-mini=0.15,0.60"
        )
    return {model.strip(): (given, taken)}


def cost_usd(price: Price | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what tokens cost at a price, None where it is not known."""
    if price is None:
        return None
    return (prompt_tokens * price[0] + completion_tokens * price[1]) / 1e6
