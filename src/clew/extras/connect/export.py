"""Export the graph of an index to a file.

A file is written under a temporary name and moved when complete. Rows are written as they are read,
so a graph need not fit into memory. Unless `raw`, GraphML and tables escape invisible characters
(`clew.base.display.visible`), and table cells that look like formulas.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from clew.algo.links import neighbours
from clew.base.display.visible import escape_unseen
from clew.base.reports import Exported
from clew.base.runtime.lazy import needs
from clew.base.types import ENTITY_TYPES, GRAPH, IMPORTED
from clew.errors import InputError
from clew.extras.connect import neo4j
from clew.extras.connect.cells import guard
from clew.models.cooccurrence import FALLBACK, MOST_PAIRS
from clew.steps.entity_types import find_types
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.index.snapshot import Snapshot
    from clew.index.snapshot.layers import TripleLayer

    Row = Mapping[str, Any]

_BATCH_SIZE = 8_192  # rows that are read at once
_MAX_STRENGTH = 10  # of a triple in a file that is read again
# What XML cannot hold: most control characters, halves of surrogate pairs, two that are none.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# GraphML's types of what is written of a node, and of an edge; a list is a string there.
_NODE_TYPES = {"name": "string", "type": "string", "description": "string", "n_chunks": "int"}
_EDGE_TYPES = {
    "relation": "string", "strength": "double", "description": "string", "validity": "string",
    "chunks": "string",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedGraph:
    """Nodes with an "id", and edges with a "source", a "target" and a "key"."""

    n_nodes: int
    n_edges: int
    nodes: Callable[[], Iterable[Row]]
    edges: Callable[[], Iterable[Row]]
    edges_are: str = "triples"


Form = Callable[..., None]  # writes a graph to a path; `raw` as in `target`


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write, with the format that its name implies."""

    path: Path
    form: Form
    raw: bool = False

    def write(self, graph: ExportedGraph) -> Exported:
        """Write `graph`, replacing an existing file. Raises InputError if that fails."""
        part = self.path.with_name(f"{self.path.name}.part")
        try:
            self.form(part, graph, raw=self.raw)
            part.replace(self.path)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror or error}): choose another file"
            ) from error
        finally:
            with suppress(OSError):
                part.unlink()
        return Exported(str(self.path), graph.n_nodes, graph.n_edges, graph.edges_are)


