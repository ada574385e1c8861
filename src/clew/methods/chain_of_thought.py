"""The baseline without retrieval in which the LLM reasons step by step."""

from dataclasses import dataclass
from typing import ClassVar

from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOfThought:
    """Returns no chunks, on purpose; needs an LLM for the answer."""

    layers: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 0  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        note = () if models.llm else ("chain_of_thought needs an LLM: name one with --llm",)
        name = "chain_of_thought"
        return Evidence(query=query, method=name, prompt=name, notes=note)


METHOD = ChainOfThought
GROUP = "baseline"
