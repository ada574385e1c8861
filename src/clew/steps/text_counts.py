"""Gather the names of one kind of which sentences of the whole index say something.

A name is of a kind where it has the kind's word in it, or a sentence says so: "the sealer Isbjørn",
"Isbjørn was a ship". What is asked of it must stand in one sentence, or in one that refers back to
a name before it. There may always be more: sentences say things in other words, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew.runtime.lazy import compile_re
from clew.text.analyze import STOP_WORDS
from clew.text.counting import FILLERS, CountQuestion, Token, find_token_base, read_tokens
from clew.text.forms import list_forms
from clew.text.keys import name_key
from clew.text.questions import refers_back

if TYPE_CHECKING:
    from clew.snapshot import Snapshot
    from clew.types import Mention

_CHUNKS = 400  # whose sentences are read, at most
_UNITS = 20  # sentences of a name that may say of which kind it is
_LEAST = 2  # names; a single one is no answer to a question about several
_NEGATED = compile_re(r"\b(?:not|never|no|nor|without|except|\w+n't)\b", re.IGNORECASE)
_COPULA = compile_re(
    r"(?:\s*\([^)]*\))?(?:,| (?:is|was|are|were|became|remains?))"
    r"(?: (?:one of|once|then|now|also))? (?:a|an|the|another)((?: [\w'’-]+){1,5})",
    re.IGNORECASE,
)
_PREPOSITION = compile_re(r"\b(?:of|in|at|on|for|from|to|by|with|that|which|who|and|or)\b")
_BEFORE = compile_re(
    r"([a-zà-ÿ][\w-]+)(?:,? (?:the|called|named))? [\"“«]?"
    r"(?:[A-ZÀ-Þ][\w'’-]+(?:,| and|, and) )*[\"“«]?$"
)
_PRONOUN = compile_re(r"\b(?:he|she|it|they|him)\b", re.IGNORECASE)
# What some kinds have beside their own word, by its end.
_NARROWER_WORDS = """
    ship boat vessel: ship boat vessel steamer schooner sealer whaler sloop barque brig ferry
        trawler tug yacht frigate cutter icebreaker ketch cruiser destroyer submarine liner;
    researcher scientist: scientist researcher ologist ographer physicist chemist botanist
        astronomer naturalist mathematician;
    writer author: writer author novelist poet playwright essayist;
    artist: artist painter sculptor engraver;
    musician: musician singer ianist olinist guitarist drummer composer cellist;
    book: book novel memoir
"""
_NARROWER = {
    find_token_base(kind): tuple(words.split())
    for kinds, words in (each.split(":") for each in _NARROWER_WORDS.split(";"))
    for kind in kinds.split()
}
_PEOPLES = compile_re(r"(?:ian|ish|ese|rican|German|French|Dutch|Greek|Swiss|Czech)$")
_NUMBER = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|hundred)"


@dataclass(frozen=True, slots=True)
class TextItem:
    """A name, and the sentence that says what was asked."""

    label: str
    document: int  # row
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question: the kind of what is counted, and what must be said of it."""

    kind: Token
    words: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    document: int
    start: int
    end: int
    text: str
    names: tuple[tuple[int, int], ...]
    subject: str  # what a pronoun in it may stand for: a name before, or the title
    title: str


def read_texts(question: CountQuestion, snapshot: Snapshot) -> tuple[TextItem, ...]:
    """Return the names of the kind that a question counts or lists, none where fewer than two."""
    asked = _read_asked(question)
    if asked is None or snapshot.cutter is None:
        return ()
    kinds = _Kinds(snapshot, asked.kind)
    items: dict[str, TextItem] = {}
    for sentence in _find_sentences(snapshot, asked):
        if question.operation == "count" and _has_number(sentence.text, asked.kind):
            return ()  # which is what was asked for
        for label in _find_names(sentence, asked, kinds):
            key = name_key(label)
            place = TextItem(label, sentence.document, sentence.start, sentence.end)
            items.setdefault(key, place)
    merged = _merge(items)
    return tuple(merged) if len(merged) >= _LEAST else ()