def target(path: str | Path, *, raw: bool = False) -> Target:
    """Return the file to write a graph to.

    `raw` escapes only what the format requires. Raises InputError for a folder or an unsupported
    suffix.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMS:
        raise InputError(f"a graph is written to {', '.join(_FORMS)}, and not to {str(path)!r}")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")
    return Target(path, _FORMS[path.suffix.lower()], raw)


# -- graphs ---------------------------------------------------------------------------------------


def check_triples(snapshot: Snapshot, target: Target) -> None:
    """Raise InputError if the file contains triples alone and the index has none.

    GraphML and JSON contain the graph of its sentences then.
    """
    made_by = snapshot.layer("chunk").columns[GRAPH]
    if not len(made_by):
        raise InputError("this index is empty: add documents first")
    suffix = target.path.suffix.lower()
    if len(snapshot.layer("triple")) or suffix in _GRAPH_SUFFIXES:
        return
    missing = f"this index has no triples, and a {suffix} file contains nothing else"
    if made_by.any():
        raise InputError(
            f"{missing}: none were found in its chunks; '--triples llm' may find some, and "
            "'clew import' can add some"
        )
    raise InputError(
        f"{missing}: run 'clew index PATH --triples cooccurrence' (no LLM), or '--triples llm', "
        "first"
    )


def index_graph(snapshot: Snapshot) -> ExportedGraph:
    """Return the extracted entities of an index, and its triples.

    Without triples it is the graph of its sentences: names, joined where one sentence has both.
    """
    if not len(snapshot.layer("triple")):
        return _sentence_graph(snapshot)
    entities = np.flatnonzero(snapshot.layer("entity").columns["extracted"])
    n_chunks = np.diff(snapshot.link("entity", "chunk").indptr)
    return ExportedGraph(
        n_nodes=len(entities),
        n_edges=len(snapshot.layer("triple")),
        nodes=partial(_entities, snapshot, entities.tolist(), n_chunks),
        edges=partial(_triples, snapshot),
    )


def keep_types(graph: ExportedGraph, types: Collection[str]) -> ExportedGraph:
    """Restrict a graph to entities of some types.

    Raises InputError for a type that no entity has.
    """
    nodes, found = [], set()
    for row in graph.nodes():
        found.add(row["type"])
        if row["type"] in types:
            nodes.append(row)
    missing = next((each for each in types if each not in found), None)
    if missing is not None:
        there = ", ".join(sorted(filter(None, found))) or "none"
        raise InputError(f"no entity has the type {missing!r:.60}; there are: {there}")
    ids = {row["id"] for row in nodes}
    edges = [row for row in graph.edges() if {row["source"], row["target"]} <= ids]
    return replace(
        graph, n_nodes=len(nodes), n_edges=len(edges), nodes=lambda: nodes, edges=lambda: edges
    )


def _sentence_graph(snapshot: Snapshot) -> ExportedGraph:
    """Return the entities that questions can name, and pairs in the same sentence.

    Sentences of more than thirty names are lists and link none. A name within another is not linked
    to it.
    """
    linkable = snapshot.layer("entity").columns["linkable"].astype(bool)
    chunks, mentions = snapshot.link("unit", "chunk"), snapshot.link("unit", "entity")
    n_chunks = np.diff((chunks.T @ mentions).tocsc().indptr)
    keys = snapshot.layer("entity").ids(range(len(linkable)))
    ends, places = array("q"), array("q")
    for unit, (begin, end) in enumerate(pairwise(mentions.indptr.tolist())):
        names = mentions.indices[begin:end]
        names = np.unique(names[linkable[names]]).tolist()
        if len(names) <= MOST_PAIRS:
            for pair in combinations(names, 2):
                one, other = (f" {keys[row]} " for row in pair)
                if one not in other and other not in one:
                    ends.extend(pair)
                    places.append(unit)
    pairs = np.asarray(ends, np.int64).reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    edges, first = np.unique(pairs[order], axis=0, return_index=True)
    units = np.split(np.asarray(places, np.int64)[order], first[1:])
    entities = np.flatnonzero(linkable & (n_chunks > 0)).tolist()
    return ExportedGraph(
        n_nodes=len(entities),
        n_edges=len(edges),
        nodes=partial(_entities, snapshot, entities, n_chunks),
        edges=partial(_pair_rows, snapshot, edges, units),
        edges_are="sentences",
    )


def _pair_rows(
    snapshot: Snapshot, pairs: NDArray[np.int64], units: Sequence[NDArray[np.int64]]
) -> Iterator[Row]:
    """Yield pairs of entities, weighted by the number of `units` with both."""
    link, chunks = snapshot.link("unit", "chunk"), snapshot.layer("chunk")
    keys = snapshot.layer("entity").ids
    for (one, other), own in zip(pairs.tolist(), units, strict=False):
        source, target = keys([one, other])
        rows = np.unique(np.concatenate([neighbours(link, unit) for unit in own.tolist()]))
        yield {
            "source": source,
            "target": target,
            "key": f"{source}|{FALLBACK}|{target}",
            "relation": FALLBACK,
            "strength": float(len(own)),
            "description": "",
            "validity": "",
            "chunks": chunks.ids(rows.tolist()),
        }


def _entities(
    snapshot: Snapshot, entities: Sequence[int], n_chunks: NDArray[np.integer]
) -> Iterator[Row]:
    layer, profiles = snapshot.layer("entity"), snapshot.layer("profile")
    owners = profiles.columns["entity"]
    order = np.argsort(owners, kind="stable")
    begins = np.searchsorted(owners[order], np.arange(len(layer) + 1))
    for start in range(0, len(entities), _BATCH_SIZE):
        rows = entities[start : start + _BATCH_SIZE]
        columns = layer.ids(rows), layer.texts(rows), find_types(snapshot, rows)
        for row, key, name, type_ in zip(rows, *columns, strict=True):
            texts = profiles.texts(order[begins[row] : begins[row + 1]].tolist())
            yield {
                "id": key,
                "name": name,
                "type": type_,
                "description": " ".join(dict.fromkeys(texts)),
                "n_chunks": int(n_chunks[row]),
            }


def _triples(snapshot: Snapshot) -> Iterator[Row]:
    """Yield the triples, with the extra fields of tables and JSON lines.

    "places" are the document, None where it was made of triples, and the strength in each chunk.
    """
    layer = cast("TripleLayer", snapshot.layer("triple"))
    entities, columns = snapshot.layer("entity"), layer.columns
    link = snapshot.link("triple", "chunk")
    for start in range(0, len(layer), _BATCH_SIZE):
        rows = range(start, min(start + _BATCH_SIZE, len(layer)))
        subjects, objects = columns["subject"][rows].tolist(), columns["object"][rows].tolist()
        ends = list(dict.fromkeys([*subjects, *objects]))
        keys = dict(zip(ends, entities.ids(ends), strict=True))
        names = dict(zip(ends, entities.texts(ends), strict=True))
        chunks = _chunks(snapshot, link, rows)
        parts = zip(rows, layer.ids(rows), layer.relations(rows), subjects, objects, strict=True)
        for row, key, relation, subject, end in parts:
            own = slice(link.indptr[row], link.indptr[row + 1])
            places = [chunks[chunk] for chunk in link.indices[own].tolist()]
            yield {
                "source": keys[subject],
                "target": keys[end],
                "key": key,
                "subject": names[subject],
                "relation": relation,
                "object": names[end],
                "strength": float(columns["strength"][row]),
                "description": " ".join(layer.descriptions(row)),
                "validity": "; ".join(map(str, layer.validity.get(row, ()))),
                "chunks": [chunk for chunk, _ in places],
                "places": list(zip([d for _, d in places], link.data[own].tolist(), strict=True)),
            }


def _chunks(snapshot: Snapshot, link: csr_array, rows: range) -> dict[int, tuple[str, str | None]]:
    """Return the ids of some triples' chunks, and the documents of those that are texts."""
    layer = snapshot.layer("chunk")
    chunks = np.unique(link.indices[link.indptr[rows.start] : link.indptr[rows.stop]])
    is_text = layer.columns[GRAPH][chunks] != IMPORTED
    documents = snapshot.layer("document").ids(layer.columns["document"][chunks].tolist())
    ids = layer.ids(chunks.tolist())
    columns = zip(chunks.tolist(), ids, documents, is_text.tolist(), strict=True)
    return {chunk: (key, document if text else None) for chunk, key, document, text in columns}


