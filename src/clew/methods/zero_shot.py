"""The baseline without retrieval in which the LLM answers from its own knowledge."""

from dataclasses import dataclass
from typing import ClassVar

from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShot:
    """Returns no chunks, on purpose; needs an LLM for the answer."""

    layers: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 0  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        note = () if models.llm else ("zero_shot needs an LLM: name one with --llm",)
        return Evidence(query=query, method="zero_shot", prompt="zero_shot", notes=note)


METHOD = ZeroShot
GROUP = "baseline"
