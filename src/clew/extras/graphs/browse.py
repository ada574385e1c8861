"""List and describe the documents and entities of a snapshot, as JSON values.

The snapshot contains only documents that the caller may see. Offsets count code points, as in
Python, not UTF-16 units.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import neighbours
from clew.algo.topk import positive_top_k
from clew.base.derived import Derived
from clew.base.display.shown import make_view
from clew.base.reports import Theme
from clew.base.types import Document, Value
from clew.errors import InputError
from clew.extras.wire.indexes import (
    ChunkPlace,
    DocumentLine,
    DocumentView,
    EntityLine,
    EntityText,
    EntityView,
    FieldView,
    Listed,
    NearEntity,
    StatedTriple,
)
from clew.extras.wire.refusals import no_such_resource
from clew.index.snapshot import Snapshot
from clew.index.snapshot.layers import TripleLayer
from clew.steps.entity_types import find_entry, find_types
from clew.steps.theme_descriptions import describe_themes
from clew.steps.themes import themes
from clew.text.keys import name_key
from clew.text.patterns import match_ids

T = TypeVar("T")

_MAX_VALUES = 20  # shown of a field
_MAX_NEIGHBOURS = 50  # neighbours and triples shown of an entity


# -- documents ------------------------------------------------------------------------------------


def select_documents(
    snapshot: Snapshot, rows: NDArray[np.int64], *, pattern: str = "", sort: str = ""
) -> list[int]:
    """Select the rows of documents whose ids match a pattern, sorted.

    The order is by "id", "title" or a field of the metadata, reversed by a leading "-"; documents
    without the field come last, and ties are ordered by id.
    """
    headers = snapshot.get(_HEADERS)
    selected: list[int] = rows.tolist()
    if pattern:
        ids = [headers[row].id for row in selected]
        matching = set(match_ids(pattern, ids))
        selected = [row for row, each in zip(selected, ids, strict=True) if each in matching]
    name = sort.removeprefix("-")
    if name in {"", "id"}:
        return selected[::-1] if sort.startswith("-") else selected
    if name != "title" and not any(name in each.metadata for each in headers):
        raise InputError(f"no document has the field {name!r:.80} to sort by")
    values = {row: _make_sort_key(headers[row], name) for row in selected}
    last = [row for row in selected if values[row] is None]
    first = [row for row in selected if values[row] is not None]
    first.sort(key=lambda row: cast("tuple[int, float, str]", values[row]), reverse=sort[:1] == "-")
    return first + last


def _make_sort_key(document: Document, name: str) -> tuple[int, float, str] | None:
    """Return a document's sort key, numbers before texts, or None without a value."""
    value: object = document.title if name == "title" else document.metadata.get(name)
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    if value is None or value == "":
        return None
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def view_document_lines(snapshot: Snapshot, rows: Sequence[int]) -> tuple[DocumentLine, ...]:
    """Return documents as list entries."""
    headers, (n_chunks, n_tokens) = snapshot.get(_HEADERS), snapshot.get(_SIZES)
    return tuple(
        make_view(
            DocumentLine, headers[row], n_chunks=int(n_chunks[row]), n_tokens=int(n_tokens[row])
        )
        for row in rows
    )


def view_document(snapshot: Snapshot, document_id: str) -> DocumentView:
    """Return a document. Raises a 404 refusal if there is none."""
    [row] = snapshot.layer("document").rows([document_id])
    if row < 0:
        raise make_missing_document(document_id)
    [document] = snapshot.documents([row])
    return make_view(DocumentView, document, chunks=_view_chunks(snapshot, row, document))


def make_missing_document(document_id: str) -> Exception:
    """Return the refusal for a document that is missing or hidden from the caller."""
    return no_such_resource(f"there is no document {document_id!r:.200} in this index")


