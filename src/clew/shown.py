"""Describe an index, or one row of it with its neighbours, as plain values for people and JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.algo.links import neighbours
from clew.algo.topk import positive_top_k
from clew.errors import InputError
from clew.layers.aliases import propose
from clew.store.embedded import EmbeddedStore
from clew.text.normalize import entity_key
from clew.types import ENTITY_TYPES, KINDS, SOURCES, Snapshot

_MOST = 20  # neighbours shown of one kind


def describe_index(store: EmbeddedStore, snapshot: Snapshot) -> dict[str, Any]:
    """Return what the index holds, what it was built with and how big it is."""
    documents = snapshot.layer("document")
    return {
        "folder": str(store.folder),
        "generation": snapshot.generation,
        "size_bytes": store.size_bytes(),
        "layers": {name: len(layer) for name, layer in snapshot.layers.items()},
        "extraction": _extraction(store, snapshot),
        "links": {"-".join(pair): int(link.nnz) for pair, link in snapshot.links.items()},
        "wasted": round(store.wasted(), 4),
        "recipe": dict(snapshot.recipe),
        "documents": documents.ids(range(min(len(documents), _MOST))),
    }


def _extraction(store: EmbeddedStore, snapshot: Snapshot) -> dict[str, Any]:
    """Return what was asked to be extracted, by what how many chunks were, and what waits."""
    described: dict[str, Any] = {"wanted": dict(store.wanted())}
    for kind in KINDS:
        made_by = snapshot.layer("chunk").columns[kind]
        waiting = sum(pack >= 0 for pack in store.work(kind).values())
        counts = {source: int(np.sum(made_by == i)) for i, source in enumerate(SOURCES)}
        described[kind] = {name: n for name, n in counts.items() if n} | {"waiting": waiting}
    return described


def describe_aliases(store: EmbeddedStore, snapshot: Snapshot) -> dict[str, Any]:
    """Return which names stand for others, and pairs of names that may be of one thing."""
    layer = snapshot.layer("entity")
    rows = np.flatnonzero(layer.columns["linkable"] | layer.columns["extracted"])
    keys = layer.ids(rows.tolist())
    proposals = propose(keys, layer.vectors[rows])
    return {
        "merged": dict(store.aliases()),
        "proposed": [
            {"name": keys[p.a], "into": keys[p.b], "score": round(p.score, 3), "reason": p.reason}
            for p in proposals
        ],
    }


def describe_row(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return a document, chunk, unit or entity by its id or name, with its neighbours."""
    for kind, describe in (("document", _document), ("chunk", _chunk), ("unit", _unit)):
        [row] = snapshot.layer(kind).rows([name])
        if row >= 0:
            return describe(snapshot, row)
    key = entity_key(name)
    [row] = snapshot.layer("entity").rows([key]) if key else [-1]
    if row >= 0:
        return _entity(snapshot, row)
    raise InputError(f"the index has no document, chunk, unit or entity {name!r}")


def _document(snapshot: Snapshot, row: int) -> dict[str, Any]:
    [document] = snapshot.documents([row])
    chunks = np.flatnonzero(snapshot.layer("chunk").columns["document"] == row)
    return {
        "kind": "document",
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "n_characters": len(document.text),
        "metadata": dict(document.metadata),
        "chunks": snapshot.layer("chunk").ids(chunks.tolist()),
    }


def _chunk(snapshot: Snapshot, row: int) -> dict[str, Any]:
    units = neighbours(snapshot.link("chunk", "unit"), row).tolist()
    named = snapshot.link("unit", "entity")
    entities = sorted({e for u in units for e in neighbours(named, u).tolist()})
    return {
        **_range(snapshot, "chunk", row),
        "n_tokens": int(snapshot.layer("chunk").columns["n_tokens"][row]),
        "units": snapshot.layer("unit").ids(units[:_MOST]),
        "entities": snapshot.layer("entity").texts(entities[:_MOST]),
        "triples": _triples(snapshot, neighbours(snapshot.link("chunk", "triple"), row).tolist()),
    }


def _triples(snapshot: Snapshot, rows: list[int]) -> list[str]:
    return snapshot.layer("triple").texts(rows[:_MOST])


def _unit(snapshot: Snapshot, row: int) -> dict[str, Any]:
    return {
        **_range(snapshot, "unit", row),
        "chunks": snapshot.layer("chunk").ids(
            neighbours(snapshot.link("unit", "chunk"), row).tolist()
        ),
        "entities": snapshot.layer("entity").texts(
            neighbours(snapshot.link("unit", "entity"), row).tolist()
        ),
    }


def _entity(snapshot: Snapshot, row: int) -> dict[str, Any]:
    layer = snapshot.layer("entity")
    units = neighbours(snapshot.link("entity", "unit"), row).tolist()
    titled = neighbours(snapshot.link("entity", "document"), row).tolist()
    shared = snapshot.link("unit", "entity")[units].indices  # with repeats
    near = np.bincount(shared, minlength=len(layer)).astype(np.float64)
    near[row] = 0
    others = positive_top_k(near, _MOST).tolist()
    mentions = snapshot.layer("unit")
    ends = snapshot.layer("triple").columns
    about = (ends["subject"] == row) | (ends["object"] == row)
    return {
        "kind": "entity",
        "id": layer.ids([row])[0],
        "name": layer.texts([row])[0],
        "linkable": bool(layer.columns["linkable"][row]),
        "type": ENTITY_TYPES[layer.columns["type"][row]],
        "title_of": snapshot.layer("document").ids(titled),
        "n_units": len(units),
        "units": [
            {"id": i, "text": t}
            for i, t in zip(mentions.ids(units[:_MOST]), mentions.texts(units[:_MOST]), strict=True)
        ],
        "together_with": layer.texts(others),
        "descriptions": _descriptions(snapshot, row),
        "triples": _triples(snapshot, np.flatnonzero(about).tolist()),
    }


def _descriptions(snapshot: Snapshot, entity: int) -> list[str]:
    layer = snapshot.layer("description")
    rows = np.flatnonzero(layer.columns["entity"] == entity).tolist()
    return list(dict.fromkeys(filter(None, layer.texts(rows))))[:_MOST]


def _range(snapshot: Snapshot, kind: str, row: int) -> dict[str, Any]:
    layer = snapshot.layer(kind)
    chunk = row if kind == "chunk" else int(layer.columns["chunk"][row])
    [document] = snapshot.documents([int(snapshot.layer("chunk").columns["document"][chunk])])
    return {
        "kind": kind,
        "id": layer.ids([row])[0],
        "document": document.id,
        "title": document.title,
        "source": document.source,
        "start": int(layer.columns["start"][row]),
        "end": int(layer.columns["end"][row]),
        "text": layer.texts([row])[0],
    }
