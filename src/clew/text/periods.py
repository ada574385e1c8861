"""Parse ISO 8601 dates as periods: a year, a month, a day or a moment."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re

_PERIOD = compile_re(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-]\d\d):?(\d\d))?)?)?)?",
    re.ASCII,
)


class Period(NamedTuple):
    """From `start` up to `end`, in UTC; a moment is a period of one microsecond."""

    start: datetime
    end: datetime


def parse_period(text: str) -> Period | None:
    """Return the period of a date, or None if the text is no date.

    A time without a zone is one of UTC, and fractions of a second are left out.

    >>> parse_period("2024-02").end.isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    match = _PERIOD.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(n) if n else None for n in match.groups()[:6])
    east = timedelta(
        hours=int(match[7] or 0), minutes=int((match[7] or "+")[0] + (match[8] or "0"))
    )
    assert year is not None  # noqa: S101 -- the pattern has it
    try:
        start = datetime(
            year, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC
        )
        if month is None:
            return Period(start, datetime(year + 1, 1, 1, tzinfo=UTC))
        if day is None:
            return Period(start, (start + timedelta(days=31)).replace(day=1))
        if hour is None:
            return Period(start, start + timedelta(days=1))
        return Period(start - east, start - east + timedelta(microseconds=1))
    except (ValueError, OverflowError):
        return None
