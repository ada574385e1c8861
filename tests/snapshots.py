"""What tests ask of a whole snapshot: all that it holds, and whether it is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import MissingLayer
from clew.index.snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


def contents(snapshot: Snapshot, *, vectors: bool = True) -> dict[str, Any]:
    """Return all that a snapshot holds as plain values; equal ones are equal byte for byte.

    The numbers that the store has given are left out.
    """
    held: dict[str, Any] = {"documents": snapshot.documents(range(_n(snapshot, "document")))}
    for name, layer in snapshot.layers.items():
        rows = range(len(layer))
        held[name] = {"ids": layer.ids(rows), "texts": layer.texts(rows)}
        columns = (pair for pair in layer.columns.items() if pair[0] != "number")
        held[name] |= {column: _bytes(array) for column, array in columns}
        try:
            held[name]["vectors"] = _bytes(layer.vectors[:]) if vectors and len(layer) else None
            held[name]["tokens"] = [_bytes(layer.tokens(row)) for row in rows]
        except MissingLayer as error:
            held[name]["missing"] = str(error)
    for pair, link in ((pair, each.whole) for pair, each in snapshot.links.items()):
        held["-".join(pair)] = [link.shape, *map(_bytes, (link.indptr, link.indices, link.data))]
    return held


def _n(snapshot: Snapshot, layer: str) -> int:
    return len(snapshot.layer(layer))


def _bytes(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


_POINTERS = {
    ("document", "title_entity"): "entity",
    ("chunk", "document"): "document",
    ("subchunk", "chunk"): "chunk",
    ("sentence", "chunk"): "chunk",
    ("unit", "chunk"): "chunk",
    ("triple", "subject"): "entity",
    ("triple", "object"): "entity",
    ("triple", "chunk"): "chunk",
    ("description", "entity"): "entity",
    ("description", "chunk"): "chunk",
    ("profile", "description"): "description",
    ("profile", "entity"): "entity",
    ("profile", "chunk"): "chunk",
}


# Chunks that overlap may have a part in common; merged entities are described twice in a chunk.
_REPEATING = ("subchunk", "profile")


_CODED = 0.2  # by which vectors of four bits a number that are mostly zeros may be longer


def check_consistent(snapshot: Snapshot) -> None:
    """Raise AssertionError where a row or link of `snapshot` points to what is not there."""
    for (name, column), target in _POINTERS.items():
        pointers = snapshot.layer(name).columns[column]
        assert len(pointers) == _n(snapshot, name)
        assert pointers.max(initial=-1) < _n(snapshot, target)
        assert pointers.min(initial=0) >= (-1 if column == "title_entity" else 0)
    for (a, b), link in ((pair, each.whole) for pair, each in snapshot.links.items()):
        assert link.shape == (_n(snapshot, a), _n(snapshot, b))
        assert link.indices.max(initial=-1) < link.shape[1]
        assert np.all(np.diff(link.indptr) >= 0)
        assert link.indptr[-1] == len(link.indices) == len(link.data)
        assert link.has_sorted_indices
        assert np.all(link.data > 0)
    documents = snapshot.documents(range(_n(snapshot, "document")))
    assert [d.id for d in documents] == sorted(d.id for d in documents)
    for name in ("chunk", "subchunk", "sentence", "unit", "triple", "profile"):
        layer = snapshot.layer(name)
        rows = range(len(layer))
        ids = layer.ids(rows)
        assert layer.ids(layer.rows(ids)) == ids
        assert name in _REPEATING or len(set(ids)) == len(ids)
        assert all(layer.texts(rows))
        if len(layer):
            lengths = np.linalg.norm(layer.vectors[:], axis=1)
            np.testing.assert_allclose(lengths, 1, atol=_CODED)
    entities = snapshot.layer("entity")
    assert entities.rows(entities.ids(range(len(entities)))) == list(range(len(entities)))
    if len(entities):
        lengths = np.linalg.norm(entities.vectors[:], axis=1)
        named = entities.columns["linkable"] | entities.columns["extracted"]
        np.testing.assert_allclose(lengths, named.astype(float), atol=_CODED)
