"""Convert rows to hits and to steps of paths."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import neighbours
from clew.base.types import Document, Evidence, Fact, Hit, Path, Step, Table
from clew.index.snapshot import Snapshot
from clew.steps.rankings import Ranking, nearest
from clew.steps.scores import Query
from clew.text.apparatus import asks_for

NO_TRIPLES = "the index has no triples ('clew index --triples' extracts, 'clew import' brings some)"


def ranked(
    snapshot: Snapshot,
    query: str,
    method: str,
    scores: NDArray[np.float64] | Ranking,
    k: int,
    *,
    positive: bool = False,
    notes: tuple[str, ...] = (),
) -> Evidence:
    """Return the `k` best chunks of (n_chunks,) scores, or of a ranking, without paths."""
    ranking = scores if isinstance(scores, Ranking) else Ranking(None, scores)
    rows = ranking.best(k, positive=positive)
    best = hits(snapshot, rows, ranking.of(rows))
    return Evidence(query=query, method=method, hits=best, notes=notes)


def nearest_chunks(
    snapshot: Snapshot, query: Query, method: str, k: int, notes: tuple[str, ...]
) -> Evidence:
    """Return the `k` chunks nearest to the query as evidence without paths."""
    rows, cosines = nearest(snapshot, "chunk", query, k)
    best = hits(snapshot, rows, cosines)
    return Evidence(query=query.text, method=method, hits=best, notes=notes)


def by_rank(rows: Iterable[int]) -> dict[int, float]:
    """Return rows with 1 / their place as score."""
    return {row: 1 / place for place, row in enumerate(rows, 1)}


def build_evidence(
    snapshot: Snapshot,
    query: str,
    method: str,
    scores: Mapping[int, float],
    thread: Callable[[int], Iterable[Step]],
    *,
    tables: tuple[Table, ...] = (),
    seeds: tuple[Step, ...] = (),
    notes: tuple[str, ...] = (),
) -> Evidence:
    """Return chunks with `scores`, best first, each with the steps of its `thread`."""
    start = Step(layer="query", id="", text=query)
    return Evidence(
        query=query,
        method=method,
        tables=tables,
        hits=hits(snapshot, scores, np.array([*scores.values()])),
        paths=tuple(Path((start, *thread(row)), score) for row, score in scores.items()),
        seeds=seeds,
        notes=notes,
    )


def hits(
    snapshot: Snapshot,
    rows: Iterable[int],
    scores: NDArray[np.floating],
    *,
    layer: Literal["chunk", "subchunk", "sentence"] = "chunk",
) -> tuple[Hit, ...]:
    """Return chunks, or parts of chunks, as hits with the given scores."""
    rows = [int(row) for row in rows]
    chunks, columns = snapshot.layer("chunk"), snapshot.layer(layer).columns
    owners = rows if layer == "chunk" else [int(columns["chunk"][row]) for row in rows]
    documents = snapshot.documents([int(chunks.columns["document"][row]) for row in owners])
    texts = snapshot.layer(layer).texts(rows)
    ranges = [(int(columns["start"][row]), int(columns["end"][row])) for row in rows]
    places = zip(chunks.ids(owners), ranges, texts, documents, scores, strict=True)
    return tuple(
        _build_hit(document, chunk_id, *place, text, float(score))
        for chunk_id, place, text, document, score in places
    )


def _build_hit(
    document: Document, chunk_id: str, start: int, end: int, text: str, score: float
) -> Hit:
    page, last_page = document.pages_of(start, end)
    return Hit(
        chunk_id=chunk_id,
        score=score,
        document_id=document.id,
        title=document.title,
        source=document.source,
        start=start,
        end=end,
        text=text,
        section=document.sections_of([start])[0],
        page=page,
        last_page=last_page,
        line=document.line_at(start),
        metadata=document.metadata,
    )


def build_facts(
    snapshot: Snapshot, rows: Sequence[int], places: Iterable[tuple[int, int]]
) -> tuple[Fact, ...]:
    """Return triples as facts; `places` gives the candidate and depth of each."""
    layer, link = snapshot.triples, snapshot.link("triple", "chunk")
    entities, chunks = snapshot.layer("entity"), snapshot.layer("chunk")
    subjects, objects = (
        entities.ids([int(layer.columns[end][row]) for row in rows])
        for end in ("subject", "object")
    )
    triples = zip(layer.ids(rows), subjects, layer.relations(rows), objects, strict=True)
    return tuple(
        Fact(
            id=key,
            subject=subject,
            relation=relation,
            object=target,
            text=text,
            chunk_ids=tuple(chunks.ids(neighbours(link, row).tolist())),
            candidate=candidate,
            depth=depth,
        )
        for (key, subject, relation, target), text, row, (candidate, depth) in zip(
            triples, layer.texts(rows), rows, places, strict=True
        )
    )


def table_facts(
    facts: Iterable[Fact], names: Mapping[str, str], more: Iterable[tuple[str, str, str]] = ()
) -> Table:
    """Return facts as table rows with entity names (by id), followed by `more` rows."""
    rows = ((names[fact.subject], fact.relation, names[fact.object]) for fact in facts)
    return Table(name="Triples", columns=("subject", "relation", "object"), rows=(*rows, *more))


def text_place(hit: Hit | Step) -> tuple[str, int, int]:
    """Return the document and range of a hit or step."""
    return hit.document_id, hit.start, hit.end


class UnreadStep(NamedTuple):
    """A step of a path, not read yet: a row and the reason for it."""

    layer: str
    row: int
    reason: str
    score: float | None = None


def read_steps(snapshot: Snapshot, stops: Sequence[UnreadStep]) -> list[Step]:
    """Read the texts and places of steps, each layer's rows together."""
    rows: dict[str, dict[int, None]] = {}
    for stop in stops:
        rows.setdefault(stop.layer, {})[stop.row] = None
    read: dict[tuple[str, int], dict[str, Any]] = {}
    for layer, distinct in rows.items():
        of_layer = [*distinct]
        fields = (_read_ranges if layer in _RANGES else _read_names)(snapshot, layer, of_layer)
        read |= {(layer, row): each for row, each in zip(of_layer, fields, strict=True)}
    return [
        Step(layer=s.layer, reason=s.reason, score=s.score, **read[s.layer, s.row]) for s in stops
    ]


