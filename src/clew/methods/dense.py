"""Chunks nearest to the query by the cosine of their vectors ("vanilla RAG")."""

from dataclasses import dataclass
from typing import ClassVar

from clew import steps
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """Nearest neighbours; of many chunks nearly, see docs/guides/methods.md."""

    layers: ClassVar = frozenset({"chunk"})
    needs: ClassVar = (steps.SKETCHES["chunk"],)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        return steps.nearest_chunks(snapshot, question, "dense", self.chunks, ())


METHOD = Dense
GROUP = "baseline"
