"""Choose the sentences of a context that hold the answer, where no LLM writes one.

An answer stands where two legs of a thread meet: a sentence is worth what it says about the
question together with the one of another passage that helps it most, and more if both say a name
that the question does not. Besides it counts how well it meets the words beside the one that asks,
and whether it has something new of the kind that is asked for. What each sign is worth:
docs/guides/answers.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew import steps
from clew.algo.fusion import min_max
from clew.algo.links import neighbours
from clew.algo.maxsim import best_matches
from clew.algo.topk import top_k
from clew.models import gives_tokens
from clew.models.maxsim import unit_rows
from clew.text.analyze import term_spans, terms
from clew.text.keys import name_key
from clew.text.names import title_span
from clew.text.phrases import overlap, query_type
from clew.text.questions import (
    comparison_kind,
    find_numbers,
    is_yes_no,
    names_a_place,
    question_kind,
    refers_back,
    score_nearness,
)
from clew.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.models import Models
    from clew.snapshot import Snapshot
    from clew.text.phrases import Span
    from clew.types import Mention, Passage


@dataclass(frozen=True, slots=True)
class Quote:
    """A range of a passage: a sentence, behind the one that it refers back to, if near."""

    passage: Passage
    start: int  # in the document
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignWeights:
    """What a sign is worth beside the others."""

    met: float = 2.0  # what a sentence and its best one of another passage say about the question
    link: float = 0.8  # a name in both that no other passage and not the question has
    asked: float = 0.8  # words beside the one that asks: "town" in "In which town was X born?"
    kind: float = 0.4  # something new of the kind that is asked for
    both: float = 0.5  # the last two, multiplied
    place: float = 0.5  # of the passage: 1 / the root of its place
    first: float = 0.2  # it is the first of its passage
    same: float = 0.5  # taken off where the passage is quoted already
    title: float = 0.9  # how well a title's word is met by every sentence below it


_SIGNS = _SignWeights()
_OR = re.compile(r"\bor\b")
_MOST_SENTENCES = 3  # of a quote
_SAME_WORDS = 0.8  # of a sentence: with so many of them a quote says it already


def choose_quotes(
    question: str,
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None = None,
    *,
    most: int = 3,
) -> list[Quote]:
    """Return at most `most` quotes from passages in their order, the likeliest answer first.

    A question that compares two names, or that has a yes or no for an answer, is quoted one
    sentence for each of its names, as far as a sentence or a title has them. With the `snapshot`
    of the passages what it stores is not embedded again.
    """
    sentences = [
        s for place, passage in enumerate(passages) for s in _find_sentences(passage, place)
    ]
    if not sentences or most < 1:
        return []
    read = _RatedSentences(
        question, sentences, _read_sentences(question, sentences, passages, models, snapshot)
    )
    chosen: list[int] = []
    for side in read.sides[:most]:
        chosen += read.choose_best(chosen, among=side)
    while len(chosen) < most and not read.sides and (added := read.choose_best(chosen)):
        chosen += added
    found: list[Quote] = []
    for i in chosen:
        found.append(_build_quote(sentences[i], passages, found))
    return [found[i] for i in top_k(read.worth[chosen], len(chosen))]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that may be quoted, behind the one that its first word refers to, if near."""

    place: int  # of its passage, from 0
    start: int  # in the passage's text
    own: int  # where itself starts
    end: int
    text: str
    title: str
    is_first: bool
    parts: tuple[str, ...]  # its sentences, itself the last


def _find_sentences(passage: Passage, place: int) -> list[_Sentence]:
    text = passage.text
    found: list[_Sentence] = []
    back: list[Span] = []  # the last sentence that names what it is about, and those after it
    for start, end in sentence_spans(text):
        refers = refers_back(text[start:end])
        back = [*back, (start, end)] if refers else [(start, end)]
        spans = back if refers and len(back) <= _MOST_SENTENCES else [(start, end)]
        begin = spans[0][0]
        parts = tuple(text[a:b] for a, b in spans)
        found.append(
            _Sentence(place, begin, start, end, text[begin:end], passage.title, not found, parts)
        )
    return found


