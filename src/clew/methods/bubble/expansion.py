"""Candidates grow towards the answer, by triples that stand beside them.

BubbleRAG's reasoning-aware expansion (arXiv:2603.20309, §3.5). The candidates grow one after the
other by rank, so whatever ends it early leaves what was added until then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clew.graph_paths import NamedEntity
from clew.methods.bubble.by_llm import grow_by_llm
from clew.methods.bubble.by_relations import grow_by_relations
from clew.methods.bubble.by_walks import grow_by_walks
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth
from clew.methods.bubble.view import BubbleView
from clew.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionMeaning:
    """What a question says, to grow by where no LLM chooses."""

    phrases: Sequence[str] = ()  # the words between the names
    named: Sequence[NamedEntity] = ()  # where walks begin, over a graph without texts


def grow_candidates(
    view: BubbleView,
    models: Models,
    chosen: Sequence[Sequence[int]],
    said: QuestionMeaning,
    *,
    depth: int,
    width: int,
    seconds: float,
    begun: float,
) -> list[CandidateGrowth]:
    """Return what each of the `chosen` candidates, given as nodes by rank, grows by.

    At each of `depth` levels the `width` triples most similar to the query are chosen from, among
    those of the entities that the level before brought. At first these are the ends of all of the
    candidate's triples, which are words of its evidence, and its other entities. When
    `seconds` have passed since `begun`, a time.monotonic(), no further level begins; 0 is no limit.
    An LLM chooses; without one, walks from what is named; where that is nothing, what relations say
    of the phrases, or of the whole question where it has none.
    """
    beside = AdjacentTriples(view, width, seconds, begun)
    if models.llm is not None:
        return grow_by_llm(beside, models.llm, chosen, depth)
    if said.named:
        return grow_by_walks(beside, models, chosen, depth, said.named)
    asked = said.phrases or [view.query.text]
    return grow_by_relations(beside, models.embedder, chosen, depth, asked)
