"""Trees of summaries level by level, by an LLM or of sentences, made when a question needs one.

A tree is kept in memory with its snapshot. The ledger keeps an LLM's replies, so that the same tree
is paid for once, and after a write only the summaries whose texts changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.topk import top_k
from clew.base.derived import Derived
from clew.base.types import Evidence, Table
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import number_texts
from clew.models.prompts.quoted import quote_lines
from clew.text.normalize import collapse

Rows = NDArray[np.integer]

_WORDS, _TOKENS = 100, 200  # of a summary, at most
_SENTENCES = 5  # of one without an LLM


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes of a summary tree: one level in text order, or the levels together."""

    vectors: NDArray[np.floating]  # (n, d)
    texts: Sequence[str]
    chunks: Sequence[Rows]  # those below each node, ascending
    documents: Rows  # (n,) of the first of these
    notes: tuple[str, ...] = ()  # on summaries that are missing


# Returns the nodes of a level that a summary is written of, for each of them; none at the top.
Group = Callable[[Nodes, int], list[Rows]]


class Node(NamedTuple):
    """A chunk or a summary near the question."""

    score: float
    chunk: int = -1
    summary: int = -1


def read_tree(snapshot: Snapshot, models: Models, group: Group) -> Nodes:
    """Return the tree of a snapshot's chunks by the LLM, if there is one, else of sentences.

    Where summaries are missing it is not kept.
    """
    kept, key = snapshot.get(_TREES), (models.llm.name if models.llm else None, group)
    if key not in kept:
        tree = _grow_tree(snapshot, models, group)
        if tree.notes:
            return tree
        kept[key] = tree
    return kept[key]


_TREES: Derived[dict[tuple[str | None, Group], Nodes]] = Derived(
    "trees of summaries", lambda _snapshot: {}
)


def _grow_tree(snapshot: Snapshot, models: Models, group: Group) -> Nodes:
    layer, rows = snapshot.layer("chunk"), np.flatnonzero(snapshot.are_texts())
    vectors = np.asarray(layer.vectors[rows], dtype=np.float32)
    chunks = [rows[i : i + 1] for i in range(len(rows))]
    level = Nodes(vectors, layer.texts(rows.tolist()), chunks, layer.columns["document"][rows])
    levels, notes = list[Nodes](), tuple[str, ...]()
    while not notes and (groups := group(level, len(levels))):
        below = [np.unique(np.concatenate([level.chunks[i] for i in g.tolist()])) for g in groups]
        if models.llm is None:
            texts = _choose_sentences(snapshot, level, groups, below)
        else:
            texts, notes = _write_summaries(models.llm, level, groups)
        kept = [i for i, text in enumerate(texts) if text]
        level = Nodes(
            models.embedder.embed([texts[i] for i in kept], kind="document"),
            [texts[i] for i in kept],
            [below[i] for i in kept],
            np.array([level.documents[groups[i][0]] for i in kept], dtype=np.int64),
        )
        levels.append(level)
    return Nodes(
        np.concatenate([vectors[:0], *(each.vectors for each in levels)]),
        tuple(chain.from_iterable(each.texts for each in levels)),
        tuple(chain.from_iterable(each.chunks for each in levels)),
        np.concatenate([level.documents[:0], *(each.documents for each in levels)]),
        notes,
    )


def _choose_sentences(
    snapshot: Snapshot, level: Nodes, groups: Sequence[Rows], below: Sequence[Rows]
) -> list[str]:
    """Return the sentences of each group's chunks that are nearest to the group's mean."""
    link, units = snapshot.linked("chunk", "unit"), snapshot.layer("unit")
    texts = []
    for nodes, chunks in zip(groups, below, strict=True):
        own = np.unique(link.entries_of(chunks).indices)
        near = units.vectors[own] @ level.vectors[nodes].sum(axis=0)
        texts.append(" ".join(units.texts(np.sort(own[top_k(near, _SENTENCES)]).tolist())))
    return texts


def _write_summaries(
    llm: LLM, level: Nodes, groups: Sequence[Rows]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the summary of each group, "" if the LLM gives none, with a note."""
    asked = [
        fill_prompt(
            "summary",
            max_tokens=_TOKENS,
            words=str(_WORDS),
            passages=quote_lines(number_texts([level.texts[i] for i in each.tolist()])),
        )
        for each in groups
    ]
    replies = steps.replies_to(llm, asked)
    texts = ["" if reply.error else collapse(reply.text) for reply in replies]
    if all(texts):
        return texts, ()
    why = replies[texts.index("")].error or "an empty reply"
    written = f"{sum(map(bool, texts))} of {len(texts)}"
    note = f"the LLM wrote {written} summaries of a level ({why}): there is no level above"
    return texts, (note,)


def nearest_nodes(snapshot: Snapshot, query: steps.Query, tree: Nodes | None, k: int) -> list[Node]:
    """Return the `k` chunks and summaries nearest to the question, best first."""
    rows, cosines = steps.nearest(snapshot, "chunk", query, k)
    nodes = [Node(*each) for each in zip(cosines.tolist(), rows.tolist(), strict=True)]
    if tree is not None and tree.texts:
        near = np.asarray(tree.vectors @ query.vector, dtype=np.float64)
        nodes += [Node(float(near[row]), summary=row) for row in top_k(near, k).tolist()]
    best = top_k(np.array([node.score for node in nodes]), k)
    return [nodes[place] for place in best.tolist()]


def collect_nodes(
    snapshot: Snapshot,
    query: str,
    method: str,
    nodes: Sequence[Node],
    tree: Nodes | None,
    notes: tuple[str, ...],
) -> Evidence:
    """Return the chunks among ranked nodes as hits, and the summaries as a table."""
    scores = {node.chunk: node.score for node in nodes if node.chunk >= 0}
    texts = tuple((tree.texts[node.summary],) for node in nodes if tree and node.chunk < 0)
    return steps.build_evidence(
        snapshot,
        query,
        method,
        scores,
        lambda row: [steps.read_step(snapshot, "chunk", row, "near the question")],
        tables=(Table(name="Summaries", columns=("summary",), rows=texts),) if texts else (),
        notes=notes + (tree.notes if tree else ()),
    )
