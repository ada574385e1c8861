"""Import LightRAG and nano-graphrag: texts and chunks as JSON, the graph as GraphML.

An edge has a sentence instead of a relation: see `saying`. LightRAG's keywords of an edge are its
relation where the sentence gives none.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clew.base.types import Document, Skipped
from clew.errors import UnreadableSource
from clew.extras.connect.imports.graphml import GraphmlData, read_graphml
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
from clew.readers import record
from clew.readers.walk import File

SYSTEM = "LightRAG, nano-graphrag"
_GRAPH = "graph_chunk_entity_relation.graphml"
_SEPARATOR = "<SEP>"
_UNKNOWN = {"", "unknown_source", "no-file-path"}  # names of files that LightRAG gives by itself


def locate(path: Path) -> Path | None:
    """Return the working directory, or its only workspace."""
    return only_folder(path, _GRAPH, ("rag_storage",))


def read(place: File) -> System:
    """Return the texts of a working directory, and the entities and triples of its graph."""
    full = _read_json(place, "kv_store_full_docs.json")
    chunks = _read_json(place, "kv_store_text_chunks.json")
    texts = {own: (_file_name(each), str(each.get("content") or "")) for own, each in full.items()}
    ids, documents = make_documents(place, texts)
    owners = {
        own: [ids[name]]
        for own, each in chunks.items()
        if (name := str(each.get("full_doc_id"))) in ids
    }
    data = read_graphml(place.path / _GRAPH, place)
    is_light = (place.path / "kv_store_doc_status.json").exists()
    reports = len(_read_json(place, "kv_store_community_reports.json"))
    left = [f"{reports:,} community reports"] if reports else []
    left += ["vectors"] if any(place.path.glob("vdb_*.json")) else []
    left += ["recorded replies"] if any(place.path.glob("kv_store_llm_*.json")) else []
    return System(
        name="LightRAG" if is_light else "nano-graphrag",
        documents=documents,
        statements=_state(place, data, owners, documents),
        left=tuple(left),
    )


def _state(
    place: File, data: GraphmlData, owners: Mapping[str, list[str]], documents: Sequence[Document]
) -> Iterator[Stated | Skipped]:
    nodes = {unquote_name(name): values for name, values in data.nodes}
    of = {name: _documents(values, owners) for name, values in nodes.items()}
    names = spell_names(of, documents)
    for line, (name, values) in enumerate(nodes.items(), 1):
        about, kind = _text(values, "description"), _text(values, "entity_type")
        yield from describe(place, names[name], kind, about, of[name], line=line)
    for line, (source, target, values) in enumerate(data.edges, 1):
        ends = unquote_name(source), unquote_name(target)
        yield from relate(
            place,
            (names.get(ends[0], ends[0]), names.get(ends[1], ends[1])),
            _text(values, "description"),
            _documents(values, owners),
            line=line,
            otherwise=_text(values, "keywords").replace(",", ", "),
            weight=values.get("weight"),
        )


def _documents(values: Mapping[str, object], owners: Mapping[str, list[str]]) -> list[str]:
    return distinct_documents(owners, str(values.get("source_id", "")).split(_SEPARATOR))


def _text(values: Mapping[str, object], name: str) -> str:
    """Return a field with the distinct parts of several chunks joined."""
    parts = str(values.get(name, "")).split(_SEPARATOR)
    return " ".join(dict.fromkeys(map(unquote_name, parts)))


def _file_name(values: Mapping[str, object]) -> str:
    name = str(values.get("file_path") or "")
    return "" if name in _UNKNOWN else name.replace("\\", "/").strip("/")


def _read_json(place: File, name: str) -> dict[str, dict[str, object]]:
    """Return the records of a file by id, none if the file does not exist."""
    path = place.path / name
    if not path.exists():
        return {}
    try:
        values = record.parse_json(path.read_text("utf-8"))
    except ValueError as error:
        raise UnreadableSource(f"{place.source}/{name}", str(error)) from None
    if not isinstance(values, dict):
        raise UnreadableSource(f"{place.source}/{name}", "is not a JSON object")
    return {own: each for own, each in values.items() if isinstance(each, dict)}
