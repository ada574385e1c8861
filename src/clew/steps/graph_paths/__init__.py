"""Find answers in a graph: start at the entities of a question, follow the relations it names.

A *walk* is a start and the steps taken from there; a step is a relation and its direction. All
that is done by walks, not by entities: a question has some dozens of them, however many entities
they reach. Nothing is known of any relation but its name and what stands at its ends. What is
weighed: docs/methods/paths.md, and how that was chosen: docs/results/paths.md.
"""

from clew.steps.graph_paths.named import NamedEntity, find_starts, mark_connected
from clew.steps.graph_paths.ranked import (
    RankedAnswers,
    ReachedEntity,
    ReachLimits,
    Reading,
    find_named,
    rank_answers,
    to_graph_answers,
)
from clew.steps.graph_paths.steps_graph import StepGraph, build_step_graph

__all__ = [
    "NamedEntity",
    "RankedAnswers",
    "ReachLimits",
    "ReachedEntity",
    "Reading",
    "StepGraph",
    "build_step_graph",
    "find_named",
    "find_starts",
    "mark_connected",
    "rank_answers",
    "to_graph_answers",
]
