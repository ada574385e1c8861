"""HippoRAG: PageRank over phrases alone, from those most like the names in the question.

Gutiérrez et al. (2024), arXiv:2405.14831. Phrases are the entities that triples join; passages are
no nodes, but sum the scores of their triples. Choices where the paper and its released code differ:
docs/methods/hipporag.md.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import entry_rows
from clew.algo.topk import positive_top_k
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits, Step
from clew.extras.baselines.passage_graph import PassageGraph, phrases_of_chunks, trace_triple
from clew.extras.baselines.synonyms import LEAST, SYNONYMS, synonym_pairs
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.evidence import NO_TRIPLES
from clew.text.keys import name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRag:
    """HippoRAG's retrieval by its graph alone; an LLM, if there is one, names entities."""

    layers: ClassVar = frozenset({"chunk", "entity", "triple"})
    needs: ClassVar = (steps.SKETCHES["chunk"], steps.SKETCHES["entity"], SYNONYMS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned, at most
    damping: float = 0.5  # probability of continuing from a node; the released code has 0.1
    specificity: bool = True  # a seed weighs 1 / the number of chunks that have a triple of it
    synonym: float = LEAST  # cosine above which two names are linked [τ]

    def __post_init__(self) -> None:
        steps.check_range(self, LEAST, 1, "synonym")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        names, notes = steps.query_names(models, query)
        if not len(snapshot.layer("triple")) or not names:
            why = "the question names no entity" if len(snapshot.layer("triple")) else NO_TRIPLES
            note = f"{why}: used the chunks nearest to the question"
            question = steps.read_query(models, query)
            return steps.nearest_chunks(snapshot, question, "hipporag", self.chunks, (*notes, note))
        graph, within = snapshot.get(_GRAPH, self.synonym), phrases_of_chunks(snapshot)
        n_chunks = np.bincount(within.indices, minlength=within.shape[1])
        seeds = _find_phrases(snapshot, models, names, n_chunks > 0)
        restart = {row: 1 / int(n_chunks[row]) if self.specificity else 1.0 for row in seeds}
        influence = graph.spread(restart, self.damping)
        phrases = np.zeros(within.shape[1])
        phrases[influence.nodes] = influence.scores
        scores = within @ phrases
        best = {row: float(scores[row]) for row in positive_top_k(scores, self.chunks).tolist()}
        thread, found = partial(trace_triple, snapshot, seeds, phrases), tuple(seeds.values())
        return steps.build_evidence(
            snapshot, query, "hipporag", best, thread, seeds=found, notes=notes
        )


def _build_graph(snapshot: Snapshot, synonym: float) -> PassageGraph:
    """Return the graph of phrases alone.

    Two of them are joined by 1 for each chunk and triple that has both, or, where their names are
    near, by the cosine of these instead.
    """
    n, columns = len(snapshot.layer("entity")), snapshot.layer("triple").columns
    owners = entry_rows(snapshot.link("triple", "chunk"))
    subjects, objects = (columns[end][owners].astype(np.int64) for end in ("subject", "object"))
    a, b, cosines = synonym_pairs(snapshot, synonym)
    pairs = np.minimum(subjects, objects) * n + np.maximum(subjects, objects)
    weights = (~np.isin(pairs, a.astype(np.int64) * n + b)).astype(np.float64)
    return PassageGraph.from_edges(0, n, [(subjects, objects, weights), (a, b, cosines)])


_GRAPH = Derived("HippoRAG's graph", _build_graph)


def _find_phrases(
    snapshot: Snapshot, models: Models, names: list[str], only: NDArray[np.bool_]
) -> dict[int, Step]:
    """Return the phrase most like each name, each once, as steps."""
    vectors = models.embedder.embed([name_key(name) for name in names], kind="document")
    near = steps.near_rows(snapshot, "entity", vectors, 1, only=only)
    linked = [steps.Linked(row, name, c) for name, [(row, c)] in zip(names, near, strict=True)]
    return {
        link.row: steps.read_step(snapshot, "entity", link.row, link.reason, link.score)
        for link in linked
    }


METHOD = HippoRag
GROUP = "baseline"
