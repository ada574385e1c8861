"""Tables of an index by columns, gathered over postings: those in texts, and files of records."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.derived import Derived
from clew.steps.rankings import lexical_ranking
from clew.steps.scores import term_rows
from clew.text.counting import read_tokens
from clew.text.forms import list_forms
from clew.text.normalize import collapse
from clew.text.tables import find_tables, read_table_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.snapshot import Snapshot
    from clew.types import Document

_CHUNKS = 200  # the best by BM25, whose tables are looked at
_SUMMED = frozenset(
    "total totals sum subtotal all average mean overall summe gesamt total: sum:".split()
)


class DataRow(NamedTuple):
    """A row: its cells, and where it stands. A document's row counts in the snapshot."""

    cells: tuple[str, ...]
    document: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows with the same columns, of a table or of several that have these."""

    columns: tuple[str, ...]
    caption: str  # titles, sections and names of files above it
    rows: tuple[DataRow, ...]
    files: tuple[str, ...]  # that have it

    def column(self, i: int) -> list[str]:
        """Return the cells of a column."""
        return [row.cells[i] for row in self.rows]


def gather_tables(snapshot: Snapshot, question: str) -> list[DataTable]:
    """Return the tables that have words of a question, each with all of its rows.

    Tables with the same columns are one; a row that several documents have is in it once. Rows of
    sums are left out. Read are the documents of the 200 best chunks, and of files of records all.
    """
    best = lexical_ranking(snapshot, _add_forms(question), _CHUNKS).best(_CHUNKS, positive=True)
    owners = snapshot.layer("chunk").columns["document"][best]
    named = [
        row for token in read_tokens(question) for row in snapshot.get(_FILES).get(token.base, ())
    ]
    rows = list(dict.fromkeys([*named, *owners.tolist()]))
    parts: dict[tuple[str, ...], list[DataTable]] = {}
    files: set[str] = set()
    for row, document in zip(rows, snapshot.documents(rows), strict=True):
        if is_record(document):
            place = document.source.rpartition(":")[0]
            if place not in files:
                files.add(place)
                _add(parts, _read_records(snapshot, place, document))
        else:
            for table in _read_tables(row, document):
                _add(parts, table)
    return [_join(tables) for tables in parts.values()]


def _name_files(snapshot: Snapshot) -> dict[str, list[int]]:
    """Return one document of each file of records by the words of the file's name."""
    layer = snapshot.layer("document")
    files: dict[str, int] = {}
    for row, id_ in enumerate(layer.ids(range(len(layer)))):
        name, _, line = id_.rpartition(":")
        if line.isdigit():
            files.setdefault(name, row)
    named: dict[str, list[int]] = {}
    for name, row in files.items():
        for token in read_tokens(split_name(_file_name(name))):
            named.setdefault(token.base, []).append(row)
    return named


_FILES = Derived("files of records by the words of their names", _name_files)


def split_name(name: str) -> str:
    """Return the words of a name as programs write it: "homePort", "sales-2024.csv"."""
    return _WORDS.sub(" ", name)


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.-]")


def is_record(document: Document) -> bool:
    """Say whether a document is a row of a table: "code: SH-7; shares: 1,200"."""
    first = next(iter(document.metadata), None)
    return (
        first is not None
        and document.source.rpartition(":")[2].isdigit()
        and (": " in document.text and "\n" not in document.text and bool(_record_names(document)))
    )


def _record_names(document: Document) -> list[str]:
    """Return the columns of a record that its text names, none where it is another text."""
    names = [collapse(name) for name in document.metadata]
    full = [
        f"{name}: "
        for name, (key, value) in zip(names, document.metadata.items(), strict=True)
        if value not in (None, "")
    ]
    if not full or not all(each in document.text for each in full):
        return []
    titles = [t for t in _TITLE.findall(document.text) if t not in names]
    return [*titles[:1], *names]


_TITLE = re.compile(r"(?:^|; )((?i:title|name|heading)): ")


def _add_forms(question: str) -> str:
    """Return a question with the forms of its words."""
    words = dict.fromkeys(re.findall(r"\w+", question.casefold()))
    return " ".join([question, *dict.fromkeys(form for word in words for form in list_forms(word))])