def _build_quote(sentence: _Sentence, passages: Sequence[Passage], found: Sequence[Quote]) -> Quote:
    """Return a sentence as a quote, alone where the one that it refers to is quoted already."""
    passage = passages[sentence.place]
    start, own = passage.start + sentence.start, passage.start + sentence.own
    quoted = any(q.passage is passage and q.start <= start < q.end for q in found)
    return Quote(passage, own if quoted else start, passage.start + sentence.end)


class _RatedSentences:
    """Sentences read beside a question: what each says of it, names, and is of."""

    def __init__(
        self, question: str, sentences: Sequence[_Sentence], reading: _ReadSentences
    ) -> None:
        self._question = question
        self._sentences = sentences
        self._reading = reading
        self._titles = [_title_key(s.title) for s in sentences]
        self._keys = [
            {name_key(s.text[m.start : m.end]) for m in found if m.label != "DATE"}
            for s, found in zip(sentences, reading.mentions, strict=True)
        ]
        titled = _match_titles(question, sentences, reading.spans) * _SIGNS.title
        self._met = np.maximum(reading.matches, titled)

    @cached_property
    def _question_names(self) -> list[Mention]:
        return [m for m in self._reading.in_question if m.label != "DATE"]

    @cached_property
    def _question_keys(self) -> set[str]:
        return {name_key(self._question[m.start : m.end]) for m in self._question_names}

    @cached_property
    def _question_matches(self) -> NDArray[np.float64]:
        """(n,) how well each sentence meets the words in no name, those beside the asking one most.

        0 to 1, of the worst and the best of the sentences.
        """
        names = [(m.start, m.end) for m in self._reading.in_question]
        words = [(a, b) for _, a, b in term_spans(self._question)]
        free = [word for word in words if not any(overlap(word, name) for name in names)]
        met = [any(overlap(span, word) for word in free) for span in self._reading.spans]
        weights = np.array(met, dtype=np.float64)
        if not self.sides:  # what tells things apart may stand anywhere: "died later, A or B?"
            weights *= score_nearness(self._question, self._reading.spans)
        return min_max(self._reading.own @ weights)

    @cached_property
    def _kinds(self) -> NDArray[np.float64]:
        """(n,) whether each sentence itself has something of the kind asked for that is new."""
        kind, known = question_kind(self._question), set(terms(self._question))
        if self.sides:
            kind = comparison_kind(self._question) or kind
        found = []
        for sentence, mentions in zip(self._sentences, self._reading.mentions, strict=True):
            before = sentence.own - sentence.start
            own = [m for m in mentions if m.start >= before]
            dates = [sentence.text[m.start : m.end] for m in own if m.label == "DATE"]
            names = [sentence.text[m.start : m.end] for m in own if m.label != "DATE"]
            if kind == "number":
                new = _is_new(find_numbers(sentence.parts[-1]), known)
            elif kind == "date":
                new = _is_new(dates, known)
            else:
                new = _is_new(names, known | set(terms(sentence.title)))
                new = new and (kind != "place" or names_a_place(sentence.parts[-1]))
            found.append(new)
        return np.array(found, dtype=np.float64)

    @cached_property
    def worth(self) -> NDArray[np.float64]:
        """(n,) what each sentence is worth, whatever else is quoted."""
        first = np.array([s.is_first for s in self._sentences], dtype=np.float64)
        answers = _SIGNS.asked * self._question_matches + _SIGNS.kind * self._kinds
        answers += _SIGNS.both * self._question_matches * self._kinds
        return np.asarray(
            self._chains + answers + _SIGNS.place / np.sqrt(1 + self._places) + _SIGNS.first * first
        )

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        return np.array([s.place for s in self._sentences])

    @cached_property
    def _chains(self) -> NDArray[np.float64]:
        """(n,) what each sentence says about the question with the best one of another passage."""
        weights, links = self._reading.weights, self._links
        alone = self._met @ weights
        spread = max(float(np.ptp(alone)), 1e-9)
        best = _SIGNS.met * alone / spread
        for i, place in enumerate(self._places):
            together = np.maximum(self._met, self._met[i]) @ weights
            chains = _SIGNS.met * together / spread + _SIGNS.link * links[i]
            best = np.where(self._places == place, best, np.maximum(best, chains))
        return np.asarray(best)

    @cached_property
    def _links(self) -> NDArray[np.float64]:
        """(n, n) the rarest name that two sentences say, or their titles, and not the question.

        1 for a name of two passages, 2 / 3 for one of three, and so on.
        """
        said: dict[str, list[int]] = {}
        for i, (keys, title) in enumerate(zip(self._keys, self._titles, strict=True)):
            for key in (keys | {title}) - self._question_keys - {""}:
                said.setdefault(key, []).append(i)
        links = np.zeros((len(self._sentences), len(self._sentences)))
        for rows in said.values():
            n_passages = len(set(self._places[rows].tolist()))
            if n_passages > 1:
                links[np.ix_(rows, rows)] = np.maximum(links[np.ix_(rows, rows)], 2 / n_passages)
        return links

    @cached_property
    def sides(self) -> list[list[int]]:
        """The sentences of each name that the question compares or asks a yes or no of, if any."""
        names = _inner_spans([(m.start, m.end) for m in self._question_names])
        between = (self._question[a[1] : b[0]] for a, b in pairwise(names))
        compared = any(_OR.search(words) for words in between)
        compared = compared or query_type(self._question, names) == "comparison"
        if len(names) < 2 or not (compared or is_yes_no(self._question)):
            return []
        keys = [name_key(self._question[a:b]) for a, b in names]
        everywhere = range(len(self._sentences))
        found = [[i for i in everywhere if self._is_about(i, key)] for key in dict.fromkeys(keys)]
        return [side for side in found if side] if sum(map(bool, found)) > 1 else []

    def _is_about(self, sentence: int, key: str) -> bool:
        return key == self._titles[sentence] or key in self._keys[sentence]

    def choose_best(self, chosen: Sequence[int], among: Sequence[int] | None = None) -> list[int]:
        """Return the sentence worth most beside those `chosen`, of some or of all; none of none."""
        free = range(len(self._sentences)) if among is None else among
        rest = [i for i in free if i not in chosen and not self._repeats(i, chosen)]
        if not rest:
            return []
        again = np.isin(self._places[rest], self._places[list(chosen)])
        return [rest[int(top_k(self.worth[rest] - _SIGNS.same * again, 1)[0])]]

    def _repeats(self, sentence: int, chosen: Sequence[int]) -> bool:
        """Say whether a quote has nearly all words of a sentence, as another edition's would."""
        own = set(terms(self._sentences[sentence].parts[-1]))
        return any(len(own & self._words[c]) >= _SAME_WORDS * len(own) for c in chosen)

    @cached_property
    def _words(self) -> list[set[str]]:
        return [set(terms(s.text)) for s in self._sentences]


