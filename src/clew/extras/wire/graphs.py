"""Graphs for drawing: nodes with positions, and edges."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEntity:
    """An entity and its position."""

    id: str
    name: str
    type: str
    n_texts: int
    theme: str  # the id of the widest theme with most of its chunks, "" for none
    x: float  # -1 to 1
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLink:
    """Two entities that occur together or that a triple joins."""

    source: str
    target: str
    n_texts: int  # that mention both
    relations: tuple[str, ...]  # of triples, from either to the other


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnIndex:
    """The most mentioned entities, and the strongest links between them."""

    nodes: tuple[DrawnEntity, ...]
    edges: tuple[DrawnLink, ...]
    n_entities: int  # in all


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadNode:
    """A node of a method's evidence: a row, the reason, and its position; the question is left."""

    key: str  # of this graph: the layer and the id
    layer: str
    id: str
    text: str
    reason: str
    score: float | None
    document_id: str
    start: int
    end: int
    rank: int | None  # of a chunk that is a hit, from 1
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEdge:
    """A step from one node to the next, or an edge of the graph of triples."""

    source: str
    target: str
    kind: str  # "step", "fact", "contains" or "synonym"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnThread:
    """A method's evidence for a question, as a graph."""

    query: str
    method: str
    where: str
    support: float | None
    nodes: tuple[ThreadNode, ...]
    edges: tuple[ThreadEdge, ...]
    notes: tuple[str, ...]
