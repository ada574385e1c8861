"""Chunks that share rare words with the query: Okapi BM25."""

from dataclasses import dataclass
from typing import ClassVar

from clew import steps
from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25:
    """Lexical search. A chunk without any word of the query is no hit."""

    layers: ClassVar = frozenset({"chunk", "term"})
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        ranking = steps.lexical_ranking(snapshot, query, self.chunks)
        return steps.ranked(snapshot, query, "bm25", ranking, self.chunks, positive=True)


METHOD = Bm25
GROUP = "baseline"
