"""Communities of entities, and reports on them that an LLM writes from the graph, as in GraphRAG.

A report's prompt has only rows of its community, so that its reply stays in the ledger until they
change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.communities import Communities, find_communities
from clew.algo.pool import take_fitting
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot
from clew.models import LLM
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.steps.skeleton import Skeleton, read_whole_graph
from clew.steps.skeleton_search import RowTexts
from clew.text import tokens
from clew.text.normalize import collapse

Rows = NDArray[np.integer]

_MOST = 10  # entities of a community that is not parted again
_ROW_TOKENS, _REPORT_TOKENS = 8_000, 1_000  # of a prompt, and its reply, at most
_LONGEST = 300  # tokens of a description
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_SCHEMA = closed_schema(
    {"title": _TEXT, "summary": _TEXT, "findings": _TEXTS, "rating": {"type": "integer"}}
)


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """An LLM's report on a community of entities."""

    title: str
    text: str
    rating: int  # from 0 to 10


def _compute_communities(snapshot: Snapshot) -> Communities:
    """Return the communities of the entities that relations join."""
    relations = read_whole_graph(snapshot).relations
    n = len(relations.degree)
    half = csr_array((relations.weight, relations.ends.T), shape=(n, n))
    both = csr_array(half + half.T)
    both.sort_indices()
    return find_communities(both, n, _MOST, least=1, resolution=1.0)


COMMUNITIES = Derived("communities of entities", _compute_communities)


def find_inside(graph: Skeleton, members: Rows) -> Rows:
    """Return the relations with both ends in a community, those of the highest degrees first."""
    ends, degree = graph.relations.ends, graph.relations.degree
    inside = np.flatnonzero(np.isin(ends, members).all(axis=1))
    return inside[np.argsort(-degree[ends[inside]].sum(axis=1), kind="stable")]


def write_reports(
    snapshot: Snapshot, llm: LLM, communities: Sequence[Rows]
) -> tuple[list[CommunityReport | None], tuple[str, ...]]:
    """Return an LLM's report on the entities of each community, None if it fails, and notes."""
    graph = read_whole_graph(snapshot)
    texts = RowTexts(snapshot, graph, None, _LONGEST)
    prompts = [
        fill_prompt(
            "community_report",
            schema=_SCHEMA,
            max_tokens=_REPORT_TOKENS,
            rows=quote_lines(_list_rows(graph, texts, each)),
        )
        for each in communities
    ]
    replies = steps.replies_to(llm, prompts)
    reports = [None if reply.error else _read_report(reply.data) for reply in replies]
    missing = [reply.error for reply in replies if reply.error]
    note = f"the LLM wrote no report on {len(missing)} of {len(reports)} communities"
    return reports, (f"{note} ({missing[0]})",) if missing else ()


def _list_rows(graph: Skeleton, texts: RowTexts, members: Rows) -> list[Excerpt]:
    """Return the descriptions of entities and relations that fit, highest degrees first."""
    degree = graph.relations.degree[members]
    entities = members[np.argsort(-degree, kind="stable")].tolist()
    relations = find_inside(graph, members).tolist()
    rows = chain(texts.entity_rows(entities), texts.relation_rows(relations))
    lines = (": ".join((" – ".join(row[1:-2]), row[-2])) for row in rows)
    return [Excerpt("- ", each) for each in take_fitting(lines, tokens.count, _ROW_TOKENS)]


def _read_report(data: Any) -> CommunityReport:  # noqa: ANN401 -- parsed JSON, as the schema says
    parts = [collapse(part).rstrip(".") for part in (data["title"], data["summary"])]
    parts += [collapse(finding).rstrip(".") for finding in data["findings"]]
    text = " ".join(f"{part}." for part in parts if part)
    return CommunityReport(parts[0], text, min(max(data["rating"], 0), 10))
