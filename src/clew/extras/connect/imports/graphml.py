"""Import GraphML, including Neo4j's APOC export: nodes and edges with properties.

A node is called by its `name`, `title` or `label`, else by its id; two nodes of one name stay two
entities. Its other short properties are the objects of triples, and so are its labels, but for
those that are types of Clew. An edge is called by its property `relation`, else by its label, type
or keywords in words: BUILT_BY is "built by".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from clew.base.display.visible import restore_unseen
from clew.base.types import ENTITY_TYPES, Described, Skipped, Triple
from clew.errors import UnreadableSource
from clew.extras.connect.imports.saying import RELATED, relate
from clew.extras.connect.imports.stated import (
    Stated,
    choose_unused_name,
    explain_refusal,
    name_documents,
    split_words,
    to_strength,
)
from clew.extras.connect.imports.systems import System
from clew.readers.triples import entity_type, validity
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml
from clew.text.normalize import collapse

SYSTEM = "GraphML"
_TYPES = {"int": int, "long": int, "float": float, "double": float}
_RELATIONS = ("relation", "label", "type", "name", "predicate", "keywords")
_NAMES = ("name", "title", "label", "display_name", "full_name")
_ABOUT = ("description", "summary", "abstract")
_NO_FACTS = {
    "id", "_id", "uuid", "guid", "type", "entity_id", "entity_type", "embedding", "n_chunks",
    "created_at", "updated_at", "source_id", "chunks", "document", "documents", "weight",
}  # fmt: skip
_NO_TYPES = {"", "entity", "node", "__entity__", "__kgbuilder__", "unique import label"}


class _Node(NamedTuple):
    """The labels, other properties and line number of a node."""

    labels: Sequence[str]
    properties: Mapping[str, object]
    line: int


class GraphmlData(NamedTuple):
    """The nodes of a file by id, and its edges with source and target."""

    nodes: list[tuple[str, dict[str, object]]]
    edges: list[tuple[str, str, dict[str, object]]]


def locate(path: Path) -> Path | None:
    """Return the path if its name is that of a GraphML file."""
    return path if path.suffix.lower() == ".graphml" and path.is_file() else None


def read(place: File) -> System:
    """Return the entities of a graph, then its triples."""
    return System(name=SYSTEM, statements=_state(place, read_graphml(place.path, place)))


def _state(file: File, data: GraphmlData) -> Iterator[Stated | Skipped]:
    nodes = {
        own: _Node(_pop_labels(properties), properties, line)
        for line, (own, properties) in enumerate(data.nodes, 1)
    }
    names = _name_nodes(nodes)
    long: Counter[str] = Counter()
    for own, node in nodes.items():
        if names[own]:
            yield from _state_node(names[own], node, long)
        else:
            reason = "its node has a name longer than 100 characters"
            yield Skipped(source=file.source, reason=reason, line=node.line)
    for name, n in sorted(long.items()):
        yield Skipped(
            source=file.source, reason=f"{n:,} values of {name!r} are too long for a name"
        )
    for line, (start, end, properties) in enumerate(data.edges, 1):
        if names.get(start) and names.get(end):
            yield from _state_edge(file, (names[start], names[end]), properties, line)
        else:
            reason = "its relationship refers to an unknown node"
            yield Skipped(source=file.source, reason=reason, line=line)


def read_graphml(path: Path, place: File) -> GraphmlData:
    """Return the nodes and edges of a file. Raises UnreadableSource if it is not GraphML."""
    try:
        root = parse_xml(path.read_bytes())
    except ValueError as error:
        raise UnreadableSource(place.source, str(error)) from None
    keys = {
        each.get("id", ""): (each.get("attr.name", ""), each.get("attr.type", "string"))
        for each in root.iter("key")
    }
    nodes = [(each.get("id", ""), _properties(each, keys)) for each in root.iter("node")]
    edges = [
        (each.get("source", ""), each.get("target", ""), _properties(each, keys))
        for each in root.iter("edge")
    ]
    if root.tag != "graphml":
        raise UnreadableSource(place.source, "is no GraphML")
    return GraphmlData(nodes, edges)


def _properties(element: Element, keys: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    """Return the properties of a node or edge by name, numbers converted."""
    properties: dict[str, object] = {}
    for each in element.iter("data"):
        name, kind = keys.get(each.get("key", ""), ("", "string"))
        text = each.text or ""
        try:
            properties[name] = _TYPES.get(kind, str)(text)
        except ValueError:
            properties[name] = text
    return properties


def _pop_labels(properties: dict[str, object]) -> list[str]:
    """Remove and return a node's labels, as APOC writes them: ":Person:Explorer"."""
    return str(properties.pop("labels", "")).strip(":").split(":")