_RANGES = ("chunk", "subchunk", "sentence", "unit")  # whose rows have a place in their document


def _read_ranges(snapshot: Snapshot, name: str, rows: list[int]) -> Iterator[dict[str, Any]]:
    layer, documents = snapshot.layer(name), snapshot.layer("chunk").columns["document"]
    chunks = rows if name == "chunk" else layer.columns["chunk"][rows]
    starts, ends = (layer.columns[end][rows].tolist() for end in ("start", "end"))
    texts = zip(layer.ids(rows), layer.texts(rows), strict=True)
    read = snapshot.documents(documents[chunks].tolist())
    for (key, text), document, start, end in zip(texts, read, starts, ends, strict=True):
        yield {
            "id": key,
            "text": text,
            "document_id": document.id,
            "start": start,
            "end": end,
            "source": document.source,
            "section": document.section_at(start),
            "page": document.pages_of(start, end)[0],
            "line": document.line_at(start),
        }


def _read_names(snapshot: Snapshot, name: str, rows: list[int]) -> Iterator[dict[str, Any]]:
    layer = snapshot.layer(name)
    for key, text in zip(layer.ids(rows), layer.texts(rows), strict=True):
        yield {"id": key, "text": text}


def read_step(
    snapshot: Snapshot, layer: str, row: int, reason: str, score: float | None = None
) -> Step:
    """Return a row of a layer as a step of a path, with its place in its document, if any."""
    return read_steps(snapshot, [UnreadStep(layer, row, reason, score)])[0]


# -- what leads to other text ---------------------------------------------------------------------


def apparatus_behind(snapshot: Snapshot, evidence: Evidence) -> Evidence:
    """Mark hits in contents, indexes and bibliographies, and move them to the end.

    Both groups keep their order, and moved hits get at most the scores of those before them; their
    paths move too. A hit that the query asks for stays.
    """
    marked = tuple(_mark_hits(snapshot, evidence.hits))
    last = [h for h in marked if h.apparatus and not asks_for(evidence.query, h.apparatus)]
    if not last or len(last) == len(marked):
        return replace(evidence, hits=marked)
    first = [hit for hit in marked if hit not in last]
    behind = (replace(hit, score=min(hit.score, first[-1].score)) for hit in last)
    places = set(map(text_place, last))
    paths = sorted(evidence.paths, key=lambda path: text_place(path.steps[-1]) in places)
    return replace(evidence, hits=(*first, *behind), paths=tuple(paths))


def _mark_hits(snapshot: Snapshot, hits: tuple[Hit, ...]) -> list[Hit]:
    """Mark each hit with the kind of apparatus that it is in; chunks of a graph are in none."""
    chunks, are_texts = snapshot.layer("chunk"), snapshot.are_texts()
    rows = chunks.rows([hit.chunk_id for hit in hits])
    documents = snapshot.documents(np.asarray(chunks.columns["document"])[rows].tolist())
    return [
        replace(hit, apparatus=document.apparatus_at(hit.start, hit.end)) if are_texts[row] else hit
        for hit, row, document in zip(hits, rows, documents, strict=True)
    ]
