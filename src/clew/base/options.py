"""Declare an option once; the interfaces (Python, CLI, REST) derive theirs from it.

A frozen dataclass has a field for each option, made by `option`. From it the command line, the
bodies of requests, the options of jobs and the keywords of a Python method are derived. What is
wrong with a value is said in one sentence, whichever door it came by.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.errors import InputError, suggest

P = ParamSpec("P")
S = TypeVar("S")
A = TypeVar("A")
V = TypeVar("V")
T = TypeVar("T")


class Option(NamedTuple):
    """The declaration of an option, shared by all interfaces."""

    doc: str  # a sentence
    default: object
    doors: frozenset[str] = frozenset()  # beside Python, by names that the doors know
    # Of a plain option, for which every door makes the same of its type and bounds:
    type: type[int | float | bool | str] | None = None
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = math.inf
    is_below: bool = False  # `most` itself is too much
    listed: Literal["", "repeated", "commas"] = ""  # a list of texts, and how a command takes it
    # On the command line:
    flag: str = ""
    metavar: str | None = None
    heading: str = "Output"
    off: str = ""  # what it does to turn off a flag that is on by default
    # Where there is only text, `join` makes the value of it, or of `parts` that stand in its place:
    parts: Mapping[str, Option] = MappingProxyType({})
    join: Callable[..., object] | None = None
    own_kind: Kind | None = None  # what a caller in Python may give, where it is not as below

    @property
    def kind(self) -> Kind:
        """Return the allowed values, for callers in Python."""
        return self.own_kind or self.text_kind

    @property
    def text_kind(self) -> Kind:
        """Return the allowed values of a plain option, for callers who write text."""
        if self.choices:
            return Kind(self.choices.__contains__, f"one of {', '.join(self.choices)}")
        if self.type is int:
            return arguments.whole_numbers(int(self.least), self.most)
        if self.type is float:
            return arguments.number(self.least, self.most, is_below=self.is_below)
        if self.type is bool:
            return arguments.TRUTH
        return arguments.TEXTS if self.listed else arguments.TEXT

    def refuse(self, value: object) -> str:
        """Return why a value is invalid, as the end of a sentence."""
        return f"{self.text_kind.words}, not {value!r:.60}"


BUDGET = arguments.instance_of("clew.models.budget:Budget", "a clew.Budget")
_NUMBERS: Mapping[str, Mapping[str, Any]] = {
    "N": {"type": int},
    "SHARE": {"type": float, "most": 1},
    "RATE": {"type": float, "most": 1, "is_below": True},
}


def make_option(
    default: object,
    doc: str,
    declared: str = "",
    doors: str = "",
    kind: Kind | None = None,
    **about: Any,  # noqa: ANN401 -- of `Option`
) -> Option:
    """Return an option, declared for a command as in "--units SHARE".

    What stands for a value is "A|B" where it is one of some, "NAME..." where the option is
    repeated, "NAME,..." where it is a list, and for numbers one of `_NUMBERS`. An option that a
    command declares, or that has no kind, is plain; else its type is its default's.
    """
    flag, _, value = declared.partition(" ")
    about = {**_NUMBERS.get(value, {}), **about}
    if declared or kind is None:
        about.setdefault("type", type(default) if isinstance(default, bool | int | float) else str)
    if "|" in value:
        about["choices"] = tuple(value.split("|"))
    elif value.endswith(",..."):
        about |= {"listed": "commas", "metavar": value}
    elif value.endswith("..."):
        about |= {"listed": "repeated", "metavar": value.removesuffix("...")}
    else:
        about["metavar"] = value or None
    return Option(
        doc=doc, default=default, flag=flag, doors=frozenset(doors.split()), own_kind=kind, **about
    )


def option(default: object, *described: Any, **about: Any) -> Any:  # noqa: ANN401 -- as of `make_option`
    """Return a dataclass field with an option (see `make_option`)."""
    metadata = {"option": make_option(default, *described, **about)}
    if isinstance(default, Mapping):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def options_of(value: type) -> dict[str, Option]:
    """Return the options of a frozen dataclass by name, in field order."""
    fields = dataclasses.fields(value)
    return {each.name: each.metadata["option"] for each in fields if "option" in each.metadata}


def plain_options(value: type, door: str) -> dict[str, Option]:
    """Return the options of a text interface; compound values are split into their parts."""
    plain: dict[str, Option] = {}
    for name, each in options_of(value).items():
        if door in each.doors:
            plain |= each.parts or {name: each}
    return {name: each for name, each in plain.items() if each.type is not None}


def join_parts(value: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments for the plain options of an interface."""
    joined = dict(given)
    for name, each in options_of(value).items():
        parts = {part: joined.pop(part) for part in each.parts if part in joined}
        if each.join is not None and (parts or name in joined):
            joined[name] = each.join(**parts) if parts else each.join(joined[name])
    return joined


def check_options(value: object) -> None:
    """Raise InputError for the first invalid option of a frozen dataclass."""
    options = options_of(type(value))
    given = drop_defaults(options, {name: getattr(value, name) for name in options})
    arguments.check_arguments(given, {name: each.kind for name, each in options.items()})


def drop_defaults(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {
        name: value
        for name, value in given.items()
        if not (type(value) is type(options[name].default) and value == options[name].default)
    }


def with_options(
    options: Callable[P, V],
) -> Callable[[Callable[[S, A, V], T]], Callable[Concatenate[S, A, P], T]]:
    """Return a decorator that collects keyword options into one value for the method.

    `options` is the class of the value. Its fields stand in the method's signature and docstring in
    place of the method's last argument.
    """

    def decorate(method: Callable[[S, A, V], T]) -> Callable[Concatenate[S, A, P], T]:
        signature, own = inspect.signature(method), inspect.signature(options)
        *head, whole = signature.parameters.values()
        taken, known = {each.name for each in head}, options_of(options)  # type: ignore[arg-type]  # a class

        @wraps(method)
        def take_keywords(*given: Any, **keywords: Any) -> T:  # noqa: ANN401 -- as `signature`
            others = {name: keywords.pop(name) for name in taken & keywords.keys()}
            if unknown := [name for name in keywords if name not in known]:
                why = f"there is no argument {unknown[0]!r}{suggest(unknown[0], known)}"
                raise InputError(f"{why}: take one of {', '.join(known)}")
            return method(*given, **others, **{whole.name: options(**keywords)})  # type: ignore[call-arg]

        parameters = [*head, *own.parameters.values()]
        take_keywords.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        before, _, rest = (method.__doc__ or "").partition(f"{whole.name}: ")
        if rest:
            indent = before[before.rfind("\n") :]
            listed = indent.join(f"{name}: {each.doc}" for name, each in known.items())
            take_keywords.__doc__ = f"{before}{listed}\n{rest.partition(chr(10))[2]}"
        return take_keywords

    return decorate
