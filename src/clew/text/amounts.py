"""Parse the numbers and dates in a table column, to compare and sum them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.dates import DayFirst, find_day_first, read_date

if TYPE_CHECKING:
    import re

    import numpy as np
    from numpy.typing import NDArray

_MIN_SHARE = 0.8  # of the cells with something in them: so many say what a column is of
_DIGITS = (  # in groups, or without: "12, 15" and "12.05.2024" are several numbers
    r"(?:\d{1,3}(?P<mark>[,.'’\u00a0\u202f ])(?:\d{2,3}(?P=mark))*\d{3}(?!\d)|\d+)(?:[.,]\d+)?[.,]?"
)
_CELL = compile_re(
    r"(?P<open>\()?(?P<sign>[-+−]?)\s*(?P<before>[$€£¥]|[A-Z]{3}\s)?\s*(?P<sign2>[-+−]?)"
    rf"(?P<digits>{_DIGITS})\s*(?P<unit>%|[$€£¥°]|[^\W\d]{{1,12}}[²³]?|°\s?[CF]|[a-z]+/[a-z]+)?\)?"
)
_GROUPED = compile_re(r"\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+")
_EMPTY = frozenset(("", "-", "–", "—", "n/a", "na", "none", "null", "nan", "?", "unknown"))


class Amounts(NamedTuple):
    """The numeric values of a column's cells: (n,), NaN where there is none.

    Dates are 10,000 times the year, 100 times the month and the day, of which those that a cell
    does not say are 0.
    """

    values: NDArray[np.float64]
    unit: str = ""  # behind or before the numbers, where it is the same in all
    are_dates: bool = False


def is_empty(cell: str) -> bool:
    """Check whether a cell is empty, in one of the ways that tables mark this."""
    return cell.strip().casefold() in _EMPTY


def read_date_number(text: str, *, day_first: DayFirst = None) -> float | None:
    """Return a date as a number (see `Amounts`), or None for other texts and dates without a year.

    >>> read_date_number("12 May 1998"), read_date_number("12.5.1998"), read_date_number("1998")
    (19980512.0, 19980512.0, 19980000.0)
    """
    date = read_date(text, day_first=day_first)
    if date is None or date.first != date.last or not date.first[0]:
        return None
    year, month, day = date.first
    return float(year * 10_000 + month * 100 + day)


def read_amounts(cells: Sequence[str]) -> Amounts | None:
    """Parse a column of numbers or dates; None if it holds something else.

    Cells with different units have no numbers that can be compared.

    >>> read_amounts(["1,200 m", "n/a", "950 m"]).values.tolist()
    [1200.0, nan, 950.0]
    """
    import numpy as np

    full = [i for i, cell in enumerate(cells) if not is_empty(cell)]
    values = np.full(len(cells), np.nan)
    day_first = find_day_first(cells)
    dates = [read_date_number(cells[i], day_first=day_first) for i in full]
    if full and sum(each is not None for each in dates) >= _MIN_SHARE * len(full):
        values[full] = [np.nan if each is None else each for each in dates]
        return Amounts(values, are_dates=True)
    matches = {i: match for i in full if (match := _CELL.fullmatch(cells[i].strip()))}
    if not full or len(matches) < _MIN_SHARE * len(full):
        return None
    units = {_read_unit(match).casefold(): _read_unit(match) for match in matches.values()}
    if len(units.keys() - {""}) > 1:
        return None
    digits = [match["digits"].strip() for match in matches.values()]
    is_decimal = {mark: _is_decimal(digits, mark) for mark in ",."}
    for i, match in matches.items():
        values[i] = _read_number(match["digits"].strip(), is_decimal)
        if match["open"] or "-" in (signs := match["sign"] + match["sign2"]) or "−" in signs:
            values[i] = -values[i]
    return Amounts(values, next(iter(units.values())) if len(units) == 1 else "")


def _read_unit(match: re.Match[str]) -> str:
    return (match["before"] or match["unit"] or "").strip()


def _is_decimal(digits: Sequence[str], mark: str) -> bool:
    """Check whether a mark separates decimals in a column, not thousands.

    Of two marks in a number the last does; a lone comma does not where it always parts thousands.
    """
    having = [each for each in digits if mark in each]
    if not having or any(each.count(mark) > 1 for each in having):
        return False
    other = "." if mark == "," else ","
    both = [each for each in having if other in each]
    if both:
        return all(each.rindex(mark) > each.rindex(other) for each in both)
    return mark == "." or not all(_GROUPED.fullmatch(each) for each in having)


def _read_number(digits: str, is_decimal: dict[str, bool]) -> float:
    for mark in ",.":
        digits = digits.replace(mark, "\0" if is_decimal[mark] else "")
    plain = "".join(c for c in digits if c.isdigit() or c == "\0")
    return float(plain.replace("\0", ".", 1).replace("\0", ""))
