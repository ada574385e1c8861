"""No retrieval: the LLM thinks step by step, then answers. A baseline that papers compare with."""

from dataclasses import dataclass
from typing import ClassVar

from clew.methods.zero_shot import ZeroShot


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOfThought(ZeroShot):
    """Finds nothing, on purpose; without an LLM there is no answer either."""

    name: ClassVar[str] = "chain_of_thought"


METHOD = ChainOfThought
GROUP = "baseline"
