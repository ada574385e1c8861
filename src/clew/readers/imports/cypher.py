"""Cypher that makes a graph: the dumps of APOC, and scripts of plain CREATE and MERGE.

Understood are UNWIND of a list or parameter, MATCH, CREATE and MERGE of patterns with labels and
properties, WHERE with equal properties, SET, and what shells put between: `:begin`, `:param`.
Constraints and indexes are passed over. A statement with anything else is named and not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any, NoReturn

from clew.readers.decode import text_of
from clew.readers.imports import System
from clew.readers.imports.property_graph import PropertyNode, Relationship, state
from clew.readers.triples import Stated
from clew.readers.walk import File
from clew.types import Skipped

SYSTEM = "Cypher"
_SUFFIXES = {".cypher", ".cql", ".cyp"}
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<quoted>`(?:``|[^`])*`)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    |(?P<word>\$?[^\W\d]\w*)
    |(?P<open>["'`].*|/\*.*)
    |(?P<sign><-|->|\+=|=>|[-+<>=(){}\[\],:;.|*/!&])""",
    re.VERBOSE | re.DOTALL,
)
_SHELL = re.compile(r"^[ \t]*:(?:begin|commit|auto|source|use)\b.*$", re.IGNORECASE | re.MULTILINE)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_PASSED = re.compile(
    r"create (?:constraint|index|range|text|fulltext|vector|lookup|point)\b"
    r"|(?:drop|call|schema|using|show)\b"
)
_MOST_DIGITS = 1_000  # of a whole number
_CONSTANTS = {"true": True, "false": False, "null": None}
_MARKS = {"UNIQUE IMPORT LABEL", "UNIQUE IMPORT ID"}  # what APOC takes off again


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    place: int


