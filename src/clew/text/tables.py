"""Find the tables of a text: rows of cells between bars, a line or paragraph each.

    | Port   | Summer |        Port | Summer        Port | Summer
    |--------|--------|
    | Bergen | 12     |        Bergen | 12          -----+-------
                                                    Bergen | 12
    Markdown                  what readers make       of a terminal

A rule below the first rows makes them the header. Without one all rows have as many cells, and are
paragraphs, begin with a bar, or are three or more lines of three cells or more; two paragraphs with
a bar each are none. The header is the first row that names columns then.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.normalize import collapse
from clew.text.sections import SEPARATOR

BAR = " | "
_LINE = compile_re(r"^(?:[^\n|]*\|[^\n]*|[ \t]*[-+][-+=:]*\+[-+=: \t\r]*)$", re.MULTILINE)
_RULE = compile_re(r"(?=.*[|+])(?=.*(?:--|==|-:|:-))[-+=:|\s]+|\|(?:\s*:?-+:?\s*\|)+\s*")
_BORDER = compile_re(r"(?<!\\)\|")  # below a rule
LONE_BAR = compile_re(r"(?<!\S)\|(?!\S)")
_NUMBER = compile_re(
    r"(?![12]\d\d\d$)[-+−]?\W{0,2}\d[\d.,'\s]*(?:\W{0,2}|[a-z]{1,3})", re.IGNORECASE
)
_LEAST = 3  # rows, and cells of each, of a table that nothing else shows to be one
_LEVELS = 3  # rows of a header, at most
_LONGEST = 400  # characters of the names of columns


class TextTable(NamedTuple):
    """A table: text[start:end], the positions of its rows, and its column names."""

    rows: tuple[tuple[int, int], ...]  # without rules
    n_head: int  # of the first of these, how many are the header
    columns: str  # their names, with bars between them, or ""

    @property
    def start(self) -> int:
        return self.rows[0][0]

    @property
    def body(self) -> int:
        """Return the start of the first row after the header, or the table's end."""
        return self.rows[self.n_head][0] if self.n_head < len(self.rows) else self.end

    @property
    def end(self) -> int:
        return self.rows[-1][1]


def find_tables(text: str) -> list[TextTable]:
    r"""Return the tables of a text, in order, in time linear in its length.

    >>> [table] = find_tables("Port | Summer\n\nBergen | 12\n\nOslo | 8")
    >>> table.columns, len(table.rows)
    ('Port | Summer', 3)
    """
    if "|" not in text:
        return []
    tables: list[TextTable] = []
    for run in _runs(text):
        tables += _tables_of(text, run)
    return tables


def read_table_rows(text: str, table: TextTable) -> tuple[list[str], list[list[str]]]:
    r"""Return the column names of a table, and the cells of each row after the header.

    >>> text = "Port | Summer\n\nBergen | 12\n\nOslo | "
    >>> [table] = find_tables(text)
    >>> read_table_rows(text, table)
    (['Port', 'Summer'], [['Bergen', '12'], ['Oslo', '']])
    """
    lines = [text[a:b].strip(" \t\r") for a, b in table.rows]
    is_framed = lines[0].startswith("|") and lines[0].endswith("|")
    split = _cells if is_framed else lambda line: [collapse(c) for c in LONE_BAR.split(line)]
    rows = [split(line) for line in lines]
    head = rows[: table.n_head]
    width = max(map(len, rows))
    columns = [dict.fromkeys(r[i] for r in head if i < len(r) and r[i]) for i in range(width)]
    return [" ".join(names) for names in columns], rows[table.n_head :]


def columns_of(section: str) -> str:
    """Return the column names at the end of a section, or ""."""
    last = section.rpartition(SEPARATOR)[2]
    return last if BAR in last else ""


def names_of_columns(text: str, places: Sequence[int]) -> list[str]:
    """Return for each position the column names of the table around it, or ""."""
    found = [find_table(text, place) for place in places]
    return ["" if table is None else table.columns for table in found]


def find_table(text: str, place: int) -> TextTable | None:
    """Return the table whose body contains a position, if any."""
    if not _is_row(text, place):
        return None
    tables = _cached_tables(text)
    i = bisect_right(tables, place, key=attrgetter("body")) - 1
    return tables[i] if i >= 0 and place < tables[i].end else None


