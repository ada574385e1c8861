"""Export a graph to a file: the graph of an index, or of a query's evidence.

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
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from clew.algo.links import neighbours
from clew.base.display.visible import escape_unseen
from clew.base.runtime.lazy import needs
from clew.base.types import ENTITY_TYPES, GRAPH, IMPORTED, Exported
from clew.errors import InputError
from clew.extras.connect import neo4j
from clew.extras.connect.cells import guard
from clew.models.extractors.cooccurrence import FALLBACK, MOST_PAIRS
from clew.steps.entity_types import find_types
from clew.text.normalize import collapse
from clew.text.sections import page_range

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.base.types import Edge, Evidence, EvidenceGraph, Fact, Hit, Subgraph
    from clew.index.snapshot import Snapshot
    from clew.index.snapshot.layers import TripleLayer

    Row = Mapping[str, Any]

_BATCH_SIZE = 8_192  # rows that are read at once
_MAX_STRENGTH = 10  # of a triple in a file that is read again
# What XML cannot hold: most control characters, halves of surrogate pairs, two that are none.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _types(written: str) -> dict[str, str]:
    """Return the GraphML types of attributes: `string` unless given after a colon."""
    pairs = (each.partition(":") for each in written.split())
    return {name: kind or "string" for name, _, kind in pairs}


_NODE_TYPES = _types("name type description n_chunks:int")
_EDGE_TYPES = _types("relation strength:double description validity chunks")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedGraph:
    """Nodes with an "id", and edges with a "source", a "target" and a "key".

    The types are GraphML's of what else is written of each; a list is a string there.
    """

    about: Row = field(default_factory=dict)
    node_types: Mapping[str, str] = field(default_factory=_NODE_TYPES.copy)
    edge_types: Mapping[str, str] = field(default_factory=_EDGE_TYPES.copy)
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


def target(path: str | Path, *, whole: bool, raw: bool = False) -> Target:
    """Return the file to write a `whole` graph or a query's graph to.

    `raw` escapes only what the format requires. Raises InputError for a folder or an unsupported
    suffix.
    """
    path = Path(path)
    forms = _FORMS if whole else {suffix: _FORMS[suffix] for suffix in _GRAPH_SUFFIXES}
    if path.suffix.lower() not in forms:
        what = "a graph" if whole else "what a question finds"
        raise InputError(f"{what} is written to {', '.join(forms)}, and not to {str(path)!r}")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")
    return Target(path, forms[path.suffix.lower()], raw)


# -- graphs ---------------------------------------------------------------------------------------


def check_triples(snapshot: Snapshot, target: Target, *, whole: bool) -> None:
    """Raise InputError for an export of triples from an index that has none.

    The `whole` graph in GraphML or JSON is that of its sentences then.
    """
    made_by = snapshot.layer("chunk").columns[GRAPH]
    if not len(made_by):
        raise InputError("this index is empty: add documents first")
    if len(snapshot.layer("triple")) or (whole and target.path.suffix.lower() in _GRAPH_SUFFIXES):
        return
    what = (
        f"a {target.path.suffix.lower()} file contains" if whole else "the graph of a question has"
    )
    missing = f"this index has no triples, and {what} nothing else"
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


def evidence_graph(evidence: Evidence) -> ExportedGraph:
    """Return the graph of a query's evidence. Raises InputError if it has no node."""
    graph, why = evidence.graph, f" ({evidence.notes[0]})" if evidence.notes else ""
    if graph is None:
        raise InputError(
            f"the method {evidence.method!r} found no graph{why}: use one that does, such as "
            "'paths', 'bubble' or 'agrag', on an index with triples"
        )
    if not (graph.entities or graph.subgraph):
        raise InputError(
            f"{evidence.method!r} found nothing in the graph of this index for the question{why}: "
            "name something in it, or choose another method"
        )
    about = {"query": evidence.query, "method": evidence.method}
    if graph.subgraph:
        return _build_subgraph(about, graph.subgraph, graph.facts, evidence.hits)
    return _build_candidate_graph(about, graph)


def _build_candidate_graph(about: Row, graph: EvidenceGraph) -> ExportedGraph:
    """Return the entities and triples of the chosen candidates."""
    anchored: dict[tuple[str, str], list[str]] = {}
    for group in graph.groups:
        for anchor in group.anchors:
            anchored.setdefault((anchor.layer, anchor.id), []).append(group.concept)
    reasons = {(each.triple, each.candidate): each.reason for each in graph.expansions}
    nodes = [
        {
            "id": entity.id,
            "name": entity.text,
            "reason": entity.reason,
            "score": entity.score,
            "groups": anchored.get(("entity", entity.id), []),
            "candidates": [c.rank for c in graph.candidates if entity.id in c.entities],
        }
        for entity in graph.entities
    ]
    edges = [
        {
            **_fact_row(fact),
            "reason": reasons.get((fact.id, fact.candidate), ""),
            "groups": anchored.get(("triple", fact.id), []),
            "candidate": fact.candidate,
            "depth": fact.depth,
        }
        for fact in graph.facts
    ]
    listed = ("groups", "candidates", "expansions", "answers")
    return _make_graph(
        {**about, **{name: [asdict(each) for each in getattr(graph, name)] for name in listed}},
        _types("name reason score:double groups candidates"),
        _types("relation text reason groups candidate:int depth:int chunks"),
        nodes,
        edges,
    )


