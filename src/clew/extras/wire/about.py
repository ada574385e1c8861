"""A server's description: its version, its methods, and the spending of keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.base.types import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutServer:
    """The server's version, and the caller's rights and spending."""

    version: str
    caller: str
    scope: str
    llm: bool  # whether answers are written by an LLM, where a key may pay for it; else quoted
    key: Mapping[str, Any] | None  # None: no key is needed here
    spent: Mapping[str, int | float] | None
    user: str = ""  # who it is, as a provider or a proxy says


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInView:
    """How people sign in to the page, besides keys."""

    provider: str  # the host of who signs them in, at /sign-in; "": nobody does


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    """A parameter of a method."""

    name: str
    default: Scalar
    choices: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodView:
    """A method of retrieval, as `clew methods --json` has it."""

    name: str
    summary: str
    description: str
    group: str
    default: bool
    layers: tuple[str, ...]
    parameters: tuple[ParameterView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentLine:
    """The cost of a key on a day."""

    key: str  # its id, "" for what needed none
    name: str
    day: str
    tokens: int
    usd: float
    unpriced_tokens: int
    requests: int
