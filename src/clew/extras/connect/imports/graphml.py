"""Import GraphML, including Neo4j's APOC export: nodes and edges with properties."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from clew.errors import UnreadableSource
from clew.extras.connect.imports.property_graph import PropertyNode, Relationship, state
from clew.extras.connect.imports.systems import System
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml

SYSTEM = "GraphML"
_TYPES = {"int": int, "long": int, "float": float, "double": float}
_RELATIONS = ("relation", "label", "type", "name", "predicate", "keywords")


class GraphmlData(NamedTuple):
    """The nodes of a file by id, and its edges with source and target."""

    nodes: list[tuple[str, dict[str, object]]]
    edges: list[tuple[str, str, dict[str, object]]]


def locate(path: Path) -> Path | None:
    """Return the path if its name is that of a GraphML file."""
    return path if path.suffix.lower() == ".graphml" and path.is_file() else None


def read(place: File) -> System:
    """Yield entities and triples; an edge's relation is its relation, label, type or keywords."""
    data = read_graphml(place.path, place)
    nodes = {
        own: PropertyNode(labels=_pop_labels(properties), properties=properties, line=line)
        for line, (own, properties) in enumerate(data.nodes, 1)
    }
    edges = (
        Relationship(start, end, _name_relation(properties), properties, line)
        for line, (start, end, properties) in enumerate(data.edges, 1)
    )
    return System(name=SYSTEM, statements=state(place, nodes, edges))


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
