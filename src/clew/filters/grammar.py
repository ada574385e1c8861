"""Filters as people write them: `date >= 2024 and tags has 'fram'`; docs/guides/filters.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clew.errors import InputError
from clew.filters.expressions import KEYWORDS, Comparison, Filter, to_literal
from clew.text.periods import parse_period
from clew.types import Scalar

_MAX_TEXT, _MAX_DEPTH, _MAX_DIGITS = 10_000, 50, 100
_WORDS = ("in", "has", "like")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", *_WORDS)
_EXPECTED = "one of =, !=, <, <=, >, >=, has, like and in"
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<mark>!=|<=|>=|==|[=<>(),])
    |(?P<date>\d{4}-\d\d[\w:.+-]*)
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.-]))
    |(?P<word>[^\W\d][\w.:-]*)
    |'(?P<text>(?:[^']|'')*)'
    |"(?P<double>(?:[^"]|"")*)"
    |`(?P<quoted>(?:[^`]|``)+)`
    |(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_CONSTANTS: Mapping[str, Scalar] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "mark", "keyword", "name", "value" or "end"
    value: Scalar
    place: int


def parse(text: str) -> Filter:
    """Return the filter that a text says. Raises InputError, with the place, for one that does not.

    >>> str(parse("year >= 1893 and (tags has 'fram' or not draft = true)"))
    "year >= 1893 and (tags has 'fram' or not draft = true)"
    """
    if len(text) > _MAX_TEXT:
        raise InputError(f"a filter has at most {_MAX_TEXT:,} characters, not {len(text):,}")
    parser = _Parser(text, _tokens(text))
    found = parser.alternatives()
    parser.expect_end()
    return found


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            raise _syntax_error(text, place, "cannot be read")
        kind = match.lastgroup
        assert kind is not None  # noqa: S101 -- every alternative is a group
        tokens.append(_token(text, kind, match[kind], match.start(kind)))
        place = match.end()
    return tokens


def _token(text: str, kind: str, found: str, place: int) -> _Token:
    if kind in _UNQUOTED:
        return _UNQUOTED[kind](found, place)
    if kind == "date" and parse_period(found) is None:
        raise _syntax_error(text, place, "which is no date")
    if kind in {"text", "date"}:
        return _Token("value", found.replace("''", "'"), place)
    return _Token(kind, "=" if found == "==" else found, place)


def _word(found: str, place: int) -> _Token:
    word = found.lower()
    if word in _CONSTANTS:
        return _Token("value", _CONSTANTS[word], place)
    return _Token("keyword", word, place) if word in KEYWORDS else _Token("name", found, place)


def _number(found: str, place: int) -> _Token:
    is_whole = found.lstrip("+-").isdecimal() and len(found) <= _MAX_DIGITS
    return _Token("value", int(found) if is_whole else to_literal(float(found)), place)


_UNQUOTED: Mapping[str, Callable[[str, int], _Token]] = {
    "word": _word,
    "number": _number,
    "quoted": lambda found, place: _Token("name", found.replace("``", "`"), place),
    "double": lambda found, place: _Token("value", found.replace('""', '"'), place),
}


class _Parser:
    """Reads tokens from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str, tokens: Sequence[_Token]) -> None:
        self._text, self._tokens = text, tokens
        self._at = self._depth = 0

    def alternatives(self) -> Filter:
        found = self._conjunction()
        while self._accept("keyword", "or"):
            found |= self._conjunction()
        return found

    def _conjunction(self) -> Filter:
        found = self._negation()
        while self._accept("keyword", "and"):
            found &= self._negation()
        return found

    def _negation(self) -> Filter:
        negated = False
        while self._accept("keyword", "not"):
            negated = not negated
        found = self._operand()
        return ~found if negated else found

    def _operand(self) -> Filter:
        if not self._accept("mark", "("):
            return self._comparison()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error("is nested too deeply")
        found = self.alternatives()
        if not self._accept("mark", ")"):
            raise self._error("where ')' is expected")
        self._depth -= 1
        return found

    def _comparison(self) -> Filter:
        name = self._token
        if name.kind != "name":
            raise self._error("where the name of a field is expected")
        self._at += 1
        negated = self._accept("keyword", "not")  # as in "not in"
        operator = self._token.value
        is_operator = self._token.kind in {"mark", "keyword"} and operator in _OPERATORS
        if not is_operator or (negated and operator not in _WORDS):
            raise self._error(f"where {'in, has or like' if negated else _EXPECTED} is expected")
        self._at += 1
        value = self._values() if operator == "in" else self._value()
        found = Comparison(str(name.value), str(operator), value)
        return ~found if negated else found

    def _values(self) -> tuple[Scalar, ...]:
        if not self._accept("mark", "("):
            raise self._error("where '(' is expected")
        values = [self._value()]
        while self._accept("mark", ","):
            values.append(self._value())
        if not self._accept("mark", ")"):
            raise self._error("where ',' or ')' is expected")
        return tuple(values)

    def _value(self) -> Scalar:
        token = self._token
        if token.kind != "value":
            hint = f": write '{token.value}' for a text" if token.kind == "name" else ""
            raise self._error(f"where a value is expected{hint}")
        self._at += 1
        return token.value

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._error("where 'and', 'or' or the end is expected")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _accept(self, kind: str, value: str) -> bool:
        found = self._token.kind == kind and self._token.value == value
        self._at += found
        return found

    def _error(self, what: str) -> InputError:
        return _syntax_error(self._text, self._token.place, what)


def _syntax_error(text: str, place: int, what: str) -> InputError:
    rest = " ".join(text[place:].split())
    if not rest:
        return InputError(f"the filter {text!r:.200} ends {what}")
    return InputError(f"the filter has {rest!r:.60} at character {place + 1} {what}")
