"""RAPTOR: search a tree of summaries over the chunks at all levels at once.

Sarthi et al. (2024), arXiv:2401.18059, the collapsed tree. Summaries are sentences of the texts,
so that no LLM is needed. Where this departs from the paper: docs/methods/raptor.md. UMAP is left
out: it is neither exact nor reproducible.
"""

from dataclasses import dataclass
from typing import ClassVar

from clew import steps
from clew.base.types import Evidence, Limits
from clew.extras.baselines.summaries import SUMMARIES, collect_nodes, nearest_nodes
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Raptor:
    """Rank chunks and summaries by cosine; a summary returns the chunk of one of its sentences."""

    layers: ClassVar = frozenset({"chunk", "unit"})
    needs: ClassVar = (steps.SKETCHES["chunk"], SUMMARIES)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    summaries: int = 10  # nearest to the question, that compete with chunks

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        nodes = nearest_nodes(snapshot, question, self.chunks, self.summaries)
        return collect_nodes(snapshot, query, "raptor", nodes, self.chunks)


METHOD = Raptor
GROUP = "baseline"
