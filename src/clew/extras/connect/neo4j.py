"""Export a graph for Neo4j: as Cypher, or as zipped CSV for `neo4j-admin database import`.

A node has the labels Entity and that of its type; a relationship has its relation as type, in
capitals, and as a property as written.
"""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from clew.base.display.visible import escape_unseen
from clew.base.types import ENTITY_TYPES
from clew.extras.connect.cells import guard
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clew.extras.connect.export import ExportedGraph

    Row = Mapping[str, Any]

_BATCH_SIZE = 1_000  # rows of a statement
_PLAIN = re.compile(r"[A-Z_][A-Z0-9_]*")
_LABEL = "Entity"
_NODE = ("id", "name", "type", "description", "n_chunks")
_EDGE = ("key", "relation", "strength", "description", "validity", "chunks")
NODES, RELATIONSHIPS = "nodes.csv", "relationships.csv"


def write_cypher(path: Path, graph: ExportedGraph, *, raw: bool) -> None:
    """Write idempotent statements that create the graph."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"CREATE CONSTRAINT clew_entity IF NOT EXISTS FOR (n:{_LABEL}) ")
        file.write("REQUIRE n.id IS UNIQUE;\n")
        for nodes in _batches(graph.nodes()):
            rows = ",\n".join(_map(node, _NODE, raw) for node in nodes)
            file.write(f"UNWIND [\n{rows}\n] AS row\n")
            file.write(f"MERGE (n:{_LABEL} {{id: row.id}}) SET n += row;\n")
        for kind in ENTITY_TYPES[1:]:
            file.write(f'MATCH (n:{_LABEL} {{type: "{kind}"}}) SET n:{kind.capitalize()};\n')
        for edges in _batches(graph.edges()):
            groups: dict[str, list[str]] = {}
            for edge in edges:
                ends = _map(edge, ("source", "target"), raw)[:-1]
                row = f"{ends}, properties: {_map(edge, _EDGE, raw)}}}"
                groups.setdefault(_type(edge["relation"]), []).append(row)
            for kind, parts in groups.items():
                rows, name = ",\n".join(parts), kind if _PLAIN.fullmatch(kind) else f"`{kind}`"
                file.write(f"UNWIND [\n{rows}\n] AS row\n")
                file.write(
                    f"MATCH (a:{_LABEL} {{id: row.source}}), (b:{_LABEL} {{id: row.target}})\n"
                )
                file.write(f"MERGE (a)-[r:{name} {{key: row.properties.key}}]->(b)")
                file.write(" SET r += row.properties;\n")


def write_csv(path: Path, graph: ExportedGraph, *, raw: bool) -> None:
    """Write a zip file with tables of nodes and relationships."""
    node_head = ("id:ID", "name", "type", "description", "n_chunks:int", ":LABEL")
    edge_head = (
        ":START_ID", ":END_ID", ":TYPE", "key", "relation", "strength:double", "description",
        "validity", "chunks:string[]",
    )  # fmt: skip
    nodes = ([*(node[name] for name in _NODE), _labels(node["type"])] for node in graph.nodes())
    edges = (
        [edge["source"], edge["target"], _type(edge["relation"]), *(edge[name] for name in _EDGE)]
        for edge in graph.edges()
    )
    with ZipFile(path, "w") as archive:
        _write_part(archive, NODES, node_head, nodes, raw=raw)
        _write_part(archive, RELATIONSHIPS, edge_head, edges, raw=raw)


def _write_part(
    archive: ZipFile, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, raw: bool
) -> None:
    part = ZipInfo(name)  # of one date, so that the same graph gives the same bytes
    part.compress_type = ZIP_DEFLATED
    with (
        archive.open(part, "w", force_zip64=True) as stream,
        io.TextIOWrapper(stream, "utf-8", newline="") as text,
    ):
        table = csv.writer(text, lineterminator="\n")
        table.writerow(head)
        table.writerows([_cell(value, raw=raw) for value in row] for row in rows)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        yield batch


def _cell(value: Any, *, raw: bool) -> str:  # noqa: ANN401 -- text, a number or a list
    """Return a value as a cell on one line: by default Neo4j reads no multi-line cells."""
    text = collapse(";".join(value) if isinstance(value, list) else str(value))
    return text if raw or isinstance(value, int | float) else guard(escape_unseen(text))


def _map(row: Row, names: Sequence[str], raw: bool) -> str:  # noqa: FBT001
    """Return the non-empty values as a Cypher map, whose literals are those of JSON."""
    pairs = ((name, row[name]) for name in names if row[name] not in (None, "", []))
    literals = ((name, json.dumps(value, ensure_ascii=False)) for name, value in pairs)
    shown = str if raw else escape_unseen
    return "{" + ", ".join(f"{name}: {shown(value)}" for name, value in literals) + "}"


def _type(relation: str) -> str:
    return re.sub(r"\W+", "_", relation).strip("_").upper() or "RELATED_TO"


def _labels(kind: str) -> str:
    return _LABEL if kind == ENTITY_TYPES[0] else f"{_LABEL};{kind.capitalize()}"
