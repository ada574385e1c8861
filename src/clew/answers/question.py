"""The options of a question, each declared once for all interfaces.

The command line, the bodies of requests, the tools of MCP and the client's arguments are derived
from the fields of `Question`. A new option is a field here, an argument of `Askable`, and whatever
stage of `clew.answers.pipeline` uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.base.options import BUDGET, check_options, drop_defaults, option, options_of
from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.base.types import Exchange, Scalar
    from clew.filters import Filter
    from clew.methods import Method
    from clew.models.budget import Budget

MIN_SUPPORT = 0.2  # 0 to 7 % of the answerable questions of the training sets are below it
MOST_TOKENS, MOST_CHARACTERS = 1_000, 5_000  # of a question: reading more takes seconds
LONGEST_CONTEXT = 1_000_000  # tokens that a request to a server may ask for
MAX_QUOTES, LONGEST_QUOTES = 3, 100  # by default, and that may be asked for
_answered = partial(option, heading="How it is answered")


def _are_exchanges(value: object) -> bool:
    from clew.base.types import Exchange

    return isinstance(value, Sequence) and all(isinstance(each, Exchange) for each in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its options. Raises InputError for an invalid option."""

    text: str
    method: str | Method | None = option(
        None,
        "The method of retrieval; by default walk, or auto where the index has an imported graph.",
        kind=Kind(
            lambda value: isinstance(value, str) or hasattr(value, "retrieve"),
            "a method's name, or has `layers` and a `retrieve`",
        ),
    )
    parameters: Mapping[str, Scalar] = option(
        {}, "Parameters of the method that is named, such as chunks=5.", kind=arguments.MAPPING
    )
    where: str | Filter | None = option(
        None,
        "A filter on documents, such as: date >= 2024 and tags has 'fram'.",
        kind=Kind(lambda _: True, "a filter"),  # which is checked where it is parsed
    )
    history: Sequence[Exchange] = option(
        (),
        "The conversation so far, oldest first.",
        kind=Kind(_are_exchanges, "a list of clew.Exchange"),
    )
    budget: Budget | None = option(None, "The most that models may spend on it.", kind=BUDGET)
    context_tokens: int | None = _answered(
        None,
        "Tokens of the context, at most. [default: 4000, or the method's tokens]",
        "--context-tokens N",
        "search answer",
        arguments.whole_numbers(1),
        least=1,
        most=LONGEST_CONTEXT,
    )
    exact: bool = option(
        False,
        "Compare with every row of a large index, where a few of the nearest are missed otherwise.",
        "--exact",
        "search answer",
        heading="How it is searched",
    )
    min_support: float = _answered(
        MIN_SUPPORT,
        "Refuse where the evidence answers the question with a lower probability.",
        "--threshold SHARE",
        "answer",
    )
    quotes: int = _answered(
        MAX_QUOTES,
        "Sentences that an answer without an LLM quotes, at most.",
        "--quotes N",
        "answer",
        arguments.whole_numbers(1),
        least=1,
        most=LONGEST_QUOTES,
    )
    style: str = _answered(
        "prose",
        "How an LLM writes the answer: prose with Markdown, or as few words as possible.",
        "--style prose|short",
        "answer",
    )
    verify: str = _answered(
        "meaning",
        "How sentences of an LLM are checked: by meaning, or by one more call as well.",
        "--verify meaning|llm",
        "answer",
    )

    def __post_init__(self) -> None:
        check_text(self.text)
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The options for exporting a graph."""

    raw: bool = option(
        False, "Escape nothing, and do not guard cells that look like formulas.", "--raw", "export"
    )
    types: Sequence[str] = option(
        (), "Only entities of these types, such as person,place.", "--types TYPE,...", "export"
    )

    def __post_init__(self) -> None:
        check_options(self)


OPTIONS = options_of(Question)


def as_question(text: str | Question, **options: Any) -> Question:  # noqa: ANN401 -- its fields
    """Return a `Question` built from a text and options, or the given `Question`.

    Raises InputError where options stand beside a question that has its own.
    """
    if not isinstance(text, Question):
        return Question(text=text, **options)
    if given := drop_defaults(OPTIONS, options):
        raise InputError(f"{next(iter(given))} is an option of Question: pass it to Question(...)")
    return text


def check_text(text: object) -> None:
    """Raise InputError for a question that is empty or cannot be encoded as UTF-8."""
    if not isinstance(text, str):
        raise InputError(f"a question must be a string, not {text!r:.60}")
    if not arguments.is_text(text):
        raise InputError(f"the question is not valid Unicode: leave out {_list_surrogates(text)}")
    if not text.strip():
        raise InputError("the question is empty: ask something")


def _list_surrogates(text: str) -> str:
    return ", ".join(dict.fromkeys(ascii(each) for each in arguments.SURROGATE.findall(text)))
