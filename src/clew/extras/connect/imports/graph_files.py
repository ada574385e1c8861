"""Read knowledge graph files from other programs: triples and entities.

docs/guides/graphs.md has the formats. In all but RDF an `_` of a relation is a space, and names are
kept as they are written; what `clew export` escapes and guards in a table is taken back. A row is
one line, also where quotes are around a cell, so that one quote too many costs one line. Whatever
cannot be used is reported with its line number, and the rest goes on.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from clew.base.display.visible import restore_unseen
from clew.base.runtime.arguments import SURROGATE
from clew.base.types import Extraction, Skipped
from clew.errors import InputError
from clew.extras.connect.cells import unguard
from clew.extras.connect.imports import rdf
from clew.extras.connect.imports.stated import Stated, explain_refusal, name_documents, to_strength
from clew.limits import LIMITS, ReadingLimits
from clew.readers.decode import open_text
from clew.readers.packed import plain_name
from clew.readers.table import read_rows
from clew.readers.triples import (
    IDS,
    document_id,
    entity,
    extraction,
    fields,
    json_value,
    read_items,
    triple,
)
from clew.readers.walk import File, files
from clew.text.normalize import collapse

_COLUMNS = {
    "subject": ("subject", "head", "source", "from", "s", "h"),
    "relation": ("relation", "predicate", "type", "edge", "p", "r"),
    "object": ("object", "tail", "target", "to", "o", "t"),
    "description": ("description",),
    "strength": ("strength", "weight"),
    "validity": ("validity",),
    "document": ("document", "document_id", "passage_id", "source_id"),
}
_NEEDED = ("subject", "relation", "object")
_ENTITIES = ("entity", "name")
_TRIPLES = ("triple", "fact", "evidence")  # keys of a list or object that is one
_QUOTED = re.compile(r'"(?:[^"]|"")*"')

_NEITHER = (
    "is neither a triple nor an entity: a triple has the keys "
    + ", ".join(
        f"{column!r} (or {', '.join(map(repr, _COLUMNS[column][1:]))})" for column in _NEEDED
    )
    + ", or 'triple' with a list of the three; an entity has 'entity' or 'name'; recorded triples "
    "have 'triples'"
)

T = TypeVar("T")
Parse = Callable[[list[str]], tuple[str, Extraction]]  # problems -> document id, what is said


def read_graph_file(path: str | Path, limits: ReadingLimits = LIMITS) -> Iterator[Stated | Skipped]:
    """Yield what a file states, line by line, after a report of each thing that cannot be used.

    Tables and JSON lines are read as the caller iterates. RDF is read twice: names first. A file
    that ends with `.gz` is first unpacked into a temporary one.

    Raises InputError at once if there is no such file or its suffix is that of no format. On the
    way it raises UnreadableSource if the file cannot be read, is no text, or holds no triple, and
    MissingExtra if RDF is to be read without the extra `rdf`.
    """
    file = replace(graph_file(path), limits=limits)
    suffix = plain_name(file.path).suffix.lower()
    if suffix not in _READERS:
        raise InputError(
            f"{file.source!r} is in no format of knowledge graphs that Clew knows. "
            f"Hint: its name should end with {', '.join(_READERS)}, or one of these and .gz, or "
            "with .graphml or .zip"
        )
    return read_items(file, _READERS[suffix], "triples")


def graph_file(path: str | Path) -> File:
    """Return the file at a path. Raises InputError if there is none."""
    path = Path(path)
    file = next(files([path])) if path.is_file() else None
    if not isinstance(file, File):
        raise InputError(f"there is no file {str(path)!r} of a knowledge graph")
    return file


def state_line(file: File, line: int, parse: Parse) -> Iterator[Stated | Skipped]:
    """Yield the statements of a line, after its problems."""
    problems: list[str] = []
    document, extracted = "", Extraction()
    try:
        document, extracted = parse(problems)
    except InputError as error:
        problems.append(str(error))
    for reason in problems:
        yield Skipped(source=file.source, reason=reason, line=line)
    for described in extracted.entities:
        yield Stated(described=described, document_id=document, line=line)
    for stated in extracted.triples:
        if "_" in stated.relation:
            words = collapse(stated.relation.replace("_", " "))
            stated = stated._replace(relation=words or stated.relation)  # noqa: PLW2901
        yield Stated(triple=stated, document_id=document, line=line)


def _read_json_lines(file: File) -> Iterator[Stated | Skipped]:
    with open_text(file, guess=False) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield from state_line(file, number, partial(_of_json, line))


def _of_json(line: str, problems: list[str]) -> tuple[str, Extraction]:
    value = json_value(line)
    if isinstance(value, list):
        return "", _one_triple(value, problems)
    return _of_record(fields(value), problems)


def _of_record(record: dict[str, object], problems: list[str]) -> tuple[str, Extraction]:
    if {"triples", "entities"} & record.keys():
        document = document_id(record) if set(IDS) & record.keys() else ""
        return document, extraction(record, explain_refusal, problems)
    whole = _first(record, _TRIPLES)
    if isinstance(whole, list | dict):
        more = {name: record[name] for name in _COLUMNS["document"] if name in record}
        item = {"document": _first(more, _COLUMNS["document"])}
        stated = _map_columns(fields(whole)) if isinstance(whole, dict) else whole
        return _document(item), _one_triple(stated, problems)
    item = _map_columns(record)
    if any(item[end] is not None for end in ("subject", "object")):
        return _document(item), _one_triple(item, problems)
    name = _first(record, _ENTITIES)
    if name is None:
        raise InputError(_NEITHER)
    described = entity({**record, "name": name}, None, "its entity", explain_refusal, problems)
    return _document(item), Extraction(entities=(described,) if described else ())


def _map_columns(record: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a triple by the names of `_COLUMNS`, or None."""
    return {column: _first(record, names) for column, names in _COLUMNS.items()}