def _view_chunks(snapshot: Snapshot, row: int, document: Document) -> tuple[ChunkPlace, ...]:
    layer = snapshot.layer("chunk")
    rows = np.flatnonzero(layer.columns["document"] == row)
    columns = (layer.columns[name][rows].tolist() for name in ("start", "end", "n_tokens"))
    starts, ends, sizes = columns
    sections, pages = document.sections_of(starts), map(document.pages_of, starts, ends)
    chunks = zip(layer.ids(rows.tolist()), starts, ends, sizes, sections, pages, strict=True)
    return tuple(
        ChunkPlace(id=i, start=a, end=b, n_tokens=n, section=within, page=page, last_page=last)
        for i, a, b, n, within, (page, last) in chunks
    )


def _count_fields(snapshot: Snapshot) -> tuple[FieldView, ...]:
    counts: dict[str, Counter[Value]] = defaultdict(Counter)
    n_documents = Counter[str]()
    for each in snapshot.get(_HEADERS):
        n_documents.update(each.metadata.keys())
        for name, value in each.metadata.items():
            counts[name].update(value if isinstance(value, tuple) else (value,))
    return tuple(
        FieldView(
            name=name,
            n_documents=n_documents[name],
            values=tuple(
                sorted(values, key=lambda value: (-values[value], str(value)))[:_MAX_VALUES]
            ),
        )
        for name, values in sorted(counts.items())
    )


