"""Import Microsoft GraphRAG: Parquet files of texts, entities and relationships.

Names of files and columns are those of its versions 1 to 3. A relationship has a sentence instead
of a relation: see `saying`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clew.base.types import Document, Skipped
from clew.extras.connect.imports.saying import (
    describe,
    distinct_documents,
    make_documents,
    relate,
    spell_names,
    unquote_name,
)
from clew.extras.connect.imports.stated import Stated
from clew.extras.connect.imports.systems import System, only_folder
from clew.readers.table import read_rows
from clew.readers.walk import File

SYSTEM = "GraphRAG"
_LEFT = {
    "community_reports": "community reports",
    "communities": "communities",
    "covariates": "claims",
}

Row = Mapping[str, object]


def locate(path: Path) -> Path | None:
    """Return the output folder of a project."""
    return only_folder(path, "relationships.parquet", ("output",))


def read(place: File) -> System:
    """Return the texts of a project, and the entities and triples of its graph."""
    texts = {
        str(row.get("id")): (str(row.get("title") or ""), str(row.get("text") or ""))
        for row in _rows(place, "documents")
    }
    ids, documents = make_documents(place, texts)
    owners = {
        str(row.get("id")): [
            ids[own] for own in _several(row, "document_ids", "document_id") if own in ids
        ]
        for row in _rows(place, "text_units")
    }
    counts = ((sum(1 for _ in _rows(place, name)), words) for name, words in _LEFT.items())
    left = [f"{n:,} {words}" for n, words in counts if n]
    return System(
        name=SYSTEM,
        documents=documents,
        statements=_state(place, owners, documents),
        left=tuple(left),
    )


def _state(
    place: File, owners: Mapping[str, list[str]], documents: Sequence[Document]
) -> Iterator[Stated | Skipped]:
    rows = {unquote_name(str(row.get("title") or "")): row for row in _rows(place, "entities")}
    of = {
        name: distinct_documents(owners, _several(row, "text_unit_ids"))
        for name, row in rows.items()
    }
    names = spell_names(of, documents)
    for line, (name, row) in enumerate(rows.items(), 1):
        about, kind = (unquote_name(str(row.get(key) or "")) for key in ("description", "type"))
        yield from describe(place, names[name], kind, about, of[name], line=line)
    for line, row in enumerate(_rows(place, "relationships"), 1):
        source, target = (unquote_name(str(row.get(end) or "")) for end in ("source", "target"))
        yield from relate(
            place,
            (names.get(source, source), names.get(target, target)),
            unquote_name(str(row.get("description") or "")),
            distinct_documents(owners, _several(row, "text_unit_ids")),
            line=line,
            weight=row.get("weight"),
        )


def _rows(place: File, name: str) -> Iterator[Row]:
    """Yield the rows of a table, none if the file does not exist."""
    path = place.path / f"{name}.parquet"
    if path.exists():
        yield from read_rows(path, f"{place.source}/{path.name}")


def _several(row: Row, *names: str) -> list[str]:
    """Return the ids in the first existing column, which has one id or a list."""
    value = next((row[name] for name in names if row.get(name)), [])
    return [str(each) for each in value] if isinstance(value, list) else str(value).split(",")
