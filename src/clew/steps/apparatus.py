"""Hits that lead to other text stand behind those that say something."""

from dataclasses import replace

import numpy as np

from clew.snapshot import Snapshot
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
    least = first[-1].score
    places = {(hit.document_id, hit.start, hit.end) for hit in last}
    ends = [
        (path.steps[-1].document_id, path.steps[-1].start, path.steps[-1].end)
        for path in evidence.paths
    ]
    order = sorted(range(len(ends)), key=lambda i: ends[i] in places)
    return replace(
        evidence,
        hits=(*first, *(replace(hit, score=min(hit.score, least)) for hit in last)),
        paths=tuple(evidence.paths[i] for i in order),
    )


def _mark_hits(snapshot: Snapshot, hits: tuple[Hit, ...]) -> list[Hit]:
    """Return hits with the kind of apparatus that each is in; those of a graph are in none."""
    rows = snapshot.layer("chunk").rows([hit.chunk_id for hit in hits])
    are_texts = snapshot.are_texts()
    owners = np.asarray(snapshot.layer("chunk").columns["document"])[rows]
    documents = snapshot.documents(owners.tolist())
    return [
        replace(hit, apparatus=document.apparatus_at(hit.start, hit.end)) if are_texts[row] else hit
        for hit, row, document in zip(hits, rows, documents, strict=True)
    ]
