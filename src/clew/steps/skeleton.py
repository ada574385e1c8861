"""The graph of entities and relations of some chunks: KET-RAG's skeleton, or that of all."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from clew import steps
from clew.algo.keywords import keyword_lengths
from clew.algo.knn import choose_core, core_size
from clew.algo.links import Matrix
from clew.algo.local_search import RelationLinks, group_relations
from clew.algo.topk import top_k
from clew.base.derived import Derived
from clew.base.types import IMPORTED, SOURCES
from clew.index.layers.salient import TermSettings
from clew.index.snapshot import Snapshot

_NO_TRIPLES = "no triples, so no graph: 'clew index PATH --triples cooccurrence' extracts some"
_RULES = {
    "cooccurrence": "co-occurrence in sentences",
    "fallback": "co-occurrence where the LLM's reply was unusable",
}


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The extractions of the core chunks. Rows are those of the snapshot's layers."""

    has_entity: NDArray[np.bool_]  # (n_entities,) whether some core chunk has it
    relations: RelationLinks
    entity_chunks: Matrix  # (n_entities, n_chunks)
    profiles: Matrix  # (n_entities, n_profiles), descriptions with a text
    lengths: NDArray[np.float32]  # (n_entities,) of the sums of their profiles' vectors
    notes: tuple[str, ...]  # what it is made of, where that is not what was asked for

    def find_nearest(
        self, snapshot: Snapshot, query: steps.Query, k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the `k` entities nearest to the query, best first: their rows and cosines.

        An entity's vector is the mean of those of its descriptions, else that of its name.
        """
        if not self.profiles.nnz:
            return steps.nearest(snapshot, "entity", query, k, only=self.has_entity)
        is_said = self.has_entity & (self.lengths > 0)
        described = np.flatnonzero(is_said)
        sums = self.profiles @ steps.dense_scores(snapshot, "profile", query)
        others, cosines = steps.nearest(
            snapshot, "entity", query, k, only=self.has_entity & ~is_said
        )
        rows = np.concatenate([described, others])
        order = np.argsort(rows)
        cosines = np.concatenate([sums[described] / self.lengths[described], cosines])[order]
        best = top_k(cosines, k)
        return rows[order][best], cosines[best]


def read_skeleton(snapshot: Snapshot, share: float, by: str, seed: int, k: int) -> Skeleton:
    """Return the skeleton of a core that is a `share` of all chunks, cached."""
    return snapshot.get(_SKELETON, share, by, seed, k)


def read_whole_graph(snapshot: Snapshot) -> Skeleton:
    """Return the graph of all chunks that have triples, as GraphRAG and LightRAG read it."""
    return read_skeleton(snapshot, 1.0, "pagerank", 0, 2)


def _compute_skeleton(snapshot: Snapshot, share: float, by: str, seed: int, k: int) -> Skeleton:
    """Compute the skeleton of a core.

    It contains only chunks with triples. If indexing extracted triples from no more chunks than a
    core has, all of them are the core.
    """
    made_by = np.asarray(snapshot.layer("chunk").columns["graph"])
    core = made_by == IMPORTED  # its triples cost nothing, so there is nothing to choose
    extracted = np.flatnonzero((made_by > 0) & ~core)
    n = int(np.sum(~core))
    size = core_size(n, share)
    if not made_by.any():
        return _build_skeleton(snapshot, core, (_NO_TRIPLES,))
    if size == 0 and not core.any():
        return _build_skeleton(snapshot, core, ("a core of no chunk, so no graph",))
    bare = TermSettings.from_recipe(snapshot.recipe) is not None
    notes: tuple[str, ...] = ()
    if len(extracted) > size:
        ranks = steps.chunk_ranks(snapshot, k)[extracted] if by == "pagerank" else None
        extracted = extracted[choose_core(len(extracted), size, ranks, seed)]
    elif len(extracted) < size or (by == "random" and size < n):
        notes = (f"the graph is of the {len(extracted):,} of {n:,} chunks that have triples",)
    core[extracted] = True
    return _build_skeleton(snapshot, core, notes + _name_free_extractor(made_by, core, bare=bare))


_SKELETON = Derived("the graph of a core", _compute_skeleton)


def _name_free_extractor(
    made_by: NDArray[np.uint8], core: NDArray[np.bool_], *, bare: bool
) -> tuple[str, ...]:
    """Name the part of the core's triples that were extracted without an LLM, if any.

    `bare` says that a chunk has none where the LLM's reply was of no use.
    """
    counts = Counter(SOURCES[source] for source in made_by[core].tolist())
    if bare:
        del counts["fallback"]
    free = [f"{counts[by]:,} by {how}" for by, how in _RULES.items() if counts[by]]
    if not free:
        return ()
    of = f"of {core.sum():,} chunks {' and '.join(free)}"
    return (f"the graph's triples come without an LLM: {of}",)


def _build_skeleton(
    snapshot: Snapshot, core: NDArray[np.bool_], notes: tuple[str, ...]
) -> Skeleton:
    triples, n_entities = snapshot.layer("triple").columns, len(snapshot.layer("entity"))
    entity_chunks, triple_chunks = (
        _restrict_link(snapshot.link(each, "chunk"), core) for each in ("entity", "triple")
    )
    ends = triples["subject"], triples["object"]
    relations = group_relations(*ends, triple_chunks, n_entities)
    profiles = _link_profiles(snapshot, core, n_entities)
    lengths = np.zeros(n_entities, dtype=np.float32)
    if profiles.nnz:
        lengths = keyword_lengths(csr_array(profiles.T), snapshot.layer("profile").vectors)
    return Skeleton(
        has_entity=np.diff(entity_chunks.indptr) > 0,
        relations=relations,
        entity_chunks=entity_chunks,
        profiles=profiles,
        lengths=lengths,
        notes=notes,
    )


def _restrict_link(link: Matrix, core: NDArray[np.bool_]) -> Matrix:
    """Restrict a (n, n_chunks) link to the chunks of the core."""
    if core.all():
        return link
    matrix = csr_array(link @ diags_array(core.astype(np.float32)))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _link_profiles(snapshot: Snapshot, core: NDArray[np.bool_], n_entities: int) -> Matrix:
    columns = snapshot.layer("profile").columns
    rows = np.flatnonzero(core[columns["chunk"]])
    ones = np.ones(len(rows), dtype=np.float32)
    shape = (n_entities, len(columns["chunk"]))
    return csr_array((ones, (columns["entity"][rows], rows)), shape=shape)
