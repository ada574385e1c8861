"""GraphRAG: an LLM's reports on communities of entities, for local and global questions.

Edge et al. (2024), arXiv:2404.16130. Local search, which other papers call "GraphRAG", takes the
entities nearest to a question, reports on their communities, their relations and their texts.
Global search has the LLM score points of all reports of a level. Reports are written when a
question first needs them. Where this departs from the paper: docs/methods/graphrag_local.md.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.pool import take_fitting
from clew.algo.topk import find_highest
from clew.base.types import Evidence, Limits, Path, Step, Table
from clew.errors import InputError
from clew.extras.baselines.communities import COMMUNITIES, Rows, find_inside, write_reports
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models, Reply
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.steps.evidence import NO_TRIPLES
from clew.steps.skeleton import Skeleton, read_whole_graph
from clew.steps.skeleton_search import LIKE, LocalGraph, build_thread, search_graph
from clew.steps.subchunks import Texts
from clew.text import blocks, tokens
from clew.text.normalize import collapse

_CHUNKS = 10  # nearest to the question, where there is no graph
_NO_GRAPH = (f"{NO_TRIPLES}: used the chunks nearest to the question",)
_NO_REPORTS = ("no LLM to write reports on communities: the graph and its texts alone",)
_COLUMNS = ("title", "report")
_BATCH = 8_000  # tokens of the reports of one prompt, as in GraphRAG's experiments
_POINTS_TOKENS = 1_000
_NUMBER = {"type": "integer"}
_POINT = closed_schema({"text": {"type": "string"}, "report": _NUMBER, "helpfulness": _NUMBER})
_POINTS = closed_schema({"points": {"type": "array", "items": _POINT}})

Point = tuple[str, int, int]  # a text, the position of its report, and how much it helps


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphragLocal:
    """GraphRAG's local search, within a budget of tokens."""

    layers: ClassVar = frozenset({"chunk", "subchunk", "entity", "triple"})
    needs: ClassVar = (steps.SKETCHES["entity"], steps.SKETCHES["chunk"])
    limits: ClassVar = Limits(tokens="tokens")

    tokens: int = 12_000  # of the whole context
    text_share: float = 0.5  # of the tokens, for texts
    report_share: float = 0.15  # for reports; the rest is for entities and relations
    entities: int = 20  # nearest to the question: the package takes twice the 10 of its setting
    level: int = 2  # of the communities, 0 for the widest; the deepest where there are fewer

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "tokens", "entities")
        steps.check_least(self, 0, "level")
        steps.check_range(self, 0, 1, "text_share", "report_share")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        if not len(snapshot.layer("triple")):
            return steps.nearest_chunks(snapshot, question, "graphrag_local", _CHUNKS, _NO_GRAPH)
        texts = Texts(snapshot, steps.dense_scores(snapshot, "subchunk", question))
        rest = max(1 - self.text_share - self.report_share, 0)
        budgets = (int(share * self.tokens) for share in (rest, self.text_share))
        ties = np.zeros_like(texts.cosines)  # so that texts stay in their order
        skeleton, n = read_whole_graph(snapshot), self.entities
        graph = search_graph(question, skeleton, texts, *budgets, n_seeds=n, ties=ties, llm=None)
        reports, notes = self._report(snapshot, models.llm, graph)
        rows, scores = [each.row for each in graph.texts], 1 / np.arange(1, len(graph.texts) + 1)
        return Evidence(
            query=query,
            method="graphrag_local",
            tables=(*reports, *graph.tables),
            hits=steps.hits(snapshot, rows, scores, layer="subchunk"),
            paths=tuple(
                Path(tuple(_trace(snapshot, question, texts, graph, place)), score)
                for place, score in enumerate(scores.tolist())
            ),
            seeds=tuple(
                steps.read_step(snapshot, "entity", row, LIKE, cosine)
                for row, cosine in graph.seeds.items()
            ),
            notes=notes,
        )

    def _report(
        self, snapshot: Snapshot, llm: LLM | None, graph: LocalGraph
    ) -> tuple[tuple[Table, ...], tuple[str, ...]]:
        """Return the reports on the communities of most seeds, as far as they fit."""
        if llm is None:
            return (), _NO_REPORTS
        found = _find_members(snapshot, self.level)
        own = {entity: i for i, each in enumerate(found) for entity in each.tolist()}
        counts = Counter(own[seed] for seed in graph.seeds if seed in own)
        wanted = sorted(counts)
        reports, notes = write_reports(snapshot, llm, [found[i] for i in wanted])
        rated = [(-counts[i], -r.rating, i, r) for i, r in zip(wanted, reports, strict=True) if r]
        rows = ((report.title, report.text) for *_, report in sorted(rated, key=lambda r: r[:3]))
        budget = int(self.report_share * self.tokens)
        budget -= blocks.count_table_tokens("Reports", _COLUMNS)
        kept = tuple(take_fitting(rows, blocks.count_row_tokens, budget))
        return (Table(name="Reports", columns=_COLUMNS, rows=kept),) if kept else (), notes


