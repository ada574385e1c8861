"""Hits that lead to other text stand behind those that say something."""

from dataclasses import replace

import numpy as np

from clew.snapshot import Snapshot
from clew.steps.evidence import text_place
from clew.text.apparatus import asks_for
from clew.types import Evidence, Hit


def apparatus_behind(snapshot: Snapshot, evidence: Evidence) -> Evidence:
    """Return evidence whose hits in contents, indexes and bibliographies are marked, and come last.

    They keep their order, as do all others, and their scores are at most those of the hits before
    them; the paths to them come last too. One that the query asks for stays where it is.
    """
    marked = tuple(_mark_hits(snapshot, evidence.hits))
    last = [h for h in marked if h.apparatus and not asks_for(evidence.query, h.apparatus)]
    if not last or len(last) == len(marked):
        return replace(evidence, hits=marked)
    first = [hit for hit in marked if hit not in last]
    behind = (replace(hit, score=min(hit.score, first[-1].score)) for hit in last)
    places = set(map(text_place, last))
    paths = sorted(evidence.paths, key=lambda path: text_place(path.steps[-1]) in places)
    return replace(evidence, hits=(*first, *behind), paths=tuple(paths))


def _mark_hits(snapshot: Snapshot, hits: tuple[Hit, ...]) -> list[Hit]:
    """Return hits with the kind of apparatus that each is in; those of a graph are in none."""
    chunks, are_texts = snapshot.layer("chunk"), snapshot.are_texts()
    rows = chunks.rows([hit.chunk_id for hit in hits])
    documents = snapshot.documents(np.asarray(chunks.columns["document"])[rows].tolist())
    return [
        replace(hit, apparatus=document.apparatus_at(hit.start, hit.end)) if are_texts[row] else hit
        for hit, row, document in zip(hits, rows, documents, strict=True)
    ]