def _count_sizes(snapshot: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    columns, n = snapshot.layer("chunk").columns, len(snapshot.layer("document"))
    owners = columns["document"]
    tokens = np.bincount(owners, weights=columns["n_tokens"], minlength=n)
    return np.bincount(owners, minlength=n), tokens.astype(np.int64)


_HEADERS = Derived("the documents without their texts", lambda s: s.document_layer.headers())
_SIZES = Derived("how many chunks and tokens documents have", _count_sizes)
FIELDS = Derived("the fields of documents, and their values", _count_fields)


# -- entities -------------------------------------------------------------------------------------


def _rank_entities(snapshot: Snapshot) -> NDArray[np.int64]:
    columns = snapshot.layer("entity").columns
    rows = np.flatnonzero(columns["linkable"] | columns["extracted"])
    return rows[np.argsort(-count_texts(snapshot)[rows], kind="stable")]


def count_texts(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the number of texts that mention each entity."""
    return np.asarray(snapshot.linked("entity", "unit").counts, dtype=np.int64)


RANKED = Derived("the entities that are shown, in their order", _rank_entities)


def find_entities(snapshot: Snapshot, find: str, type_: str = "") -> list[int]:
    """Return the rows of entities whose keys contain `find`, most mentioned first.

    Where a type is given they are of that: the first time those of all of them are looked for.
    """
    rows: list[int] = snapshot.get(RANKED).tolist()
    if key := name_key(find):
        keys = snapshot.layer("entity").ids(rows)
        rows = [row for row, each in zip(rows, keys, strict=True) if key in each]
    if type_:
        types = find_types(snapshot, rows)
        rows = [row for row, each in zip(rows, types, strict=True) if each == type_]
    return rows


def view_entity_lines(snapshot: Snapshot, rows: Sequence[int]) -> tuple[EntityLine, ...]:
    """Return entities as list entries."""
    layer, counts = snapshot.layer("entity"), count_texts(snapshot)
    columns = layer.ids(rows), layer.texts(rows), find_types(snapshot, rows)
    return tuple(
        EntityLine(id=key, name=name, type=type_, n_texts=int(counts[row]))
        for row, key, name, type_ in zip(rows, *columns, strict=True)
    )


def find_entity(snapshot: Snapshot, name: str) -> int:
    """Return an entity's row by name or id. Raises a 404 refusal if there is none."""
    [row] = snapshot.layer("entity").rows([name_key(name)])
    if row < 0:
        raise no_such_resource(f"there is no entity {name!r:.200} in this index")
    return int(row)


def view_entity(snapshot: Snapshot, name: str, *, offset: int, limit: int) -> EntityView:
    """Return an entity with some of its texts. Raises a 404 refusal if there is none."""
    layer, row = snapshot.layer("entity"), find_entity(snapshot, name)
    units = neighbours(snapshot.linked("entity", "unit"), row).tolist()
    descriptions = snapshot.layer("description")
    own = np.flatnonzero(descriptions.columns["entity"] == row).tolist()
    titled = neighbours(snapshot.linked("entity", "document"), row).tolist()
    return EntityView(
        id=layer.ids([row])[0],
        name=layer.texts([row])[0],
        type=find_types(snapshot, [row])[0],
        entry=find_entry(snapshot.vocabulary, layer.ids([row])[0]),
        linkable=bool(layer.columns["linkable"][row]),
        title_of=tuple(snapshot.layer("document").ids(titled)),
        descriptions=tuple(dict.fromkeys(filter(None, descriptions.texts(own))))[:_MAX_NEIGHBOURS],
        triples=_find_triples(snapshot, row),
        neighbours=_find_neighbours(snapshot, row, units),
        texts=Listed(items=_view_texts(snapshot, units[offset : offset + limit]), total=len(units)),
    )


def _view_texts(snapshot: Snapshot, units: list[int]) -> tuple[EntityText, ...]:
    layer, chunks = snapshot.layer("unit"), snapshot.layer("chunk")
    owners = chunks.columns["document"][layer.columns["chunk"][units]].tolist()
    starts, ends = (layer.columns[edge][units].tolist() for edge in ("start", "end"))
    places = zip(layer.ids(units), layer.texts(units), starts, ends, strict=True)
    return tuple(
        EntityText(
            id=unit_id,
            text=text,
            document_id=owner.id,
            title=owner.title,
            start=start,
            end=end,
            page=owner.pages_of(start, end)[0],
        )
        for (unit_id, text, start, end), owner in zip(
            places, snapshot.documents(owners), strict=True
        )
    )


def _find_neighbours(snapshot: Snapshot, row: int, units: list[int]) -> tuple[NearEntity, ...]:
    layer = snapshot.layer("entity")
    mentioned = snapshot.linked("unit", "entity").entries_of(np.asarray(units, dtype=np.int64))
    counts = np.bincount(mentioned.indices, minlength=len(layer)).astype(np.float64)
    counts[row] = 0
    rows = positive_top_k(counts, _MAX_NEIGHBOURS).tolist()
    near = zip(rows, layer.ids(rows), layer.texts(rows), strict=True)
    return tuple(NearEntity(id=i, name=n, n_texts=int(counts[r])) for r, i, n in near)


def _find_triples(snapshot: Snapshot, row: int) -> tuple[StatedTriple, ...]:
    layer, entities = cast("TripleLayer", snapshot.layer("triple")), snapshot.layer("entity")
    subjects, objects = layer.columns["subject"], layer.columns["object"]
    rows = np.flatnonzero((subjects == row) | (objects == row))[:_MAX_NEIGHBOURS].tolist()
    link = snapshot.linked("triple", "chunk")
    chunks = [snapshot.layer("chunk").ids(neighbours(link, r).tolist()) for r in rows]
    ends = (entities.texts(each[rows].tolist()) for each in (subjects, objects))
    times = (tuple(map(str, layer.validity.get(r, ()))) for r in rows)
    stated = zip(layer.ids(rows), *ends, layer.relations(rows), times, chunks, strict=True)
    return tuple(
        StatedTriple(id=i, subject=a, relation=relation, object=b, validity=when, chunks=tuple(at))
        for i, a, b, relation, when, at in stated
    )


def page_themes(
    snapshot: Snapshot, level: int, parent: str, offset: int, limit: int
) -> Listed[Theme]:
    """Return a page of a level's themes, or of a `parent`'s parts, largest first.

    Raises a refusal, 404, where there is no such theme.
    """
    levels = themes(snapshot)
    row = levels.find(parent) if parent else -1
    if parent and row < 0:
        raise no_such_resource(f"this index has no theme {parent!r:.200}")
    rows = levels.children(row) if parent else levels.of_level(level)
    described = describe_themes(snapshot, rows[offset : offset + limit])
    return Listed(items=tuple(described), total=len(rows))