def _read_asked(question: CountQuestion) -> _Asked | None:
    """Return the kind in the plural that a question begins with, and its other words."""
    if question.operation not in {"count", "list"} or question.noun < 0 or question.groups:
        return None
    if any(bound[0] != "=" for each in question.comparisons for bound in each.bounds):
        return None
    tokens = [t for t in question.tokens if t.start >= question.noun]
    kind = next((t for t in tokens if _is_plural(t)), None)
    lead = [t for t in tokens if kind and t.start < kind.start]
    if kind is None or any(t.key in STOP_WORDS or t.text[0].isupper() for t in lead):
        return None
    rest = [
        t
        for t in question.tokens
        if t is not kind
        and t.key not in STOP_WORDS
        and t.base not in FILLERS
        and t.key not in FILLERS
        and (t.key.isdigit() or not any(a <= t.start < b for a, b in question.taken))
    ]
    return _Asked(kind, tuple(rest))


def _is_plural(token: Token) -> bool:
    key = token.key
    return (
        token.text.islower()
        and key.isalpha()
        and key != token.base
        and (key.endswith("s") or find_token_base(key) in {"man", "woman", "person", "child"})
    )


def _has_number(text: str, kind: Token) -> bool:
    forms = "|".join(list_forms(kind.key))
    return bool(re.search(rf"\b{_NUMBER}(?: \w+)?(?: \w+)? (?:{forms})\b", text, re.IGNORECASE))


# -- sentences ------------------------------------------------------------------------------------


def _find_chunks(snapshot: Snapshot, asked: _Asked) -> list[int]:
    """Return the chunks that have each word in some form, by their postings, in their order."""
    link = snapshot.linked("term", "chunk")
    wanted = asked.words or (asked.kind,)
    counts = np.zeros(len(snapshot.layer("chunk")), dtype=np.int32)
    for token in wanted:
        rows = [r for r in snapshot.layer("term").rows(list_forms(token.key)) if r >= 0]
        posted = link.entries_of(np.array(rows, dtype=np.intp)).indices
        counts[np.unique(posted)] += 1
    chunks: list[int] = np.flatnonzero(counts == len(wanted))[:_CHUNKS].tolist()
    return chunks


def _find_sentences(snapshot: Snapshot, asked: _Asked) -> Iterator[_Sentence]:
    """Yield the sentences that say all that is asked, or those of the kind where that is all."""
    chunks = _find_chunks(snapshot, asked)
    owners = snapshot.layer("chunk").columns["document"][chunks].tolist()
    assert snapshot.cutter is not None  # noqa: S101 -- the caller has looked
    read = zip(owners, snapshot.documents(owners), snapshot.cutter.sentences(chunks), strict=True)
    wanted = {t.base for t in asked.words}
    for row, document, stored in read:
        subject = document.title
        above = f"{document.title} {document.section_at(stored[0].start)}" if stored else ""
        for each in stored:
            text = document.text[each.start : each.end]
            names = _choose_names(each.mentions)
            sentence = _Sentence(row, each.start, each.end, text, names, subject, document.title)
            bases = _read_bases(f"{above} {text}")
            leaning = bool(_PRONOUN.search(text)) or refers_back(text)
            if leaning:
                bases |= _read_bases(subject)
            negated = wanted and _NEGATED.search(text)
            if wanted <= bases and not negated and "|" not in text:
                yield sentence
            if names and not leaning:
                first = names[0]
                subject = text[first[0] : first[1]]


def _choose_names(mentions: Sequence[Mention]) -> tuple[tuple[int, int], ...]:
    """Return the names of a sentence: titles whole, and of others those without one in them."""
    titles = [(m.start, m.end) for m in mentions if m.label in {"TITLE", "WORK_OF_ART"}]
    names = [
        (m.start, m.end) for m in mentions if m.label != "DATE" and (m.start, m.end) not in titles
    ]
    names = [n for n in names if not any(a <= n[0] and n[1] <= b for a, b in titles)]
    names = [n for n in names if not any(n != o and n[0] <= o[0] and o[1] <= n[1] for o in names)]
    return tuple(sorted({*titles, *names}))


