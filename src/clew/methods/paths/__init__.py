"""Answers of a graph, ranked: from what a question names, along the relations it speaks of.

Clew's own. What is weighed: docs/methods/paths.md, and what was tried: docs/results/paths.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from clew import steps
from clew.graph_paths import ReachLimits, Reading, rank_answers
from clew.methods.paths.evidence import build_evidence
from clew.models import Models
from clew.snapshot import Snapshot
from clew.types import Evidence, Limits

_BARE = (
    "the index has no triples ('clew index --triples' extracts, 'clew import-kg' brings some): "
    "the chunks nearest to the question instead"
)
_NAMELESS = (
    "the question names nothing that has a triple: the chunks nearest to the question instead"
)
_NOWHERE = "no way leads on from what the question names: the chunks nearest to it instead"
_ENDED = "some ways have too many triples to be looked at (edges): they were left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Retrieval over triples: the ends of the ways that say what the question says."""

    layers: ClassVar = frozenset({"chunk", "entity", "term", "triple"})
    needs: ClassVar = (steps.SKETCHES["entity"],)
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "paths"

    chunks: int = 15  # returned
    answers: int = 50  # entities ranked
    facts: int = 60  # triples shown; an answer is left out if its way is not among them
    hops: int = 3  # triples between a name and an answer
    walks: int = 5  # kinds of ways that count, the best ones
    width: int = 30  # relations followed, those nearest to the question's words
    edges: int = 1_000_000  # triples that are gone along from one name
    reading: Reading = "words"  # of the question; "text": all as one text, as a plain method does

    def __post_init__(self) -> None:
        steps.check_words(self, reading=Reading)
        counts = ("chunks", "answers", "facts", "hops", "walks", "width", "edges")
        steps.check_least(self, 1, *counts)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if not len(snapshot.layer("triple")):
            return self._retrieve_near(query, snapshot, models, _BARE)
        limits = ReachLimits(
            reading=self.reading,
            hops=self.hops,
            walks=self.walks,
            width=self.width,
            answers=self.answers,
            edges=self.edges,
        )
        found = rank_answers(snapshot, models, query, limits)
        if not found.reached:
            return self._retrieve_near(
                query, snapshot, models, _NOWHERE if found.starts else _NAMELESS
            )
        notes = (_ENDED,) if found.ended else ()
        return build_evidence(
            snapshot,
            query,
            found,
            method=self.name,
            chunks=self.chunks,
            facts=self.facts,
            notes=notes,
        )

    def _retrieve_near(self, query: str, snapshot: Snapshot, models: Models, note: str) -> Evidence:
        scores = steps.hybrid_scores(snapshot, steps.read_query(models, query))
        return steps.ranked(snapshot, query, self.name, scores, self.chunks, notes=(note,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsPlain(Paths):
    """Two steps, ranked by the cosine of a way's relations to the question without its names."""

    name: ClassVar[str] = "paths_plain"

    hops: int = 2
    reading: Reading = "text"


METHOD = Paths
GROUP = "own"
VARIANTS = {"paths_plain": PathsPlain}
BASELINES = ("paths_plain",)
