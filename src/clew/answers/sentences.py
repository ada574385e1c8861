"""Split passages into sentences, and compare these with a question by the models."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import neighbours
from clew.algo.topk import min_max
from clew.base.types import Mention, Passage
from clew.index.snapshot import Snapshot
from clew.models import Models, gives_tokens, is_paid
from clew.models.maxsim import best_matches, unit_rows
from clew.steps.entity_types import find_types_in
from clew.text.analyze import term_set, term_spans
from clew.text.languages import find_language
from clew.text.normalize import collapse
from clew.text.patterns import format_range
from clew.text.phrases import Span
from clew.text.questions import has_question_word, question_kind, refers_back
from clew.text.statements import find_statements
from clew.text.tables import columns_of

_NEAR = 0.6  # the weight of a sentence's nearness beside words, where there are no token vectors
_MOST_SENTENCES = 3  # of a quote
_LEVELS = 4  # of what stands above a sentence


class Sentence(NamedTuple):
    """A statement that may be quoted, with the nearby sentence its first word refers to."""

    place: int  # of its passage, from 0
    start: int  # in the passage's text
    own: int  # where itself starts
    end: int
    text: str
    title: str
    is_first: bool
    parts: tuple[str, ...]  # what stands above it, and its sentences, itself the last
    above: str = ""  # a question, term, lead-in, header or headings, a line each, the widest first
    mentions: tuple[Mention, ...] | None = None  # in its text, where the index has them

    @property
    def said(self) -> str:
        """Return the sentence's own words."""
        return self.text[self.own - self.start :]

    @property
    def head(self) -> str:
        """Return the headings of the sentence: the title of its passage, and nearer ones."""
        return f"{self.title}\n{self.above}"


def find_sentences(passages: Sequence[Passage], snapshot: Snapshot | None) -> list[Sentence]:
    """Return the sentences of passages in order.

    Those of a passage that is a whole chunk of the `snapshot` are as the index cut them.
    """
    stored = _read_stored(passages, snapshot)
    places = enumerate(zip(passages, stored, strict=True))
    return [
        sentence
        for place, (passage, found) in places
        for sentence in _find_in_passage(passage, place, found or _split_passage(passage))
    ]


class _Statement(NamedTuple):
    """A statement of a passage: its range, and the headings above it."""

    start: int
    end: int
    above: tuple[str, ...]  # the widest first
    is_context: bool
    mentions: tuple[Mention, ...] | None = None


def _read_stored(
    passages: Sequence[Passage], snapshot: Snapshot | None
) -> Sequence[list[_Statement]]:
    """Return the statements of each passage as stored in the index."""
    found: list[list[_Statement]] = [[] for _ in passages]
    if snapshot is None or snapshot.cutter is None:
        return found
    whole = [
        i for i, p in enumerate(passages) if p.chunk_id.endswith(format_range("", p.start, p.end))
    ]
    layer = snapshot.layer("chunk")
    rows = layer.rows([passages[i].chunk_id for i in whole])
    known = {i: row for i, row in zip(whole, rows, strict=True) if row >= 0}
    documents = snapshot.documents([int(layer.columns["document"][r]) for r in known.values()])
    read = snapshot.cutter.sentences(list(known.values()))
    for i, document, sentences in zip(known, documents, read, strict=True):
        begin = passages[i].start
        wider = {(s.start, s.end): (s.above_start, s.above_end) for s in sentences}
        found[i] = [
            _Statement(
                s.start - begin,
                s.end - begin,
                _read_above(document.text, (s.above_start, s.above_end), wider),
                s.is_context,
                s.mentions,
            )
            for s in sentences
        ]
    return found


def _read_above(text: str, span: Span, wider: Mapping[Span, Span]) -> tuple[str, ...]:
    """Return the text of a range and its headings, the outermost first."""
    above: list[str] = []
    while span[1] and len(above) < _LEVELS:
        above.insert(0, collapse(text[slice(*span)]).lstrip("#").lstrip())
        span = wider.get(span, (0, 0))
    return tuple(above)


