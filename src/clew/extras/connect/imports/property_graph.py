"""Convert a property graph, such as Neo4j's, into entities and triples.

A node is called by its `name`, `title` or `label`, else by its id; two nodes of one name stay two
entities. Its other short properties are the objects of triples, and so are its labels, but for
those that are types of Clew. A relationship is called by its property `relation`, else by its type
in words: BUILT_BY is "built by".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clew.base.display.visible import restore_unseen
from clew.base.types import ENTITY_TYPES, Described, Skipped, Triple
from clew.extras.connect.imports.saying import RELATED, relate
from clew.extras.connect.imports.stated import (
    Stated,
    choose_unused_name,
    explain_refusal,
    name_documents,
    split_words,
    to_strength,
)
from clew.readers.triples import entity_type, validity
from clew.readers.walk import File
from clew.text.normalize import collapse

_NAMES = ("name", "title", "label", "display_name", "full_name")
_ABOUT = ("description", "summary", "abstract")
_NO_FACTS = {
    "id", "_id", "uuid", "guid", "type", "entity_id", "entity_type", "embedding", "n_chunks",
    "created_at", "updated_at", "source_id", "chunks", "document", "documents", "weight",
}  # fmt: skip
_NO_TYPES = {"", "entity", "node", "__entity__", "__kgbuilder__", "unique import label"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyNode:
    """A node."""

    labels: Sequence[str] = ()
    properties: Mapping[str, object] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship between two nodes, given by their ids."""

    start: str
    end: str
    type: str
    properties: dict[str, object]
    line: int


def state(
    file: File, nodes: Mapping[str, PropertyNode], relationships: Iterable[Relationship]
) -> Iterator[Stated | Skipped]:
    """Yield the entities of a graph, then its triples."""
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
    for each in relationships:
        if names.get(each.start) and names.get(each.end):
            yield from _state_relationship(file, names[each.start], names[each.end], each)
        else:
            reason = "its relationship refers to an unknown node"
            yield Skipped(source=file.source, reason=reason, line=each.line)


def _words_of(name: str) -> str:
    """Split a name like BUILT_BY or builtBy into words.

    >>> _words_of("BUILT_BY"), _words_of("birthPlace")
    ('built by', 'birth place')
    """
    words = collapse(name.replace("_", " "))
    return words.lower() if words.isupper() else split_words(words)


def _name_nodes(nodes: Mapping[str, PropertyNode]) -> dict[str, str]:
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


def _real_labels(node: PropertyNode) -> list[str]:
    return [each for each in node.labels if each.strip().casefold() not in _NO_TYPES]


def _state_node(name: str, node: PropertyNode, long: Counter[str]) -> Iterator[Stated]:
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


def _state_relationship(
    file: File, start: str, end: str, each: Relationship
) -> Iterator[Stated | Skipped]:
    properties = each.properties
    about = _key(properties, _ABOUT)
    description = _text(properties[about]) if about else ""
    relation = _text(properties.get("relation", "")) or _words_of(each.type)
    documents = list(dict.fromkeys(name_documents(properties)))
    weight = properties.get("strength", properties.get("weight"))
    if relation in {"", RELATED}:
        yield from relate(file, (start, end), description, documents, line=each.line, weight=weight)
        return
    problems: list[str] = []
    triple = Triple(
        subject=start,
        relation=relation,
        object=end,
        description=description,
        strength=to_strength(weight),
        validity=validity(properties, "its relationship", problems),
    )
    for reason in problems:
        yield Skipped(source=file.source, reason=reason, line=each.line)
    for document in documents or [""]:
        yield Stated(triple=triple, document_id=document, line=each.line)
