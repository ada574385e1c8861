"""GraphRAG's local search, which is KET-RAG's graph channel: entities, relations, and texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import neighbours
from clew.algo.local_search import LocalText, find_relations, find_texts
from clew.algo.pool import take_fitting
from clew.algo.topk import top_k
from clew.base.types import Step, Table
from clew.index.snapshot import Snapshot
from clew.models import LLM
from clew.models.prompts import fill_prompt
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.steps.skeleton import Skeleton
from clew.steps.subchunks import Texts
from clew.text import blocks, tokens

CHANNEL = "graph"
LIKE = "like the question"
_ENTITY_COLUMNS = ("id", "entity", "description", "relations")
_RELATION_COLUMNS = ("id", "source", "target", "description", "weight")
_LONG_TEXT = 500  # tokens of an entity's descriptions, which an LLM may shorten
_MAX_READ = 4_000  # of these that it reads
_STOPS = (".", "!", "?")
_BATCH = 32  # of a table, and texts, that are read
_ROW_SHARE = 4  # at most a quarter of the tables' tokens for one description


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """The results of the graph channel, and their tokens in the context."""

    seeds: Mapping[int, float] = field(default_factory=dict)  # entities, their cosines to the query
    tables: tuple[Table, ...] = ()
    texts: tuple[LocalText, ...] = ()
    used: int = 0  # tokens of the tables and texts
    notes: tuple[str, ...] = ()


NOTHING = LocalGraph()


def search_graph(
    query: steps.Query,
    skeleton: Skeleton,
    texts: Texts,
    table_tokens: int,
    text_tokens: int,
    *,
    n_seeds: int,
    ties: NDArray[np.float64],
    llm: LLM | None,
) -> LocalGraph:
    """Return entities, relations and texts within a budget (KET-RAG, Algorithm 2).

    Entities without descriptions and relations have no row. `ties`, (n_texts,), order the parts of
    a chunk, the highest first. `llm` shortens long descriptions.
    """
    snapshot = texts.snapshot
    nearest, cosines = skeleton.find_nearest(snapshot, query, n_seeds)
    seeds = dict(zip(nearest.tolist(), cosines.tolist(), strict=True))
    if not seeds:
        return NOTHING
    words = RowTexts(snapshot, skeleton, llm, min(_LONG_TEXT, table_tokens // _ROW_SHARE))
    entities, used = fill_table("Entities", _ENTITY_COLUMNS, words.entity_rows(seeds), table_tokens)
    order, _ = find_relations(skeleton.relations, list(seeds))
    rows = words.relation_rows(order.tolist())
    relations, more = fill_table("Relations", _RELATION_COLUMNS, rows, table_tokens - used)
    rest = find_texts(list(seeds), skeleton.entity_chunks, skeleton.relations, texts.of_chunk, ties)
    first = list(islice(rest, _BATCH))
    texts.read_hits(each.row for each in first)
    parts = take_fitting(chain(first, rest), lambda each: texts.count_cost(each.row), text_tokens)
    used += more + sum(texts.count_cost(each.row) for each in parts)
    return LocalGraph(
        seeds=seeds,
        tables=tuple(table for table in (entities, relations) if table.rows),
        texts=tuple(parts),
        used=used,
        notes=tuple(words.notes),
    )


def build_thread(
    snapshot: Snapshot, query: steps.Query, graph: LocalGraph, text: LocalText, chunk: int
) -> Iterator[Step]:
    """Yield the seed that led to a text, and its triple there nearest to the query."""
    yield steps.read_step(snapshot, "entity", text.seed, LIKE, graph.seeds[text.seed])
    columns = snapshot.layer("triple").columns
    here = neighbours(snapshot.link("chunk", "triple"), chunk)
    own = here[(columns["subject"][here] == text.seed) | (columns["object"][here] == text.seed)]
    if text.n_relations and len(own):
        cosines = snapshot.layer("triple").vectors[own] @ query.vector
        best = int(top_k(cosines, 1)[0])
        yield steps.read_step(
            snapshot, "triple", int(own[best]), "says of it", float(cosines[best])
        )


def fill_table(
    name: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], limit: int
) -> tuple[Table, int]:
    """Return the table of the first rows that fit into `limit` tokens, and its tokens."""
    used = blocks.count_table_tokens(name, columns)
    first: list[tuple[str, ...]] = []
    for row in rows:
        cost = blocks.count_row_tokens(row)
        if used + cost > limit:
            break
        first.append(row)
        used += cost
    return Table(name=name, columns=columns, rows=tuple(first)), used if first else 0


class RowTexts:
    """Entities and relations as rows of tables, read lazily."""

    def __init__(self, snapshot: Snapshot, skeleton: Skeleton, llm: LLM | None, most: int) -> None:
        self._snapshot = snapshot
        self._skeleton = skeleton
        self._llm = llm
        self._most = most  # tokens of a description
        self.notes: list[str] = []

    def entity_rows(self, rows: Iterable[int]) -> Iterator[tuple[str, ...]]:
        degree = self._skeleton.relations.degree
        number = 0
        for row in rows:
            [name] = self._snapshot.layer("entity").texts([row])
            if description := self.describe_entity(row, name):
                number += 1
                yield str(number), name, description, str(degree[row])

    def describe_entity(self, row: int, name: str) -> str:
        """Return what is said of an entity, "" if nothing is."""
        profiles = neighbours(self._skeleton.profiles, row).tolist()
        return self._summarize(name, self._snapshot.layer("profile").texts(profiles))

    def relation_rows(self, rows: Sequence[int]) -> Iterator[tuple[str, ...]]:
        relations, columns = self._skeleton.relations, self._snapshot.layer("triple").columns
        for first in range(0, len(rows), _BATCH):
            some = rows[first : first + _BATCH]
            triples = [neighbours(relations.triples, row).tolist() for row in some]
            heads = [own[0] for own in triples]
            ends = [columns[end][heads].tolist() for end in ("subject", "object")]
            names = self._snapshot.layer("entity").texts([*ends[0], *ends[1]])
            for i, row in enumerate(some):
                chunks = neighbours(relations.chunks, row).tolist()
                descriptions = self._describe_relation(triples[i], ends[0][i], chunks)
                description = _join_descriptions(descriptions, self._most)
                number, weight = str(first + i + 1), f"{relations.weight[row]:g}"
                yield number, names[i], names[len(some) + i], description, weight

    def _describe_relation(
        self, triples: Sequence[int], source: int, chunks: Sequence[int]
    ) -> list[str]:
        """Return the descriptions of the triples between two entities, else the relation.

        Only descriptions from `chunks` are used, if the core has the relation. A triple in the
        other direction from `source` is written out.
        """
        layer = self._snapshot.triples
        descriptions: list[str] = []
        for triple in triples:
            described = layer.descriptions(triple, chunks)
            if described:
                descriptions += described
            elif int(layer.columns["subject"][triple]) == source:
                descriptions += layer.relations([triple])
            else:
                descriptions += layer.texts([triple])
        return descriptions

    def _summarize(self, name: str, texts: Sequence[str]) -> str:
        """Join the descriptions of an entity; an LLM summarizes long ones."""
        if self._llm is None or tokens.count(" ".join(texts)) <= _LONG_TEXT:
            return _join_descriptions(texts, self._most)
        listed = quote_lines([Excerpt("- ", each) for each in _fit_descriptions(texts, _MAX_READ)])
        prompt = fill_prompt(
            "descriptions", max_tokens=_LONG_TEXT, entity=name, descriptions=listed
        )
        reply = steps.reply_to(self._llm, prompt)
        if reply.error or not reply.text.strip():
            why = reply.error or "an empty reply"
            self.notes.append(f"the LLM did not shorten what is said of {name} ({why})")
            return _join_descriptions(texts, self._most)
        return tokens.truncate(reply.text.strip(), self._most)


def _join_descriptions(texts: Sequence[str], limit: int) -> str:
    """Join distinct descriptions, truncated to `limit` tokens."""
    fitting = _fit_descriptions(texts, limit)
    if texts and not fitting:
        return tokens.truncate(max(texts, key=len), limit)
    ended = (f"{each} " if each.endswith(_STOPS) else f"{each}; " for each in fitting)
    return "".join(ended).rstrip("; ")


def _fit_descriptions(texts: Sequence[str], limit: int) -> list[str]:
    """Return distinct descriptions in order; if they are too long, only the longest ones."""
    distinct = list(dict.fromkeys(texts))
    by_length = sorted(range(len(distinct)), key=lambda i: (-len(distinct[i]), i))
    places = take_fitting(by_length, lambda i: tokens.count(f"{distinct[i]}; "), limit)
    return [distinct[i] for i in sorted(places)]
