"""Extract co-occurrences: entities in one sentence. Any language, linear time.

The first entity of a sentence is mostly what it speaks of, so it is joined to each other one. The
relation is the words between the two, where they are few.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from clew.base.types import Extraction, Mention
from clew.errors import InputError
from clew.models import Tagger
from clew.models.extractors.ends import End, Statement, extraction, split_sentences
from clew.text.normalize import collapse

MOST_PAIRS = 30  # of the first entity of a sentence; a longer "sentence" is a table
LONGEST_RELATION = 6  # words
FALLBACK = "occurs with"

_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their)\b")
_DEFINITE = re.compile(r"(?:The|This) ([a-z]\w+)\b(?! of\b)")
_JOINED = re.compile(r" (?:an?|and|at|from|in|on|to|with) ")  # "Scott and Amundsen in Oslo"
_WORD = re.compile(r"\w+")
_EDGES = " \t\n,;:.–—()[]\"“”'’"

Occurrence = tuple[int, int, End]  # start and end in the sentence


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of entities in one sentence: the first with each other, and near neighbours."""

    tagger: Tagger
    nearest: int = 0  # entities behind each one that it is paired with too

    def __post_init__(self) -> None:
        if self.nearest < 0:
            raise InputError(f"nearest must be 0 or more, not {self.nearest}")

    @property
    def name(self) -> str:
        return f"cooccurrence-1:{self.nearest}:{self.tagger.name}"

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return the pairs of each text, which begins with its chunk's title."""
        read = [split_sentences(text) for text in texts]
        tagged = iter(self.tagger.tag([sentence for _, parts in read for sentence in parts]))
        return [
            extraction(self._statements(topic, [(s, next(tagged)) for s in parts]))
            for topic, parts in read
        ]

    def _statements(
        self, topic: str, tagged: Sequence[tuple[str, list[Mention]]]
    ) -> Iterator[Statement]:
        """Yield the statements in a text's sentences; `topic` is the text's topic, if known."""
        for sentence, mentions in tagged:
            spans = [(m.start, m.end, End(sentence[m.start : m.end], m.label)) for m in mentions]
            occurrences = _outer(spans)
            stop = _end_of_topic_reference(sentence, tagged[0][0]) if topic else 0
            if stop and not (occurrences and occurrences[0][0] < stop):
                occurrences.insert(0, (0, stop, End(topic)))
            yield from _pairs(sentence, occurrences, self.nearest)


def _outer(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the occurrences that are not inside or overlapped by an earlier one.

    Names that rules join over a loose word are left to their parts, which the rules give too.
    """
    single = [o for o in occurrences if o[2].label != "NAME" or not _JOINED.search(o[2].name)]
    outer: list[Occurrence] = []
    for _, group in groupby(single, key=lambda occurrence: occurrence[0]):
        longest = max(group, key=lambda occurrence: occurrence[1])
        if not outer or longest[0] >= outer[-1][1]:
            outer.append(longest)
    return outer


def _end_of_topic_reference(sentence: str, first: str) -> int:
    """Return the end of a sentence's first words if they refer to the topic, such as "It".

    That is a pronoun, or "the" with a noun that the text's first sentence has: "The ship" where
    the text began "Fram is a ship". 0 where there are none.
    """
    if pronoun := _PRONOUN.match(sentence):
        return pronoun.end()
    noun = _DEFINITE.match(sentence)
    is_known = noun and sentence is not first and noun[1] in _WORD.findall(first)
    return noun.end() if noun and is_known else 0


def _pairs(
    sentence: str, occurrences: Sequence[Occurrence], nearest: int
) -> Iterator[tuple[End, str, End]]:
    """Yield pairs of entities, sorted by the later one, nearest first.

    The first entity that is no date has pairs with all others, also with a date before it.
    """
    first = next((i for i, (_, _, end) in enumerate(occurrences) if end.label != "DATE"), 0)
    for i, (right, _, object_) in enumerate(occurrences[: first + MOST_PAIRS]):
        if i < first:
            yield occurrences[first][2], FALLBACK, object_
        for j in dict.fromkeys([*range(i - 1, max(i - nearest, 0) - 1, -1), first]):
            _, left, subject = occurrences[j]
            if j < i:
                words = collapse(sentence[left:right].strip(_EDGES))
                is_short = len(words.split()) <= LONGEST_RELATION
                yield subject, words if words and is_short else FALLBACK, object_
