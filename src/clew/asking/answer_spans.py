"""Spans of quotes that may be a short answer, and the signs of how likely each one is right.

`clew.asking.span_weights` has what each sign is worth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clew.models import gives_tokens
from clew.models.maxsim import unit_rows
from clew.runtime.lazy import compile_re
from clew.steps.entity_types import OTHER, find_types_in
from clew.text.analyze import term_set, term_spans, terms
from clew.text.forms import find_base
from clew.text.keys import name_key
from clew.text.names import strip_title
from clew.text.phrases import overlap, phrase_spans
from clew.text.questions import find_question_word, question_kind, score_nearness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.asking.quotes import Quote
    from clew.models import Models
    from clew.text.phrases import Span
    from clew.types import Mention, Passage


# A name, code or number, and the words before one that say how it stands there.
_VALUE = compile_re(r"(?<!\w)(?:[^\W\d_a-zà-þ]|\d)\S*")
_FRAME = compile_re(
    r"(\w+) (in|on|at|by|from|to|with|for|of|into|under)(?: the)?[ \"'“‘]$", re.IGNORECASE
)
_AROUND = 6  # words on each side of a span that are compared with the question
_WORD = compile_re(r"\w+")
_YEAR = compile_re(r"\b(?:1\d{3}|20\d{2})\b")
_NUMBER = compile_re(
    r"(?:[$€£]\s?)?\b\d[\d,]*(?:\.\d+)?(?:\s?%| (?:percent|million|billion|trillion|thousand)\b)?"
    r"|\b(?:once|twice|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|forty|fifty|hundred|thousand)\b",
    re.IGNORECASE,
)
_UNIT = compile_re(r"[ -]?[^\W\d_]+")
# The noun that says what is asked for: "which small town", "what is the population of".
_NOUN = compile_re(
    r"(?:what|which|whose)\s+((?:[\w'-]+\s+){0,3}?[\w'-]+?)(?=\s+(?:is|are|was|were|did|does|do|has"
    r"|had|have|that|who|which|of|in|by|for|to|with|from|on|at|as|named|known|can|would|will)\b"
    r"|[?,.]|\s*$)",
    re.IGNORECASE,
)
_NOUN_OF = compile_re(
    r"(?:what|who) (?:is|was|are|were) (?:the |an? )?((?:[\w'-]+\s+){0,3}?[\w'-]+?)"
    r"(?=\s+(?:of|for|in|to|that|which|who|where)\b)",
    re.IGNORECASE,
)
# What such a noun asks for beside the kinds of `clew.text.questions`.
_NOUNS: Mapping[str, frozenset[str]] = {
    "common": frozenset(
        "position role genre profession occupation job kind type sort instrument term sport colour"
        " color material".split()
    ),
    "work": frozenset(
        "film movie song album book novel show series episode game play single magazine".split()
    ),
    "group": frozenset(
        "company band team station network university school club label party league group"
        " organization organisation agency college".split()
    ),
}
# What a span must be for what is asked.
_LABELS: Mapping[str, frozenset[str]] = {
    "number": frozenset({"NUMBER", "AMOUNT"}),
    "date": frozenset({"DATE", "YEAR"}),
    "place": frozenset({"NAME", "PLACE"}),
    "person": frozenset({"NAME"}),
    "group": frozenset({"NAME"}),
    "work": frozenset({"NAME", "TITLE"}),
    "common": frozenset({"PHRASE"}),
    "name": frozenset({"NAME", "TITLE", "PHRASE"}),
}
# The last words of names of groups and buildings, which are no people and no towns.
_GROUPS = frozenset(
    "university college school institute academy museum church company corporation records band"
    " orchestra club party league association society council committee group network press studios"
    " pictures entertainment airport station cup award awards championship university".split()
)
_KINDS = {"person": "person", "place": "place"}
_TYPED = {*_KINDS, "group"}
_INITIAL = compile_re(r"\b[A-Z]\.|\b[JS]r\b")
_OF_PEOPLE = compile_re(r"\b(?:by|with|and)\s*[\"“]?$", re.IGNORECASE)
_OF_PLACES = compile_re(r"\b(?:in|at|from|near)\s*[\"“]?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CandidateSpan:
    """A range of a quote, and what it looks like."""

    quote: int  # its place, from 0
    start: int  # in the quote
    end: int
    label: str  # NAME, TITLE, PLACE, DATE, YEAR, NUMBER, AMOUNT or PHRASE
    text: str


def find_spans(text: str, mentions: Sequence[Mention], quote: int = 0) -> list[CandidateSpan]:
    """Return the names, dates, numbers and phrases of a quote that may be an answer.

    Beside a name that is "Canton" and one behind a comma, "Canton, Ohio" is one; a date has its
    year, a number its noun.
    """
    labels: dict[Span, str] = {}
    for m in mentions:
        keeps_label = m.label in {"DATE", "TITLE"}
        labels[m.start, m.end] = m.label if keeps_label else "NAME"
    names = sorted(span for span, label in labels.items() if label == "NAME")
    ends = {b: a for a, b in names[::-1]}
    for c, d in names:
        if text[c - 2 : c] == ", " and c - 2 in ends:
            labels.setdefault((ends[c - 2], d), "PLACE")
    for (a, b), label in list(labels.items()):
        if label == "DATE":
            for year in _YEAR.finditer(text, a, b):
                labels.setdefault(year.span(), "YEAR")
    taken = [(m.start, m.end) for m in mentions if m.label != "TITLE"]
    for number in _NUMBER.finditer(text):
        labels.setdefault(number.span(), "NUMBER")
        if unit := _UNIT.match(text, number.end()):
            labels.setdefault((number.start(), unit.end()), "AMOUNT")
    for span in chain.from_iterable(_cut_phrase(text, *s) for s in phrase_spans(text, taken)):
        labels.setdefault(span, "PHRASE")
    return [
        CandidateSpan(quote, a, b, label, text[a:b])
        for (a, b), label in sorted(labels.items())
        if text[a:b].strip()
    ]


def _cut_phrase(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a phrase, and its first and last word or two."""
    words = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    yield start, end
    for n in range(1, min(3, len(words))):
        yield words[-n][0], end
        yield start, words[n - 1][1]


