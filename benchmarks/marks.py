"""Numbers in Markdown that a program keeps: whole tables, and single cells of them in prose.

    <!-- table: NAME -->          a Markdown table stands here, its first column names its rows
    <!-- end -->
    ... <!-- = NAME / ROW / COLUMN -->0.915 ...     a cell of that table, the word behind the mark

What is filled in is compared with what stood there: `ok` is the same text, `near` a difference
that the machine or a tie explains, `off` any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

NEAR_SCORE = 0.01  # of scores, which are from 0 to 1
NEAR_RATIO = 2.0  # of seconds, which depend on the machine
TIMED = re.compile(r"\bs\b|seconds")  # columns of seconds

_BLOCK = re.compile(r"(<!-- table: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_CELL = re.compile(r"(<!-- = (?P<key>[^>]+?) -->)(?P<value>[^\s,;:)|]*[^\s,;:)|.])")
_BREAK = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of the same length, the first cell of each its name."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    partial: bool = field(default=False, compare=False)  # other rows of a page are kept

    @property
    def names(self) -> frozenset[str]:
        """The names of the rows."""
        return frozenset(row[0] for row in self.rows)

    def cell(self, row: str, column: str) -> str:
        """Return one cell; KeyError where there is no such row or column."""
        found = next((each for each in self.rows if each[0] == row), None)
        if found is None or column not in self.header:
            raise KeyError(f"{row} / {column}")
        return found[self.header.index(column)]


class Compared(NamedTuple):
    """One number that was written anew."""

    place: str  # table / row / column
    before: str
    after: str
    verdict: str  # "ok", "near", "off" or "new"


def markdown(table: Table) -> str:
    """Return the table as Markdown, its numbers to the right."""
    head = ["---", *("---:" for _ in table.header[1:])]
    return "".join(
        f"| {' | '.join(map(_escaped, row))} |\n" for row in (table.header, head, *table.rows)
    )


def read(text: str) -> dict[str, Table]:
    """Return the tables of a page by name."""
    return {match["name"]: _table(match.group(0)) for match in _BLOCK.finditer(text)}


def cells(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of each number in the prose of a page."""
    return ((match["key"], match["value"]) for match in _CELL.finditer(text))


def find(tables: Mapping[str, Table], key: str) -> str:
    """Return the cell that NAME / ROW / COLUMN names; KeyError where there is none."""
    name, row, column = (part.strip() for part in key.split(" / "))
    return tables[name].cell(row, column)


def fill(text: str, tables: Mapping[str, Table]) -> tuple[str, list[Compared]]:
    """Return the page with every mark of `tables` filled, and how each number compares.

    Marks of other tables stay as they are. KeyError for a cell that its table lacks.
    """
    compared: list[Compared] = []
    before = read(text)

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in tables:
            return match.group(0)
        compared.extend(_compared(name, before[name], tables[name]))
        return f"{match.group(1)}{markdown(_joined(before[name], tables[name]))}{match.group(3)}"

    def cell(match: re.Match[str]) -> str:
        key = match["key"]
        table = tables.get(key.split(" / ")[0])
        if table is None or (table.partial and key.split(" / ")[1] not in table.names):
            return match.group(0)
        value = find(tables, key)
        compared.append(_verdict(f"in prose: {key}", match["value"], value))
        return f"{match.group(1)}{value}"

    return _CELL.sub(cell, _BLOCK.sub(block, text)), compared


def _table(block: str) -> Table:
    lines = [line for line in block.splitlines() if line.startswith("|")]
    parsed = [tuple(map(_plain, _BREAK.split(line)[1:-1])) for line in lines]
    return Table(parsed[0], tuple(parsed[2:])) if parsed else Table((), ())


def _joined(before: Table, after: Table) -> Table:
    """Return a table with the rows of before that a partial one lacks, in their places."""
    if after.partial and not after.rows:
        return before
    if not after.partial or before.header != after.header:
        return after
    new = {row[0]: row for row in after.rows}
    kept = [new.pop(row[0], row) for row in before.rows]
    return Table(after.header, (*kept, *new.values()))


def _compared(name: str, before: Table, after: Table) -> Iterator[Compared]:
    for row in after.rows:
        for column, value in zip(after.header[1:], row[1:], strict=True):
            if _NUMBER.search(value):
                yield _verdict(f"{name} / {row[0]} / {column}", _was(before, row[0], column), value)


def _was(table: Table, row: str, column: str) -> str:
    try:
        return table.cell(row, column)
    except KeyError:
        return ""


def _verdict(place: str, before: str, after: str) -> Compared:
    if before == after:
        return Compared(place, before, after, "ok")
    if not before:
        return Compared(place, before, after, "new")
    pair = list(zip(_numbers(before), _numbers(after), strict=False))
    timed = TIMED.search(place.rsplit(" / ", 1)[-1]) is not None
    near = bool(pair) and all(_near(a, b, timed=timed) for a, b in pair)
    return Compared(place, before, after, "near" if near else "off")


def _near(a: float, b: float, *, timed: bool) -> bool:
    if timed:
        return max(a, b) <= NEAR_RATIO * min(a, b) or abs(a - b) <= NEAR_SCORE
    return abs(a - b) <= NEAR_SCORE * max(1.0, abs(a))


def _numbers(text: str) -> Sequence[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _plain(cell: str) -> str:
    return cell.strip().replace("\\|", "|")
