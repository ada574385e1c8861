"""Calendars (.ics): an event, a task or an entry of a journal is a document, its summary the title.

The text begins with the summary, and says when and where it is and who takes part; the description
is behind that. Times are in the zone that the file names for them. The id is the `UID`, with the
time of a single occurrence that was changed.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from clew.base.types import Document, Skipped
from clew.readers.decode import text_of
from clew.readers.properties import properties
from clew.readers.walk import File
from clew.text.normalize import collapse

_FOLD = re.compile(r"\r?\n[ \t]|\r\n?(?=\n)")
_PROPERTY = re.compile(r"([\w-]+)((?:;[\w-]+=(?:\"[^\"]*\"|[^\":;]*))*):(.*)")
_PARAMETER = re.compile(r";([\w-]+)=(\"[^\"]*\"|[^\":;]*)")
_ESCAPED = re.compile(r"\\(.)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_KINDS = frozenset("VEVENT VJOURNAL VTODO".split())
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendees"}
_FIELDS = {"LOCATION": "Place", "STATUS": "Status", "RRULE": "Repeats", "CATEGORIES": "Categories"}


class _Property(NamedTuple):
    name: str
    parameters: dict[str, str]
    value: str


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each entry of a calendar."""
    entry: list[_Property] = []
    number = depth = 0
    for line in _FOLD.sub("", text_of(file)).split("\n"):
        match = _PROPERTY.fullmatch(line)
        if match is None:
            continue
        parameters = {k.upper(): v.strip('"') for k, v in _PARAMETER.findall(match[2])}
        found = _Property(match[1].upper(), parameters, match[3])
        if found.name == "BEGIN":
            depth = 1 if found.value in _KINDS else depth + 1
            entry = [] if depth == 1 else entry
        elif found.name == "END" and found.value in _KINDS:
            number += 1
            yield _read_entry(file, entry, number)
        elif found.name == "END":
            depth -= 1
        elif depth == 1:  # not of an alarm inside
            entry.append(found)


def _read_entry(file: File, entry: list[_Property], number: int) -> Document | Skipped:
    values = {each.name: _unescape(each.value) for each in reversed(entry)}
    title, description = collapse(values.get("SUMMARY", "")), values.get("DESCRIPTION", "").strip()
    if not title and not description:
        return Skipped(source=file.source, reason="is an entry without text", line=number)
    lines = [title, *_say_times(entry)]
    lines += [f"{label}: {values[name]}" for name, label in _FIELDS.items() if values.get(name)]
    for name, label in _PEOPLE.items():
        people = [_name_person(each) for each in entry if each.name == name]
        lines += [f"{label}: {', '.join(people)}"] if people else []
    again = values.get("RECURRENCE-ID", "")
    pairs = [("date", _read_time(each)) for each in entry if each.name in ("DTSTART", "DUE")][:1]
    pairs += [("modified", _read_time(each)) for each in entry if each.name == "LAST-MODIFIED"]
    return Document(
        id=" ".join(filter(None, [values.get("UID"), again])) or f"{file.id}:{number}",
        text="\n\n".join(filter(None, ["\n".join(filter(None, lines)), description])),
        title=title,
        source=f"{file.source}:{number}",
        metadata=properties(pairs),
    )


def _say_times(entry: list[_Property]) -> Iterator[str]:
    for each in entry:
        label = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due"}.get(each.name)
        if label is None:
            continue
        time, zone = _read_time(each), each.parameters.get("TZID", "")
        if label == "End" and len(time) == 10:  # of whole days it is the day behind the last
            time = f"{datetime.fromisoformat(time) - timedelta(days=1):%Y-%m-%d}"
        shown = time.replace("T", " ").replace("Z", " UTC")
        yield f"{label}: {shown} ({zone})" if zone else f"{label}: {shown}"


def _read_time(found: _Property) -> str:
    """Return a date or time as ISO 8601 writes it, and what is none as it stands."""
    match = _TIME.fullmatch(found.value)
    if match is None:
        return found.value
    year, month, day, hour, minute, is_utc = match.groups()
    return f"{year}-{month}-{day}" + (f"T{hour}:{minute}{is_utc}" if hour else "")


def _name_person(found: _Property) -> str:
    return found.parameters.get("CN") or found.value.removeprefix("mailto:")


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
