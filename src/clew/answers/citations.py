"""Find which passages support an LLM's answer, and may therefore be cited.

An LLM names passages by their numbers, and a document can make it name a wrong one. So each
sentence is held against the statements of the passages that it cites: by its meaning
(`clew.answers.claims`), and by its numbers, names, quotations and denials as they stand
(`clew.text.assertions`). A passage that has such a statement is kept, and so is one that leads
there, having words of the question that the others lack. Where the passages that were named do not
support a sentence and others do, those are cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from clew.answers.claims import LEAST
from clew.base.runtime.lazy import compile_re
from clew.base.types import Context, Passage
from clew.text.analyze import terms
from clew.text.answer_line import parse_numbers
from clew.text.assertions import (
    contradicts,
    find_missing,
    is_about_sources,
    read_names,
    read_numbers,
)
from clew.text.languages import find_language
from clew.text.normalize import collapse, fold
from clew.text.statements import statement_spans

if TYPE_CHECKING:
    from clew.answers.claims import StatementReader
    from clew.base.types import Table

_Range = tuple[Passage, int, int]  # characters of its text

_QUOTES = compile_re(r"[\"“„«](.+?\s.+?)[\"”“»]")
_FEW = 2  # words behind the last citation of a sentence that claim nothing
_TELLING = 4  # words of a sentence that tell its language, at least
_SAYS_NOTHING = frozenset("yes no true false unknown none neither both".split())


class CitedRange(NamedTuple):
    """Sentences of a passage that support a claim, and the position of the claim in the answer."""

    passage: Passage
    start: int  # in the passage's text
    end: int
    at: tuple[int, ...]  # in the answer without citations, behind what is said


class FoundCitations(NamedTuple):
    """The passages that support an answer, and notes on wrong citations."""

    ranges: tuple[CitedRange, ...]
    unsupported: tuple[str, ...]  # sentences that no passage and no table holds
    n_supported: int  # sentences that are held
    notes: tuple[str, ...]


def find_citations(
    question: str, parts: Sequence[tuple[str, str]], context: Context, reader: StatementReader
) -> FoundCitations:
    """Return the supported citations of an answer in parts, each text with the marks behind it.

    Where it names no passage, each sentence is cited from the first one that supports it.
    """
    citing = CitationFinder(question, context, reader)
    citing.names_none = len(parts) == 1
    for claim, marks in parts[:-1]:
        citing.feed(claim, marks)
    citing.end(parts[-1][0])
    return citing.collect("".join(claim for claim, _ in parts))


class CitationFinder:
    """Checks the citations of an answer while it is streamed, claim by claim."""

    def __init__(self, question: str, context: Context, reader: StatementReader) -> None:
        self.numbers: list[int] = []  # those that wait for what they are for
        self.names_none = False  # so that any passage may be cited
        self._question = question
        self._reader = reader
        self._by_number = {passage.number: passage for passage in context.passages}
        self._all = (*context.passages, *map(_read_table, context.tables))
        self._plain = ""  # what was told, without citations
        self._ranges: dict[tuple[int, int, int], list[int]] = {}
        self._unsupported: list[str] = []
        self._n_supported = 0
        self._notes: list[str] = []

    @cached_property
    def _text(self) -> str:
        return "\n".join(map(_passage_text, self._all))

    @cached_property
    def _asked(self) -> str:
        """Return the question if its names and numbers occur: a sentence may repeat them then."""
        return "" if find_missing(self._question, self._text, self._text) else self._question

    @cached_property
    def _language(self) -> str | None:
        return find_language(self._text)

    def feed(self, claim: str, marks: str) -> list[CitedRange]:
        """Return the citations for the text since the previous citation marks."""
        numbers = parse_numbers(marks)
        if not terms(claim):  # they stand before what they are for
            self._plain += claim
            self.numbers += numbers
            return []
        numbers, self.numbers = [*self.numbers, *numbers], []
        return self._find_support(claim, numbers, is_marked=True)

    def end(self, rest: str) -> None:
        """Process the text after the last citation mark."""
        is_short = rest.startswith((",", ";")) and len(terms(rest)) <= _FEW  # "[2], says a book."
        if self.numbers or (terms(rest) and not is_short):
            self._find_support(rest, self.numbers, is_marked=False)

    def _find_support(self, claim: str, numbers: list[int], *, is_marked: bool) -> list[CitedRange]:
        """Return the ranges that support a claim: of cited passages, else of another passage."""
        passages = [self._by_number[n] for n in numbers if n in self._by_number]
        holding: list[tuple[Passage, int, int, int]] = []
        for start, end in statement_spans(claim):
            sentence = claim[start:end]
            is_said = not _says_nothing(sentence)
            found = self._find_holding(sentence, passages)
            if is_said and not found:
                found = self._find_holding(sentence, self._all)
            if is_said and not found:
                self._unsupported.append(collapse(sentence))
            self._n_supported += bool(found)
            place = len(self._plain) + (len(claim) if is_marked else end)
            if not passages:  # the first passage that supports it, if the answer names none at all
                found = [each for each in found if self.names_none and each[0] == found[0][0]]
            holding += [(*each, place) for each in found if each[0].number]  # a table has none
        self._plain += claim
        self._notes += _note_unsupported(passages, [passage for passage, *_ in holding])
        holding.sort(key=lambda each: [*passages, each[0]].index(each[0]))
        ranges: dict[tuple[int, int, int], list[int]] = {}
        for passage, a, b, place in holding:
            ranges.setdefault((passage.number, a, b), []).append(place)
        for key, places in ranges.items():
            self._ranges.setdefault(key, []).extend(places)
        return [CitedRange(self._by_number[n], a, b, tuple(at)) for (n, a, b), at in ranges.items()]

    def _find_holding(self, sentence: str, passages: Sequence[Passage]) -> list[_Range]:
        """Return the ranges of passages that support a sentence together, none if they do not.

        With them are those that lead there; a sentence that says nothing has only these.
        """
        if _says_nothing(sentence):
            return self._find_leading(passages, [])
        if self._is_translated(sentence):
            return self._find_translated(sentence, passages)
        score, nearest = self._reader.find_nearest(sentence, passages)
        said = "\n".join([self._asked, *(each.text for each in nearest)])
        whole = "\n".join([self._asked, *map(_passage_text, passages)])
        if score < LEAST or find_missing(sentence, said, whole):
            return []
        folded = _fold_text(whole)
        if not all(_fold_text(quote) in folded for quote in _QUOTES.findall(sentence)):
            return []
        if contradicts(sentence, nearest[0].text, said, whole):
            return []
        held = [p for p in passages if p in {each.passage for each in nearest}]
        spans = {p: sorted((s.start, s.end) for s in nearest if s.passage == p) for p in held}
        ranges = [(p, a, b) for p in held for a, b in _merge_spans(spans[p], p.text)]
        return ranges + self._find_leading(passages, held)

    def _is_translated(self, sentence: str) -> bool:
        """Check whether a sentence is in another language than the context."""
        language = find_language(sentence) if len(terms(sentence)) >= _TELLING else None
        return bool(language and self._language and language != self._language)

    def _find_translated(self, sentence: str, passages: Sequence[Passage]) -> list[_Range]:
        """Return passages that have all numbers and a name of a sentence, if it has any.

        Its meaning cannot be compared, and names may differ, too: "Rom", "Rome".
        """
        names = read_names(sentence)
        for passage in passages:
            text = _passage_text(passage)
            has_name = not names or bool(names & set(terms(text)))
            if has_name and read_numbers(sentence) <= read_numbers(text):
                return [(passage, 0, len(passage.text))]
        return []

    def _find_leading(self, passages: Sequence[Passage], held: Sequence[Passage]) -> list[_Range]:
        """Return what passages say of words of the question that those which hold it lack."""
        asked, have = set(terms(self._question)), set(terms(" ".join(map(_passage_text, held))))
        leading = [p for p in passages if asked & set(terms(_passage_text(p))) - have]
        nearest = [(p, self._reader.find_nearest(self._question, [p])[1][:1]) for p in leading]
        return [(p, each.start, each.end) for p, said in nearest for each in said]

    def collect(self, answer: str) -> FoundCitations:
        """Return all citations of the whole `answer`."""
        ranges = []
        for (number, a, b), at in self._ranges.items():
            places = dict.fromkeys(max(0, min(each, len(answer))) for each in at)
            ranges.append(CitedRange(self._by_number[number], a, b, tuple(places)))
        notes = tuple(dict.fromkeys(self._notes))
        return FoundCitations(tuple(ranges), tuple(self._unsupported), self._n_supported, notes)


def _note_unsupported(passages: Sequence[Passage], holders: Sequence[Passage]) -> Iterator[str]:
    """Yield notes on cited passages that do not support the claim, and on those that do."""
    wrong = [f"[{p.number}]" for p in passages if p not in holders]
    right = dict.fromkeys(f"[{p.number}]" for p in holders if p not in passages)
    if wrong:
        instead = f": {', '.join(right)} is cited instead" if right else ": it is not cited"
        yield f"the LLM named {', '.join(wrong)} for what they do not say{instead}"


def _says_nothing(sentence: str) -> bool:
    """Check whether a sentence claims nothing: "Yes", a heading, or what leads to a list."""
    is_lead = sentence.endswith(":") or sentence.startswith("#")
    return is_lead or is_about_sources(sentence) or not set(terms(sentence)) - _SAYS_NOTHING


def _merge_spans(spans: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Merge ranges of a text that are separated by white space only."""
    ranges: list[tuple[int, int]] = []
    for start, end in spans:
        if ranges and not text[ranges[-1][1] : start].strip():
            ranges[-1] = ranges[-1][0], end
        else:
            ranges.append((start, end))
    return ranges


def _passage_text(passage: Passage) -> str:
    return f"{passage.head}\n{passage.text}"


def _fold_text(text: str) -> str:
    return collapse(fold(text))


def _read_table(table: Table) -> Passage:
    """Return the rows of a table as a passage that cannot be cited: number 0."""
    rows = "\n".join(map(" ".join, table.rows))
    return Passage(
        number=0,
        chunk_id="",
        document_id="",
        title="",
        source="",
        start=0,
        end=len(rows),
        text=rows,
    )
