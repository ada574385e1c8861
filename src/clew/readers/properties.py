"""Collect the properties of files as metadata with uniform names.

`author`, `date` (the document's own), `created`, `modified`, `description`, `subject`, `keywords`,
`language` and `publisher` mean the same whatever the format; `docs/guides/documents.md` says which
format gives which.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from xml.etree.ElementTree import Element

from clew.base.types import Scalar, Value
from clew.readers import metadata
from clew.readers.decode import replace_surrogates
from clew.text.dates import parse_period, read_date

_MOST = 2_000  # characters of a text; what is longer is cut
_LISTS = frozenset({"keywords", "tags"})  # their texts have commas or semicolons between items
_DATES = frozenset({"date", "created", "modified"})
_PDF_DATE = re.compile(
    r"D:(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?(?:Z.*|([+-]\d\d)'?(\d\d)?'?)?)?", re.ASCII
)
_OF_XML = {  # by element: Dublin Core, and what Office and OpenDocument have beside it
    "creator": "author",
    "initial-creator": "author",
    "creation-date": "created",
    "keyword": "keywords",
    **{
        name: name
        for name in (
            "category", "created", "date", "description", "identifier", "keywords", "language",
            "modified", "publisher", "subject",
        )
    },
}  # fmt: skip


def properties(pairs: Iterable[tuple[str, object]]) -> dict[str, Value]:
    """Return names and values as metadata, without empty ones; repeated names give lists."""
    values_of: dict[str, list[Scalar]] = {}
    for name, given in pairs:
        values = values_of.setdefault(name, [])
        values += [value for value in _values(name, given) if value not in values]
    return {
        name: tuple(values) if len(values) > 1 or name in _LISTS else values[0]
        for name, values in values_of.items()
        if values
    }


def of_xml(root: Element) -> dict[str, Value]:
    """Return an XML tree's elements as metadata."""
    pairs = ((_OF_XML[e.tag], "".join(e.itertext())) for e in root.iter() if e.tag in _OF_XML)
    return properties(pairs)


def _values(name: str, given: object) -> Iterator[Scalar]:
    value = metadata.value(given)
    for each in value if isinstance(value, tuple) else (value,):
        if not isinstance(each, str):
            yield from () if each is None else (each,)
            continue
        text = " ".join(replace_surrogates(each[:_MOST]).split())
        if name in _LISTS and not isinstance(value, tuple):
            yield from filter(None, map(str.strip, re.split("[,;]", text)))
        elif text:
            yield moment(text) if name in _DATES else text


def moment(text: str) -> str:
    """Return a date in ISO 8601, any other text unchanged.

    >>> moment("Sat, 24 Jun 1893 12:00:00 +0200")
    '1893-06-24T10:00:00+00:00'
    >>> moment("24. August 1893"), moment("24.06.1893")
    ('1893-08-24', '1893-06-24')
    >>> moment("D:18930624120000+02'00'")
    '1893-06-24T12:00:00+02:00'
    """
    if parse_period(text) is not None:
        return text
    match = _PDF_DATE.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second, east, more = match.groups()
        iso = "-".join(part for part in (year, month, day) if part)
        if hour is not None:
            zone = f"{east}:{more or '00'}" if east else "+00:00"
            iso += f"T{hour}:{minute}:{second or '00'}{zone}"
        return iso if parse_period(iso) is not None else text
    written = read_date(text)
    if written and written.first[0] and written.first == written.last and "/" not in text:
        return str(written)
    try:
        date = parsedate_to_datetime(text)
        return date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return text