@lru_cache(maxsize=4)
def _cached_tables(text: str) -> tuple[TextTable, ...]:
    """Return the tables of a text, cached for hits of one document."""
    return tuple(find_tables(text))


def _is_row(text: str, place: int) -> bool:
    """Check whether a position is in a line with a bar."""
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text.find("|", begin, len(text) if end < 0 else end) >= 0


def is_number(cell: str) -> bool:
    """Check whether a cell is a number, with unit or currency; a year is a name."""
    return bool(_NUMBER.fullmatch(cell))


def _runs(text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield runs of lines with bars, separated by at most one blank line."""
    run: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        between = text[run[-1][1] : line.start()] if run else ""
        if between.strip() or between.count("\n") > 2:  # one is blank
            yield run
            run = []
        run.append(line.span())
    if run:
        yield run


def _tables_of(text: str, run: Sequence[tuple[int, int]]) -> Iterator[TextTable]:
    """Yield the tables in a run of lines: below a rule, or with equal numbers of cells."""
    lines = [text[a:b].strip() for a, b in run]
    rules = {i for i, line in enumerate(lines) if _RULE.fullmatch(line)}
    rows = [i for i in range(len(run)) if i not in rules]
    if not rows:
        return
    first_rule = min((i for i in rules if i > rows[0]), default=None)
    if first_rule is not None and first_rule < len(run) - 1:
        n_head = sum(i < first_rule for i in rows)
        if n_head <= _LEVELS and rows[-1] > first_rule:
            head = [_cells(lines[i]) for i in rows[:n_head]]
            yield TextTable(tuple(run[i] for i in rows), n_head, _join_levels(head))
            return
    begin = 0
    counts = [len(LONE_BAR.findall(lines[i])) for i in rows]
    for k in range(1, len(rows) + 1):
        if k == len(rows) or counts[k] != counts[begin]:
            spans = [run[i] for i in rows[begin:k]]
            own = [lines[i] for i in rows[begin:k]]
            if _is_table(text, spans, own):
                first = [list(map(str.strip, LONE_BAR.split(line))) for line in own[: _LEVELS + 2]]
                n_head, columns = _find_head(first)
                yield TextTable(tuple(spans), n_head, columns)
            begin = k


def _is_table(text: str, spans: Sequence[tuple[int, int]], lines: Sequence[str]) -> bool:
    """Check whether rows of equal length are a table without a rule."""
    n_cells = len(LONE_BAR.findall(lines[0])) + 1
    if len(lines) < 2 or n_cells < 2 or max(len(lines), n_cells) < _LEAST:
        return False
    apart = text.count("\n", spans[0][1], spans[1][0]) > 1
    framed = all(line.startswith("|") for line in lines)
    return apart or framed or min(len(lines), n_cells) >= _LEAST


def _cells(line: str) -> list[str]:
    """Return the cells of a row; bars at its ends are no cells."""
    line = line.removeprefix("|")
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [collapse(cell) for cell in _BORDER.split(line)]


def _find_head(rows: Sequence[Sequence[str]]) -> tuple[int, str]:
    """Return the number of header rows, and the column names.

    Rows of one value say what the table is; one whose neighbours are equal goes on below. A row
    with a number that is no year is none of a header.
    """
    above = 0
    while above < len(rows) - 2 and len(set(filter(None, rows[above]))) < min(2, len(rows[above])):
        above += 1
    n = above + 1
    while n < len(rows) - 1 and n - above < _LEVELS and _goes_on(rows[n - 1]):
        n += 1
    if any(is_number(cell) for row in rows[above:n] for cell in row):
        return 0, ""
    if len(rows[above]) == 2 and any(map(str.isdigit, rows[above][1])):  # a label and its value
        return 0, ""
    return n, _join_levels(rows[above:n])


def _goes_on(row: Sequence[str]) -> bool:
    return any(a == b != "" for a, b in pairwise(row))


def _join_levels(rows: Sequence[Sequence[str]]) -> str:
    """Return column names joined over header rows, without repetitions."""
    width = max(map(len, rows))
    columns = [[row[i] for row in rows if i < len(row) and row[i]] for i in range(width)]
    names = BAR.join(" ".join(dict.fromkeys(each)) for each in columns if each)
    return names if len(names) <= _LONGEST else f"{names[: _LONGEST - 1].rstrip()}…"
