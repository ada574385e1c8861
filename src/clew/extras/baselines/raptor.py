"""RAPTOR: search a tree of summaries over the chunks at all levels at once.

Sarthi et al. (2024), arXiv:2401.18059, the collapsed tree. `raptor_extractive` has sentences of the
texts as summaries, so that no LLM is needed. Where both depart from the paper:
docs/methods/raptor.md. UMAP is left out: it is neither exact nor reproducible.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew import steps
from clew.base.types import Evidence, Limits
from clew.errors import InputError
from clew.extras.baselines.mixture import soft_clusters
from clew.extras.baselines.summary_tree import Nodes, Rows, collect_nodes, nearest_nodes, read_tree
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.text import tokens

_LEVELS = 5  # of summaries, at most
_COORDINATES = 10  # that clusters are made by
_MOST = 3_500  # tokens of a cluster; one of more is parted again


@dataclass(frozen=True, slots=True, kw_only=True)
class Raptor:
    """Rank chunks and an LLM's summaries together by cosine."""

    name: ClassVar[str] = "raptor"
    is_extractive: ClassVar[bool] = False
    layers: ClassVar = frozenset({"chunk", "unit"})
    needs: ClassVar = (steps.SKETCHES["chunk"],)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # nodes returned: chunks and summaries [k]

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if self.is_extractive:
            models = replace(models, llm=None)
        elif models.llm is None:
            raise InputError(
                "raptor needs an LLM to write its summaries: name one with --llm, or use "
                "raptor_extractive"
            )
        tree = read_tree(snapshot, models, group_by_nearness)
        nodes = nearest_nodes(snapshot, steps.read_query(models, query), tree, self.chunks)
        return collect_nodes(snapshot, query, self.name, nodes, tree, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class RaptorExtractive(Raptor):
    """RAPTOR without an LLM: five sentences of its chunks are a summary."""

    name: ClassVar[str] = "raptor_extractive"
    is_extractive: ClassVar[bool] = True


def group_by_nearness(level: Nodes, depth: int) -> list[Rows]:
    """Return soft clusters of a level's nodes, none where it has few."""
    if len(level.texts) <= _COORDINATES + 1 or depth == _LEVELS:
        return []
    sizes = np.array([tokens.count(text) for text in level.texts])
    clusters = soft_clusters(level.vectors, _COORDINATES, sizes, _MOST)
    return clusters if len(clusters) < len(level.texts) else []


METHOD = Raptor
GROUP = "baseline"
VARIANTS = {"raptor_extractive": RaptorExtractive}
