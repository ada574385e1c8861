"""Find anchors: the entities and triples that each concept of a question may stand for.

BubbleRAG (arXiv:2603.20309, §3.2): candidates by similarity, grouped and weighed by an LLM.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew import steps
from clew.methods.bubble.analysis import Analysis, Concept
from clew.methods.bubble.view import BubbleView
from clew.models import LLM, Models, Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, shorten, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.steps.graph_paths import mark_connected
from clew.text.normalize import collapse, entity_key

Found = tuple[float, str]  # the similarity of a candidate, above zero, and the words that found it

_MARGIN = 0.1  # a candidate that is further below the best of its concept is noise
_AND = " / "  # between the names of concepts with the same anchors
_UNLIKE: Found = (0.0, "")  # no candidate: nothing in common with the words
_SCHEMA = closed_schema(
    {
        "groups": {
            "type": "array",
            "items": closed_schema(
                {
                    "concept": {"type": "integer"},
                    "candidates": {"type": "array", "items": {"type": "integer"}},
                    "weight": {"type": "number"},
                }
            ),
        }
    }
)


class AnchorGroup(NamedTuple):
    """Nodes that may stand for a concept; any of them will do."""

    concept: Concept
    weight: float  # those of all groups add up to 1
    nodes: Mapping[int, Found]  # best first


class Anchors(NamedTuple):
    """The groups of a question, in the order of its concepts."""

    groups: tuple[AnchorGroup, ...]
    notes: tuple[str, ...] = ()


def find_anchors(
    view: BubbleView, models: Models, analysis: Analysis, *, k: int = 10, validate: bool = True
) -> Anchors:
    """Return distinct, non-empty groups of anchors for the concepts of a question.

    Candidates of a concept are the `k` entities and triples most similar to any of its searches.
    With `validate` an LLM chooses among them and weighs the groups. Without an LLM, or a usable
    reply, each concept is a group of the candidates near its best one, all with equal weights.
    """
    candidates = _find_candidates(view, models, analysis.concepts, k)
    notes: tuple[str, ...] = ()
    if models.llm is not None and validate and any(candidates):
        groups, fault = _choose_by_llm(view, models.llm, analysis.concepts, candidates)
        if not fault:
            return Anchors(_normalize_weights(groups))
        notes = (f"the LLM did not group the anchors ({fault}): one group for each concept",)
    pairs = zip(analysis.concepts, map(_drop_dissimilar, candidates), strict=True)
    groups = [AnchorGroup(concept, 1.0, nodes) for concept, nodes in pairs if nodes]
    return Anchors(_normalize_weights(groups), notes)


def _normalize_weights(groups: Sequence[AnchorGroup]) -> tuple[AnchorGroup, ...]:
    """Scale the groups' weights to sum to 1; equal weights if all are 0.

    Groups of the same nodes are merged, with all their names and weights, which changes no score.
    """
    weights = [group.weight if 0 < group.weight < math.inf else 0.0 for group in groups]
    total = sum(weights)
    first: dict[frozenset[int], AnchorGroup] = {}
    for group, weight in zip(groups, weights, strict=True):
        share = weight / total if 0 < total < math.inf else 1 / len(groups)
        nodes = frozenset(group.nodes)
        if nodes in first:
            before = first[nodes]
            joint = before.concept._replace(text=f"{before.concept.text}{_AND}{group.concept.text}")
            first[nodes] = before._replace(concept=joint, weight=before.weight + share)
        else:
            first[nodes] = group._replace(weight=share)
    return tuple(first.values())


# -- candidates -----------------------------------------------------------------------------------


def _find_candidates(
    view: BubbleView, models: Models, concepts: Sequence[Concept], k: int
) -> list[dict[int, Found]]:
    """Return the candidates of each concept, best first.

    An entity that has the very name counts as 1; of equal ones the first node comes first.
    """
    words = list(dict.fromkeys(search for each in concepts for search in each.searches))
    nodes = dict(zip(words, _find_nodes(view, models, words, k), strict=True))
    candidates = []
    for concept in concepts:
        best: dict[int, Found] = {}
        for search in concept.searches:
            for node, similarity in nodes[search]:
                if similarity > best.get(node, _UNLIKE)[0]:
                    best[node] = similarity, search
        candidates.append(dict(_sort_nodes(best)[:k]))
    return candidates


def _find_nodes(
    view: BubbleView, models: Models, words: Sequence[str], k: int
) -> list[list[tuple[int, float]]]:
    """Return at least `k` entities and `k` triples similar to each of some words."""
    snapshot, n = view.snapshot, view.graph.n_entities
    in_graph = mark_connected(snapshot)
    vectors = models.embedder.embed(words, kind="document")
    entities = steps.near_rows(snapshot, "entity", vectors, k, only=in_graph)
    triples = steps.near_rows(snapshot, "triple", vectors, k)
    rows = snapshot.layer("entity").rows([entity_key(each) for each in words])
    return [
        [
            *([(row, 1.0)] if row >= 0 and in_graph[row] else []),
            *near,
            *((n + triple, cosine) for triple, cosine in facts),
        ]
        for row, near, facts in zip(rows, entities, triples, strict=True)
    ]


def _sort_nodes(nodes: Mapping[int, Found]) -> list[tuple[int, Found]]:
    return sorted(nodes.items(), key=lambda item: (-item[1][0], item[0]))


def _drop_dissimilar(nodes: Mapping[int, Found]) -> dict[int, Found]:
    """Drop the candidates that are much less similar than the best one."""
    least = max((similarity for similarity, _ in nodes.values()), default=0.0) - _MARGIN
    return {node: pair for node, pair in nodes.items() if pair[0] >= least}


# -- groups by an LLM -----------------------------------------------------------------------------


def _choose_by_llm(
    view: BubbleView, llm: LLM, concepts: Sequence[Concept], near: Sequence[Mapping[int, Found]]
) -> tuple[list[AnchorGroup], str]:
    """Return the groups chosen by an LLM, in the order of the concepts, or an error text."""
    listed = _list_candidates(near)
    nodes = list(listed)
    reply = steps.reply_to(llm, _build_prompt(view, concepts, nodes))
    if reply.error:
        return [], reply.error
    weights: dict[int, float] = {}
    members: dict[int, dict[int, Found]] = {}
    for row in reply.data["groups"]:
        own_nodes = [nodes[place] for place in valid_places(row["candidates"], len(nodes))]
        is_finite = abs(row["weight"]) <= sys.float_info.max  # JSON has longer whole numbers
        for place in valid_places([row["concept"]], len(concepts)) if own_nodes else ():
            weights[place] = weights.get(place, 0.0) + (row["weight"] if is_finite else 0.0)
            own = ((node, near[place].get(node, listed[node])) for node in own_nodes)
            members.setdefault(place, {}).update(own)
    groups = [
        AnchorGroup(concepts[place], weights[place], dict(_sort_nodes(members[place])))
        for place in sorted(members)
    ]
    return groups, "" if groups else "it chose none of the candidates"


def _list_candidates(candidates: Sequence[Mapping[int, Found]]) -> dict[int, Found]:
    """Return the distinct candidates of all concepts, each with its most similar concept."""
    listed: dict[int, Found] = {}
    for node, (similarity, search) in (item for nodes in candidates for item in nodes.items()):
        if similarity > listed.get(node, _UNLIKE)[0]:
            listed[node] = similarity, search
    return listed


def _build_prompt(view: BubbleView, concepts: Sequence[Concept], nodes: Sequence[int]) -> Prompt:
    return fill_prompt(
        "bubble_groups",
        schema=_SCHEMA,
        max_tokens=1024,
        question=collapse(view.query.text),
        concepts=quote_lines(number_texts([each.specialised or each.text for each in concepts])),
        candidates=quote_lines(number_texts(list(map(shorten, view.read_texts(nodes))))),
    )