def _add(parts: dict[tuple[str, ...], list[DataTable]], table: DataTable | None) -> None:
    if table is not None and table.rows:
        parts.setdefault(tuple(name.casefold() for name in table.columns), []).append(table)


def _join(tables: Sequence[DataTable]) -> DataTable:
    """Return tables of the same columns as one: of equal rows, as many as one of them has."""
    rows: list[DataRow] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for table in tables:
        own: Counter[tuple[str, ...]] = Counter()
        for row in table.rows:
            key = tuple(map(_plain, row.cells))
            own[key] += 1
            if own[key] > seen[key]:
                rows.append(row)
        seen |= own
    captions = dict.fromkeys(table.caption for table in tables)
    files = dict.fromkeys(name for table in tables for name in table.files)
    return DataTable(tables[0].columns, " ".join(captions), tuple(rows), tuple(files))


def _plain(cell: str) -> str:
    """Return a cell without the marks in its numbers: "1,000" and "1000" are the same."""
    return _THOUSANDS.sub("", cell.casefold())


_THOUSANDS = re.compile(r"(?<=\d)[,\s](?=\d{3}(?!\d))")


def _read_tables(row: int, document: Document) -> Iterator[DataTable]:
    """Yield the tables of a text whose columns have names."""
    for table in find_tables(document.text):
        columns, rows = read_table_rows(document.text, table)
        if not table.n_head or sum(map(bool, columns)) < 2:
            continue
        places = table.rows[table.n_head :]
        width = len(columns)
        read = (
            DataRow((*cells, *[""] * (width - len(cells))), row, *_trim(document.text, *place))
            for cells, place in zip(rows, places, strict=True)
        )
        caption = " ".join([document.title, document.section_at(table.start), document.id])
        own = tuple(r for r in read if not _is_sum(r.cells))
        yield DataTable(tuple(columns), caption, own, (_file_name(document.source or document.id),))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    line = text[start:end]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _is_sum(cells: Sequence[str]) -> bool:
    first = next(filter(None, cells), "")
    return first.casefold().partition(" ")[0] in _SUMMED and not first.casefold().startswith("all ")


def _read_records(snapshot: Snapshot, place: str, one: Document) -> DataTable | None:
    """Return the rows of a file of which one row is given, by the postings of its columns."""
    names = _record_names(one)
    terms = np.array([r for r in term_rows(snapshot, " ".join(names)) if r >= 0], dtype=np.intp)
    posted = snapshot.linked("term", "chunk").entries_of(terms).indices
    owners = snapshot.layer("chunk").columns["document"][posted]
    counts = np.bincount(owners, minlength=len(snapshot.layer("document")))
    candidates = np.flatnonzero(2 * counts >= len(terms)).tolist() if len(terms) else []
    kept: list[tuple[int, int, Document]] = []
    columns = dict.fromkeys(names)
    for row, document in zip(candidates, snapshot.documents(candidates), strict=True):
        above, _, line = document.source.rpartition(":")
        if above == place and line.isdigit():
            kept.append((int(line), row, document))
            columns |= dict.fromkeys(collapse(name) for name in document.metadata)
    kept.sort(key=lambda each: each[:2])
    pattern = re.compile(
        rf"(?:^|; )({'|'.join(map(re.escape, sorted(columns, key=len, reverse=True)))}): "
    )
    rows = (
        DataRow(tuple(_split_record(document.text, pattern, columns)), row, 0, len(document.text))
        for _, row, document in kept
    )
    file = _file_name(place)
    return DataTable(tuple(columns), file, tuple(r for r in rows if not _is_sum(r.cells)), (file,))


def _file_name(place: str) -> str:
    return re.split(r"[/\\]", place)[-1]


def _split_record(text: str, pattern: re.Pattern[str], columns: Iterable[str]) -> list[str]:
    matches = list(pattern.finditer(text))
    ends = [m.start() for m in matches[1:]] + [len(text)]
    values = {
        m[1]: text[m.end() : end] for m, end in zip(reversed(matches), reversed(ends), strict=True)
    }
    return [values.get(name, "") for name in columns]
