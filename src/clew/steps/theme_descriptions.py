"""Describe themes: name, representative sentences, relations, coverage and dates.

Entities and terms are weighed by class-based TF-IDF (Grootendorst 2022, arXiv:2203.05794).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.choice import Candidates, ChoiceWeights, QueryTokens, choose_rows
from clew.algo.links import Link, expand_ranges, neighbours
from clew.algo.topk import min_max, positive_top_k, top_k
from clew.base.derived import Derived
from clew.base.reports import Theme, ThemeRelation
from clew.base.runtime.cached_values import Once
from clew.base.runtime.lazy import compile_re
from clew.base.types import Value
from clew.index.snapshot import Snapshot
from clew.steps.theme_names import name_theme, stands_in_most
from clew.steps.themes import Rows, Themes, themes
from clew.text.analyze import terms as read_terms
from clew.text.quantities import format_count
from clew.text.questions import refers_back

_WORDS = 20  # most telling entities, and terms, of a theme
_SENTENCES, _RELATIONS = 5, 10
_CANDIDATES = 60  # sentences
_PASSAGES = 40  # nearest to a theme's middle, whose sentences may represent it
_SHORTEST, _LONGEST = 40, 400  # characters of such a sentence
_REPEATED, _REPEATED_SHARE = 3, 0.01  # passages that a sentence stands in, at the most
_SAME = 0.85  # cosine of two sentences that say the same
_SHARES = ChoiceWeights(gain=1.5, residual=0.0, named=0.0)
_DATES = ("date", "created")  # fields of metadata: when a document is of
_NUMBERED = compile_re(r"(?<!\w)[\d.:/-]+(?!\w)|^\W*$")  # "Oct 16", "Section 3.1"
_PROSE = compile_re(r"(?!See\b)[^\n|]+[.!?…。！？][\"'’”»)\]]*\s*")
_DATE = compile_re(r"\d{4}(?:-\d\d){0,2}")
_MOST_KEPT = 4096  # themes whose description is kept


def describe_themes(snapshot: Snapshot, rows: Iterable[int]) -> list[Theme]:
    """Return the descriptions of themes, by their rows.

    Those of the last 4,096 of a snapshot are kept.
    """
    found, kept = themes(snapshot), snapshot.get(_DESCRIBED)
    return [kept.get(row, partial(_describe, found, row)) for row in rows]


def list_themes(snapshot: Snapshot, level: int = 0, most: int | None = None) -> tuple[Theme, ...]:
    """Return the themes of a level, largest first, with undivided ones of the level above."""
    return tuple(describe_themes(snapshot, themes(snapshot).of_level(level)[:most]))


def find_theme(snapshot: Snapshot, name: str) -> Theme | None:
    """Return a theme by its id, or None."""
    row = themes(snapshot).find(name)
    return None if row < 0 else describe_themes(snapshot, [row])[0]


def _describe(found: Themes, theme: int) -> Theme:
    snapshot, chunks = found.snapshot, found.chunks(theme)
    owners = snapshot.layer("chunk").columns["document"][chunks]
    documents, counts = np.unique(owners, return_counts=True)
    entities = _choose_entities(snapshot, chunks)
    terms, of_terms = weigh_columns(
        snapshot.linked("chunk", "term"), chunks, lambda rows: steps.term_chunks(snapshot, rows)
    )
    back = snapshot.linked("term", "chunk")
    some = [not stands_in_most(snapshot, neighbours(back, row)) for row in terms]
    terms, of_terms = list(compress(terms, some)), list(compress(of_terms, some))
    names, words = snapshot.layer("entity").texts(entities), snapshot.layer("term").ids(terms)
    order = documents[np.lexsort((documents, -counts))].tolist()
    known = snapshot.get(_DATED)
    dates = sorted(filter(None, (known[row][1] for row in order)))
    parent = int(found.parents[theme])
    middle = found.vectors[theme]
    sentences = choose_sentences(snapshot, chunks, middle, terms, of_terms)
    return Theme(
        id=found.ids[theme],
        name=name_theme(snapshot, chunks, _find_nearest(snapshot, chunks, middle), entities, terms),
        level=int(found.levels[theme]),
        parent="" if parent < 0 else found.ids[parent],
        children=tuple(found.ids[child] for child in found.children(theme)),
        n_documents=len(documents),
        n_chunks=len(chunks),
        n_sentences=len(find_sentences(snapshot, chunks)),
        documents=tuple(known[row][0] for row in order),
        entities=tuple(names),
        terms=tuple(words),
        sentences=tuple(
            steps.read_steps(
                snapshot, [steps.UnreadStep("sentence", row, "represents it") for row in sentences]
            )
        ),
        relations=tuple(_list_relations(snapshot, chunks, entities)),
        since=dates[0] if dates else "",
        until=dates[-1] if dates else "",
    )


_DESCRIBED: Derived[Once[int]] = Derived("descriptions of themes", lambda _: Once(_MOST_KEPT))


def describe_coverage(theme: Theme) -> str:
    """Describe a theme's coverage and the dates of its documents in words."""
    counts = {
        "document": theme.n_documents,
        "passage": theme.n_chunks,
        "sentence": theme.n_sentences,
    }
    said = ", ".join(format_count(n, what) for what, n in counts.items())
    span = theme.since if theme.since == theme.until else f"{theme.since} to {theme.until}"
    return f"{said}, {span}" if span else said


