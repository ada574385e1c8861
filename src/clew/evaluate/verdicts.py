"""What a judge says of an answer; the judge that an LLM is stands in `llm_judge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clew.evaluate.datasets import DatasetQuestion
from clew.types import Answer, Usage

Judge = Callable[[DatasetQuestion, Answer], "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The scores of one answer by metric, each from 0 to 1.

    A metric whose reply could not be read is in `unparsable`, and has no score unless its
    definition gives it one.
    """

    scores: Mapping[str, float]
    unparsable: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
