"""What is asked of an index, and how: every option of a question, described once.

The command line, the bodies of requests, the tools of MCP and the client's arguments are derived
from the fields of `Question`. A new option is a field here, an argument of `Askable`, and whatever
stage of `clew.answers.pipeline` uses it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.base.types import Exchange, Scalar
    from clew.filters import Filter
    from clew.methods import Method
    from clew.models.budget import Budget

MIN_SUPPORT = 0.2  # 2 % of the answerable questions that it was fitted on are below it
MOST_TOKENS, MOST_CHARACTERS = 1_000, 5_000  # of a question: reading more takes seconds
LONGEST_CONTEXT = 1_000_000  # tokens that a request to a server may ask for
MAX_QUOTES, LONGEST_QUOTES = 5, 100  # by default, and that may be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is true of an option wherever it is given."""

    doc: str  # a sentence
    kind: Kind  # what a caller in Python may give
    # Of a plain option, for which every door makes the same of its type and bounds:
    type: type[int | float | bool] | None = None
    least: float | None = None
    most: float | None = None
    flag: str = ""  # on the command line, where it is not the name
    metavar: str | None = None
    default_doc: str = ""  # of what stands for None
    stage: Literal["search", "answer"] = "search"  # an answer's options are none of a search


def _option(default: object, doc: str, kind: Kind, **about: Any) -> Any:  # noqa: ANN401 -- a field
    option = Option(doc=doc, kind=kind, **about)
    if isinstance(default, Mapping):
        return dataclasses.field(default_factory=dict, metadata={"option": option})
    return dataclasses.field(default=default, metadata={"option": option})


def _is_budget(value: object) -> bool:
    from clew.models.budget import Budget

    return isinstance(value, Budget)


def _are_exchanges(value: object) -> bool:
    from clew.base.types import Exchange

    return isinstance(value, Sequence) and all(isinstance(each, Exchange) for each in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of an index, with its options. Raises InputError where one cannot be met."""

    text: str
    method: str | Method | None = _option(  # noqa: RUF009 -- a field
        None,
        "The method of retrieval; by default walk, or auto where the index has an imported graph.",
        Kind(
            lambda value: isinstance(value, str) or hasattr(value, "retrieve"),
            "a method's name, or has `layers` and a `retrieve`",
        ),
    )
    parameters: Mapping[str, Scalar] = _option(
        {}, "Parameters of the method that is named, such as chunks=5.", arguments.MAPPING
    )
    where: str | Filter | None = _option(  # noqa: RUF009 -- a field
        None,
        "A filter on documents, such as: date >= 2024 and tags has 'fram'.",
        Kind(lambda _: True, "a filter"),  # which is checked where it is parsed
    )
    history: Sequence[Exchange] = _option(
        (),
        "The conversation so far, oldest first.",
        Kind(_are_exchanges, "a list of clew.Exchange"),
    )
    budget: Budget | None = _option(  # noqa: RUF009 -- a field
        None, "The most that models may spend on it.", Kind(_is_budget, "a clew.Budget")
    )
    context_tokens: int | None = _option(
        None,
        "Tokens of the context that an answer is made from, at most.",
        arguments.whole_numbers(1),
        type=int,
        least=1,
        most=LONGEST_CONTEXT,
        metavar="N",
        default_doc="4000, or the method's tokens",
    )
    exact: bool = _option(
        False,
        "Compare with every row of a large index, where a few of the nearest are missed otherwise.",
        arguments.TRUTH,
        type=bool,
    )
    min_support: float = _option(
        MIN_SUPPORT,
        "Refuse where the evidence answers the question with a lower probability.",
        arguments.number(0, 1),
        type=float,
        least=0,
        most=1,
        flag="--threshold",
        metavar="P",
        stage="answer",
    )
    quotes: int = _option(
        MAX_QUOTES,
        "Sentences that an answer without an LLM quotes, at most.",
        arguments.whole_numbers(1),
        type=int,
        least=1,
        most=LONGEST_QUOTES,
        metavar="N",
        stage="answer",
    )

    def __post_init__(self) -> None:
        check_text(self.text)
        options = {name: getattr(self, name) for name in OPTIONS}
        arguments.check_arguments(_drop_defaults(options), KINDS)


_FIELDS = {each.name: each for each in dataclasses.fields(Question) if "option" in each.metadata}
OPTIONS: Mapping[str, Option] = {
    name: each.metadata["option"] for name, each in _FIELDS.items()
}  # by name, in the order of the fields
KINDS = {name: option.kind for name, option in OPTIONS.items()}


def get_default(name: str) -> Any:  # noqa: ANN401 -- of the field's type
    """Return the default of an option."""
    field = _FIELDS[name]
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _drop_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    defaults = {name: get_default(name) for name in options}
    return {
        name: value
        for name, value in options.items()
        if not (type(value) is type(defaults[name]) and value == defaults[name])
    }


def list_plain_options(stage: Literal["search", "answer"]) -> dict[str, Option]:
    """Return the options of a stage that are numbers or flags; an answer has a search's as well."""
    return {
        name: option
        for name, option in OPTIONS.items()
        if option.type is not None and option.stage in {"search", stage}
    }


def as_question(text: str | Question, **options: Any) -> Question:  # noqa: ANN401 -- its fields
    """Return the question of a text and options, or the one that is given whole.

    Raises InputError where options stand beside a question that has its own.
    """
    if not isinstance(text, Question):
        return Question(text=text, **options)
    if given := _drop_defaults(options):
        raise InputError(f"{next(iter(given))} is an option of the Question: give it there")
    return text


def check_text(text: object) -> None:
    """Raise InputError for a question that asks nothing, or that no encoding can write."""
    if not isinstance(text, str):
        raise InputError(f"a question is a text, not {text!r:.60}")
    if not arguments.is_text(text):
        raise InputError(f"the question is not valid Unicode: leave out {_list_surrogates(text)}")
    if not text.strip():
        raise InputError("the question is empty: ask something")


def _list_surrogates(text: str) -> str:
    return ", ".join(dict.fromkeys(ascii(each) for each in arguments.SURROGATE.findall(text)))
