"""Themes: summarize all documents by communities of entities and representative sentences.

Communities as in GraphRAG (Edge et al. 2024, arXiv:2404.16130), by Leiden; reports are made when a
question first needs them, as LazyGraphRAG describes. Without an LLM sentences of the texts stand
for a theme. Choices: docs/methods/themes.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.topk import min_max, top_k
from clew.base.reports import Theme
from clew.base.types import Evidence, Limits, Path, Step, Table
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.steps.comparing import DocumentPart, find_compared, find_part
from clew.steps.rankings import CANDIDATES
from clew.steps.theme_descriptions import choose_sentences, describe_coverage, describe_themes
from clew.steps.theme_reports import count_report_tokens, write_reports
from clew.steps.themes import THEME_NEEDS, Themes, themes
from clew.text.questions import find_topic, is_about_whole

_MIN_THEMES = 3  # themes at the top: of fewer their parts are taken
_LEVELS = 4
_NEAR_SHARE = 0.6  # from 0 to 1: a theme that scores less is far from the nearest one to a topic
_OF_PART = 12  # statements of a document or section that is summed up
_REASON = "represents it"

Part = tuple[int, Step]  # a sentence, and the theme or document that it represents


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeSearch:
    """Themes of the whole, or those near to a question, with sentences that represent them."""

    layers: ClassVar = frozenset({"chunk", "sentence", "unit", "entity", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.SKETCHES["chunk"], *THEME_NEEDS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned where the question is about something in the documents
    themes: int = 12  # of a question about the whole, at most; 0: all of a level
    sentences: int = 3  # that represent each of these
    level: int = -1  # of the themes, 0 for the widest; -1: the deepest that is allowed
    report_tokens: int = 40_000  # of all prompts for reports that an LLM writes; 0: none
    passage_tokens: int = 3_000  # of the passages that one report is of

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "chunks", "sentences", "passage_tokens")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if part := find_part(snapshot, query):
            return self._sum_up(query, snapshot, part)
        compared = find_compared(snapshot, query)
        if compared:
            return self._compare(query, snapshot, models, compared)
        found = themes(snapshot)
        if not is_about_whole(query) or not len(found):
            return self._search(steps.read_query(models, query), snapshot, found)
        topic = find_topic(query)
        asked = steps.read_query(models, topic) if topic else None
        rows = self._choose_themes(found, asked, models.llm)
        described = describe_themes(snapshot, rows)
        notes: tuple[str, ...] = ()
        table = _list_themes(described, [""] * len(rows))
        if models.llm is not None and self.report_tokens:
            reports, notes = write_reports(models.llm, found, rows, self.passage_tokens)
            table = _list_themes(described, reports)
        parts = self._represent(found, rows, described, asked)
        evidence = _build_evidence(query, snapshot, parts)
        seeds = tuple(map(_build_step, described))
        return replace(evidence, tables=(table,), seeds=seeds, notes=notes)

    def _compare(
        self, query: str, snapshot: Snapshot, models: Models, rows: Sequence[int]
    ) -> Evidence:
        """Return what each document says on a topic, or its representative sentences."""
        chunks, documents = snapshot.layer("chunk"), snapshot.documents(rows)
        topic = find_topic(query, [*(each.title for each in documents), *(d.id for d in documents)])
        parts: list[Part] = []
        for row, each in zip(rows, documents, strict=True):
            own = np.flatnonzero(chunks.columns["document"] == row)
            middle = np.asarray(chunks.vectors[own], dtype=np.float32).mean(axis=0)
            near = steps.read_query(models, topic).vector if topic else middle
            name = each.title or each.id
            document = Step(layer="document", id=each.id, text=name, reason=each.id)
            sentences = choose_sentences(snapshot, own, near, most=self.sentences, alone=not topic)
            parts += [(sentence, document) for sentence in sentences]
        return _build_evidence(query, snapshot, parts)

    def _sum_up(self, query: str, snapshot: Snapshot, part: DocumentPart) -> Evidence:
        """Return the statements of a document or section, those that say most of it first."""
        chunks = snapshot.layer("chunk").columns
        is_own = chunks["document"] == part.row
        own = np.flatnonzero(is_own & (chunks["end"] > part.start) & (chunks["start"] < part.end))
        centre = np.asarray(snapshot.layer("chunk").vectors[own], dtype=np.float32).mean(axis=0)
        within = part.start, part.end
        rows = choose_sentences(snapshot, own, centre, most=_OF_PART, alone=False, within=within)
        id_ = snapshot.layer("document").ids([part.row])[0]
        document = Step(layer="document", id=id_, text=part.name, reason=id_)
        return _build_evidence(query, snapshot, [(row, document) for row in rows])

    def _choose_themes(
        self, found: Themes, asked: steps.Query | None, llm: LLM | None
    ) -> list[int]:
        """Return the themes nearest to the topic of the question, or all without a topic.

        They are of the deepest level whose reports fit the token limit, or without a topic of the
        deepest with as few themes as wanted.
        """
        best: list[int] = []
        for level in [self.level] if self.level >= 0 else range(_LEVELS):
            rows = found.of_level(level)
            chosen = self._take_nearest(found, asked, rows)
            many = asked is None and len(best) >= _MIN_THEMES and len(rows) > len(chosen)
            if best and (many or (llm is not None and not self._fits(found, chosen))):
                break
            best = chosen
        return best

    def _fits(self, found: Themes, rows: Sequence[int]) -> bool:
        return count_report_tokens(found, rows, self.passage_tokens) <= self.report_tokens

    def _take_nearest(
        self, found: Themes, asked: steps.Query | None, rows: Sequence[int]
    ) -> list[int]:
        most = self.themes or len(rows)
        if asked is None or not len(rows):
            return list(rows[:most])
        near = np.asarray(found.vectors[rows] @ asked.vector, dtype=np.float64)
        ranking = steps.hybrid_ranking(found.snapshot, asked)
        leading = ranking.best(CANDIDATES)
        by_chunks = found.mean_of_best(leading, ranking.of(leading))
        scores = (min_max(near) + min_max(by_chunks[rows])) / 2
        best = top_k(scores, most)
        return [rows[place] for place in best[scores[best] >= _NEAR_SHARE].tolist()]

    def _represent(
        self,
        found: Themes,
        rows: Sequence[int],
        described: Sequence[Theme],
        asked: steps.Query | None,
    ) -> list[Part]:
        """Return representative sentences, the first of every theme before any second one."""
        sentences = found.snapshot.layer("sentence")
        chosen: list[list[Part]] = []
        for row, theme in zip(rows, described, strict=True):
            if asked is None:
                own = sentences.rows([each.id for each in theme.sentences[: self.sentences]])
            else:
                chunks = found.chunks(row)
                own = choose_sentences(
                    found.snapshot, chunks, asked.vector, most=self.sentences, alone=False
                )
            chosen.append([(sentence, _build_step(theme)) for sentence in own])
        turns = chain.from_iterable(zip_longest(*chosen))
        parts: dict[int, Step] = {}
        for part in turns:
            if part is not None:
                parts.setdefault(*part)
        return list(parts.items())

    def _search(self, asked: steps.Query, snapshot: Snapshot, found: Themes) -> Evidence:
        """Return the chunks with the best hybrid scores, and the theme of each."""
        ranking = steps.hybrid_ranking(snapshot, asked)
        rows = ranking.best(self.chunks)
        scores = dict(zip(rows.tolist(), ranking.of(rows).tolist(), strict=True))
        own = sorted({*found.leaves[rows].tolist()} - {-1})  # a chunk that came later is in none
        stops = dict(zip(own, map(_build_step, describe_themes(snapshot, own)), strict=True))

        def trace(row: int) -> Iterator[Step]:
            yield from filter(None, [stops.get(int(found.leaves[row]))])
            yield steps.read_step(snapshot, "chunk", row, "in the theme")

        seeds = tuple(stops.values())
        return steps.build_evidence(snapshot, asked.text, "themes", scores, trace, seeds=seeds)


def _list_themes(described: Sequence[Theme], reports: Sequence[str]) -> Table:
    """Return themes as a table, with their reports if there are any."""
    rows = [
        (theme.name, describe_coverage(theme), report)
        for theme, report in zip(described, reports, strict=True)
    ]
    if not any(reports):
        return Table(name="Themes", columns=("theme", "covers"), rows=tuple(r[:2] for r in rows))
    return Table(name="Themes", columns=("theme", "covers", "report"), rows=tuple(rows))


def _build_evidence(query: str, snapshot: Snapshot, parts: Sequence[Part]) -> Evidence:
    """Return sentences as evidence, each with the theme or document that it represents."""
    sentences = [sentence for sentence, _ in parts]
    scores = 1 / np.arange(1, len(parts) + 1)
    hits = steps.hits(snapshot, sentences, scores, layer="sentence")
    start = Step(layer="query", id="", text=query)
    stops = [steps.UnreadStep("sentence", sentence, _REASON) for sentence in sentences]
    ends = steps.read_steps(snapshot, stops)
    return Evidence(
        query=query,
        method="themes",
        hits=tuple(replace(hit, channel=of.text) for hit, (_, of) in zip(hits, parts, strict=True)),
        paths=tuple(
            Path((start, of, end), score)
            for (_, of), end, score in zip(parts, ends, scores.tolist(), strict=True)
        ),
        whole=True,
        prompt="whole_answer",
    )


def _build_step(theme: Theme) -> Step:
    return Step(layer="theme", id=theme.id, text=theme.name, reason=describe_coverage(theme))


METHOD = ThemeSearch
