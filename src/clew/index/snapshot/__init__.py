"""A snapshot: one generation of an index as layers of rows and links between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import ref

from clew.base.derived import CachedArrays, Derived
from clew.base.runtime.cached_values import Once
from clew.base.types import GRAPH, IMPORTED, Document, Scalar, VocabularyEntry, title_heads
from clew.errors import MissingLayer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.algo.links import Link
    from clew.base.derived import Arrays
    from clew.index.snapshot.layers import (
        ChunkCutter,
        DocumentLayer,
        Layer,
        SnapshotBase,
        Totals,
        TripleLayer,
    )

T = TypeVar("T")

_MAX_DERIVED = 64  # of a snapshot; what methods need of it with one setting each is some 20


@dataclass(frozen=True)
class Snapshot:
    """One generation of an index, the input of methods. Rows are in document-id order."""

    document_layer: DocumentLayer
    layers: Mapping[str, Layer]  # "document", "chunk", "unit", "entity", "term", "triple", ...
    links: Mapping[tuple[str, str], Link]  # (n_a, n_b), weights > 0
    recipe: Mapping[str, Scalar] = field(default_factory=dict)
    # What was said of entities by hand or by a list, by their keys.
    vocabulary: Mapping[str, VocabularyEntry] = field(default_factory=dict)
    generation: int = 0
    # Gives cached arrays from disk, or computed and then cached there; None without a store.
    recall: Callable[[Snapshot, CachedArrays, Mapping[str, Any]], Arrays] | None = None
    # Gives the snapshot of some documents alone, by ascending rows, and of the triples that hold on
    # some days, if any are named; None without a store.
    among: Callable[..., Snapshot] | None = None
    # Cuts some chunks out, by their rows; None without a store.
    cutter: ChunkCutter | None = None
    # What the index has in all, where this snapshot holds a part of it; None: it holds all.
    totals: Totals | None = None
    # The generation that this one is the edits of, None where it was put together by itself.
    base: SnapshotBase | None = None
    exact: bool = False  # what is nearest is looked for among all rows, however many there are
    close: Callable[[], None] = lambda: None  # lets go of the files behind it
    _derived: Once[tuple[Derived[Any], tuple[Hashable, ...], tuple[str, ...]]] = field(
        default_factory=lambda: Once(_MAX_DERIVED), init=False, repr=False, compare=False
    )

    def layer(self, name: str) -> Layer:
        try:
            return self.layers[name]
        except KeyError:
            have = ", ".join(self.layers)
            raise MissingLayer(f"this index has no {name!r} layer, only {have}") from None

    def linked(self, a: str, b: str) -> Link:
        """Return the (n_a, n_b) link, transposed if it is stored the other way.

        Of its rows no more are read than those that are asked for.
        """
        if (a, b) in self.links:
            return self.links[a, b]
        if (b, a) in self.links:
            return self.get(_TRANSPOSED, a, b)
        have = ", ".join("-".join(pair) for pair in self.links)
        raise MissingLayer(f"this index has no link {a}-{b}, only {have}")

    def link(self, a: str, b: str) -> csr_array:
        """Return the whole (n_a, n_b) link as a matrix."""
        return self.linked(a, b).whole

    @property
    def triples(self) -> TripleLayer:
        return cast("TripleLayer", self.layer("triple"))

    def documents(self, rows: Sequence[int]) -> list[Document]:
        return self.document_layer.documents(rows)

    def are_texts(self) -> NDArray[np.bool_]:
        """Mark the chunks of texts, as opposed to imported graphs."""
        of_texts: NDArray[np.bool_] = self.layer("chunk").columns[GRAPH] != IMPORTED
        return of_texts

    def titled_texts(self, chunks: Sequence[int]) -> list[str]:
        """Return each chunk's text with its title and section, as models read it."""
        layer = self.layer("chunk")
        documents = self.documents([int(layer.columns["document"][row]) for row in chunks])
        starts = [int(layer.columns["start"][row]) for row in chunks]
        texts = layer.texts(chunks)
        heads = title_heads(documents, starts, texts)
        return [head + text for head, text in zip(heads, texts, strict=True)]

    def get(self, what: Derived[T], *settings: Hashable, **given: object) -> T:
        """Return a value derived from this generation, computed once per setting.

        `given` is handed on to what computes it. The last 64 values are kept.
        """
        name = (what, settings, tuple(sorted(given)))
        return self._derived.get(name, lambda: self._compute_derived(what, settings, given))

    def prepare_as(self, other: Snapshot) -> None:
        """Compute the values that another generation has computed, if they need no input."""
        for what, settings, given in other._derived.names():
            if not given:
                self.get(what, *settings)

    def exactly(self) -> Snapshot:
        """Return the same generation with exact instead of approximate nearest-neighbour search."""
        exact = replace(self, exact=True)
        object.__setattr__(exact, "_derived", self._derived)  # which does not depend on it
        return exact

    def base_arrays(self, what: CachedArrays) -> Arrays | None:
        """Return the arrays of the generation that this one was edited from, or None.

        For arrays that are `edited` by who reads them.
        """
        return None if self.base is None else self.base.arrays(what)

    def _compute_derived(
        self, what: Derived[T], settings: tuple[Hashable, ...], given: Mapping[str, Any]
    ) -> T:
        if self.recall is not None and isinstance(what, CachedArrays):
            return cast("T", self.recall(self, what, given))
        return what.compute(self, *settings, **given)


def _cached_link(a: str, b: str) -> CachedArrays:
    def compute(snapshot: Snapshot) -> Arrays:
        from clew.algo.links import link_to_arrays

        return link_to_arrays(snapshot.links[b, a].whole.transpose().tocsr())

    name = f"link-{a}-{b}"
    return CachedArrays(name, compute, update=lambda now, _earlier: compute(now), edited=True)


# Links that are kept the other way, and that questions go along.
TRANSPOSED_LINKS = {
    pair: _cached_link(*pair) for pair in (("entity", "unit"), ("unit", "chunk"), ("term", "chunk"))
}


def _transpose_link(snapshot: Snapshot, a: str, b: str) -> Link:
    from clew.algo.links import StoredLink, link_from_arrays

    if (a, b) in TRANSPOSED_LINKS:
        what = TRANSPOSED_LINKS[a, b]
        arrays = snapshot.base_arrays(what)
        if arrays is not None and snapshot.base is not None:
            return snapshot.base.transpose(link_from_arrays(arrays), b, a)
        return link_from_arrays(snapshot.get(what))
    return StoredLink.from_matrix(snapshot.links[b, a].whole.transpose().tocsr())


def refer_to(snapshot: Snapshot) -> Callable[[], Snapshot]:
    """Return a weak reference to a snapshot as a function, for values cached inside it.

    It holds the snapshot weakly: if each kept the other, the files of a former generation would
    stay open until the next full collection of garbage. Whoever calls it holds the snapshot.
    """
    reference = ref(snapshot)

    def get() -> Snapshot:
        held = reference()
        assert held is not None  # noqa: S101 -- who has the value has it from the snapshot
        return held

    return get


_TRANSPOSED = Derived("a link the other way", _transpose_link)
