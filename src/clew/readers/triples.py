"""Read extracted triples of documents from JSON lines.

A line is about one document. Its keys, in upper or lower case:

    {"document_id": "fram.txt",               or passage_id, id, _id
     "triples": [["Fram", "built by", "Colin Archer"],
                 {"subject": "Fram", "relation": "left", "object": "Vardø",    or predicate
                  "description": "She left Vardø in 1893.", "strength": 7,
                  "validity": "from 1893 until 1896"}],                       as in an export
     "entities": ["Fram", {"name": "Vardø", "type": "place", "description": "A port."}],
     "entity_types": ["ship", null]}          beside entities that are only names

Whatever cannot be used is reported with its line number, and the rest of the line is kept. A line
of which nothing is left gives nothing: it would replace good triples by none.

HippoRAG's results of OpenIE are one line, {"docs": [...]}, of passages. A passage has the id of a
paragraph that `clew eval` pools, and its number counts as the line's.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TypeGuard, TypeVar

from clew.base.runtime.arguments import SURROGATE
from clew.base.runtime.lazy import compile_re
from clew.base.types import ENTITY_TYPES, Described, Extraction, Skipped, Triple, Validity
from clew.errors import InputError, UnreadableSource
from clew.readers import record
from clew.readers.decode import open_text, replace_surrogates
from clew.readers.packed import unpack
from clew.readers.walk import File, os_reason
from clew.text.dates import read_day
from clew.text.normalize import collapse, entity_key

T = TypeVar("T")
IDS = ("document_id", "passage_id", "id", "_id")
_RELATIONS = ("relation", "predicate")
_TIME = compile_re(r"(?:from (.+?))?(?: ?until (.+?))?(?: ?as of (.+?))?")
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
    """The content of a line about one document: at least one triple or entity."""

    document_id: str
    extraction: Extraction
    line: int


def read_triples(path: str | Path) -> Iterator[Recorded | Skipped]:
    """Yield the content of each line, after reports of its unusable parts.

    Lines are read as the caller iterates, so a file may be of any size; blank ones are passed
    over. Several lines may be about one document.

    Raises InputError at once if there is no such file, and UnreadableSource on the way if it
    cannot be read, is no text, or has no line at all.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r} of recorded triples")
    file = File(path=path, id=path.name, source=path.as_posix(), named=True)
    return read_items(file, _read_lines, "records")


def entity_type(name: object) -> str:
    """Map another program's type to one of `ENTITY_TYPES`, "other" by default.

    >>> entity_type("Work of Art")
    'work'
    """
    if not isinstance(name, str):
        return "other"
    return _TYPES.get("_".join(entity_key(name).split()), "other")


def read_items(file: File, read: Callable[[File], Iterator[T]], what: str) -> Iterator[T]:
    """Yield the items of a file, possibly packed. Raises UnreadableSource if there are none."""
    is_empty = True
    try:
        with unpack(file) as plain:
            for item in read(plain):
                is_empty = False
                yield item
    except OSError as error:
        raise UnreadableSource(file.source, os_reason(error)) from None
    if is_empty:
        raise UnreadableSource(file.source, f"is empty: it holds no {what}")


def _read_lines(file: File) -> Iterator[Recorded | Skipped]:
    with open_text(file, guess=False) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield from _read_line(file, line, number)


def _read_line(file: File, line: str, number: int) -> Iterator[Recorded | Skipped]:
    try:
        values = fields(json_value(line))
    except InputError as error:
        yield Skipped(source=file.source, reason=str(error), line=number)
        return
    if isinstance(docs := values.get("docs"), list):
        for place, values in enumerate(map(_read_passage, docs), 1):
            yield from _read_values(file, values, place)
    else:
        yield from _read_values(file, values, number)


def _read_passage(value: object) -> dict[str, object]:
    """Return what HippoRAG extracted from a passage, by the keys of a line."""
    values = value if isinstance(value, dict) else {}
    passage = str(values.get("passage") or "")
    names = {"triples": "extracted_triples", "entities": "extracted_entities"}
    own = {name: values.get(key) or [] for name, key in names.items()}
    return {"document_id": paragraph_id(*split_passage(passage)), **own}


def split_passage(passage: str) -> tuple[str, str]:
    """Return the title, which is the first line, and the text of a passage of HippoRAG's."""
    title, _, text = passage.partition("\n")
    return (title, text) if text.strip() else ("", title)


def paragraph_id(title: str, text: str) -> str:
    """Return a hash, 16 digits, of a title and a text without surrounding white space."""
    return sha256(json.dumps([title.strip(), text.strip()]).encode()).hexdigest()[:16]


def _read_values(
    file: File, values: Mapping[str, object], number: int
) -> Iterator[Recorded | Skipped]:
    problems: list[str] = []
    recorded = None
    try:
        id_ = document_id(values)
        extracted = extraction(values, _explain_nameless, problems)
        if extracted != Extraction():
            recorded = Recorded(document_id=id_, extraction=extracted, line=number)
    except InputError as error:
        problems.append(str(error))
    for reason in problems:
        yield Skipped(source=file.source, reason=reason, line=number)
    if recorded:
        yield recorded


def _explain_nameless(name: str) -> str:
    return "" if entity_key(name) else "without a letter or digit"


