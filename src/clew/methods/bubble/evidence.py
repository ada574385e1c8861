"""What a search found as evidence: its graph, the chunks where that stands, and threads to them.

BubbleRAG's union of candidates and their provenance (arXiv:2603.20309, §3.6).
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clew import steps
from clew.algo.links import neighbours
from clew.graph_paths import ReachLimits, rank_answers, to_graph_answers
from clew.methods.bubble.anchors import AnchorGroup
from clew.methods.bubble.merged import (
    FoundCandidates,
    MergedCandidates,
    explain_anchor,
    merge_candidates,
    sort_groups,
)
from clew.methods.bubble.sources import ShownChunk, find_sources
from clew.methods.bubble.threads import Threads
from clew.methods.bubble.view import BubbleView
from clew.models import Models
from clew.types import (
    Candidate,
    ConceptAnchors,
    Evidence,
    EvidenceGraph,
    Expansion,
    Fact,
    GraphAnswer,
    Hit,
    Step,
    Table,
)

_COLUMNS = ("subject", "relation", "object")


def build_evidence(
    view: BubbleView, found: FoundCandidates, models: Models, *, method: str, chunks: int
) -> Evidence:
    """Return the union of the chosen candidates as evidence with at most `chunks` hits.

    Of a graph without texts the ends of the ways among its facts are ranked as answers.

    Where an LLM was shown the retrieved chunks, these and the hits together are at most `chunks`.
    """
    merged = merge_candidates(view, found)
    chosen = find_sources(view, merged, found, chunks)
    threads = Threads(view, merged)
    graph = replace(_build_graph(view, merged, found), answers=_build_answers(view, merged, models))
    notes = (*found.notes, *(note for grown in found.grown for note in grown.notes))
    return Evidence(
        query=view.query.text,
        method=method,
        tables=_build_tables(graph),
        hits=_build_hits(view, chosen),
        paths=tuple(threads.build_thread(source) for source in chosen),
        seeds=_build_seeds(graph.groups),
        graph=graph,
        notes=tuple(dict.fromkeys(notes)),
    )


def _build_tables(graph: EvidenceGraph) -> tuple[Table, ...]:
    """Return the facts as rows of names, so that an answer can be read from them."""
    names = {step.id: step.text for step in graph.entities}
    rows = tuple((names[f.subject], f.relation, names[f.object]) for f in graph.facts)
    return (Table(name="Triples", columns=_COLUMNS, rows=rows),) if rows else ()


def _build_hits(view: BubbleView, chosen: list[ShownChunk]) -> tuple[Hit, ...]:
    scores = np.array([source.score for source in chosen])
    found = steps.hits(view.snapshot, [source.chunk for source in chosen], scores)
    return tuple(replace(h, channel=s.channel) for h, s in zip(found, chosen, strict=True))


def _build_seeds(groups: tuple[ConceptAnchors, ...]) -> tuple[Step, ...]:
    """Return the anchors, those of the heaviest group first, each once."""
    seeds: dict[tuple[str, str], Step] = {}
    for step in (step for group in groups for step in group.anchors):
        seeds.setdefault((step.layer, step.id), step)
    return tuple(seeds.values())


def _build_answers(
    view: BubbleView, merged: MergedCandidates, models: Models
) -> tuple[GraphAnswer, ...]:
    if not merged.facts or view.snapshot.are_texts().any():
        return ()
    facts, query = list(merged.facts), view.query.text
    found = rank_answers(view.snapshot, models, query, ReachLimits(), triples=facts)
    return to_graph_answers(view.snapshot, found.reached)


# -- the graph ------------------------------------------------------------------------------------


def _build_graph(
    view: BubbleView, merged: MergedCandidates, found: FoundCandidates
) -> EvidenceGraph:
    return EvidenceGraph(
        groups=tuple(_build_group(merged, group) for group in sort_groups(found.groups)),
        candidates=tuple(_build_candidates(merged, found)),
        expansions=tuple(
            Expansion(
                candidate=grown.candidate,
                depth=added.depth,
                triple=merged.ids[merged.n_entities + added.triple],
                reason=added.reason,
                score=added.score,
            )
            for grown in found.grown
            for added in grown.triples
        ),
        entities=tuple(_build_entities(view, merged)),
        facts=tuple(_build_facts(view, merged)),
    )


def _build_group(merged: MergedCandidates, group: AnchorGroup) -> ConceptAnchors:
    anchors = [
        merged.build_stop(node, explain_anchor(similarity, words), similarity)
        for node, (similarity, words) in group.nodes.items()
    ]
    return ConceptAnchors(
        concept=group.concept.text,
        kind="latent" if group.concept.latent else "explicit",
        weight=group.weight,
        anchors=tuple(anchors),
    )


def _build_candidates(merged: MergedCandidates, found: FoundCandidates) -> Iterator[Candidate]:
    """Yield the chosen pieces, then the others, best first."""
    concepts = [group.concept.text for group in found.groups]
    others = [place for place in range(len(found.ranked)) if place not in found.chosen]
    for rank, place in enumerate((*found.chosen, *others), 1):
        each = found.ranked[place]
        covered = list(zip(concepts, each.covers, strict=True))
        n_own = bisect_left(each.piece.nodes, merged.n_entities)
        own = [merged.ids[node] for node in each.piece.nodes]
        yield Candidate(
            rank=rank,
            chosen=rank <= len(found.chosen),
            kind=each.piece.kind,
            score=each.score,
            cost=each.cost,
            missing=each.missing,
            covers=tuple(concept for concept, covers in covered if covers),
            misses=tuple(concept for concept, covers in covered if not covers),
            entities=tuple(own[:n_own]),
            triples=tuple(own[n_own:]),
        )


def _build_entities(view: BubbleView, merged: MergedCandidates) -> Iterator[Step]:
    cosines = view.node_cosines(list(merged.entities)).tolist()
    for (row, rank), cosine in zip(merged.entities.items(), cosines, strict=True):
        yield merged.build_stop(row, merged.anchors.get(row, f"of candidate {rank}"), cosine)


def _build_facts(view: BubbleView, merged: MergedCandidates) -> Iterator[Fact]:
    link = view.snapshot.link("triple", "chunk")
    chunks, relations = view.snapshot.layer("chunk"), view.triples.relations(list(merged.facts))
    for (row, origin), relation in zip(merged.facts.items(), relations, strict=True):
        yield Fact(
            id=merged.ids[merged.n_entities + row],
            subject=merged.ids[int(view.graph.subjects[row])],
            relation=relation,
            object=merged.ids[int(view.graph.objects[row])],
            text=merged.texts[merged.n_entities + row],
            chunk_ids=tuple(chunks.ids(neighbours(link, row).tolist())),
            candidate=origin.candidate,
            depth=origin.depth,
        )