def _trace(
    snapshot: Snapshot, query: steps.Query, texts: Texts, graph: LocalGraph, place: int
) -> Iterator[Step]:
    text = graph.texts[place]
    yield Step(layer="query", id="", text=query.text)
    yield from build_thread(snapshot, query, graph, text, int(texts.owners[text.row]))
    yield texts.build_step(text.row, "holds it")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphragGlobal:
    """GraphRAG's global search: an LLM scores points of the reports on all communities."""

    layers: ClassVar = frozenset({"chunk", "entity", "triple"})
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # of the communities that points are of, one of each
    level: int = 2  # of the communities, 0 for the widest; the deepest where there are fewer

    def __post_init__(self) -> None:
        steps.check_least(self, 0, "level")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if models.llm is None:
            raise InputError(
                "graphrag_global needs an LLM: name one with --llm, or use themes, which needs none"
            )
        if not len(snapshot.layer("triple")):
            asked = steps.read_query(models, query)
            return steps.nearest_chunks(snapshot, asked, "graphrag_global", self.chunks, _NO_GRAPH)
        found = _find_members(snapshot, self.level)
        reports, notes = write_reports(snapshot, models.llm, found)
        told = [(each, r) for each, r in zip(found, reports, strict=True) if r]
        points, more = score_points(models.llm, query, [report.text for _, report in told])
        cells = tuple((told[place][1].title, point, str(n)) for point, place, n in points)
        graph, chunks = read_whole_graph(snapshot), dict[int, str]()
        for place in dict.fromkeys(place for _, place, _ in points):
            members, report = told[place]
            chunks.setdefault(_find_chunk(graph, members), f"of {report.title}")
        evidence = steps.build_evidence(
            snapshot,
            query,
            "graphrag_global",
            steps.by_rank(list(chunks)[: self.chunks]),
            lambda row: [steps.read_step(snapshot, "chunk", row, chunks[row])],
            tables=(Table(name="Points", columns=("part", "point", "helpfulness"), rows=cells),),
            notes=notes + more,
        )
        return replace(evidence, whole=True, prompt="whole_answer")


def _find_members(snapshot: Snapshot, level: int) -> list[Rows]:
    """Return the entities of each community of a level that has some relation inside."""
    found = snapshot.get(COMMUNITIES)
    members = np.split(found.members.indices, found.members.indptr[1:-1])
    return [members[row] for row in found.of_level(level) if len(members[row]) > 1]


def _find_chunk(graph: Skeleton, members: Rows) -> int:
    """Return the chunk that has most of a community's relations."""
    inside = find_inside(graph, members)
    return find_highest(np.asarray(graph.relations.chunks[inside].sum(axis=0)))


def score_points(
    llm: LLM, query: str, reports: Sequence[str]
) -> tuple[list[Point], tuple[str, ...]]:
    """Return points that help to answer a question, most helpful first, and notes.

    Reports are read in batches, in a random order that is fixed for all questions.
    """
    batches: list[list[int]] = []
    left = 0
    for place in np.random.default_rng(0).permutation(len(reports)).tolist():
        size = tokens.count(reports[place])
        if not batches or size > left:
            batches.append([])
            left = _BATCH
        batches[-1].append(place)
        left -= size
    asked = [
        fill_prompt(
            "report_points",
            schema=_POINTS,
            max_tokens=_POINTS_TOKENS,
            question=collapse(query),
            reports=quote_lines(number_texts([reports[place] for place in batch])),
        )
        for batch in batches
    ]
    replies = steps.replies_to(llm, asked)
    missing = next((reply.error for reply in replies if reply.error), "")
    points = chain.from_iterable(map(_read_points, replies, batches))
    best = sorted(points, key=lambda point: -point[2])
    return best, (f"the LLM scored no points of some reports ({missing})",) if missing else ()


def _read_points(reply: Reply, batch: Sequence[int]) -> Iterator[Point]:
    for point in () if reply.error else reply.data["points"]:
        place = valid_places([point["report"]], len(batch))
        score = min(int(point["helpfulness"]), 100)
        if place and score > 0 and point["text"].strip():
            yield collapse(point["text"]), batch[place[0]], score


METHOD = GraphragLocal
GROUP = "baseline"
VARIANTS = {"graphrag_global": GraphragGlobal}