def _is_new(said: Sequence[str], known: set[str]) -> bool:
    """Say whether something said has a word that is not known."""
    return any(not known.issuperset(terms(text)) for text in said)


def _title_key(title: str) -> str:
    start, end = title_span(title)
    return name_key(title[start:end])


def _inner_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that hold no other one, in order: "A and B" may be a name beside A and B."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (-span[0], span[1])):
        if not kept or end < kept[-1][1]:
            kept.append((start, end))
    return kept[::-1]


def _match_titles(
    question: str, sentences: Sequence[_Sentence], spans: Sequence[Span]
) -> NDArray[np.float64]:
    """Return (n, m) whether each token of the question is of a word of each sentence's title."""
    words = list(term_spans(question))
    rows = {}
    for title in {s.title for s in sentences}:
        found = set(terms(title))
        met = [(a, b) for term, a, b in words if term in found]
        rows[title] = [any(overlap(span, word) for word in met) for span in spans]
    return np.array([rows[s.title] for s in sentences], dtype=np.float64)


# -- what models make of sentences ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ReadSentences:
    """The models' readings of n sentences and a question of m tokens."""

    own: NDArray[np.float64]  # (n, m) 0 to 1, how well each sentence meets each token
    matches: NDArray[np.float64]  # (n, m), with those before it that are quoted with it
    weights: NDArray[np.float64]  # (m,), their sum is 1
    spans: Sequence[Span]  # of the tokens, in the question
    in_question: Sequence[Mention]
    mentions: Sequence[Sequence[Mention]]  # of each sentence