def _first(values: Mapping[str, T], names: Sequence[str]) -> T | None:
    return next((values[name] for name in names if name in values), None)


def _document(item: Mapping[str, object]) -> str:
    return "" if item.get("document") is None else document_id(item, ("document",))


def _one_triple(item: object, problems: list[str]) -> Extraction:
    statement = triple(item, "its triple", explain_refusal, problems)
    return Extraction(triples=(statement,) if statement else ())


def _read_parquet(file: File) -> Iterator[Stated | Skipped]:
    for line, row in enumerate(read_rows(file.path, file.source, _refuse_columns), 1):
        record = fields(row)
        record["strength"] = to_strength(_first(record, _COLUMNS["strength"]))
        documents: list[object] = [*dict.fromkeys(name_documents(record))]
        for document in documents or [_first(record, _COLUMNS["document"])]:
            yield from state_line(file, line, partial(_of_record, {**record, "document": document}))


def _refuse_columns(columns: Sequence[str]) -> str:
    needed = (_COLUMNS[name] for name in _NEEDED)
    has_all = all({*names} & {*map(str.casefold, columns)} for names in needed)
    return "" if has_all else f"has no columns {', '.join(_NEEDED)}, only: {', '.join(columns)}"


def _read_table(file: File) -> Iterator[Stated | Skipped]:
    columns: Sequence[str] = ()
    delimiter = "\t"
    with open_text(file, guess=False) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if not columns:
                if file.path.suffix.lower() == ".csv":
                    delimiter = max(",;\t", key=line.count)
                columns, unused = _header(line, delimiter)
                for name in unused:
                    reason = f"its column {name!r} is not used"
                    yield Skipped(source=file.source, reason=reason, line=number)
                if columns:
                    continue
                columns = _NEEDED
            yield from state_line(file, number, partial(_of_row, line, delimiter, columns))


def _header(line: str, delimiter: str) -> tuple[Sequence[str], list[str]]:
    """Return the role of each column of a header, and the names of unknown ones.

    Both are empty if the line names no subject, no relation or no object: then it is a row.
    """
    try:
        cells = [cell.strip() for cell in _cells(line, delimiter)]
    except InputError:
        return (), []
    places = {cell.casefold(): place for place, cell in reversed(list(enumerate(cells)))}
    columns = [""] * len(cells)
    for column, names in _COLUMNS.items():
        place = _first(places, names)
        if place is not None:
            columns[place] = column
    if not set(_NEEDED) <= set(columns):
        return (), []
    pairs = zip(cells, columns, strict=True)
    return columns, [cell for cell, column in pairs if cell and not column]


def _of_row(
    line: str, delimiter: str, columns: Sequence[str], problems: list[str]
) -> tuple[str, Extraction]:
    cells = _cells(line, delimiter)
    if len(cells) != len(columns):
        raise InputError(f"has {len(cells)} columns, not {len(columns)}")
    pairs = zip(columns, cells, strict=True)
    item: dict[str, object] = {column: cell.strip() for column, cell in pairs if cell.strip()}
    item |= {name: restore_unseen(unguard(str(item[name]))) for name in _NEEDED if name in item}
    if "strength" in item:
        with suppress(ValueError):
            item["strength"] = float(str(item["strength"]))
    return _document(item), _one_triple(item, problems)


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line. Raises InputError for an invalid line.

    In CSV a cell with a quote or delimiter stands in quotes, and quotes are doubled. In TSV
    quotes around a cell mean the same, but others may stand anywhere.
    """
    if SURROGATE.search(line):
        raise InputError("is not valid UTF-8 text")
    line = line.rstrip("\r\n")
    if '"' not in line:
        return line.split(delimiter)
    if delimiter == "\t":
        cells = line.split(delimiter)
        return [c[1:-1].replace('""', '"') if _QUOTED.fullmatch(c) else c for c in cells]
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}") from None


_READERS: dict[str, Callable[[File], Iterator[Stated | Skipped]]] = {
    ".tsv": _read_table,
    ".csv": _read_table,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
    ".nt": rdf.read,
    ".ttl": rdf.read,
}
