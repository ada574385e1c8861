"""No retrieval: the LLM answers from what it knows. A baseline that papers compare with."""

from dataclasses import dataclass
from typing import ClassVar

from clew.models import Models
from clew.snapshot import Snapshot
from clew.types import Evidence, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShot:
    """Finds nothing, on purpose; without an LLM there is no answer either."""

    layers: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "zero_shot"

    chunks: int = 0  # chunks returned

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        note = () if models.llm else (f"{self.name} answers by an LLM only: name one",)
        return Evidence(query=query, method=self.name, prompt=self.name, notes=note)


METHOD = ZeroShot
GROUP = "baseline"
