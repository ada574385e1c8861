"""Chunks nearest to the query by the cosine of their vectors ("vanilla RAG")."""

from dataclasses import dataclass
from typing import ClassVar

from clew import steps
from clew.models import Models
from clew.types import Evidence, Limits, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Exact nearest neighbours."""

    layers: ClassVar = frozenset({"chunk"})
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        scores = steps.dense_scores(snapshot, "chunk", steps.read_query(models, query))
        return steps.ranked(snapshot, query, "dense", scores, self.chunks)


METHOD = Dense
GROUP = "baseline"
