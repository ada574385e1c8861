"""Dense and lexical search fused: min-max mean (AGRAG, Eq. 20) or reciprocal rank fusion."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from clew import steps
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models

Fusion = Literal["mean", "rrf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Both rankings over all chunks, fused."""

    layers: ClassVar = frozenset({"chunk", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.SKETCHES["chunk"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    fusion: Fusion = "mean"

    def __post_init__(self) -> None:
        steps.check_words(self, fusion=Fusion)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        scores = steps.hybrid_ranking(snapshot, question, self.fusion)
        return steps.ranked(snapshot, query, "hybrid", scores, self.chunks)


METHOD = Hybrid
GROUP = "baseline"