def json_value(line: str) -> object:
    """Return the value of a JSON line. Raises InputError if it is invalid."""
    if SURROGATE.search(line):
        raise InputError("is not valid UTF-8 text")
    try:
        return record.parse_json(line.rstrip())
    except ValueError as error:
        raise InputError(str(error)) from None


def fields(value: object) -> dict[str, object]:
    """Return a JSON object with lower-case keys, without nulls. Raises InputError."""
    if not isinstance(value, dict):
        raise InputError("is not a JSON object")
    return {key.strip().casefold(): item for key, item in value.items() if item is not None}


def extraction(
    values: Mapping[str, object], refused: Callable[[str], str], problems: list[str]
) -> Extraction:
    """Return the triples and entities of a line, adding unusable ones to `problems`.

    `refused` says of a name why it cannot be an entity's, or nothing. Raises InputError with the
    reason if the line has no lists, or empty ones.
    """
    if not {"triples", "entities"} & values.keys():
        raise InputError("has neither 'triples' nor 'entities'")
    triples, entities, types = (_list(values, n) for n in ("triples", "entities", "entity_types"))
    if not (triples or entities):
        raise InputError("has no triples")
    if types and len(types) != len(entities):
        problems.append(f"has {len(types)} entity_types for {len(entities)} entities; none is used")
        types = []
    described = (
        entity(item, kind, f"its entity {place}", refused, problems)
        for place, (item, kind) in enumerate(zip_longest(entities, types), 1)
    )
    stated = (
        triple(item, f"its triple {place}", refused, problems)
        for place, item in enumerate(triples, 1)
    )
    return Extraction(entities=tuple(filter(None, described)), triples=tuple(filter(None, stated)))


def _list(values: Mapping[str, object], name: str) -> list[object]:
    items = values.get(name, [])
    if not isinstance(items, list):
        raise InputError(f"its {name!r} is of type {type(items).__name__}, not a list")
    return items


def document_id(values: Mapping[str, object], names: Sequence[str] = IDS) -> str:
    """Return the document id of a line. Raises InputError if it has none."""
    name = next((name for name in names if name in values), None)
    if name is None:
        raise InputError(f"has no {', '.join(names[:-1])} or {names[-1]}")
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"its {name!r} is of type {type(value).__name__}, not a string")
    if not str(value).strip():
        raise InputError(f"its {name!r} is empty")
    return replace_surrogates(str(value))


def triple(
    item: object, whose: str, refused: Callable[[str], str], problems: list[str]
) -> Triple | None:
    """Return the triple of a JSON value, or None, adding faults to `problems`."""
    ends = _ends(item)
    if ends is None:
        problems.append(f"{whose} is not three non-empty strings")
        return None
    reason = refused(ends[0]) or refused(ends[2])
    if reason:
        problems.append(f"{whose} has an end {reason}")
        return None
    more = item if isinstance(item, dict) else {}
    return Triple(
        subject=ends[0],
        relation=ends[1],
        object=ends[2],
        description=_description(more, whose, problems),
        strength=_strength(more, whose, problems),
        validity=validity(more, whose, problems),
    )


def validity(item: Mapping[str, object], whose: str, problems: list[str]) -> tuple[Validity, ...]:
    """Return when a triple holds, as an export says it, adding a fault to `problems`."""
    times = parse_validity(str(item.get("validity") or ""))
    if times is None:
        example = "'from 2019 until 2023-03'"
        problems.append(f"the validity of {whose} is not such as {example}, so it is left out")
    return times or ()


@lru_cache
def parse_validity(text: str) -> tuple[Validity, ...] | None:
    """Return the times that `Validity` writes, with semicolons between them, None for other texts.

    >>> [str(time) for time in parse_validity("from 2019 until 2023-03; as of May 2024")]
    ['from 2019 until 2023-03', 'as of 2024-05']
    """
    times: dict[Validity, None] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        match = _TIME.fullmatch(part)
        said = match.groups("") if match else ("", "", "")
        days = read_day(said[0]), read_day(said[1], last=True), read_day(said[2])
        is_read = any(days) and list(map(bool, days)) == list(map(bool, said))
        if not is_read or 0 < days[1] // 10_000 < days[0] // 10_000:  # it ends before it begins
            return None
        times[Validity(*days)] = None
    return tuple(times)


def _ends(item: object) -> list[str] | None:
    """Return subject, relation and object, or None unless all are texts."""
    if isinstance(item, dict):
        relation = next((item[name] for name in _RELATIONS if item.get(name)), None)
        item = [item.get("subject"), relation, item.get("object")]
    if isinstance(item, list) and len(item) == 3:
        texts = [_name(part) for part in item if _is_text(part)]
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


def entity(
    item: object, kind: object, whose: str, refused: Callable[[str], str], problems: list[str]
) -> Described | None:
    """Return the entity of a JSON value, by default of type `kind`, or None."""
    more = item if isinstance(item, dict) else {"name": item}
    name = more.get("name")
    if not _is_text(name):
        problems.append(f"{whose} has no name")
        return None
    reason = refused(name)
    if reason:
        problems.append(f"{whose} has a name {reason}")
        return None
    description = _description(more, whose, problems)
    return Described(
        name=_clean(name), type=entity_type(more.get("type") or kind), description=description
    )


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _clean(text: str) -> str:
    """Return one line of text without lone surrogates."""
    return replace_surrogates(collapse(text))


_name = lru_cache(maxsize=1 << 16)(_clean)  # names come again and again, other texts do not