# -- formats --------------------------------------------------------------------------------------


def _open_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _write_graphml(path: Path, graph: ExportedGraph, *, raw: bool) -> None:
    """Write GraphML without empty values; a list is written as lines."""
    with _open_file(path) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for kind, types in (("node", _NODE_TYPES), ("edge", _EDGE_TYPES)):
            for name, form in types.items():
                text = f'id="{kind}.{name}" for="{kind}" attr.name="{name}" attr.type="{form}"'
                file.write(f"<key {text}/>\n")
        file.write('<graph edgedefault="directed">\n')
        for node in graph.nodes():
            data = _data("node", _NODE_TYPES, node, raw)
            file.write(f"<node id={_attribute(node['id'], raw)}>{data}</node>\n")
        for edge in graph.edges():
            names = {"id": "key", "source": "source", "target": "target"}
            places = " ".join(f"{n}={_attribute(edge[key], raw)}" for n, key in names.items())
            data = _data("edge", _EDGE_TYPES, edge, raw)
            file.write(f"<edge {places}>{data}</edge>\n")
        file.write("</graph>\n</graphml>\n")


def _data(kind: str, names: Iterable[str], row: Row, raw: bool) -> str:  # noqa: FBT001
    parts = []
    for name in names:
        value = row[name]
        if value in (None, "", []):
            continue
        text = "\n".join(value) if isinstance(value, list) else str(value)
        shown = escape(_escape_text(text, raw), {"\r": "&#13;"})
        parts.append(f'<data key="{kind}.{name}">{shown}</data>')
    return "".join(parts)


