"""RAPTOR: a tree of summaries over the chunks, all of whose nodes are searched together.

Sarthi et al. (2024), arXiv:2401.18059, the collapsed tree. Summaries are sentences of the texts,
so that no LLM is needed. Where this departs from the paper: docs/methods/raptor.md.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.topk import find_highest, top_k
from clew.models import Models
from clew.snapshot import Snapshot
from clew.steps.summaries import SUMMARIES, Summaries, summaries
from clew.types import Evidence, Limits, Path, Step, Table

_NEAR, _IN_SUMMARY = "near the question", "in a summary near the question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raptor:
    """Chunks and summaries of them by their cosines; a summary gives the chunk of one sentence."""

    layers: ClassVar = frozenset({"chunk", "unit"})
    needs: ClassVar = (steps.SKETCHES["chunk"], SUMMARIES)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    summaries: int = 10  # nearest to the question, that compete with chunks

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        asked = steps.read_query(models, query)
        tree = summaries(snapshot)
        rows, cosines = steps.nearest(snapshot, "chunk", asked, self.chunks)
        near = np.asarray(tree.vectors @ asked.vector, dtype=np.float64)
        best = top_k(near, self.summaries)
        order = top_k(np.concatenate([cosines, near[best]]), len(rows) + len(best))
        found: dict[int, tuple[float, int]] = {}  # the score of each chunk, and a unit or -1
        shown: list[int] = []  # summaries
        for place in order.tolist():
            if len(found) >= self.chunks:
                break
            if place < len(rows):
                found.setdefault(int(rows[place]), (float(cosines[place]), -1))
                continue
            summary = int(best[place - len(rows)])
            shown.append(summary)
            chunk, unit = _nearest_chunk(snapshot, asked, tree, summary)
            found.setdefault(chunk, (float(near[summary]), unit))
        hits = steps.hits(snapshot, found, np.array([score for score, _ in found.values()]))
        texts = tuple((_read_text(snapshot, tree, row),) for row in shown)
        return Evidence(
            query=query,
            method="raptor",
            tables=(Table(name="Summaries", columns=("summary",), rows=texts),) if texts else (),
            hits=tuple(
                replace(hit, channel="chunk" if unit < 0 else "summary")
                for hit, (_, unit) in zip(hits, found.values(), strict=True)
            ),
            paths=tuple(
                Path(_build_thread(snapshot, query, chunk, unit), score)
                for chunk, (score, unit) in found.items()
            ),
        )


def _nearest_chunk(
    snapshot: Snapshot, asked: steps.Query, tree: Summaries, summary: int
) -> tuple[int, int]:
    """Return the sentence of a summary that is nearest to the question, behind its chunk."""
    units = tree.get_units(summary)
    unit = int(units[find_highest(steps.cosines_of(snapshot, "unit", asked, units))])
    return int(snapshot.layer("unit").columns["chunk"][unit]), unit


def _read_text(snapshot: Snapshot, tree: Summaries, summary: int) -> str:
    return " ".join(snapshot.layer("unit").texts(tree.get_units(summary).tolist()))


def _build_thread(snapshot: Snapshot, query: str, chunk: int, unit: int) -> tuple[Step, ...]:
    start = Step(layer="query", id="", text=query)
    if unit < 0:
        return (start, steps.chunk_step(snapshot, chunk, _NEAR))
    through = steps.unit_step(snapshot, unit, _IN_SUMMARY)
    return (start, through, steps.chunk_step(snapshot, chunk, "holds it"))


METHOD = Raptor
GROUP = "baseline"