class SpanSigns:
    """The signs of all spans of the quotes of a question."""

    def __init__(
        self, question: str, quotes: Sequence[Quote], passages: Sequence[Passage], models: Models
    ) -> None:
        self.question = question
        self.quotes = quotes
        self.texts = [each.text for each in quotes]
        self.in_question, *self._mentions = models.tagger.tag([question, *self.texts])
        self.kind, self.noun = _read_question(question)
        texts = zip(self.texts, self._mentions, strict=True)
        self._types = find_types_in(texts, None) if self.kind in _TYPED else {}
        self._terms = term_set(question)
        self._frames = {_read_frame(question, start) for start in _find_values(question)} - {()}
        self.spans = self.find_spans(_LABELS[self.kind])
        self._titles = {name_key(strip_title(each.title)) for each in passages}
        has = [term_set(f"{each.title} {each.text}") for each in passages]
        counts = {word: sum(word in each for each in has) for word in self._terms}
        self._rarity = {w: float(np.log1p(len(has) / max(n, 1))) for w, n in counts.items()}
        self._models = models

    @property
    def mentions(self) -> Sequence[Sequence[Mention]]:
        """The names and dates of each quote."""
        return self._mentions

    def find_spans(self, labels: frozenset[str]) -> list[CandidateSpan]:
        """Return the spans of some labels that say something beside the question.

        None that stands where the question has a value of its own: "York" in "born in York" does
        not say who was born in Leeds.
        """
        return [
            span
            for i, (text, mentions) in enumerate(zip(self.texts, self._mentions, strict=True))
            for span in find_spans(text, mentions, i)
            if span.label in labels
            and not self._terms.issuperset(term_set(span.text))
            and _read_frame(text, span.start) not in self._frames
        ]

    def read(self) -> list[dict[str, float]]:
        """Return the signs of each span that are not 0, by their names.

        | logp | how likely the sentence of the quote holds the answer |
        | share | how many of the question's words the quote and its title have, by rarity |
        | near, like noun | how its tokens, and those around it, meet those of the question |
        | type, type of noun | how near it is in meaning to the noun, or the kind, asked for |
        | name NAME, name TITLE, name PHRASE | what it is, where the kind is not known |
        | AMOUNT | a number with a noun |
        | no year | a date with a month, where a year is asked for |
        | Ohio | a place with the one that it is in, where no noun says what is asked for |
        | a group, a person | a name of that, where something else is asked for |
        | full name, by, in | two or three words, where a person is; what stands before it |
        | comma | stands before or behind it |
        | other title | the title of another passage |
        | nested | in another span |
        """
        types = self._match_types()
        matches = self._match_tokens()
        noun = self.question[slice(*self.noun)]
        is_year = "year" in terms(noun)
        shares = [self._share_words(i) for i in range(len(self.quotes))]
        own = [name_key(strip_title(each.passage.title)) for each in self.quotes]
        rows = []
        for span, (near, like) in zip(self.spans, matches, strict=True):
            text, name = self.texts[span.quote], span.text
            before, behind = text[: span.start], text[span.end :]
            key, is_name = name_key(name), span.label == "NAME"
            signs = {
                "logp": float(np.log(self.quotes[span.quote].probability + 1e-3)),
                "share": shares[span.quote],
                "near": near,
                "like noun": like,
                "type": types.get(name, 0.0),
                "type of noun": types.get(name, 0.0) * bool(noun),
                f"name {span.label}": self.kind == "name",
                "AMOUNT": span.label == "AMOUNT",
                "no year": is_year and not (span.label == "YEAR" or _YEAR.fullmatch(name)),
                "Ohio": span.label == "PLACE" and not noun,
                "a group": self.kind in _KINDS
                and (name.split()[-1].casefold() in _GROUPS or self._is_other(key)),
                "a person": self.kind in {"place", "group"}
                and (bool(_INITIAL.search(name)) or self._types.get(key) == "person"),
                "full name": self.kind == "person" and is_name and 2 <= len(name.split()) <= 3,
                "by": self.kind == "person" and bool(_OF_PEOPLE.search(before)),
                "in": self.kind == "place" and bool(_OF_PLACES.search(before)),
                "comma": before.rstrip().endswith(",") or behind.startswith(","),
                "other title": key in self._titles and key != own[span.quote],
                "nested": any(_holds(other, span) for other in self.spans),
            }
            rows.append({name: float(value) for name, value in signs.items() if value})
        return rows

    def _is_other(self, key: str) -> bool:
        """Say whether a name is surely of another type than a person or place asked for."""
        return self._types.get(key, self.kind) not in {self.kind, "person", OTHER}

    def _share_words(self, i: int) -> float:
        words = term_set(f"{self.quotes[i].passage.title} {self.texts[i]}")
        weight = sum(self._rarity[word] for word in words & self._terms)
        return weight / (sum(self._rarity.values()) or 1.0)

    def _match_types(self) -> dict[str, float]:
        """Return the cosine of each span's text with what is asked for, where words say that."""
        wanted = self.question[slice(*self.noun)] or _KINDS.get(self.kind, "")
        texts = list(dict.fromkeys(span.text for span in self.spans))
        if not wanted or not texts or self.kind in {"number", "date"}:
            return {}
        if not gives_tokens(self._models.embedder):  # another one may be paid for
            return {}
        first, *rest = self._models.embedder.embed([wanted, *texts], kind="query")
        return {text: float(row @ first) for text, row in zip(texts, rest, strict=True)}

    def _match_tokens(self) -> list[tuple[float, float]]:
        """Return how well the tokens around each span, and its own, meet those of the question.

        The ones beside the word that asks, and the noun; 0 where the embedder gives no tokens.
        """
        if not (self.spans and gives_tokens(self._models.embedder)):
            return [(0.0, 0.0)] * len(self.spans)
        [query] = self._models.embedder.embed_tokens([self.question])  # which is known
        read = self._models.embedder.embed_tokens(self.texts)
        vectors, at = unit_rows(query.vectors), [(int(a), int(b)) for a, b in query.spans]
        words = [(a, b) for _, a, b in term_spans(self.question)]
        content = np.array([any(overlap(s, w) for w in words) for s in at], dtype=np.float64)
        near = content * np.array(score_nearness(self.question, at))
        noun = np.array([overlap(s, self.noun) for s in at], dtype=np.float64)
        of_quotes = [
            ([(int(a), int(b)) for a, b in each.spans], unit_rows(each.vectors) @ vectors.T)
            for each in read
        ]
        matches = []
        for span in self.spans:
            tokens, similar = of_quotes[span.quote]
            low, high = _widen(self.texts[span.quote], span)
            inside = np.array([overlap(t, (span.start, span.end)) for t in tokens], dtype=bool)
            around = np.array([low <= a and b <= high for a, b in tokens], dtype=bool) & ~inside
            pair = []
            for rows, weights in ((around, near), (inside, noun)):
                best = similar[rows].max(axis=0) if rows.any() else np.zeros(len(weights))
                pair.append(float(best @ weights / max(weights.sum(), 1e-9)))
            matches.append((pair[0], pair[1]))
        return matches


