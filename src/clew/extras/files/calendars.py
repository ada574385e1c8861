"""Read calendars (.ics) and contacts (.vcf): a document for each entry, titled by its name.

The text is the description, then when and where it is, in the time zone that the file names, and
who takes part. The id is the `UID`, with the time of an occurrence that was moved.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import NamedTuple

from clew.base.types import Document, Skipped
from clew.readers.decode import text_of
from clew.readers.properties import properties
from clew.readers.walk import File
from clew.text.normalize import collapse

_FOLD = re.compile(r"\r?\n[ \t]|\r(?=\n)")  # a long line goes on behind a blank
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;[\w-]+=(?:\"[^\"]*\"|[^\":;]*))*):(.*)")
_PARAMETER = re.compile(r";(CN|TZID)=\"?([^\":;]*)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ENTRIES = frozenset("VCARD VEVENT VJOURNAL VTODO".split())
_LABELS = {
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "LOCATION": "Place",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendees",
    "RRULE": "Repeats",
    "STATUS": "Status",
    "ORG": "Organization",
    "TITLE": "Role",
    "TEL": "Phone",
    "EMAIL": "E-mail",
    "ADR": "Address",
    "BDAY": "Birthday",
    "URL": "Web",
}  # in the order of the text


class _Property(NamedTuple):
    name: str
    value: str
    zone: str
    person: str


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield a document for each entry of a calendar."""
    entry: list[_Property] = []
    number = depth = 0
    for line in _FOLD.sub("", text_of(file)).split("\n"):
        match = _LINE.fullmatch(line)
        name, value = (match[1].upper(), match[3]) if match else ("", "")
        if name == "BEGIN":
            depth = 1 if value in _ENTRIES else depth + 1
            entry = [] if depth == 1 else entry
        elif name == "END":
            depth -= 1
            if value in _ENTRIES:
                number += 1
                yield _read_entry(file, entry, number)
        elif match and depth == 1:  # not of an alarm inside
            more = {key.upper(): given for key, given in _PARAMETER.findall(match[2])}
            value = _ESCAPED.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value)
            entry.append(_Property(name, value, more.get("TZID", ""), more.get("CN", "")))


def _read_entry(file: File, entry: list[_Property], number: int) -> Document | Skipped:
    values = {each.name: each.value for each in reversed(entry)}
    title = collapse(values.get("SUMMARY") or values.get("FN", ""))
    description = (values.get("DESCRIPTION") or values.get("NOTE", "")).strip()
    if not title and not description:
        return Skipped(source=file.source, reason="is an entry without text", line=number)
    lines: list[str] = []
    for name, label in _LABELS.items():
        said = ", ".join(_say(each) for each in entry if each.name == name)
        lines += [f"{label}: {said}"] if said else []
    times = {"DTSTART": "date", "DUE": "date", "LAST-MODIFIED": "modified"}
    pairs = {times[e.name]: _read_time(e.value) for e in reversed(entry) if e.name in times}
    return Document(
        id=" ".join(filter(None, map(values.get, ("UID", "RECURRENCE-ID"))))
        or f"{file.id}:{number}",
        text="\n\n".join(filter(None, [description, "\n".join(lines)])) or title,
        title=title,
        source=f"{file.source}:{number}",
        metadata=properties(pairs.items()),
    )


def _say(found: _Property) -> str:
    if found.name in {"ADR", "ORG"}:  # parts that may be empty
        return ", ".join(filter(None, map(collapse, found.value.split(";"))))
    if not _TIME.fullmatch(found.value):
        return found.person or found.value.removeprefix("mailto:").removeprefix("tel:")
    time = _read_time(found.value)
    if found.name == "DTEND" and len(time) == 10:  # of whole days it is the day behind the last
        with suppress(ValueError, OverflowError):  # no such day
            time = str(date.fromisoformat(time) - timedelta(days=1))
    shown = time.replace("T", " ").replace("Z", " UTC")
    return f"{shown} ({found.zone})" if found.zone else shown


def _read_time(written: str) -> str:
    """Return a date or time in ISO 8601, any other text unchanged."""
    match = _TIME.fullmatch(written)
    if match is None:
        return written
    day = "-".join(match.group(1, 2, 3))
    return f"{day}T{match[4]}:{match[5]}{match[6]}" if match[4] else day