def _name_relation(properties: Mapping[str, object]) -> str:
    return next((str(properties[name]) for name in _RELATIONS if properties.get(name)), "")


def _words_of(name: str) -> str:
    """Split a name like BUILT_BY or builtBy into words.

    >>> _words_of("BUILT_BY"), _words_of("birthPlace")
    ('built by', 'birth place')
    """
    words = collapse(name.replace("_", " "))
    return words.lower() if words.isupper() else split_words(words)


def _name_nodes(nodes: Mapping[str, _Node]) -> dict[str, str]:
    """Return a name for each node, with distinct keys; too long names are left out."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    names = {}
    for own, node in nodes.items():
        key = _key(node.properties, _NAMES)
        name = _text(node.properties[key]) if key else own.rpartition(":")[2] or own
        longer = [f"{name} ({_words_of(label)})" for label in _real_labels(node)]
        names[own] = choose_unused_name((name, *longer), taken, numbers)
    return names


def _key(properties: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first of the named properties that has a text."""
    lower: dict[str, str] = {}
    for key, value in properties.items():
        if _text(value):
            lower.setdefault(key.casefold(), key)
    return next((lower[name] for name in names if name in lower), "")


def _text(value: object) -> str:
    """Return a text, number or boolean on one line, "" for any other value."""
    if isinstance(value, bool):
        return str(value).lower()
    return restore_unseen(collapse(str(value))) if isinstance(value, str | int | float) else ""


def _real_labels(node: _Node) -> list[str]:
    return [each for each in node.labels if each.strip().casefold() not in _NO_TYPES]


def _state_node(name: str, node: _Node, long: Counter[str]) -> Iterator[Stated]:
    called, about = _key(node.properties, _NAMES), _key(node.properties, _ABOUT)
    kinds = [*(str(node.properties.get(key) or "") for key in ("type", "entity_type"))]
    types = map(entity_type, [*kinds, *node.labels])
    described = Described(
        name=name,
        type=next((each for each in types if each != ENTITY_TYPES[0]), ENTITY_TYPES[0]),
        description=_text(node.properties[about]) if about else "",
    )
    if described != Described(name=name):
        yield Stated(described=described, line=node.line)
    for label in _real_labels(node):
        if label.casefold() not in ENTITY_TYPES:
            yield _fact(name, "is a", _words_of(label), node.line)
    for key, value in node.properties.items():
        if key in {called, about} or key.casefold() in _NO_FACTS:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, float) and isinstance(value, list):
                break  # a vector
            text = _text(each)
            if text and explain_refusal(text):
                long[key] += 1
            elif text:
                yield _fact(name, _words_of(key), text, node.line)


def _fact(name: str, relation: str, text: str, line: int) -> Stated:
    return Stated(triple=Triple(subject=name, relation=relation, object=text), line=line)


def _state_edge(
    file: File, ends: tuple[str, str], properties: Mapping[str, object], line: int
) -> Iterator[Stated | Skipped]:
    about = _key(properties, _ABOUT)
    description = _text(properties[about]) if about else ""
    relation = _text(properties.get("relation", "")) or _words_of(_name_relation(properties))
    documents = list(dict.fromkeys(name_documents(properties)))
    weight = properties.get("strength", properties.get("weight"))
    if relation in {"", RELATED}:
        yield from relate(file, ends, description, documents, line=line, weight=weight)
        return
    problems: list[str] = []
    triple = Triple(
        subject=ends[0],
        relation=relation,
        object=ends[1],
        description=description,
        strength=to_strength(weight),
        validity=validity(properties, "its relationship", problems),
    )
    for reason in problems:
        yield Skipped(source=file.source, reason=reason, line=line)
    for document in documents or [""]:
        yield Stated(triple=triple, document_id=document, line=line)
