"""Answers of a graph: from what a question names, along the relations that it speaks of.

A *walk* is a start and the steps taken from there; a step is a relation and its direction. All
that is done by walks, not by entities: a question has some dozens of them, however many entities
they reach. Nothing is known of any relation but its name and what stands at its ends. What is
weighed: docs/methods/paths.md, and how that was chosen: docs/results/paths.md.
"""

from clew.graph_paths.named import Start, connected, starts
from clew.graph_paths.ranked import (
    Answers,
    Reach,
    Reached,
    Reading,
    graph_answers,
    named,
    ranked_answers,
)
from clew.graph_paths.steps_graph import StepGraph, step_graph

__all__ = [
    "Answers",
    "Reach",
    "Reached",
    "Reading",
    "Start",
    "StepGraph",
    "connected",
    "graph_answers",
    "named",
    "ranked_answers",
    "starts",
    "step_graph",
]