# -- words -----------------------------------------------------------------------------------------


def weigh_columns(
    link: Link, chunks: Rows, count_chunks: Callable[[Rows], Rows], most: int = _WORDS
) -> tuple[list[int], list[float]]:
    """Return the columns most characteristic of some chunks, best first, with their weights.

    A column in n of c chunks, and in N of all, weighs n / c · ln(1 + c / N). At least two of three
    or more chunks must have it.
    """
    columns, counts = np.unique(link.entries_of(chunks).indices, return_counts=True)
    some = counts >= min(2, max(len(chunks) - 1, 1))
    columns, counts = columns[some], counts[some]
    df = np.maximum(count_chunks(columns), counts)
    weights = counts / len(chunks) * np.log1p(len(chunks) / df)
    best = positive_top_k(weights, most)
    return columns[best].tolist(), weights[best].tolist()


def _choose_entities(snapshot: Snapshot, chunks: Rows) -> list[int]:
    """Return the most characteristic named entities of some chunks."""
    layer, back = snapshot.layer("entity"), steps.entity_chunks(snapshot)
    rows, _ = weigh_columns(steps.chunk_entities(snapshot), chunks, back.counts_of, 3 * _WORDS)
    is_name = layer.columns["linkable"] | layer.columns["extracted"]
    return [
        row
        for row, text in zip(rows, layer.texts(rows), strict=True)
        if is_name[row]
        and not _NUMBERED.search(text)
        and not stands_in_most(snapshot, neighbours(back, row))
    ][:_WORDS]


# -- sentences -------------------------------------------------------------------------------------


def choose_sentences(
    snapshot: Snapshot,
    chunks: Rows,
    direction: NDArray[np.float32],
    terms: Sequence[int] = (),
    weights: Sequence[float] = (),
    most: int = _SENTENCES,
    *,
    alone: bool = True,
    within: tuple[int, int] | None = None,
) -> list[int]:
    """Choose sentences that represent some chunks, each by what it adds to those before.

    A sentence adds the weights of its `terms` that no chosen one has, and its nearness to
    `direction`, (d,): a theme's centre, or a question. `alone` marks sentences without words such
    as "she" that refer back. Those `within` a range of a document are taken alone.
    """
    layer = snapshot.layer("sentence")
    rows = find_sentences(snapshot, _find_nearest(snapshot, chunks, direction))
    starts, ends = (layer.columns[name][rows] for name in ("start", "end"))
    if within is not None:
        inside = (starts >= within[0]) & (ends <= within[1])
        rows, starts, ends = rows[inside], starts[inside], ends[inside]
    lengths = ends - starts
    fitting = (lengths >= _SHORTEST) & (lengths <= _LONGEST)
    rows = rows[fitting] if fitting.any() else rows
    vectors = np.asarray(layer.vectors[rows], dtype=np.float32)
    nearness = np.asarray(vectors @ direction, dtype=np.float64)
    best = np.sort(top_k(nearness, _CANDIDATES))
    texts = layer.texts(rows[best].tolist())
    repeated = _are_repeated(snapshot, layer.ids(rows[best].tolist()))
    whole = [
        not again and bool(_PROSE.fullmatch(text)) and not (alone and refers_back(text))
        for text, again in zip(texts, repeated, strict=True)
    ]
    best = best[whole] if any(whole) else best
    rows, vectors, nearness = rows[best], vectors[best], nearness[best]
    n = len(rows)
    has = snapshot.linked("sentence", "term").entries_of(rows).to_matrix()[:, terms].toarray() > 0
    candidates = Candidates(
        prior=min_max(nearness),
        matches=has.astype(np.float64),
        naming=np.zeros((n, n)),
        named=np.zeros(n),
        repeats=(vectors @ vectors.T >= _SAME) & ~np.eye(n, dtype=bool),
    )
    tokens = QueryTokens(np.asarray(weights), np.zeros((len(terms), 0), np.float32), vectors[:, :0])
    order: list[int] = rows[choose_rows(candidates, tokens, _SHARES, most)[:most]].tolist()
    return order


