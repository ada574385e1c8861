"""Candidates grow towards the answer, by triples that stand beside them.

BubbleRAG's reasoning-aware expansion (arXiv:2603.20309, §3.5). The candidates grow one after the
other by rank, so whatever ends it early leaves what was added until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.methods.bubble.by_llm import grow_by_llm
from clew.methods.bubble.by_relations import grow_by_relations
from clew.methods.bubble.growth import Beside, Grown

if TYPE_CHECKING:
    from clew.methods.bubble.view import View
    from clew.models import Models


def grow(
    view: View,
    models: Models,
    chosen: Sequence[Sequence[int]],
    *,
    phrases: Sequence[str],
    depth: int,
    width: int,
    seconds: float,
    begun: float,
) -> list[Grown]:
    """Return what each of the `chosen` candidates, given as nodes by rank, grows by.

    At each of `depth` levels the `width` triples most similar to the query are chosen from, among
    those of the entities that the level before brought. At first these are the ends of all of the
    candidate's triples, which are words of its evidence, and its other entities. When
    `seconds` have passed since `begun`, a time.monotonic(), no further level begins; 0 is no limit.
    An LLM chooses; without one, what the relations say of `phrases`, or of the whole question where
    it has none.
    """
    beside = Beside(view, width, seconds, begun)
    if models.llm is not None:
        return grow_by_llm(beside, models.llm, chosen, depth)
    asked = phrases or [view.query.text]
    return grow_by_relations(beside, models.embedder, chosen, depth, asked)
