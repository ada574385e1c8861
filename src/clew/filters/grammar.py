"""Parse filters such as `date >= 2024 and tags has 'fram'`; see docs/guides/filters.md."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.base.types import Scalar
from clew.errors import InputError
from clew.filters.expressions import KEYWORDS, Comparison, Filter, ValidOn, to_literal
from clew.text.dates import parse_period

_MAX_TEXT, _MAX_DEPTH, _MAX_DIGITS = 10_000, 50, 100
_WORDS = ("in", "has", "like")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", *_WORDS)
_EXPECTED = "one of =, !=, <, <=, >, >=, has, like and in"
_TOKEN = compile_re(
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
_QUOTES = {"text": "'", "date": "'", "double": '"', "quoted": "`"}  # of a date there are none


class _Token(NamedTuple):
    kind: str  # "mark", "keyword", "name", "value" or "end"
    value: Scalar
    place: int


def parse(text: str) -> Filter:
    """Parse a filter. Raises InputError with the position of a syntax error.

    >>> str(parse("year >= 1893 and (tags has 'fram' or not draft = true)"))
    "year >= 1893 and (tags has 'fram' or not draft = true)"
    """
    if len(text) > _MAX_TEXT:
        raise InputError(f"a filter can have at most {_MAX_TEXT:,} characters, not {len(text):,}")
    return _Parser(text).parse()


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


def _token(text: str, kind: str, written: str, place: int) -> _Token:
    if kind == "word":
        word = written.lower()
        if word in _CONSTANTS:
            return _Token("value", _CONSTANTS[word], place)
        if word in KEYWORDS:
            return _Token("keyword", word, place)
        return _Token("name", written, place)
    if kind == "number":
        is_whole = written.lstrip("+-").isdecimal() and len(written) <= _MAX_DIGITS
        return _Token("value", int(written) if is_whole else to_literal(float(written)), place)
    if kind == "date" and parse_period(written) is None:
        raise _syntax_error(text, place, "which is no date")
    if kind in _QUOTES:
        value = written.replace(2 * _QUOTES[kind], _QUOTES[kind])
        return _Token("name" if kind == "quoted" else "value", value, place)
    return _Token(kind, "=" if written == "==" else written, place)


class _Parser:
    """Recursive descent parser: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens = text, _tokens(text)
        self._at = self._depth = 0

    def parse(self) -> Filter:
        parsed = self._alternatives()
        if self._token.kind != "end":
            raise self._error("where 'and', 'or' or the end is expected")
        return parsed

    def _alternatives(self) -> Filter:
        parsed = self._conjunction()
        while self._accept("keyword", "or"):
            parsed |= self._conjunction()
        return parsed

    def _conjunction(self) -> Filter:
        parsed = self._negation()
        while self._accept("keyword", "and"):
            parsed &= self._negation()
        return parsed

    def _negation(self) -> Filter:
        negated = False
        while self._accept("keyword", "not"):
            negated = not negated
        parsed = self._operand()
        return ~parsed if negated else parsed

    def _operand(self) -> Filter:
        if not self._accept("mark", "("):
            return self._comparison()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error("is nested too deeply")
        parsed = self._alternatives()
        if not self._accept("mark", ")"):
            raise self._error("where ')' is expected")
        self._depth -= 1
        return parsed

    def _validity(self) -> ValidOn:
        token = self._token
        if token.kind != "value" or parse_period(str(token.value)) is None:
            raise self._error("where a date such as 2024-05-01 is expected")
        self._at += 1
        return ValidOn(str(token.value))

    def _comparison(self) -> Filter:
        name = self._token
        if name.kind != "name":
            raise self._error("where the name of a field is expected")
        self._at += 1
        if name.value == "valid" and self._accept("name", "on"):
            return self._validity()
        negated = self._accept("keyword", "not")  # as in "not in"
        operator = self._token.value
        is_operator = self._token.kind in {"mark", "keyword"} and operator in _OPERATORS
        if not is_operator or (negated and operator not in _WORDS):
            raise self._error(f"where {'in, has or like' if negated else _EXPECTED} is expected")
        self._at += 1
        value = self._values() if operator == "in" else self._value()
        comparison = Comparison(str(name.value), str(operator), value)
        return ~comparison if negated else comparison

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

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _accept(self, kind: str, value: str) -> bool:
        is_next = self._token.kind == kind and self._token.value == value
        self._at += is_next
        return is_next

    def _error(self, what: str) -> InputError:
        return _syntax_error(self._text, self._token.place, what)


def _syntax_error(text: str, place: int, what: str) -> InputError:
    rest = " ".join(text[place:].split())
    if not rest:
        return InputError(f"the filter {text!r:.200} ends {what}")
    return InputError(f"the filter has {rest!r:.60} at character {place + 1} {what}")
