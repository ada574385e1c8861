"""Compute the features by which a sentence of a context is judged to contain the answer.

`clew.answers.sentence_weights` has the weight of each.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.algo.topk import min_max
from clew.answers.chains import Chains, find_chains
from clew.base.runtime.lazy import compile_re
from clew.steps.entity_types import OTHER
from clew.text.analyze import term_set, term_spans, terms
from clew.text.dates import find_days
from clew.text.forms import find_base, find_bases
from clew.text.keys import name_key
from clew.text.layout import ends_as_question
from clew.text.measures import has_asked_value
from clew.text.names import is_long_term, strip_title
from clew.text.phrases import overlap, query_type
from clew.text.questions import (
    QUESTION_MARKS,
    comparison_kind,
    find_content_words,
    find_joining,
    find_kind_noun,
    find_numbers,
    follows_preposition,
    is_foreign_question,
    is_yes_no,
    names_alternatives,
    question_kind,
    score_nearness,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from clew.answers.sentences import ReadSentences, Sentence
    from clew.base.types import Mention
    from clew.text.phrases import Span

    Floats = NDArray[np.float64]

_TITLE = 0.9  # how well a title's word is met by every sentence below it
_KIND_NOUN = 0.5  # the weight of the noun that says what is asked for, beside other words
_FOLLOWS = 0.8  # how well a word is met by the statement before
_AKIN = 5  # characters that two forms of a word, or a word and its compound, share at least
_AKIN_SHARE = 0.6  # of the longer one
_PARTNERS = 40  # sentences, the best ones, each looked at together with the best of all
# A number, a code, a name with an underscore or in capitals: what alike records differ in.
_CODE = compile_re(r"[A-Za-z]*\d(?:[\w./:-]*\w)?|\w+_\w+|[A-Z][A-Z0-9&-]+|\w+[#+]+")
_PLACED = compile_re(r"(?:\b(?:in|at|from|near|into|outside)\s+(?:the\s+)?|, )$")
_SIGN = compile_re(r"[\d_#+]|[A-Z][A-Z0-9&-]")  # that every code has
_ENDING = 3  # characters, at most, by which a form of a word is longer
_LETTER = compile_re(r"(?=.*\d).*[A-Za-z]")  # in a code that has a digit, too


class QuoteFeatures(NamedTuple):
    """Features of how well quotes together answer a question, each from 0 to 1."""

    missing: float  # the share of the question's codes that none of them has
    whole: float  # the share of the question's words that the one with most of them has
    unnamed: float  # the share of the words of its names, else of all, that none of them has
    is_of_another_time: bool = False  # all are surely of another day, month or year
    likely: float = 1.0  # the probability that one of them has the answer, if any text has


class SentenceFeatures:
    """The features of n sentences for a question of m tokens."""

    def __init__(
        self, question: str, sentences: Sequence[Sentence], reading: ReadSentences
    ) -> None:
        self.question = question
        self.sentences = sentences
        self.reading = reading
        self.places = np.array([s.place for s in sentences])
        titles = {title: name_key(strip_title(title)) for title in {s.title for s in sentences}}
        self.titles = [titles[s.title] for s in sentences]
        self.keys = [
            _read_keys(s.text, mentions)
            for s, mentions in zip(sentences, reading.mentions, strict=True)
        ]
        self.own_keys = [  # without those of the sentences that it refers back to
            keys if s.own == s.start else _read_keys(s.text, mentions, s.own - s.start)
            for keys, s, mentions in zip(self.keys, sentences, reading.mentions, strict=True)
        ]
        self.names = [m for m in reading.in_question if m.label != "TERM"]
        titled = _match_titles(question, sentences, reading.spans) * _TITLE
        self.met = np.maximum(reading.matches, titled)
        heads = [s.head for s in sentences]
        if is_foreign_question(question):  # fewer sentences are known to refer to one before
            for i, s in enumerate(sentences):
                lead = int(np.argmax(self.places == s.place))
                if not s.above:
                    heads[i] = f"{s.head}\n{sentences[lead].text}"
                    self.met[i] = np.maximum(self.met[i], reading.matches[lead] * _TITLE)
        self.words = _Words(question, sentences, heads, reading.in_question)
        self._forget_kind_noun()

    def _forget_kind_noun(self) -> None:
        """Leave out the word for what is asked, of sentences that have nothing of that kind.

        "He died in the town of his birth" does not say in which town.
        """
        if (noun := find_kind_noun(self.question)) is not None:
            of_noun = [overlap(span, noun) for span in self.reading.spans]
            self.met[np.ix_(self._kinds == 0, np.array(of_noun, dtype=bool))] = 0.0

    @cached_property
    def question_features(self) -> dict[str, float]:
        """Return the features that tell questions of one sentence from those that need a chain.

        How much of its words, and of its tokens, the best sentence has, with its title and alone;
        whether the question names that title; how much more the best two of two passages have, and
        the best linked two; its length and names; and whether that sentence answers a question.
        """
        best = np.argsort(-self.alone, kind="stable")[:_PARTNERS]
        apart = self.places[best] != self.places[best[0]]
        pairs = np.maximum(self.met[best[apart]], self.met[best[0]]) @ self.reading.weights
        most = float(self.alone.max())
        return {
            "constant": 1.0,
            "words": float(self.words.titled_shares.max()),
            "tokens": most,
            "own": float((self.reading.own @ self.reading.weights).max()),
            "about": float(self.titles[best[0]] in self.question_keys),
            "two": max(0.0, float(pairs.max(initial=most)) - most),
            "length": max(len(self.reading.weights), len(self.question) / 6) / 20,
            "names": len(self.question_names) / 3,
            "answers": float(ends_as_question(self.sentences[best[0]].above)),
            **self.chains.gains,
        }

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """Return the (n,) values of each feature, by its name."""
        words = self.words
        return {
            "gap": self.alone - self.alone.max(),
            "asked": self._match_asked(),
            "near": self.reading.near,
            "kind": self._kinds,
            "place": 1 / np.sqrt(1 + self.places),
            "first": np.array([s.is_first for s in self.sentences], dtype=np.float64),
            "titled words": words.titled_shares,
            "same code": words.same_code,
            "named": words.named,
            "other name": self._find_others(),
            "nothing new": words.nothing_new * (not is_yes_no(self.question)),
            "asks": np.array(
                [float(s.parts[-1].rstrip().endswith(QUESTION_MARKS)) for s in self.sentences]
            ),
            "subject": words.begins,
            "forms": words.forms,
            "follows": self._match_pairs(),
            "asked value": self._find_asked_values(),
            **self._find_values(),
        }

    def of_quotes(self, rows: Sequence[int]) -> QuoteFeatures:
        """Return what tells how well some sentences answer together."""
        names = [(m.start, m.end) for m in self.reading.in_question]
        words = list(term_spans(self.question))
        in_names = [w for w in words if any(overlap(w[1:], name) for name in names)] or words
        bases = {find_base(term) for term, _, _ in in_names} - find_joining(self.question)
        texts = [f"{self.sentences[i].head}\n{self.sentences[i].text}" for i in rows]
        have = {find_base(term) for text in texts for term in term_set(text)}
        if is_foreign_question(self.question):
            have |= find_akin(bases, have)
        missing, whole = self.words.match_exactly(rows)
        return QuoteFeatures(
            missing=missing, whole=whole, unnamed=len(bases - have) / max(len(bases), 1)
        )

    @cached_property
    def chains(self) -> Chains:
        """Return the pairs of sentences that answer together."""
        return find_chains(self)

    @cached_property
    def question_names(self) -> list[Mention]:
        """Return the names in the question, without dates."""
        return [m for m in self.names if m.label != "DATE"]

    @cached_property
    def question_keys(self) -> set[str]:
        """Return the keys of the names in the question."""
        return {name_key(self.question[m.start : m.end]) for m in self.question_names}

    @cached_property
    def alike_codes(self) -> list[Span]:
        """Return the positions of several similar codes in the question."""
        return _find_alike_codes(self.question)

    @cached_property
    def sides(self) -> list[Sequence[int]]:
        """Return the sentences about each of the things the question compares or asks yes/no about.

        Or of each of several codes of one kind: who names two asks of both. There are two sides or
        more, or none.
        """
        question = self.question
        names = self.alike_codes
        if not names:
            names = self._name_places()
            compared = names_alternatives(question, names)
            compared = compared or query_type(question, names) == "comparison"
            if len(names) < 2 or not (compared or is_yes_no(question)):
                return []
        about = list(zip(self.titles, self.keys, strict=True))
        sides: list[Sequence[int]] = [
            [i for i, (title, keys) in enumerate(about) if key == title or key in keys]
            for key in dict.fromkeys(name_key(question[a:b]) for a, b in names)
        ]
        return [side for side in sides if side] if sum(map(bool, sides)) > 1 else []

    def find_titled_by(self, row: int) -> list[int]:
        """Return the sentences of other passages whose titles the sentence mentions.

        Those of the kind that the question compares by, if any: of a film's director, where it
        asks for the one who is older.
        """
        keys = self.keys[row] - self.question_keys - {self.titles[row]}
        rows = [i for i, title in enumerate(self.titles) if title in keys]
        return [i for i in rows if self.columns["kind"][i]] or rows

    def linking_name(self, bridge: int, answer: int) -> str:
        """Return the name in `bridge` that sentence `answer`, or its title, is about."""
        wanted = (self.keys[answer] | {self.titles[answer]}) - self.question_keys
        text = self.sentences[bridge].text
        names = list(_read_names(text, self.reading.mentions[bridge]))
        names.sort(key=lambda name: name_key(name) != self.titles[answer])
        own = self.sentences[bridge].title
        return next((name for name in names if name_key(name) in wanted), own)

    def _name_places(self) -> list[Span]:
        """Return the positions of the question's names in order, as titles spell them where known.

        A title within a name is none, unless that has several: "A and B" may be one.
        """
        names = [(m.start, m.end) for m in self.question_names]
        folded = self.question.casefold()
        heads = {strip_title(title) for title in {s.title for s in self.sentences}} - {""}
        heads = {re.escape(title) for title in heads if title.casefold() in folded}
        spans = [
            match.span()
            for title in heads
            for match in re.finditer(rf"(?<!\w){title}(?!\w)", self.question, re.IGNORECASE)
        ]
        titles = [
            (a, b)
            for a, b in spans
            if not self.question[a].islower()
            and not any(_lies_in((a, b), other) and other != (a, b) for other in spans)
        ]
        within = [[t for t in titles if _lies_in(t, name)] for name in names]
        alone = {inside[0] for inside in within if len(inside) == 1}
        titles = [t for t in titles if t not in alone or t in names]
        rest = [name for name in names if not any(_lies_in(name, t) for t in titles)]
        return _innermost([*titles, *rest])

    @cached_property
    def alone(self) -> Floats:
        """Return (n,) the share of the question that each sentence covers, by token weight."""
        return np.asarray(self.met @ self.reading.weights)

    def _match_pairs(self) -> Floats:
        """Return how much more of the question each sentence covers with the one before it.

        "New ones are eleven euros each." follows what names the batteries.
        """
        before = np.zeros_like(self.met)
        asks = [s.said.rstrip().endswith(QUESTION_MARKS) for s in self.sentences[:-1]]
        is_next = (self.places[1:] == self.places[:-1]) & ~np.array(asks, dtype=bool)
        before[1:][is_next] = self.reading.own[:-1][is_next] * _FOLLOWS
        return np.asarray(np.maximum(self.met, before) @ self.reading.weights - self.alone)

    def _find_asked_values(self) -> Floats:
        """Return which sentences have a value of the requested kind: a weight, a duration."""
        values = [has_asked_value(self.question, s.said, s.above) for s in self.sentences]
        return np.array(values, dtype=np.float64)

    def _match_asked(self) -> Floats:
        """Return how well each sentence covers the words outside names.

        0 to 1, of the worst and the best of the sentences. The noun that says what is asked for
        counts half: what answers "which town" need not be called a town.
        """
        names = [(m.start, m.end) for m in self.names]
        words = [(a, b) for _, a, b in term_spans(self.question)]
        free = [word for word in words if not any(overlap(word, name) for name in names)]
        met = [any(overlap(span, word) for word in free) for span in self.reading.spans]
        weights = np.array(met, dtype=np.float64)
        if (noun := find_kind_noun(self.question)) is not None:
            weights[[overlap(span, noun) for span in self.reading.spans]] *= _KIND_NOUN
        if not self.sides:  # what tells things apart may stand anywhere: "died later, A or B?"
            weights *= score_nearness(self.question, self.reading.spans)
        return min_max(np.minimum(self.reading.matches, self.met) @ weights)

    @cached_property
    def _kinds(self) -> Floats:
        """Return which sentences have a new entity or value of the requested kind."""
        kind, words = question_kind(self.question), term_set(self.question)
        if self.sides:
            kind = comparison_kind(self.question) or kind
        flags = []
        for i, (sentence, mentions) in enumerate(
            zip(self.sentences, self.reading.mentions, strict=True)
        ):
            text, before = sentence.text, sentence.own - sentence.start
            if kind == "number":
                new = any(_has_new(each, words) for each in find_numbers(sentence.said))
            elif kind == "date":
                own = [m for m in mentions if m.start >= before and m.label == "DATE"]
                new = any(_has_new(text[m.start : m.end], words) for m in own)
            else:
                new = self._has_new_name(i, kind)
                new = new and (kind != "place" or follows_preposition(sentence.said))
            flags.append(new)
        return np.array(flags, dtype=np.float64)

    @cached_property
    def _new_names(self) -> list[list[Mention]]:
        """Return the names in each sentence with a word that neither title nor question has.

        Dates are none.
        """
        words, new = term_set(self.question), []
        for sentence, mentions in zip(self.sentences, self.reading.mentions, strict=True):
            text, before = sentence.text, sentence.own - sentence.start
            known = words | term_set(sentence.title)
            names = [m for m in mentions if m.start >= before and m.label != "DATE"]
            new.append([m for m in names if _has_new(text[m.start : m.end], known)])
        return new

    def _has_new_name(self, row: int, kind: str) -> bool:
        """Check whether a sentence has a new name that can be of the requested type."""
        text = self.sentences[row].text
        return any(self._may_be_a(text[m.start : m.end], kind) for m in self._new_names[row])

    def _may_be_a(self, name: str, kind: str) -> bool:
        """Check whether a name can be of the requested type, person or place."""
        return kind not in {"person", "place"} or (
            self.reading.types.get(name_key(name), kind) in {kind, OTHER}
        )

    def _find_values(self) -> dict[str, Floats]:
        """Return which sentences have a number, date or place, if the question asks for one.

        A day is a new date with its month, unless a year is asked for; a place is a new name behind
        a preposition or another name.
        """
        kind, words = question_kind(self.question), term_set(self.question)
        noun = self.question[slice(*(find_kind_noun(self.question) or (0, 0)))]
        names = ("a number", "a date", "a day", "a place", "a person")
        flags = {name: np.zeros(len(self.sentences)) for name in names}
        for i, (sentence, mentions) in enumerate(
            zip(self.sentences, self.reading.mentions, strict=True)
        ):
            text, before = sentence.text, sentence.own - sentence.start
            if kind == "number":
                flags["a number"][i] = bool(find_numbers(sentence.said))
            elif kind == "date":
                dates = [m for m in mentions if m.label == "DATE"]
                days = [text[m.start : m.end] for m in dates if m.start >= before]
                flags["a date"][i] = bool(dates)
                has_day = any(_has_new(day, words) for day in days if find_days(day))
                flags["a day"][i] = noun.casefold() != "year" and has_day
            elif kind == "person":
                flags["a person"][i] = self._has_new_name(i, kind)
            elif kind == "place":
                new = self._new_names[i]
                flags["a place"][i] = any(_PLACED.search(text, 0, m.start) for m in new)
        return flags

    def _find_others(self) -> Floats:
        """Return which sentences have names, but none of those in the question."""
        own = self.question_keys
        others = [bool(own and keys and not keys & own) for keys in self.keys]
        return np.array(others, dtype=np.float64)


class _Words:
    """The words, names and codes of a question that each of n sentences contains."""

    def __init__(
        self,
        question: str,
        sentences: Sequence[Sentence],
        heads: Sequence[str],
        mentions: Sequence[Mention],
    ) -> None:
        joining = find_joining(question)
        words = [term for term in dict.fromkeys(terms(question)) if term not in joining]
        self.texts = texts = [term_set(s.text) for s in sentences]
        self._is_foreign = is_foreign_question(question)
        self.last = [term_set(s.parts[-1]) for s in sentences]
        titled = [has | term_set(head) for has, head in zip(texts, heads, strict=True)]
        if self._is_foreign:
            titled = [has | find_akin(words, has) for has in titled]
        self.titled_shares = _share(_weigh(words, titled), titled)
        names = [term_set(question[m.start : m.end]) for m in mentions if m.label != "TERM"]
        names = [each for each in names if each]
        n_named = [sum([name <= has for name in names]) for has in titled]
        self.named = np.array(n_named) / max(len(names), 1)
        known_words = set(words)
        self.forms = _share_inflected(question, known_words, texts, titled, mentions)
        bases = set(map(find_base, words))
        firsts = [next(term_spans(s.parts[-1]), ("", 0, 0))[0] for s in sentences]
        self.begins = np.array([float(find_base(first) in bases) for first in firsts])
        self.nothing_new = np.array(
            [float(has <= known_words) for s, has in zip(sentences, self.last, strict=True)]
        )
        self._content = find_content_words(question)
        dates = [question[m.start : m.end].split() for m in mentions if m.label == "DATE"]
        self._dated = {word for date in dates if len(date) > 1 for word in date}
        self._titled = [f"{head}\n{s.text}" for head, s in zip(heads, sentences, strict=True)]
        self.same_code = _match_codes(_find_codes(question), sentences)

    def match_exactly(self, rows: Sequence[int]) -> tuple[float, float]:
        """Return the share of the question's codes in no row, and of its words in some row.

        That is the row with most of the words; a code counts where it stands as it is written, and
        the day of a date is none.
        """
        if not self._content:
            return 0.0, 0.0
        has = np.array(
            [
                [
                    _has_word(self._titled[i], word)
                    or (self._is_foreign and find_akin(term_set(word), term_set(self._titled[i])))
                    for word in self._content
                ]
                for i in rows
            ],
            dtype=bool,
        )
        codes = np.array([bool(_CODE.fullmatch(w)) and w not in self._dated for w in self._content])
        missing = float(1 - has[:, codes].any(axis=0).mean()) if codes.any() else 0.0
        return missing, float(has.mean(axis=1).max())


def _read_keys(text: str, mentions: Sequence[Mention], start: int = 0) -> set[str]:
    """Return the keys of the names and codes in a text from `start` on."""
    own = [each for each in mentions if each.start >= start]
    codes = filter(_LETTER.search, _find_codes(text[start:]))
    return {name_key(name) for name in chain(_read_names(text, own), codes)}


def _read_names(text: str, mentions: Sequence[Mention]) -> Iterator[str]:
    """Yield the names in a text, without dates and terms that may be parts of words."""
    for each in mentions:
        name = text[each.start : each.end]
        if each.label not in {"DATE", "TERM"} or (each.label == "TERM" and is_long_term(name)):
            yield name


@lru_cache(maxsize=1 << 9)
def _find_codes(text: str) -> frozenset[str]:
    """Return the codes in a text, cached for the last texts."""
    if not _SIGN.search(text):
        return frozenset()
    words = filter(_SIGN.search, text.split())
    return frozenset(code for word in words for code in _CODE.findall(word))


def _find_alike_codes(question: str) -> list[Span]:
    """Return the positions of similar codes in a question ("E101", "E102"), if there are several.

    >>> _find_alike_codes("What do E101 and E102 mean in the 20th and 21st edition?")
    [(8, 12), (17, 21)]
    """
    kinds: dict[str, list[Span]] = {}
    for match in _CODE.finditer(question):
        if match[0][0].isalpha() and _LETTER.search(match[0]):
            kinds.setdefault(_code_pattern(match[0]), []).append(match.span())
    return next((spans for spans in kinds.values() if len(spans) > 1), [])


def _match_codes(codes: AbstractSet[str], sentences: Sequence[Sentence]) -> Floats:
    """Return which sentences contain one of the codes, or have it above them."""
    if not codes:  # as mostly
        return np.zeros(len(sentences))
    has = [not codes.isdisjoint(_find_codes(s.above) | _find_codes(s.text)) for s in sentences]
    return np.array(has, dtype=np.float64)


def _has_word(text: str, word: str) -> bool:
    """Check whether a text contains a word in any form; a code must match exactly."""
    if _CODE.fullmatch(word) or not (keys := term_set(word)):
        return word in text and bool(re.search(rf"(?<!\w){re.escape(word)}(?![\w#+]|[.-]\w)", text))
    words, bases = term_set(text), find_bases(text)
    return all(
        find_base(key) in bases or any(o[:1] == key[:1] and _begins(key, o) for o in words)
        for key in keys
    )


def _begins(a: str, b: str) -> bool:
    """Check whether one of two terms extends the other by an ending: "서울" and "서울은"."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    is_word = len(short) > (2 if short.isascii() else 1)
    return is_word and long.startswith(short) and len(long) - len(short) <= _ENDING


