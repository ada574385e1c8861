"""Find which passages support an LLM's answer, and may therefore be cited.

An LLM names passages by their numbers, and a document can make it name a wrong one. So each
sentence is held against the passages that it cites: the words that it adds to the question, its
numbers, and what it quotes. A passage that has them is kept, and so is one that leads there, having
words of the question that the others lack. Where the passages that were named do not hold a
sentence and another one does, that one is cited. What is cited of a passage are the sentences that
hold it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from clew.base.runtime.lazy import compile_re
from clew.base.types import Context, Passage
from clew.text.analyze import is_uncased, term_spans, terms
from clew.text.answer_line import parse_numbers
from clew.text.normalize import collapse, fold
from clew.text.statements import statement_spans

_HELD = 2 / 3  # of the words that a sentence adds to the question
_HELD_PAIRS = 1 / 2  # where terms are pairs of characters, as in Chinese: most span two words
_ENDING = 3  # characters at the end of a word that may be its form: "sail", "sailed"
_MOST_SENTENCES = 3  # of a passage, for a sentence of an answer
_STEM = 4  # characters that two forms of a word share at least

_DIGITS = compile_re(r"\d+(?:[.,]\d+)*")
_QUOTES = compile_re(r"[\"“„«](.+?\s.+?)[\"”“»]")
_SAYS_NOTHING = frozenset("yes no true false unknown none neither both".split())


@dataclass(frozen=True, slots=True)
class CitedRange:
    """Sentences of a passage that support a claim, and the position of the claim in the answer."""

    passage: Passage
    start: int  # in the passage's text
    end: int
    at: tuple[int, ...]  # in the answer without citations, behind what is said


@dataclass(frozen=True, slots=True)
class FoundCitations:
    """The passages that support an answer, and notes on wrong citations."""

    ranges: tuple[CitedRange, ...]
    unsupported: tuple[str, ...]  # sentences that no passage and no table holds
    notes: tuple[str, ...]


def find_citations(
    question: str, parts: Sequence[tuple[str, str]], context: Context
) -> FoundCitations:
    """Return the supported citations of an answer in parts, each text with the marks behind it.

    Where it names no passage, each sentence is cited from the first one that supports it.
    """
    citing = CitationFinder(question, context)
    citing.names_none = len(parts) == 1
    for claim, marks in parts[:-1]:
        citing.feed(claim, marks)
    citing.end(parts[-1][0])
    return citing.collect("".join(claim for claim, _ in parts))


class CitationFinder:
    """Checks the citations of an answer while it is streamed, claim by claim."""

    def __init__(self, question: str, context: Context) -> None:
        self.numbers: list[int] = []  # those that wait for what they are for
        self.names_none = False  # so that any passage may be cited
        self._question = question
        self._context = context
        self._by_number = {passage.number: passage for passage in context.passages}
        rows = (row for table in context.tables for row in table.rows)
        self._rows = " ".join(chain.from_iterable(rows))
        self._plain = ""  # what was told, without citations
        self._ranges: dict[tuple[int, int, int], list[int]] = {}
        self._unsupported: list[str] = []
        self._notes: list[str] = []

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
        if terms(rest) or self.numbers:
            self._find_support(rest, self.numbers, is_marked=False)

    def _find_support(self, claim: str, numbers: list[int], *, is_marked: bool) -> list[CitedRange]:
        """Return the ranges that support a claim: of cited passages, else of another passage."""
        passages = [self._by_number[n] for n in numbers if n in self._by_number]
        holders: list[Passage] = []
        holding: list[tuple[Passage, int, int, int]] = []
        for start, end in statement_spans(claim):
            wanted = _Claim(claim[start:end], self._question)
            matches = wanted.select_supporting(passages) or wanted.find_other(
                self._context.passages if passages or self.names_none else ()
            )
            holders += matches
            if not (matches or wanted.is_supported(self._context.passages, self._rows)):
                self._unsupported.append(collapse(claim[start:end]))
            place = len(self._plain) + (len(claim) if is_marked else end)
            holding += [(p, a, b, place) for p in matches for a, b in wanted.find_ranges(p.text)]
        self._plain += claim
        self._notes += _note_unsupported(passages, holders)
        ordered = [p for p in passages if p in holders] + [p for p in holders if p not in passages]
        ranges: dict[tuple[int, int, int], list[int]] = {}
        for passage in dict.fromkeys(ordered):
            for holder, a, b, place in holding:
                if holder.number == passage.number:
                    ranges.setdefault((holder.number, a, b), []).append(place)
        for key, places in ranges.items():
            self._ranges.setdefault(key, []).extend(places)
        return [CitedRange(self._by_number[n], a, b, tuple(at)) for (n, a, b), at in ranges.items()]

    def collect(self, answer: str) -> FoundCitations:
        """Return all citations of the whole `answer`."""
        ranges = []
        for (number, a, b), at in self._ranges.items():
            places = dict.fromkeys(max(0, min(each, len(answer))) for each in at)
            ranges.append(CitedRange(self._by_number[number], a, b, tuple(places)))
        unheld = tuple(self._unsupported)
        return FoundCitations(tuple(ranges), unheld, tuple(dict.fromkeys(self._notes)))


def _note_unsupported(passages: Sequence[Passage], holders: Sequence[Passage]) -> Iterator[str]:
    """Yield notes on cited passages that do not support the claim, and on those that do."""
    wrong = [f"[{p.number}]" for p in passages if p not in holders]
    right = [f"[{p.number}]" for p in holders if p not in passages]
    if wrong:
        instead = f": {', '.join(right)} is cited instead" if right else ": it is not cited"
        yield f"the LLM named {', '.join(wrong)} for what they do not say{instead}"


class _Claim:
    """A sentence of an answer, reduced to the words that are not in the question."""

    def __init__(self, sentence: str, question: str) -> None:
        self._question_terms = set(terms(question))
        spans = {term: sentence[start] for term, start, _ in term_spans(sentence)}
        new = spans.keys() - self._question_terms - _SAYS_NOTHING
        self._new = {term: spans[term].islower() for term in new}  # whether a form will do
        self._numbers = set(_DIGITS.findall(sentence)) - set(_DIGITS.findall(question))
        self._least = _HELD_PAIRS if is_uncased(sentence) else _HELD
        self._quotes = [_fold_text(quote) for quote in _QUOTES.findall(sentence)]

    def select_supporting(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return the passages that together support the sentence, or link to its support."""
        texts = {passage.number: _passage_text(passage) for passage in passages}
        words = {number: self._shared_words(text) for number, text in texts.items()}
        held: set[str] = set()
        holding: list[Passage] = []
        for passage in sorted(passages, key=lambda p: -len(words[p.number])):
            if words[passage.number] - held:
                holding.append(passage)
                held |= words[passage.number]
        if self._new and not self._stands_in(" ".join(texts[p.number] for p in holding)):
            return []
        have = set(terms(" ".join(texts[p.number] for p in holding)))
        leading = [p for p in passages if self._question_terms & set(terms(texts[p.number])) - have]
        return [p for p in passages if p in holding or p in leading]

    def find_ranges(self, text: str) -> list[tuple[int, int]]:
        """Return the sentences of a passage that support the claim or link to its support.

        They are as few as have what the passage has of it, in their order; neighbours are one
        range. It is the whole text where no sentence of it has a word of the answer or question.
        """
        spans = statement_spans(text)
        own = [
            self._shared_words(text[a:b]) | self._numbers.intersection(_DIGITS.findall(text[a:b]))
            for a, b in spans
        ]
        overlaps = [len(self._question_terms.intersection(terms(text[a:b]))) for a, b in spans]
        quoted = [sum(quote in _fold_text(text[a:b]) for quote in self._quotes) for a, b in spans]
        wanted = set().union(*own)
        rows: list[int] = []
        have: set[str] = set()
        while len(rows) < _MOST_SENTENCES:
            rest = [i for i in range(len(spans)) if i not in rows]
            gains = [(quoted[i], len(own[i] - have), overlaps[i], -i) for i in rest]
            best = -max(gains, default=(0, 0, 0, 0))[-1]
            if not rest or not (own[best] - have or (not rows and overlaps[best] + quoted[best])):
                break
            rows.append(best)
            have |= own[best]
            is_enough = len(have) >= self._least * len(wanted)
            if is_enough and not (wanted & self._numbers) - have:
                break
        return _merge_spans([spans[i] for i in sorted(rows)], text) or [(0, len(text))]

    def find_other(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return the first passage that alone supports the sentence, or None."""
        return [p for p in passages if self._new and self._stands_in(_passage_text(p))][:1]

    def is_supported(self, passages: Sequence[Passage], rows: str) -> bool:
        """Check whether a passage or table rows support the sentence; true if it claims nothing."""
        return not self._new or any(map(self._stands_in, [*map(_passage_text, passages), rows]))

    def _stands_in(self, text: str) -> bool:
        if not self._numbers <= set(_DIGITS.findall(text)):
            return False
        if not all(quote in _fold_text(text) for quote in self._quotes):
            return False
        return len(self._shared_words(text)) >= self._least * len(self._new)

    def _shared_words(self, text: str) -> set[str]:
        """Return the claim's new words found in a text; names and numbers must match verbatim."""
        have = set(terms(text))
        return {
            word
            for word, may_vary in self._new.items()
            if word in have or (may_vary and any(_same_stem(word, each) for each in have))
        }


def _merge_spans(spans: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Merge ranges of a text that are separated by white space only."""
    ranges: list[tuple[int, int]] = []
    for start, end in spans:
        if ranges and not text[ranges[-1][1] : start].strip():
            ranges[-1] = ranges[-1][0], end
        else:
            ranges.append((start, end))
    return ranges


def _same_stem(one: str, other: str) -> bool:
    """Check whether two words differ only in their endings."""
    n_shared = max(_STEM, max(len(one), len(other)) - _ENDING)
    return len(one) >= n_shared and one[:n_shared] == other[:n_shared]


def _passage_text(passage: Passage) -> str:
    return f"{passage.head}\n{passage.text}"


def _fold_text(text: str) -> str:
    return collapse(fold(text))
