"""Prices of models, and costs computed from them. An unknown price is None.

They come from the package genai-prices and never from the network: a cost would depend on when it
was asked.
"""

from urllib.parse import urlsplit

from clew.base.runtime.lazy import needs
from clew.errors import InputError

# Dollars per million tokens of prompts, of completions; and the share of these that a batch costs.
Price = tuple[float, float] | tuple[float, float, float]

FREE: Price = (0.0, 0.0)
_OWN = frozenset(("localhost", "127.0.0.1", "::1"))
_BATCH_SHARE = 0.5  # as OpenAI, Anthropic, Gemini, Mistral and Groq have it
_SOME = 1_000  # tokens, fewer than a provider has other prices for


def list_price(model: str, base_url: str) -> Price | None:
    """Return the list price of `model` at an address, without batch or cache discounts.

    None where no provider is known by the address, or it has no such model. Raises MissingExtra
    where the package that knows the prices is not installed.
    """
    address = urlsplit(base_url)
    if address.hostname in _OWN:
        return None
    with needs("genai-prices", "openai", "the price of a model"):
        from genai_prices import Usage, calc_price
    tokens = Usage(input_tokens=_SOME, output_tokens=_SOME)
    provider = f"{address.scheme}://{address.hostname}{address.path}"
    try:
        cost = calc_price(tokens, model, provider_api_url=provider)
    except LookupError:
        return None
    return float(cost.input_price * 1_000_000 / _SOME), float(cost.output_price * 1_000_000 / _SOME)


def embedding_price(model: str, base_url: str) -> Price | None:
    """Return the price of an embedder: its list price, or zero for a local one."""
    return FREE if urlsplit(base_url).hostname in _OWN else list_price(model, base_url)


def parse_prices(text: str) -> dict[str, Price]:
    """Read MODEL=IN,OUT, dollars per million tokens, or MODEL=IN,OUT,SHARE, the share in a batch.

    >>> parse_prices("qwen3:8b=0.05,0.1")
    {'qwen3:8b': (0.05, 0.1)}
    """
    model, _, numbers = text.rpartition("=")
    try:
        given, taken, *share = (float(number) for number in numbers.split(","))
    except ValueError:
        given, taken, share = -1.0, -1.0, []
    is_price = 0 <= given < float("inf") and 0 <= taken < float("inf")
    if not model.strip() or not is_price or share[1:] or not all(0 <= each <= 1 for each in share):
        raise InputError(
            f"{text!r} is not a price. Hint: write MODEL=IN,OUT in dollars per million tokens of"
            f" prompts and of completions, such as gpt-4o-mini=0.15,0.60"
        )
    return {model.strip(): (given, taken, share[0]) if share else (given, taken)}


def batch_share(price: Price | None) -> float:
    """Return the share of its price that a model costs in a batch."""
    return price[2] if price is not None and len(price) == 3 else _BATCH_SHARE


def cost_usd(price: Price | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the cost of tokens at a price, None if it is unknown."""
    if price is None:
        return None
    return (prompt_tokens * price[0] + completion_tokens * price[1]) / 1e6
