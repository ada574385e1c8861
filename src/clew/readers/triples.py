"""Recorded triples: what another program extracted from documents, as JSON lines.

A line is about one document. Its keys, in upper or lower case:

    {"document_id": "fram.txt",               or passage_id, id, _id
     "triples": [["Fram", "built by", "Colin Archer"],
                 {"subject": "Fram", "relation": "left", "object": "Vardø",    or predicate
                  "description": "She left Vardø in 1893.", "strength": 7}],
     "entities": ["Fram", {"name": "Vardø", "type": "place", "description": "A port."}],
     "entity_types": ["ship", null]}          beside entities that are only names

Whatever cannot be used is reported with its line number, and the rest of the line is kept. A line
of which nothing is left gives nothing: it would replace good triples by none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from clew.errors import InputError, UnreadableSource
from clew.readers import record
from clew.readers.decode import SURROGATE, open_text
from clew.readers.walk import File, os_reason
from clew.text.normalize import collapse, entity_key
from clew.types import ENTITY_TYPES, Described, Extraction, Skipped, Triple

_IDS = ("document_id", "passage_id", "id", "_id")
_RELATIONS = ("relation", "predicate")
_TYPES = {name: name for name in ENTITY_TYPES} | {
    word: name
    for name, words in {
        "person": "per people human character",
        "organization": "org organisation company corporation institution agency group team",
        "place": "loc location gpe geo fac facility city country region",
        "work": "work_of_art creative_work film movie book song album",
        "event": "war battle expedition",
        "product": "vehicle ship device",
        "date": "time year period",
        "concept": "idea topic method field",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one line holds about one document: at least one triple or entity."""

    document_id: str
    extraction: Extraction
    line: int


def read_triples(path: str | Path) -> Iterator[Recorded | Skipped]:
    """Yield what each line holds, after a report of each thing in it that cannot be used.

    Lines are read as the caller iterates, so a file may be of any size; blank ones are passed
    over. Several lines may be about one document.

    Raises InputError at once if there is no such file, and UnreadableSource on the way if it
    cannot be read, is no text, or has no line at all.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r} of recorded triples")
    return _read(File(path=path, id=path.name, source=path.as_posix(), named=True))


def entity_type(name: object) -> str:
    """Return the one of `ENTITY_TYPES` that another program's type means, "other" if none.

    >>> entity_type("Work of Art")
    'work'
    """
    if not isinstance(name, str):
        return "other"
    return _TYPES.get("_".join(entity_key(name).split()), "other")


def _read(file: File) -> Iterator[Recorded | Skipped]:
    n_lines = 0
    try:
        with open_text(file, guess=False) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    n_lines += 1
                    yield from _read_line(file, line, number)
    except OSError as error:
        raise UnreadableSource(file.source, os_reason(error)) from None
    if not n_lines:
        raise UnreadableSource(file.source, "is empty: it holds no records")


def _read_line(file: File, line: str, number: int) -> Iterator[Recorded | Skipped]:
    problems: list[str] = []
    recorded = None
    try:
        document_id, lists = _fields(line)
        entities = _entities(lists["entities"], lists["entity_types"], problems)
        extraction = Extraction(entities=entities, triples=_triples(lists["triples"], problems))
        if extraction != Extraction():
            recorded = Recorded(document_id=document_id, extraction=extraction, line=number)
    except InputError as error:
        problems.append(str(error))
    for reason in problems:
        yield Skipped(source=file.source, reason=reason, line=number)
    if recorded:
        yield recorded


def _fields(line: str) -> tuple[str, dict[str, list[object]]]:
    """Return a line's document and its lists. Raises InputError with the reason."""
    if SURROGATE.search(line):
        raise InputError("is not valid UTF-8 text")
    try:
        value = record.parse(line.rstrip())
    except ValueError as error:
        raise InputError(str(error)) from None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object")
    found = {key.strip().casefold(): item for key, item in value.items() if item is not None}
    document_id = _document_id(found)
    if not {"triples", "entities"} & found.keys():
        raise InputError("has neither 'triples' nor 'entities'")
    lists = {}
    for name in ("triples", "entities", "entity_types"):
        lists[name] = items = found.get(name, [])
        if not isinstance(items, list):
            raise InputError(f"its {name!r} is of type {type(items).__name__}, not a list")
    if not (lists["triples"] or lists["entities"]):
        raise InputError("has no triples")
    return document_id, lists


def _document_id(found: Mapping[str, object]) -> str:
    name = next((name for name in _IDS if name in found), None)
    if name is None:
        raise InputError(f"has no {', '.join(_IDS[:-1])} or {_IDS[-1]}")
    value = found[name]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"its {name!r} is of type {type(value).__name__}, not a string")
    if not str(value).strip():
        raise InputError(f"its {name!r} is empty")
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def _triples(items: list[object], problems: list[str]) -> tuple[Triple, ...]:
    found = []
    for place, item in enumerate(items, 1):
        ends = _ends(item)
        if ends is None:
            problems.append(f"its triple {place} is not three non-empty strings")
        elif not (entity_key(ends[0]) and entity_key(ends[2])):
            problems.append(f"its triple {place} has an end without a letter or digit")
        else:
            more = item if isinstance(item, dict) else {}
            whose = f"its triple {place}"
            found.append(
                Triple(
                    subject=ends[0],
                    relation=ends[1],
                    object=ends[2],
                    description=_description(more, whose, problems),
                    strength=_strength(more, whose, problems),
                )
            )
    return tuple(found)


def _ends(item: object) -> list[str] | None:
    """Return subject, relation and object, or None where they are not three texts."""
    if isinstance(item, dict):
        relation = next((item[name] for name in _RELATIONS if item.get(name)), None)
        item = [item.get("subject"), relation, item.get("object")]
    if isinstance(item, list) and len(item) == 3:
        texts = [_clean(part) for part in item if _is_text(part)]
        return texts if len(texts) == 3 else None
    return None


def _strength(item: Mapping[str, object], whose: str, problems: list[str]) -> int:
    value = item.get("strength")
    if value is None:
        return 1
    if isinstance(value, int | float) and value in range(1, 11) and value is not True:
        return int(value)
    problems.append(f"the strength of {whose} is not a whole number from 1 to 10, so 1 is taken")
    return 1


def _description(item: Mapping[str, object], whose: str, problems: list[str]) -> str:
    value = item.get("description") or ""
    if isinstance(value, str):
        return _clean(value)
    problems.append(f"the description of {whose} is no string, so it is kept without one")
    return ""


def _entities(
    items: list[object], types: list[object], problems: list[str]
) -> tuple[Described, ...]:
    if types and len(types) != len(items):
        problems.append(f"has {len(types)} entity_types for {len(items)} entities; none is used")
        types = []
    found = []
    for place, item in enumerate(items, 1):
        more = item if isinstance(item, dict) else {"name": item}
        name = more.get("name")
        if not _is_text(name):
            problems.append(f"its entity {place} has no name")
        elif not entity_key(name):
            problems.append(f"its entity {place} has a name without a letter or digit")
        else:
            kind = more.get("type") or (types[place - 1] if types else None)
            said = _description(more, f"its entity {place}", problems)
            found.append(Described(name=_clean(name), type=entity_type(kind), description=said))
    return tuple(found)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _clean(text: str) -> str:
    """Return one line of text that any encoding can write: JSON can hold half a character."""
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", collapse(text))