def _split_passage(passage: Passage) -> list[_Statement]:
    """Return the statements of a passage that is not a chunk of the index."""
    text, columns = passage.text, columns_of(passage.section)
    statements = find_statements(text, headings=())
    wider = {(s.start, s.end): s.above or (0, 0) for s in statements}
    found = []
    for s in statements:
        above = _read_above(text, s.above or (0, 0), wider)
        goes_on = s.is_context and bool(columns) and "|" in text[s.start : s.end]
        found.append(
            _Statement(
                s.start,
                s.end,
                above or tuple(filter(None, [columns])),
                s.is_context and not goes_on,
            )
        )
    return found


def _find_in_passage(
    passage: Passage, place: int, statements: Sequence[_Statement]
) -> list[Sentence]:
    text = passage.text
    sentences: list[Sentence] = []
    back: list[Span] = []  # the last sentence that names what it is about, and those after it
    last: _Statement | None = None
    for each in [s for s in statements if not s.is_context] or statements:
        start, end = each.start, each.end
        is_below = last is not None and each.above == last.above
        refers = is_below and "|" not in text[start:end] and refers_back(text[start:end])
        back = [*back, (start, end)] if refers else [(start, end)]
        spans = back if refers and len(back) <= _MOST_SENTENCES else [(start, end)]
        begin, last = spans[0][0], each
        parts = *each.above[-1:], *(text[a:b] for a, b in spans)
        mentions = each.mentions if begin == start else None
        above = "\n".join(each.above)
        head = passage.title, not sentences, parts, above, mentions
        sentences.append(Sentence(place, begin, start, end, text[begin:end], *head))
    return sentences


class ReadSentences(NamedTuple):
    """The models' readings of n sentences and a question of m tokens."""

    own: NDArray[np.float64]  # (n, m) 0 to 1, how well each sentence meets each token
    matches: NDArray[np.float64]  # (n, m), with those before it that are quoted with it
    weights: NDArray[np.float64]  # (m,), their sum is 1
    spans: Sequence[Span]  # of the tokens, in the question
    in_question: Sequence[Mention]
    mentions: Sequence[Sequence[Mention]]  # of each sentence
    near: NDArray[np.float64]  # (n,) how near each sentence is: 0 of the nearest, -1 of the mean
    types: Mapping[str, str]  # of names in them, by keys, where the question asks for one


def read_sentences(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None,
) -> ReadSentences:
    """Compare sentences by the embedder's token vectors if it has any, else by words."""
    is_read = gives_tokens(models.embedder) or (
        snapshot is not None
        and not is_paid(models.embedder)
        and _prefers_cosines(question, passages)
    )
    query = (
        steps.read_query(models, question)
        if is_read
        else steps.Query(question, np.zeros(0, dtype=np.float32), None)
    )
    coverage = None if snapshot is None else steps.Coverage(snapshot, query)
    parts = list(dict.fromkeys(part for s in sentences for part in s.parts))
    if query.tokens is None:
        words = list(term_spans(question))
        spans = [(a, b) for _, a, b in words]
        terms_of = {part: term_set(part) for part in parts}
        of_part = {p: np.array([term in terms_of[p] for term, _, _ in words], float) for p in parts}
        nearness = _stored_nearness(snapshot, query, passages)
        for part in of_part.keys() & nearness.keys():
            of_part[part] = (1 - _NEAR) * of_part[part] + _NEAR * nearness[part]
        weights = coverage.weights if coverage else np.ones(len(words))
    else:
        spans = [(int(a), int(b)) for a, b in query.tokens.spans]
        stored = _stored_matches(snapshot, coverage, passages)
        of_part = stored | _embedded_matches(query, [p for p in parts if p not in stored], models)
        weights = coverage.weights if coverage and coverage.is_late else np.ones(len(spans))
    own = np.array([of_part[s.parts[-1]] for s in sentences])
    matches = np.array([_pool_matches([of_part[p] for p in s.parts]) for s in sentences])
    in_question, mentions = _tag_sentences(question, sentences, models, snapshot)
    texts = zip((s.text for s in sentences), mentions, strict=True)
    asks = question_kind(question) in {"person", "place"}
    return ReadSentences(
        own=np.maximum(own, 0).astype(np.float64),
        matches=np.maximum(matches, 0).astype(np.float64),
        weights=weights / max(float(weights.sum()), 1e-9),
        spans=spans,
        in_question=in_question,
        mentions=mentions,
        near=_measure_nearness(sentences, snapshot, query, passages, models),
        types=find_types_in(texts, snapshot) if asks else {},
    )