def _read_sentences(
    question: str,
    sentences: Sequence[_Sentence],
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None,
) -> _ReadSentences:
    """Read the sentences: by the embedder's tokens where it gives such, else by words."""
    asked = _embed_question(question, models)
    coverage = None if snapshot is None else steps.Coverage(snapshot, asked)
    parts = list(dict.fromkeys(part for s in sentences for part in s.parts))
    if asked.tokens is None:
        words = list(term_spans(question))
        spans = [(a, b) for _, a, b in words]
        of_part = {p: _find_words(p, [term for term, _, _ in words]) for p in parts}
        weights = coverage.weights if coverage else np.ones(len(words))
    else:
        spans = [(int(a), int(b)) for a, b in asked.tokens.spans]
        stored = _stored_matches(snapshot, coverage, passages)
        of_part = stored | _embedded_matches(asked, [p for p in parts if p not in stored], models)
        weights = coverage.weights if coverage and coverage.is_late else np.ones(len(spans))
    own = np.array([of_part[s.parts[-1]] for s in sentences])
    matches = np.array([np.max([of_part[p] for p in s.parts], axis=0) for s in sentences])
    in_question, *mentions = models.tagger.tag([question, *(s.text for s in sentences)])
    return _ReadSentences(
        own=np.maximum(own, 0).astype(np.float64),
        matches=np.maximum(matches, 0).astype(np.float64),
        weights=weights / max(float(weights.sum()), 1e-9),
        spans=spans,
        in_question=in_question,
        mentions=mentions,
    )


def _embed_question(question: str, models: Models) -> steps.Query:
    """Return the question with its tokens, where the embedder gives such."""
    if gives_tokens(models.embedder):
        return steps.read_query(models, question)
    return steps.Query(question, np.zeros(0, dtype=np.float32), None)


def _find_words(text: str, words: Sequence[str]) -> NDArray[np.floating]:
    """Return (m,) whether a text has each of the words."""
    found = set(terms(text))
    return np.array([word in found for word in words], dtype=np.float32)


def _stored_matches(
    snapshot: Snapshot | None, coverage: steps.Coverage | None, passages: Sequence[Passage]
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of the sentences whose token vectors the index stores, by their texts."""
    if snapshot is None or coverage is None or not coverage.is_late:
        return {}
    chunks = [
        row for row in snapshot.layer("chunk").rows([p.chunk_id for p in passages]) if row >= 0
    ]
    link = snapshot.linked("chunk", "unit")
    rows = [unit for chunk in chunks for unit in neighbours(link, chunk).tolist()]
    return dict(zip(snapshot.layer("unit").texts(rows), coverage.of("unit", rows), strict=True))


def _embedded_matches(
    asked: steps.Query, texts: Sequence[str], models: Models
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of other sentences, which the embedder reads now."""
    if not texts or asked.tokens is None or not gives_tokens(models.embedder):
        return {}
    read = [unit_rows(each.vectors) for each in models.embedder.embed_tokens(texts)]
    return dict(zip(texts, best_matches(unit_rows(asked.tokens.vectors), read), strict=True))