def _build_subgraph(
    about: Row, graph: Subgraph, facts: Sequence[Fact], hits: Sequence[Hit]
) -> ExportedGraph:
    """Return the nodes, the facts as edges, and the other edges of a subgraph.

    The growth of an edge is that of its later end. Chunks that are hits have section and pages.
    """
    by_chunk = {hit.chunk_id: hit for hit in hits}
    terminals = {step.id for step in graph.terminals}
    growth = {each.node: place for place, each in enumerate(graph.growth, 1)}
    components = {node: i for i, nodes in enumerate(graph.components, 1) for node in nodes}
    nodes = [
        {
            "id": step.id,
            "name": step.id if step.layer == "chunk" else step.text,
            "kind": step.layer,
            "text": step.text if step.layer == "chunk" else "",
            "section": hit.section if hit else "",
            "pages": page_range(hit.page, hit.last_page) if hit else "",
            "reason": step.reason,
            "score": step.score,
            "terminal": step.id in terminals,
            "in_tree": step.id not in growth,
            "growth": growth.get(step.id, 0),
            "component": components[step.id],
        }
        for step in graph.nodes
        for hit in [by_chunk.get(step.id) if step.layer == "chunk" else None]
    ]
    by_id, tree = {fact.id: fact for fact in facts}, set(graph.tree)
    edges = [
        {
            **row,
            "kind": edge.kind,
            "cost": edge.cost,
            "in_tree": edge in tree,
            "growth": max(growth.get(edge.a, 0), growth.get(edge.b, 0)),
            "component": components[edge.a],
        }
        for edge in graph.edges
        for row in [_fact_row(by_id[fact]) for fact in edge.facts] or [_edge_row(edge)]
    ]
    return _make_graph(
        {**about, "growth": [asdict(each) for each in graph.growth]},
        _types(
            "name kind text section pages reason score:double terminal:boolean in_tree:boolean"
            " growth:int component:int"
        ),
        _types("kind relation text cost:double in_tree:boolean growth:int component:int chunks"),
        nodes,
        edges,
    )


def _make_graph(
    about: Row,
    node_types: Mapping[str, str],
    edge_types: Mapping[str, str],
    nodes: Sequence[Row],
    edges: Sequence[Row],
) -> ExportedGraph:
    """Return a graph held in memory."""
    return ExportedGraph(
        about=about,
        node_types=node_types,
        edge_types=edge_types,
        n_nodes=len(nodes),
        n_edges=len(edges),
        nodes=lambda: nodes,
        edges=lambda: edges,
    )


def _fact_row(fact: Fact) -> Row:
    return {
        "source": fact.subject,
        "target": fact.object,
        "key": fact.id,
        "relation": fact.relation,
        "text": fact.text,
        "chunks": list(fact.chunk_ids),
    }


def _edge_row(edge: Edge) -> Row:
    """Return an edge that is not a fact: a chunk contains an entity, or two are synonyms.

    No triple has such a key: its first name would have a colon beside letters.
    """
    ends = (edge.b, edge.a) if edge.kind == "contains" else (edge.a, edge.b)
    return {
        "source": ends[0],
        "target": ends[1],
        "key": f"{edge.kind}:{ends[0]}|{ends[1]}",
        "relation": "",
        "text": "",
        "chunks": [],
    }


# -- formats --------------------------------------------------------------------------------------


def _open_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _write_graphml(path: Path, graph: ExportedGraph, *, raw: bool) -> None:
    """Write GraphML without empty values; a list is written as lines."""
    about = {name: value for name, value in graph.about.items() if isinstance(value, str)}
    kinds = {
        "graph": dict.fromkeys(about, "string"),
        "node": graph.node_types,
        "edge": graph.edge_types,
    }
    with _open_file(path) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for kind, types in kinds.items():
            for name, form in types.items():
                text = f'id="{kind}.{name}" for="{kind}" attr.name="{name}" attr.type="{form}"'
                file.write(f"<key {text}/>\n")
        file.write(f'<graph edgedefault="directed">{_data("graph", about, about, raw)}\n')
        for node in graph.nodes():
            data = _data("node", graph.node_types, node, raw)
            file.write(f"<node id={_attribute(node['id'], raw)}>{data}</node>\n")
        for edge in graph.edges():
            names = {"id": "key", "source": "source", "target": "target"}
            places = " ".join(f"{n}={_attribute(edge[key], raw)}" for n, key in names.items())
            data = _data("edge", graph.edge_types, edge, raw)
            file.write(f"<edge {places}>{data}</edge>\n")
        file.write("</graph>\n</graphml>\n")


def _data(kind: str, names: Iterable[str], row: Row, raw: bool) -> str:  # noqa: FBT001
    parts = []
    for name in names:
        value = row[name]
        if value in (None, "", []):
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = "\n".join(map(str, value)) if isinstance(value, list) else text
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
    node_names = ("id", *graph.node_types)
    edge_names = ("source", "target", "key", *graph.edge_types)
    with _open_file(path) as file:
        about = json.dumps(graph.about)
        file.write(f'{{"directed": true, "multigraph": true, "graph": {about},\n"nodes": [')
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
            values = {name: edge[name] for name in ("subject", "relation", "object", "description")}
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


_GRAPH_SUFFIXES = (".graphml", ".json")  # formats of any graph, not of triples alone
_FORMS: Mapping[str, Form] = {
    ".graphml": _write_graphml,
    ".json": _write_json,
    ".jsonl": _write_json_lines,
    ".tsv": _write_table,
    ".parquet": _write_parquet,
    ".cypher": neo4j.write_cypher,
    ".zip": neo4j.write_csv,
}