def _find_names(sentence: _Sentence, asked: _Asked, kinds: _Kinds) -> Iterator[str]:
    own = {t.base for t in asked.words} | {asked.kind.base}
    text = sentence.text
    listed = {t.base for t in read_tokens(sentence.title)} == {asked.kind.base}
    names = []
    for a, b in sentence.names:
        name = text[a:b]
        behind = None if _PEOPLES.search(name) else kinds.follows.match(text, b)
        if behind:  # "the Brekke expedition"
            name += behind[0]
        is_one = behind or kinds.has(name, text, a, b)
        if listed and text[:a].endswith(" the "):  # below "Ferries": "on the Nordlys"
            is_one = True
        if is_one and not _read_bases(name) <= own:
            names.append(name)
    yield from names
    subject = sentence.subject if refers_back(text) and asked.words else ""
    for name in (subject, sentence.title):
        is_one = kinds.is_named(name) or (name == subject and kinds.has(name, "", 0, 0))
        if not names and name and is_one and not _read_bases(name) <= own:
            yield name
            return


def _read_bases(text: str) -> set[str]:
    return {t.base for t in read_tokens(text)}


# -- kinds ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Kinds:
    """Which names are of a kind, as sentences of the index say."""

    snapshot: Snapshot
    kind: Token
    known: dict[str, bool] = field(default_factory=dict)

    @property
    def follows(self) -> re.Pattern[str]:
        """What stands behind a name that has the kind's word: " expedition", "' Museum"."""
        forms = "|".join(f for f in list_forms(self.kind.key) if f != self.kind.key)
        return re.compile(rf"(?:['’]s?)? (?i:{forms})\b")

    def has(self, name: str, text: str, start: int, end: int) -> bool:
        """Say whether a name is of the kind, by the sentence around it or another with it."""
        if self.is_named(name) or (text and self._is_kind(_find_classes(text, start, end))):
            return True
        key = name_key(name)
        if key not in self.known:
            self.known[key] = self._is_kind(list(self._read_classes(key)))
        return self.known[key]

    def is_named(self, name: str) -> bool:
        """Say whether a name begins or ends with the kind's word: "Lake Svart", "Rope Museum"."""
        bases = [t.base for t in read_tokens(name)]
        return len(bases) > 1 and self.kind.base in (bases[0], bases[-1])

    def _is_kind(self, words: Sequence[str]) -> bool:
        if any(find_token_base(word) == self.kind.base for word in words):
            return True
        narrower = _NARROWER.get(self.kind.base, ())
        return any(word.endswith(narrower) for word in words)

    def _read_classes(self, key: str) -> Iterator[str]:
        """Yield the words that sentences with a name call it."""
        [row] = self.snapshot.layer("entity").rows([key])
        if row < 0:
            return
        units = self.snapshot.linked("entity", "unit").row(row)[:_UNITS].tolist()
        for text in self.snapshot.layer("unit").texts(units):
            for match in re.finditer(re.escape(key), text.casefold()):
                yield from _find_classes(text, *match.span())


def _find_classes(text: str, start: int, end: int) -> list[str]:
    """Return what a sentence calls the name at text[start:end].

    >>> _find_classes("The sealer Isbjørn was a ship of oak.", 11, 18)
    ['sealer', 'ship']
    """
    classes = []
    if before := _BEFORE.search(text[max(0, start - 60) : start]):
        classes.append(before[1])
    if behind := _COPULA.match(text, end):
        words = _PREPOSITION.split(behind[1])[0].split()
        classes += words[-1:]
    return [word for word in classes if word not in STOP_WORDS]


def _merge(items: dict[str, TextItem]) -> list[TextItem]:
    """Return items once each: "Brekke" is "Rolf Brekke" where that is there, too."""
    words = {key: set(key.split()) for key in items}
    holders: dict[str, list[str]] = {}
    for key, own in words.items():
        for word in own:
            holders.setdefault(word, []).append(key)

    def has_longer(own: set[str]) -> bool:
        rarest = min((holders[word] for word in own), key=len, default=list(items))
        return any(own < words[other] for other in rarest)

    return [item for key, item in items.items() if not has_longer(words[key])]
