"""The baselines without retrieval, in which the LLM answers from its own knowledge."""

from dataclasses import dataclass
from typing import ClassVar

from clew.base.types import Evidence, Limits
from clew.index.snapshot import Snapshot
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShot:
    """Returns no chunks, on purpose; needs an LLM for the answer."""

    name: ClassVar[str] = "zero_shot"  # and that of its prompt
    layers: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 0  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        note = () if models.llm else (f"{self.name} needs an LLM: name one with --llm",)
        return Evidence(query=query, method=self.name, prompt=self.name, notes=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOfThought(ZeroShot):
    """The LLM answers without retrieval, and reasons step by step before."""

    name: ClassVar[str] = "chain_of_thought"


METHOD = ZeroShot
VARIANTS = {"chain_of_thought": ChainOfThought}
GROUP = "baseline"