def _measure_nearness(
    sentences: Sequence[Sentence],
    snapshot: Snapshot | None,
    query: steps.Query,
    passages: Sequence[Passage],
    models: Models,
) -> NDArray[np.float64]:
    """Return the cosine of each sentence to the question, 0 without token vectors."""
    if query.tokens is None:
        return np.zeros(len(sentences))
    known: dict[str, float] = {}
    if snapshot is not None:
        rows = _stored_sentences(snapshot, passages)
        cosines = steps.cosines_of(snapshot, "unit", query, np.array(rows, dtype=np.intp))
        known = dict(zip(snapshot.layer("unit").texts(rows), cosines.tolist(), strict=True))
    new = list(dict.fromkeys(s.parts[-1] for s in sentences if s.parts[-1] not in known))
    if new:
        vectors = models.embedder.embed(new, kind="document")
        known |= dict(zip(new, (vectors @ query.vector).tolist(), strict=True))
    near = np.array([known[s.parts[-1]] for s in sentences])
    return np.asarray((near - near.max()) / max(float(near.max() - near.mean()), 1e-6))


def _tag_sentences(
    question: str, sentences: Sequence[Sentence], models: Models, snapshot: Snapshot | None
) -> tuple[Sequence[Mention], list[Sequence[Mention]]]:
    """Return the mentions in a question and in each sentence, stored ones where possible."""
    is_same = snapshot is not None and snapshot.recipe.get("tagger") == models.tagger.name
    stored = [s.mentions if is_same else None for s in sentences]
    new = [s.text for s, known in zip(sentences, stored, strict=True) if known is None]
    in_question, *tagged = models.tagger.tag([question, *new])
    rest = iter(tagged)
    return in_question, [next(rest) if known is None else known for known in stored]


def _pool_matches(matches: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    """Return the (m,) best matches over the parts of a sentence; most sentences have one part."""
    return np.asarray(matches[0] if len(matches) == 1 else np.max(matches, axis=0))


def _prefers_cosines(question: str, passages: Sequence[Passage]) -> bool:
    """Check whether cosines tell more than words: not for English questions on English texts."""
    is_english = find_language(" ".join(p.text for p in passages)) in {"English", None}
    return not (is_english and has_question_word(question))


def _stored_nearness(
    snapshot: Snapshot | None, query: steps.Query, passages: Sequence[Passage]
) -> dict[str, float]:
    """Return the cosines of stored sentences to the question, by their texts.

    0 of the farthest, 1 of the nearest.
    """
    if snapshot is None or not len(query.vector):
        return {}
    rows = _stored_sentences(snapshot, passages)
    cosines = steps.cosines_of(snapshot, "unit", query, np.array(rows, dtype=np.intp))
    return dict(zip(snapshot.layer("unit").texts(rows), min_max(cosines).tolist(), strict=True))


def _stored_sentences(snapshot: Snapshot, passages: Sequence[Passage]) -> list[int]:
    """Return the unit rows of passages."""
    chunks = snapshot.layer("chunk").rows([passage.chunk_id for passage in passages])
    link = snapshot.linked("chunk", "unit")
    return [unit for row in chunks if row >= 0 for unit in neighbours(link, row).tolist()]


def _stored_matches(
    snapshot: Snapshot | None, coverage: steps.Coverage | None, passages: Sequence[Passage]
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of sentences whose token vectors are stored, by their texts."""
    if snapshot is None or coverage is None or not coverage.is_late:
        return {}
    rows = _stored_sentences(snapshot, passages)
    return dict(zip(snapshot.layer("unit").texts(rows), coverage.of("unit", rows), strict=True))


def _embedded_matches(
    query: steps.Query, texts: Sequence[str], models: Models
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of the other sentences, embedded now."""
    if not texts or query.tokens is None or not gives_tokens(models.embedder):
        return {}
    read = [unit_rows(each.vectors) for each in models.embedder.embed_tokens(texts)]
    return dict(zip(texts, best_matches(unit_rows(query.tokens.vectors), read), strict=True))
