"""CSV of Neo4j: what `neo4j-admin database import` takes, and what APOC exports.

A header says what its columns are: `:ID`, `:LABEL`, `:START_ID`, `:END_ID`, `:TYPE` and properties
with their types in files for nodes and for relationships, or `_id`, `_labels`, `_start`, `_end` and
`_type` in one file for both. It may be a file of its own, whose name has "header" behind that of
its data. A file of relationships without types is called by its type.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from clew.errors import UnreadableSource
from clew.extras.connect.imports.property_graph import PropertyNode, Relationship, state
from clew.readers.decode import open_text
from clew.readers.systems import System
from clew.readers.walk import File
from clew.text.cells import unguard

SYSTEM = "Neo4j CSV"
IS_COMMON = True
_COLUMN = re.compile(
    r"(?P<name>[^:]*)(?::(?P<type>\w+)(?P<list>\[\])?(?:\((?P<space>[^)]*)\))?.*)?"
)
_APOC = {"_id": "ID", "_labels": "LABEL", "_start": "START_ID", "_end": "END_ID", "_type": "TYPE"}
_HEADER = re.compile(r"[-_.]?headers?$", re.IGNORECASE)
_NUMBERS = {"int": int, "long": int, "short": int, "byte": int, "float": float, "double": float}


class _Column(NamedTuple):
    """A column by its header: "ID" and the like, or the type of a property."""

    name: str
    type: str
    is_list: bool
    space: str


class _Table(NamedTuple):
    """A file of data, with its columns; `skipped` lines are its header."""

    path: Path
    columns: Sequence[_Column]
    delimiter: str
    skipped: int


def locate(path: Path) -> Path | None:
    """Return the file, or the folder of files, whose headers are Neo4j's."""
    files = (each for each in _list_files(path) if each.suffix.lower() == ".csv")
    return path if any(_columns(_first_line(each)) for each in files) else None


def read(place: File) -> System:
    """Return the texts and statements of the CSV files of nodes and relationships."""
    tables, left = _find_tables(place.path)
    nodes = {}
    for table in tables:
        for line, cells in _rows(place, table):
            if own := _end(cells, "ID"):
                nodes[own] = PropertyNode(
                    labels=[label for label in re.split("[;:]", _cell(cells, "LABEL")) if label],
                    properties=_properties(cells),
                    line=line,
                )
    return System(
        name=SYSTEM, statements=state(place, nodes, _relationships(place, tables)), left=tuple(left)
    )


def _list_files(path: Path) -> list[Path]:
    return [each for each in (path, *sorted(path.glob("*.csv"))) if each.is_file()]


def _find_tables(path: Path) -> tuple[list[_Table], list[str]]:
    """Return the files of data, and the names of CSV files that are none of Neo4j's."""
    headers = {each: _columns(_first_line(each)) for each in _list_files(path)}
    apart = {
        _HEADER.sub("", each.stem): each
        for each, columns in headers.items()
        if columns and _HEADER.search(each.stem)
    }
    tables, left = [], []
    for each, columns in headers.items():
        of = max((stem for stem in apart if each.stem.startswith(stem)), key=len, default="")
        if each in apart.values():
            continue
        header = each if columns else apart.get(of)
        if header is None:
            left.append(each.name)
            continue
        line = _first_line(header)
        tables.append(_Table(each, _columns(line), _delimiter(line), int(header == each)))
    return tables, left


def _first_line(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.readline(1 << 16).decode("utf-8-sig", "replace").rstrip("\r\n")


def _delimiter(line: str) -> str:
    return max(",;\t|", key=line.count)


def _columns(line: str) -> list[_Column]:
    """Return the columns of a header; none where it is not one of Neo4j's."""
    try:
        cells = next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:
        return []
    if {"_id", "_labels"} <= {*cells} or {"_start", "_end"} <= {*cells}:
        return [_Column(cell, _APOC.get(cell, "string"), is_list=False, space="") for cell in cells]
    columns = []
    for cell in cells:
        match = _COLUMN.fullmatch(cell.strip())
        assert match is not None  # noqa: S101 -- it takes any text
        kind = match["type"] or "string"
        columns.append(_Column(match["name"], kind, bool(match["list"]), match["space"] or ""))
    types = {each.type for each in columns}
    return columns if "ID" in types or {"START_ID", "END_ID"} <= types else []


def _rows(place: File, table: _Table) -> Iterator[tuple[int, list[tuple[_Column, str]]]]:
    """Yield the cells that are not empty of each row, with its line."""
    source = place.source if table.path == place.path else f"{place.source}/{table.path.name}"
    file = File(path=table.path, id=place.id, source=source, limits=place.limits)
    with open_text(file, guess=False) as lines:
        reader = csv.reader(lines, delimiter=table.delimiter)
        try:
            for number, cells in enumerate(reader):
                if number >= table.skipped:
                    pairs = zip(table.columns, cells, strict=False)
                    yield reader.line_num, [(column, cell) for column, cell in pairs if cell]
        except csv.Error as error:
            reason = f"is not valid CSV: {error}"
            raise UnreadableSource(source, reason, reader.line_num) from None


def _cell(cells: Sequence[tuple[_Column, str]], kind: str) -> str:
    return next((cell for column, cell in cells if column.type == kind), "")


def _end(cells: Sequence[tuple[_Column, str]], kind: str) -> str:
    """Return the id of a node, in its space: the only ones that two nodes may not share."""
    pairs = ((column.space, cell) for column, cell in cells if column.type == kind)
    return next((f"{space}:{cell}" if space else cell for space, cell in pairs), "")


def _relationships(place: File, tables: Sequence[_Table]) -> Iterator[Relationship]:
    for table in tables:
        if not {"START_ID", "END_ID"} <= {each.type for each in table.columns}:
            continue
        for line, cells in _rows(place, table):
            start, end = _end(cells, "START_ID"), _end(cells, "END_ID")
            if start and end:
                kind = _cell(cells, "TYPE") or table.path.stem
                yield Relationship(start, end, kind, _properties(cells), line)


def _properties(cells: Sequence[tuple[_Column, str]]) -> dict[str, object]:
    """Return the properties of a row by their names, without its id."""
    apart = {"ID", "LABEL", "TYPE", "START_ID", "END_ID", "IGNORE", "point"}
    return {
        column.name: _value(column, cell)
        for column, cell in cells
        if column.name and column.type not in apart and column.name not in _APOC
    }


def _value(column: _Column, cell: str) -> object:
    convert = _NUMBERS.get(column.type, unguard)
    try:
        return [convert(each) for each in cell.split(";")] if column.is_list else convert(cell)
    except ValueError:
        return unguard(cell)