def _find_nearest(snapshot: Snapshot, chunks: Rows, direction: NDArray[np.float32]) -> Rows:
    """Return the chunks nearest to a direction, ascending."""
    close = np.asarray(snapshot.layer("chunk").vectors[chunks] @ direction, dtype=np.float64)
    return np.sort(chunks[top_k(close, _PASSAGES)])


def _are_repeated(snapshot: Snapshot, sentences: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each sentence is repeated in so many passages that it must be boilerplate."""
    units = np.array(snapshot.layer("unit").rows(sentences), dtype=np.intp)
    counts = np.zeros(len(units), dtype=np.int64)
    counts[units >= 0] = snapshot.linked("unit", "chunk").counts_of(units[units >= 0])
    return counts > max(_REPEATED, _REPEATED_SHARE * len(snapshot.layer("chunk")))


def find_sentences(snapshot: Snapshot, chunks: Rows) -> Rows:
    """Return the sentences of some chunks; a repeated sentence belongs to its first chunk."""
    owners = snapshot.layer("sentence").columns["chunk"]
    first, last = (np.searchsorted(owners, chunks, side) for side in ("left", "right"))
    return expand_ranges(first, last)[1]


# -- relations and dates ---------------------------------------------------------------------------


def _list_relations(
    snapshot: Snapshot, chunks: Rows, entities: Sequence[int]
) -> Iterator[ThemeRelation]:
    """Yield some chunks' most frequent triples, else entity pairs that share most units."""
    layer, texts = snapshot.triples, snapshot.layer("entity").texts
    if len(layer):
        rows, counts = np.unique(
            snapshot.linked("chunk", "triple").entries_of(chunks).indices, return_counts=True
        )
        best = top_k(counts.astype(np.float64), _RELATIONS)
        ends = (texts(layer.columns[end][rows[best]].tolist()) for end in ("subject", "object"))
        subjects, objects = ends
        relations = layer.relations(rows[best].tolist())
        for a, relation, b, n in zip(subjects, relations, objects, counts[best], strict=True):
            yield ThemeRelation(subject=a, relation=relation, object=b, count=int(n))
        return
    units = np.unique(snapshot.linked("chunk", "unit").entries_of(chunks).indices)
    mentioned = snapshot.linked("entity", "unit").entries_of(np.asarray(entities, dtype=np.intp))
    has = mentioned.to_matrix()[:, units]
    has.data[:] = 1
    together = np.triu((has @ has.T).toarray(), 1).astype(np.float64)
    names = texts(list(entities))
    words = [frozenset(read_terms(name)) for name in names]
    for a, b in zip(*np.nonzero(together), strict=True):
        if words[a] <= words[b] or words[b] <= words[a]:
            together[a, b] = 0  # "Fram" and "the ship Fram"
    for place in positive_top_k(together.ravel(), _RELATIONS).tolist():
        a, b = divmod(place, len(entities))
        count = int(together[a, b])
        yield ThemeRelation(subject=names[a], relation="", object=names[b], count=count)


def _list_dated(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the id of each document, and its date or ""."""
    headers = snapshot.document_layer.headers()
    return [(each.id, _read_date(each.metadata)) for each in headers]


def _read_date(metadata: Mapping[str, Value]) -> str:
    written = (str(metadata.get(name) or "") for name in _DATES)
    return next((found[0] for text in written if (found := _DATE.match(text))), "")


_DATED = Derived("dates of documents", _list_dated)