def _widen(text: str, span: CandidateSpan) -> Span:
    """Return where the words around a span begin and end."""
    before = [m.start() for m in _WORD.finditer(text[: span.start])]
    behind = [m.end() for m in _WORD.finditer(text, span.end)]
    return [*before, span.start][-_AROUND - 1 :][0], [span.end, *behind][: _AROUND + 1][-1]


def _find_values(question: str) -> list[int]:
    """Return where the names, codes and numbers of a question begin, behind its first word."""
    return [m.start() for m in _VALUE.finditer(question) if question[: m.start()].strip()]


def _read_frame(text: str, start: int) -> tuple[str, ...]:
    """Return the base forms of a word and a preposition right before a place, () if none."""
    match = _FRAME.search(text, 0, start)
    return (find_base(match[1].lower()), match[2].lower()) if match else ()


def _holds(outer: CandidateSpan, span: CandidateSpan) -> bool:
    is_around = outer.start <= span.start and span.end <= outer.end
    return outer.quote == span.quote and is_around and outer != span


def _read_question(question: str) -> tuple[str, Span]:
    """Return the kind that a question asks for, and where the noun stands that says so."""
    at = find_question_word(question)
    match = _NOUN.match(question, at) or _NOUN_OF.match(question, at)
    noun = match.span(1) if match else (at, at)
    kind: str = question_kind(question)
    if kind == "name":
        last = question[slice(*noun)].casefold().split()[-1:]
        kind = next((k for k, nouns in _NOUNS.items() if nouns.issuperset(last) and last), kind)
    return kind, noun