def find_akin(words: Iterable[str], others: AbstractSet[str]) -> frozenset[str]:
    """Return the words of which another one is a form or a compound, in any language.

    >>> sorted(find_akin(["abrechnung", "ramoner", "haus"], {"nebenkostenabrechnung", "ramonage"}))
    ['abrechnung', 'ramoner']
    """
    long = [other for other in others if len(other) >= _AKIN]
    return frozenset(
        word for word in words if len(word) >= _AKIN and any(_are_akin(word, o) for o in long)
    )


def _are_akin(a: str, b: str) -> bool:
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if long.startswith(short) or long.endswith(short):
        return True
    same = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), 0)
    return same >= max(_AKIN, _AKIN_SHARE * len(long))


def _weigh(words: Iterable[str], texts: Sequence[AbstractSet[str]]) -> dict[str, float]:
    """Return the weights of the words found in the texts; rarer words weigh more."""
    counts = {word: sum([word in has for has in texts]) for word in words}
    return {word: float(np.log1p(len(texts) / n)) for word, n in counts.items() if n}


def _share(weights: Mapping[str, float], texts: Sequence[AbstractSet[str]]) -> Floats:
    """Return the weighted share of the question's known words in each text."""
    total, pairs = sum(weights.values()) or 1.0, weights.items()
    return np.array([sum([x for word, x in pairs if word in has]) / total for has in texts])