def _attribute(text: str, raw: bool) -> str:  # noqa: FBT001
    return quoteattr(_escape_text(text, raw))


def _escape_text(text: str, raw: bool) -> str:  # noqa: FBT001
    """Escape invisible characters; raw text only loses what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text) if raw else escape_unseen(text)


def _write_json(path: Path, graph: ExportedGraph, *, raw: bool) -> None:  # noqa: ARG001
    """Write node-link JSON, a line for each node and edge."""
    node_names = ("id", *_NODE_TYPES)
    edge_names = ("source", "target", "key", *_EDGE_TYPES)
    with _open_file(path) as file:
        file.write('{"directed": true, "multigraph": true, "graph": {},\n"nodes": [')
        _write_objects(file, node_names, graph.nodes())
        file.write('],\n"edges": [')
        _write_objects(file, edge_names, graph.edges())
        file.write("]}\n")


def _write_objects(file: TextIO, names: Sequence[str], rows: Iterable[Row]) -> None:
    for place, row in enumerate(rows):
        file.write(",\n" if place else "\n")
        file.write(json.dumps({name: row[name] for name in names}))


def _write_json_lines(path: Path, graph: ExportedGraph, *, raw: bool) -> None:  # noqa: ARG001
    """Write entities and triples in the format of `clew.extras.connect.imports.graph_files`."""
    with _open_file(path) as file:
        for node in graph.nodes():
            if node["type"] != ENTITY_TYPES[0] or node["description"]:
                values = {name: node[name] for name in ("name", "type", "description")}
                file.write(_json_line(values))
        for edge in graph.edges():
            names = ("subject", "relation", "object", "description", "validity")
            values = {name: edge[name] for name in names}
            for document, strength in edge["places"]:
                whole = min(max(round(strength), 1), _MAX_STRENGTH)
                file.write(_json_line({**values, "strength": whole, "document": document}))


def _json_line(row: Row) -> str:
    return json.dumps({name: each for name, each in row.items() if each not in (None, "")}) + "\n"


def _write_table(path: Path, graph: ExportedGraph, *, raw: bool) -> None:
    """Write subject, relation and object, separated by tabs."""
    columns = ("subject", "relation", "object")
    with _open_file(path) as file:
        file.write("\t".join(columns) + "\n")
        file.writelines("\t".join(_cell(e[c], raw) for c in columns) + "\n" for e in graph.edges())


def _cell(text: str, raw: bool) -> str:  # noqa: FBT001
    """Return a cell on one line, quoted if it begins with a quote."""
    text = _escape_text(collapse(text), raw)  # a control character would make the file look binary
    text = text if raw else guard(text)
    return '"' + text.replace('"', '""') + '"' if text.startswith('"') else text


def _write_parquet(path: Path, graph: ExportedGraph, *, raw: bool) -> None:  # noqa: ARG001
    """Write a row for each triple."""
    with needs("pyarrow", "parquet", "writing a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    text = pa.string()
    types = dict.fromkeys(("subject", "relation", "object"), text)
    types |= {"strength": pa.float64(), "description": text, "validity": text}
    types["chunks"] = pa.list_(text)
    schema = pa.schema(list(types.items()))
    with pq.ParquetWriter(path, schema) as writer:
        rows: list[Row] = []
        for edge in graph.edges():
            rows.append({name: edge[name] for name in types})
            if len(rows) == _BATCH_SIZE:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, schema))


_GRAPH_SUFFIXES = (".graphml", ".json")  # formats that can hold a graph without triples
_FORMS: Mapping[str, Form] = {
    ".graphml": _write_graphml,
    ".json": _write_json,
    ".jsonl": _write_json_lines,
    ".tsv": _write_table,
    ".parquet": _write_parquet,
    ".cypher": neo4j.write_cypher,
}
