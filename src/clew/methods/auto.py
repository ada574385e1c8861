"""Choose methods by the contents of the index, and fuse their rankings.

Reciprocal rank fusion: Cormack, Clarke and Büttcher (2009), SIGIR. The features studied, and the
worth of the fusion: docs/results/auto.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew import methods, steps
from clew.algo.topk import reciprocal_rank_fusion, top_k
from clew.base.types import Evidence, Hit, Limits, Path, Step
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.comparing import is_about_documents
from clew.steps.evidence import text_place
from clew.text.questions import is_about_whole

Found = Mapping[str, Evidence]  # by the name of the method, in the order of the choice

_GRAPH = "paths"  # what follows the triples of an imported graph
_OVERVIEW_METHOD = "themes"  # what answers a question about all documents
_NAMELESS_METHOD = "bubble"  # where the question names nothing in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Some methods, chosen for the index, and their rankings fused."""

    layers: ClassVar = frozenset({"chunk", "entity", "term", "triple", "unit"})
    needs: ClassVar = (steps.SKETCHES["entity"], steps.SKETCHES["triple"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned, and read of each method that counts in chunks
    fused: str = "walk"  # the methods for texts; of equal hits the first's come first
    constant: int = 0  # added to each rank: the higher, the less the first ranks count

    def __post_init__(self) -> None:
        if not self._names:
            raise InputError(f"fused must contain at least one method, not {self.fused!r}")
        if "auto" in self._names:
            raise InputError("auto cannot fuse itself: give other methods")
        for name in self._names:
            methods.load(name)
        steps.check_least(self, 1, "chunks")
        steps.check_least(self, 0, "constant")

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, map(str.strip, self.fused.split(",")))))

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        are_texts = snapshot.are_texts()
        has = {"texts": bool(are_texts.any()), "imported": not are_texts.all()}
        if is_about_whole(query) or is_about_documents(snapshot, query):
            return _build_method(_OVERVIEW_METHOD, self.chunks).retrieve(query, snapshot, models)
        names, reason = choose_methods(self._names, **has)
        by_method = {
            name: _build_method(name, self.chunks).retrieve(query, snapshot, models)
            for name in names
        }
        if _GRAPH in by_method and by_method[_GRAPH].graph is None:
            del by_method[_GRAPH]
            names = tuple(dict.fromkeys(_NAMELESS_METHOD if n == _GRAPH else n for n in names))
            reason += ", of which the question names nothing"
            method = _build_method(_NAMELESS_METHOD, self.chunks)
            by_method[_NAMELESS_METHOD] = method.retrieve(query, snapshot, models)
        hits = _fuse_hits(snapshot, by_method, self.constant, self.chunks)
        notes = [f"{name}: {note}" for name, each in by_method.items() for note in each.notes]
        return Evidence(
            query=query,
            method="auto",
            tables=next((each.tables for each in by_method.values() if each.tables), ()),
            hits=hits,
            paths=_collect_paths(by_method, hits),
            seeds=_merge_seeds(by_method),
            graph=next((each.graph for each in by_method.values() if each.graph), None),
            answer=next((each.answer for each in by_method.values() if each.answer), None),
            notes=(f"{_join_names(names)}: {reason}", *notes),
        )


def choose_methods(
    fused: tuple[str, ...], *, texts: bool, imported: bool
) -> tuple[tuple[str, ...], str]:
    """Return the methods for an index with texts or an imported graph, and the reason in words."""
    if not texts:
        return (_GRAPH,), "the index is a graph without texts"
    if imported:
        return tuple(dict.fromkeys((*fused, _GRAPH))), "the index has texts and an imported graph"
    return fused, "the index is of texts"


def _build_method(name: str, chunks: int) -> methods.Method:
    kind = methods.load(name)
    counted = methods.get_limits(kind).chunks
    return kind(**{counted: chunks}) if counted else kind()


def _fuse_hits(snapshot: Snapshot, by_method: Found, constant: int, k: int) -> tuple[Hit, ...]:
    """Return the best `k` whole chunks; each method ranks a chunk by its best part."""
    ranks = {
        name: {hit: rank for rank, hit in enumerate(dict.fromkeys(h.chunk_id for h in each.hits))}
        for name, each in by_method.items()
    }
    ids = list(dict.fromkeys(chunk for ranking in ranks.values() for chunk in ranking))
    rankings = [
        np.array([len(ranking) - ranking.get(chunk, len(ranking)) for chunk in ids])
        for ranking in ranks.values()
    ]
    scores = reciprocal_rank_fusion(rankings, constant=constant, depth=len(ids))
    best = top_k(scores, k)
    rows = snapshot.layer("chunk").rows([ids[place] for place in best])
    hits = steps.hits(snapshot, rows, scores[best])
    also = {h.chunk_id: h.also for each in reversed(list(by_method.values())) for h in each.hits}
    return tuple(
        replace(hit, channel=_describe_channel(hit.chunk_id, ranks), also=also[hit.chunk_id])
        for hit in hits
    )


def _describe_channel(chunk: str, ranks: Mapping[str, Mapping[str, int]]) -> str:
    """Name the methods that found a chunk, the one that ranks it highest first."""
    found_by = [name for name, ranking in ranks.items() if chunk in ranking]
    return "+".join(sorted(found_by, key=lambda name: ranks[name][chunk]))


def _collect_paths(by_method: Found, hits: Sequence[Hit]) -> tuple[Path, ...]:
    """Return the first path of any method to each hit or a part of it."""
    threads: dict[str, Path] = {}
    for each in by_method.values():
        paths = {text_place(path.steps[-1]): path for path in reversed(each.paths)}
        for hit in each.hits:
            if text_place(hit) in paths:
                threads.setdefault(hit.chunk_id, paths[text_place(hit)])
    return tuple(threads[hit.chunk_id] for hit in hits if hit.chunk_id in threads)


def _merge_seeds(by_method: Found) -> tuple[Step, ...]:
    """Merge the seeds of all methods; a repeated row is kept as first found."""
    seeds: dict[tuple[str, str], Step] = {}
    for step in (step for each in by_method.values() for step in each.seeds):
        seeds.setdefault((step.layer, step.id), step)
    return tuple(seeds.values())


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


METHOD = Auto
GROUP = "own"