@dataclass(slots=True)
class _Pattern:
    """A node or relationship of a pattern: its properties are not computed yet."""

    variable: str = ""
    labels: tuple[str, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    is_backward: bool = False  # of a relationship: <-[...]-


class _NodeNumber(int):
    """The number of a node, which a variable stands for: no value of a script."""


class _NotUnderstoodError(Exception):
    """A statement goes beyond what is understood here."""


def locate(path: Path) -> Path | None:
    """Return the file itself where it is Cypher by its name."""
    return path if path.suffix.lower() in _SUFFIXES and path.is_file() else None


def read(place: File) -> System:
    """Return what the graph says that a script makes."""
    return System(name=SYSTEM, statements=_state(place))


def _state(place: File) -> Iterator[Stated | Skipped]:
    text = text_of(place)
    graph = _Graph()
    line = 1
    counted = 0
    for statement in _split_statements(_SHELL.sub(lambda shell: " " * len(shell[0]), text)):
        line += text.count("\n", counted, statement[0].place)
        counted = statement[0].place
        try:
            _Statement(statement, graph, line).run()
        except (_NotUnderstoodError, RecursionError) as error:
            where = "its nested brackets" if isinstance(error, RecursionError) else error
            reason = f"a statement is not understood at {where}"
            yield Skipped(source=place.source, reason=reason, line=line)
    yield from state(place, graph.as_nodes(), graph.relationships)


def _split_statements(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each statement."""
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        kind = str(match.lastgroup) if match else "other"
        token = _Token(kind, match[0] if match else text[place], place)
        place += len(token.text)
        if token.text == ";":
            if tokens:
                yield tokens
            tokens = []
        elif kind != "space":
            tokens.append(token)
    if tokens:
        yield tokens


class _Graph:
    """The nodes and relationships that a script has made so far, and its parameters."""

    def __init__(self) -> None:
        self.nodes: list[tuple[set[str], dict[str, Any], int]] = []
        self.relationships: list[Relationship] = []
        self.parameters: dict[str, Any] = {}
        self._index: dict[tuple[str, object], list[_NodeNumber]] = {}

    def add_node(self, pattern: _Pattern, line: int) -> _NodeNumber:
        """Add a node with what a pattern says of it."""
        number = _NodeNumber(len(self.nodes))
        self.nodes.append((set(pattern.labels), {}, line))
        self.set_properties(number, pattern.properties)
        return number

    def set_properties(self, node: _NodeNumber, properties: Mapping[str, Any]) -> None:
        """Set properties of a node, and let it be found by them."""
        for key, value in properties.items():
            self.nodes[node][1][key] = value
            if isinstance(value, str | int | float):
                self._index.setdefault((key, value), []).append(node)

    def find(self, pattern: _Pattern) -> list[_NodeNumber]:
        """Return the nodes that have all properties of a pattern, in the order of the file."""
        pairs = [(k, v) for k, v in pattern.properties.items() if isinstance(v, str | int | float)]
        if not pairs:
            return []
        candidates = min((self._index.get(pair, []) for pair in pairs), key=len)
        return [
            each
            for each in dict.fromkeys(candidates)
            if self.nodes[each][0].issuperset(pattern.labels)
            and all(self.nodes[each][1].get(key) == value for key, value in pairs)
        ]

    def as_nodes(self) -> dict[str, PropertyNode]:
        """Return the nodes by their numbers, without APOC's marks."""
        return {
            str(number): PropertyNode(
                labels=sorted(labels - _MARKS),
                properties={k: v for k, v in properties.items() if k not in _MARKS},
                line=line,
            )
            for number, (labels, properties, line) in enumerate(self.nodes)
        }


@dataclass(frozen=True, slots=True)
class _Reference:
    """A variable or parameter, and the keys that lead from it to a value."""

    name: str
    keys: tuple[str, ...]


class _Statement:
    """One statement, which is read and run from left to right."""

    def __init__(self, tokens: list[_Token], graph: _Graph, line: int) -> None:
        self._tokens, self._graph, self._line = tokens, graph, line
        self._at = 0
        self._rows: list[dict[str, Any]] = [{}]  # what the variables are; several after UNWIND

    def run(self) -> None:
        """Do what the statement says. Raises _NotUnderstoodError."""
        words = {*self._list_words()}
        starts = " ".join(each.text for each in self._tokens[:2]).lower()
        only_reads = starts.startswith("match ") and not {"CREATE", "MERGE", "SET"} & words
        if _PASSED.match(starts) or only_reads or {"DELETE", "REMOVE"} & words:
            return
        while self._at < len(self._tokens):
            self._run_clause()

    def _list_words(self) -> Iterator[str]:
        """Yield the words of the language, in capitals: none that is a name of something."""
        before = [_Token("", "", 0), *self._tokens]
        behind = [*self._tokens[1:], _Token("", "", 0)]
        for last, each, following in zip(before, self._tokens, behind, strict=False):
            is_name = last.text in {*":.,&([{"} or following.text in {":", "."}
            if each.kind == "word" and not is_name:
                yield each.text.upper()

    def _run_clause(self) -> None:
        word = self._take().upper()
        if word == ":":
            self._take("param")
            name = self._take()
            self._take("=>")
            self._graph.parameters[name] = self._value(self._parse_value(), {})
        elif word == "UNWIND":
            value = self._parse_value()
            self._take("AS")
            name = self._take()
            self._rows = [
                {**row, name: each}
                for row in self._rows
                for each in _as_list(self._value(value, row))
            ]
        elif word in {"MATCH", "CREATE", "MERGE"}:
            self._run_patterns(word)
        elif word == "SET":
            self._run_set()
        elif word == "ON":  # CREATE or MATCH, before SET
            self._take()
        elif word == "WITH":
            self._skip_names()
        elif word in {"RETURN", "BEGIN", "COMMIT"}:
            if word == "RETURN":
                self._at = len(self._tokens)
        else:
            self._refuse(-1)

    # -- patterns ---------------------------------------------------------------------------------

    def _run_patterns(self, word: str) -> None:
        paths = [self._parse_path()]
        while self._peek() == ",":
            self._take()
            paths.append(self._parse_path())
        if word == "MATCH" and self._peek().upper() == "WHERE":
            self._parse_where(paths)
        rows: list[dict[str, Any]] = []
        for row in self._rows:
            made = [row]
            for path in paths:
                made = [done for each in made for done in self._run_path(word, path, each)]
            rows += made
        self._rows = rows

    def _run_path(
        self, word: str, path: list[_Pattern], row: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the row with the variables of a path, once for each way in which it fits."""
        ways: list[tuple[dict[str, Any], list[_NodeNumber]]] = [(row, [])]
        for pattern in path[::2]:
            longer = []
            for variables, nodes in ways:
                for node in self._find_nodes(word, pattern, variables):
                    bound = {**variables, pattern.variable: node} if pattern.variable else variables
                    longer.append((bound, [*nodes, node]))
            ways = longer
        if word != "MATCH":
            for variables, nodes in ways:
                for place, relation in enumerate(path[1::2]):
                    self._relate(relation, nodes[place], nodes[place + 1], variables)
        return [variables for variables, _ in ways]

    def _find_nodes(
        self, word: str, pattern: _Pattern, variables: Mapping[str, Any]
    ) -> list[_NodeNumber]:
        if pattern.variable in variables:
            node = variables[pattern.variable]
            if not isinstance(node, _NodeNumber):
                self._refuse(0, f"{pattern.variable!r:.60}, which is no node")
            return [node]
        given = {key: self._value(value, variables) for key, value in pattern.properties.items()}
        known = _Pattern(pattern.variable, pattern.labels, given)
        if word == "MATCH" and not given:
            self._refuse(0, "a MATCH of nodes without properties")
        there = [] if word == "CREATE" else self._graph.find(known)
        return there or ([] if word == "MATCH" else [self._graph.add_node(known, self._line)])

    def _relate(self, pattern: _Pattern, one: int, other: int, variables: dict[str, Any]) -> None:
        given = {key: self._value(value, variables) for key, value in pattern.properties.items()}
        start, end = (other, one) if pattern.is_backward else (one, other)
        kind = next(iter(pattern.labels), "")
        self._graph.relationships.append(
            Relationship(str(start), str(end), kind, given, self._line)
        )
        if pattern.variable:
            variables[pattern.variable] = self._graph.relationships[-1]

    def _parse_path(self) -> list[_Pattern]:
        """Return nodes and the relationships between them, by turns."""
        if self._peek(1) == "=":
            self._at += 2
        path = [self._parse_node()]
        while self._peek() in {"-", "<-"}:
            is_backward = self._take() == "<-"
            relation = _Pattern()
            if self._peek() == "[":
                self._take()
                relation = self._parse_inside("]")
                self._take("-" if is_backward or self._peek() == "-" else "->")
            elif self._take() not in {"-", "->"}:
                self._refuse(-1)
            relation.is_backward = is_backward
            path += [relation, self._parse_node()]
        return path

    def _parse_node(self) -> _Pattern:
        self._take("(")
        return self._parse_inside(")")

    def _parse_inside(self, closing: str) -> _Pattern:
        """Return what stands in the brackets of a node or relationship."""
        pattern = _Pattern()
        if self._peek() not in {":", "{", closing}:
            pattern.variable = self._take_name()
        while self._peek() in {":", "&"}:
            self._take()
            pattern.labels += (self._take_name(),)
        if self._peek() == "{":
            pattern.properties = self._parse_value()
        self._take(closing)
        return pattern

    def _parse_where(self, paths: list[list[_Pattern]]) -> None:
        """Add equal properties to the patterns of their variables."""
        patterns = {each.variable: each for path in paths for each in path[::2]}
        while self._take().upper() in {"WHERE", "AND"}:
            name = self._take_name()
            self._take(".")
            key = self._take_name()
            self._take("=")
            if name not in patterns:
                self._refuse(-1)
            patterns[name].properties[key] = self._parse_value()
            if self._peek().upper() != "AND":
                return
        self._refuse(-1)

    # -- SET, WITH --------------------------------------------------------------------------------

    def _run_set(self) -> None:
        while True:
            name = self._take_name()
            sign = self._take()
            if sign == ":":
                self._at -= 1
                labels = set()
                while self._peek() == ":":
                    self._take()
                    labels.add(self._take_name())
                for row in self._rows:
                    if isinstance(row.get(name), _NodeNumber):
                        self._graph.nodes[row[name]][0].update(labels)
            else:
                key = self._take_name() if sign == "." else ""
                if sign == ".":
                    self._take("=")
                elif sign not in {"+=", "="}:
                    self._refuse(-1)
                value = self._parse_value()
                for row in self._rows:
                    self._set(row.get(name), key, self._value(value, row))
            if self._peek() != ",":
                return
            self._take()

    def _set(self, of: object, key: str, value: object) -> None:
        given = {key: value} if key else value
        if not isinstance(given, Mapping):
            return
        if isinstance(of, _NodeNumber):
            self._graph.set_properties(of, given)
        elif isinstance(of, Relationship):
            of.properties.update(given)

    def _skip_names(self) -> None:
        clauses = {"MATCH", "CREATE", "MERGE", "SET", "UNWIND", "RETURN", ""}
        while self._peek().upper() not in clauses:
            self._take()

    # -- values -----------------------------------------------------------------------------------

    def _parse_value(self) -> Any:  # noqa: ANN401 -- any value of JSON, or a reference
        kind = self._tokens[self._at].kind if self._at < len(self._tokens) else ""
        text = self._take()
        if kind == "text":
            plain = _ESCAPE.sub(_unescape, text[1:-1])
            return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if kind == "number":
            is_whole = not set(text) & {*".eE"} and len(text) <= _MOST_DIGITS
            return int(text) if is_whole else float(text)
        if text == "[":
            return self._parse_several("]", self._parse_value)
        if text == "{":
            return dict(self._parse_several("}", self._parse_pair))
        if text == "-" and self._peek()[:1].isdigit():
            return -self._parse_value()
        return self._parse_word(text) if kind in {"word", "quoted"} else self._refuse(-1)

    def _parse_word(self, text: str) -> Any:  # noqa: ANN401 -- as above
        """Return a constant, the text that a function such as date() is given, or a reference."""
        if text.lower() in _CONSTANTS:
            return _CONSTANTS[text.lower()]
        if self._peek() == "(":
            self._take()
            given = self._parse_several(")", self._parse_value)
            return given[0] if given and isinstance(given[0], str) else None
        keys = []
        while self._peek() == ".":
            self._take()
            keys.append(self._take_name())
        return _Reference(_name(text), tuple(keys))

    def _parse_several(self, closing: str, parse: Callable[[], Any]) -> list[Any]:
        values = []
        while self._peek() != closing:
            values.append(parse())
            if self._peek() == ",":
                self._take()
            elif self._peek() != closing:
                self._refuse(0)
        self._take()
        return values

    def _parse_pair(self) -> tuple[str, Any]:
        key = self._take_name()
        self._take(":")
        return key, self._parse_value()

    def _value(self, value: Any, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- as above
        """Return a value with what its references stand for."""
        if isinstance(value, _Reference):
            is_parameter = value.name.startswith("$")
            found = (
                self._graph.parameters.get(value.name[1:]) if is_parameter else row.get(value.name)
            )
            for key in value.keys:
                found = found.get(key) if isinstance(found, Mapping) else None
            return found
        if isinstance(value, list):
            return [self._value(each, row) for each in value]
        if isinstance(value, dict):
            return {key: self._value(each, row) for key, each in value.items()}
        return value

    # -- tokens -----------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place].text if place < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        text = self._peek()
        if not text or (wanted and text.upper() != wanted.upper()):
            self._refuse(0)
        self._at += 1
        return text

    def _take_name(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at].kind in {"word", "quoted"}:
            return _name(self._take())
        return self._refuse(0)

    def _refuse(self, ahead: int, what: str = "") -> NoReturn:
        here = " ".join(each.text for each in self._tokens[max(self._at + ahead, 0) :][:4])
        raise _NotUnderstoodError(what or repr(shorten(here, 60, placeholder=" ...") or "its end"))


def _as_list(value: object) -> list[Any]:
    """Return what UNWIND makes rows of."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _name(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code.startswith("u") and len(code) == 5:
        return chr(int(code[1:], 16))  # which may be half of a pair
    return _ESCAPED.get(code, code)