def _share_inflected(
    question: str,
    words: AbstractSet[str],
    texts: Sequence[AbstractSet[str]],
    titled: Sequence[AbstractSet[str]],
    mentions: Sequence[Mention],
) -> Floats:
    """Return the share of the question's words outside names that each text has, in any form.

    How rare they are is told by the texts with what stands above them.
    """
    names = [(m.start, m.end) for m in mentions]
    free = {
        find_base(term)
        for term, start, end in term_spans(question)
        if term in words and not any(overlap((start, end), name) for name in names)
    }
    forms = {term: find_base(term) for term in frozenset().union(*titled)}
    forms = {term: base for term, base in forms.items() if base in free}
    has, has_titled = (
        [{base for term, base in forms.items() if term in each} for each in sets]
        for sets in (texts, titled)
    )
    return _share(_weigh(sorted(free), has_titled), has)


def _code_pattern(code: str) -> str:
    """Return the pattern of a code: "A9" for both "E101" and "E102"."""
    return re.sub("[A-Z]+", "A", re.sub("[a-z]+", "a", re.sub(r"\d+", "9", code)))


def _has_new(text: str, words: frozenset[str]) -> bool:
    """Check whether a text has a word that is not among the known ones."""
    return not words.issuperset(term_set(text))


def _match_titles(question: str, sentences: Sequence[Sentence], spans: Sequence[Span]) -> Floats:
    """Return (n, m) whether each token of the question is in a word of each sentence's title."""
    words = list(term_spans(question))
    rows = {}
    for head in {s.head for s in sentences}:
        title_terms = term_set(head)
        met = [(a, b) for term, a, b in words if term in title_terms]
        rows[head] = [any(overlap(span, word) for word in met) for span in spans]
    return np.array([rows[s.head] for s in sentences], dtype=np.float64)


def _lies_in(span: Span, other: Span) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]


def _innermost(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that contain no other span, in order: "A and B" may be a name as well."""
    inner: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (-span[0], span[1])):
        if not inner or end < inner[-1][1]:
            inner.append((start, end))
    return inner[::-1]
