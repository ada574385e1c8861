"""Extract co-occurrences: entities in one sentence. Any language, linear time.

The first entity of a sentence is mostly what it speaks of, so it is joined to each other one. The
relation is the words between the two, where they are few.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from clew.base.types import Described, Extraction, Mention, Triple
from clew.models import Tagger
from clew.text.entity_types import TYPE_OF_LABEL
from clew.text.names import split_title
from clew.text.normalize import collapse, entity_key
from clew.text.statements import statement_spans

LONGEST = 100  # characters; a longer "name" is a heading or a clause
MOST_PAIRS = 30  # of the first entity of a sentence; a longer "sentence" is a table
LONGEST_RELATION = 6  # words
FALLBACK = "occurs with"

# Of `types.ENTITY_TYPES`, by OntoNotes' labels and the rules' own: here a quotation is a work.
TYPES = {**TYPE_OF_LABEL, "TITLE": "work", "TERM": "concept"}

PRONOUNS = frozenset(
    """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones oneself
    this that these those such who whom whose which what where when there here all both each
    another other others same former latter some any none many most much more few several either
    neither everyone everybody everything someone somebody something anyone anybody anything
    nobody nothing""".split()
)
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their)\b")
_DEFINITE = re.compile(r"(?:The|This) ([a-z]\w+)\b(?! of\b)")
_JOINED = re.compile(r" (?:an?|and|at|from|in|on|to|with) ")  # "Scott and Amundsen in Oslo"
_WORD = re.compile(r"\w+")
_EDGES = " \t\n,;:.–—()[]\"“”'’"


class End(NamedTuple):
    """A subject or object: its name as written, and its tagger's label or ""."""

    name: str
    label: str = ""


Statement = tuple[End, str, End]  # subject, relation, object
Occurrence = tuple[int, int, End]  # start and end in the sentence


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of entities in one sentence: the first with each other."""

    tagger: Tagger

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return the pairs of each text, which begins with its chunk's title."""
        titles = [split_title(text) for text in texts]
        read = [
            (title, [text[a:b] for a, b in statement_spans(text, start)])
            for text, (title, start) in zip(texts, titles, strict=True)
        ]
        tagged = iter(self.tagger.tag([sentence for _, parts in read for sentence in parts]))
        return [
            build_extraction(_iterate_statements(topic, [(s, next(tagged)) for s in parts]))
            for topic, parts in read
        ]


def _iterate_statements(
    topic: str, tagged: Sequence[tuple[str, list[Mention]]]
) -> Iterator[Statement]:
    """Yield the statements in a text's sentences; `topic` is the text's topic, if known."""
    for sentence, mentions in tagged:
        spans = [(m.start, m.end, End(sentence[m.start : m.end], m.label)) for m in mentions]
        occurrences = _outer(spans)
        stop = _end_of_topic_reference(sentence, tagged[0][0]) if topic else 0
        if stop and not (occurrences and occurrences[0][0] < stop):
            occurrences.insert(0, (0, stop, End(topic)))
        yield from _iterate_pairs(sentence, occurrences)


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


def _iterate_pairs(sentence: str, occurrences: Sequence[Occurrence]) -> Iterator[Statement]:
    """Yield the pairs of the first entity that is no date with all others, in their order."""
    first = next((i for i, (_, _, end) in enumerate(occurrences) if end.label != "DATE"), 0)
    for i, (right, _, object_) in enumerate(occurrences[: first + MOST_PAIRS]):
        if i != first:
            _, left, subject = occurrences[first]
            words = collapse(sentence[left:right].strip(_EDGES)) if i > first else ""
            is_short = len(words.split()) <= LONGEST_RELATION
            yield subject, words if words and is_short else FALLBACK, object_


def build_extraction(statements: Iterable[Statement]) -> Extraction:
    """Return the distinct triples of statements, and their entities with types.

    A statement is left out where an end is empty, very long or a pronoun, where both are one
    entity, and where the subject is a date.
    """
    triples: dict[tuple[str, str, str], Triple] = {}
    types: dict[str, Described] = {}
    for subject, relation, object_ in statements:
        keys = entity_key(subject.name), entity_key(object_.name)
        if keys[0] == keys[1] or subject.label == "DATE":
            continue
        if not (_is_name(subject.name) and _is_name(object_.name)):
            continue
        ends = [collapse(subject.name), collapse(object_.name)]
        triple = Triple(subject=ends[0], relation=relation, object=ends[1])
        triples.setdefault((keys[0], relation.casefold(), keys[1]), triple)
        for key, name, end in zip(keys, ends, (subject, object_), strict=True):
            kind = TYPES.get(end.label, "other")
            if key not in types or types[key].type == "other" != kind:
                types[key] = Described(name=types[key].name if key in types else name, type=kind)
    return Extraction(entities=tuple(types.values()), triples=tuple(triples.values()))


def _is_name(name: str) -> bool:
    pronoun = name.casefold() in PRONOUNS and not (name.isupper() and len(name) > 1)  # "US"
    return 0 < len(entity_key(name)) <= LONGEST and not pronoun
