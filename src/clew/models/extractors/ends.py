"""The subjects and objects of triples: validity, types, and assembly into triples.

What parentheses behind a name say is read here: when someone was born and died, what a name is
short for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from clew.base.types import Described, Extraction, Triple
from clew.text.dates import date_spans
from clew.text.entity_types import TYPE_OF_LABEL
from clew.text.names import split_title
from clew.text.normalize import collapse, entity_key
from clew.text.statements import statement_spans

LONGEST = 100  # characters; a longer "name" is a heading or a clause

# Of `types.ENTITY_TYPES`, by OntoNotes' labels and the rules' own: here a quotation is a work.
TYPES = {**TYPE_OF_LABEL, "TITLE": "work", "TERM": "concept"}


NUMBER = "NUMBER"  # the label of an end that is a figure

PRONOUNS = frozenset(
    """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones oneself
    this that these those such who whom whose which what where when there here all both each
    another other others same former latter some any none many most much more few several either
    neither everyone everybody everything someone somebody something anyone anybody anything
    nobody nothing""".split()
)
PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")

_ABBREVIATION = re.compile(r"(?:[A-Z]\.?&?){2,10}s?")
_BORN = re.compile(r"\b(?:born|b\.) (.*)")
_DIED = re.compile(r"\b(?:died|d\.) (.*)")
_RANGE = re.compile(r"\s*[–—]\s*|\s+-+\s*|(?<=\d{4})-(?=\d{4})")
_PLACE = re.compile(r"\bin ((?:[A-Z][\w'’]*[ -]?)+)")


class End(NamedTuple):
    """A subject or object: its name as written, and its tagger's label or ""."""

    name: str
    label: str = ""


Statement = tuple[End, str, End]  # subject, relation, object


def split_sentences(text: str) -> tuple[str, list[str]]:
    """Split a text into its title and its sentences."""
    title, start = split_title(text)
    return title, [text[a:b] for a, b in statement_spans(text, start)]


def extraction(statements: Iterable[Statement]) -> Extraction:
    """Return the distinct triples of statements, and their entities with types.

    A statement is left out where an end is empty, very long or a pronoun, where both are one
    entity, and where the subject is a date or a figure.
    """
    triples: dict[tuple[str, str, str], Triple] = {}
    types: dict[str, Described] = {}
    for subject, relation, object_ in statements:
        keys = entity_key(subject.name), entity_key(object_.name)
        if keys[0] == keys[1] or subject.label in {"DATE", NUMBER}:
            continue
        if not (_is_name(subject.name) and _is_name(object_.name)):
            continue
        words = collapse(relation)
        ends = [collapse(subject.name), collapse(object_.name)]
        triple = Triple(subject=ends[0], relation=words, object=ends[1])
        triples.setdefault((keys[0], words.casefold(), keys[1]), triple)
        for key, name, end in zip(keys, ends, (subject, object_), strict=True):
            kind = TYPES.get(end.label, "other")
            if key not in types or types[key].type == "other" != kind:
                types[key] = Described(name=types[key].name if key in types else name, type=kind)
    return Extraction(entities=tuple(types.values()), triples=tuple(triples.values()))


def _is_name(name: str) -> bool:
    pronoun = name.casefold() in PRONOUNS and not (name.isupper() and len(name) > 1)  # "US"
    return 0 < len(entity_key(name)) <= LONGEST and not pronoun


def in_parentheses(sentence: str, ends: Mapping[str, End]) -> Iterator[Statement]:
    """Yield the life dates and abbreviations given in parentheses.

    `ends` are the sentence's names. "Fridtjof Nansen (10 October 1861 – 13 May 1930)" says when
    he was born and died; "the war (1914–1918)" only from when and to when.
    """
    for match in PARENTHESIS.finditer(sentence):
        before = sentence[: match.start()].rstrip(' ,"”')
        names = [end for name, end in ends.items() if before.endswith(name)]
        name = max(names, key=lambda end: len(end.name), default=None)
        if name is None or not name.name:
            continue
        inside = match[1]
        if _ABBREVIATION.fullmatch(inside) and inside[0] == name.name[0] and " " in name.name:
            yield name, "abbreviated as", End(inside, name.label)
        parts = _RANGE.split(inside)
        if len(parts) == 2:
            yield from _range(name, *parts)
        else:
            yield from _event(name, "born", _BORN.search(inside))
            yield from _event(name, "died", _DIED.search(inside))


def _range(name: End, first: str, last: str) -> Iterator[Statement]:
    dates_of = (
        [first[a:b] for a, b in date_spans(first)][-1:],
        [last[a:b] for a, b in date_spans(last)],
    )
    begin, end = ("".join(dates[:1]) for dates in dates_of)
    if name.label == "PERSON" or (_choose_preposition(begin) == _choose_preposition(end) == "on"):
        yield name, f"born {_choose_preposition(begin)}", End(begin, "DATE")
        yield name, f"died {_choose_preposition(end)}", End(end, "DATE")
    else:
        yield name, "from", End(begin, "DATE")
        yield name, "to", End(end, "DATE")


def _event(name: End, relation: str, match: re.Match[str] | None) -> Iterator[Statement]:
    """Yield date and place from the text after "born" or "died" in parentheses."""
    if match is None:
        return
    for a, b in [*date_spans(match[1])][:1]:
        date = match[1][a:b]
        yield name, f"{relation} {_choose_preposition(date)}", End(date, "DATE")
    if place := _PLACE.search(match[1]):
        yield name, f"{relation} in", End(place[1], "GPE")


def _choose_preposition(date: str) -> str:
    return "on" if re.search(r"\d+\D+\d+", date) else "in"
