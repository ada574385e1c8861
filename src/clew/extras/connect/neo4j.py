"""Export a graph for Neo4j, as Cypher.

A node has the labels Entity and that of its type; a relationship has its relation as type, in
capitals, and as a property as written.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.base.display.visible import escape_unseen
from clew.base.types import ENTITY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clew.extras.connect.export import ExportedGraph

    Row = Mapping[str, Any]

_BATCH_SIZE = 1_000  # rows of a statement
_PLAIN = re.compile(r"[A-Z_][A-Z0-9_]*")
_LABEL = "Entity"
_NODE = ("id", "name", "type", "description", "n_chunks")
_EDGE = ("key", "relation", "strength", "description", "validity", "chunks")


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


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        yield batch


def _map(row: Row, names: Sequence[str], raw: bool) -> str:  # noqa: FBT001
    """Return the non-empty values as a Cypher map, whose literals are those of JSON."""
    pairs = ((name, row[name]) for name in names if row[name] not in (None, "", []))
    literals = ((name, json.dumps(value, ensure_ascii=False)) for name, value in pairs)
    shown = str if raw else escape_unseen
    return "{" + ", ".join(f"{name}: {shown(value)}" for name, value in literals) + "}"


def _type(relation: str) -> str:
    return re.sub(r"\W+", "_", relation).strip("_").upper() or "RELATED_TO"
