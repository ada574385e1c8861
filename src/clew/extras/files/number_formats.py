"""Format spreadsheet numbers and dates by their format codes: `#,##0.00`, `0.0%`.

The codes are those of ECMA-376, part 1, 18.8.31. Words are written as in English; colours, widths
and conditions are left out.
"""

import math
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

from clew.text.dates import MONTHS

BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    37: "#,##0;-#,##0",
    38: "#,##0;-#,##0",
    39: "#,##0.00;-#,##0.00",
    40: "#,##0.00;-#,##0.00",
    45: "mm:ss",
    47: "mm:ss",
}  # fmt: skip -- of those without a number of its own, dates as in ISO 8601
_PART = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|[_*].|[^"\\\[_*;]|;')
_HIDDEN = re.compile(r"[_*].|\[(?!\$)[^\]]*\]")
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_PLACES = frozenset("#0?,.")  # of digits
_DATE = re.compile(r"AM/PM|A/P|y+|m+|d+|h+|s+(?:\.0+)?", re.IGNORECASE)
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_ELAPSED = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_DAY_0, _LAST_DAY = datetime(1899, 12, 30), 2_958_466  # noqa: DTZ001 -- cells have no zone
_LONG, _NAMED = 4, 3  # letters of the name of a month or day, whole or short


def format_cell(value: object, code: str = "") -> str:
    """Return a cell's value formatted by its code, unchanged without a code.

    >>> format_cell(0.075, "0.0%"), format_cell(1234.5, '"$"#,##0.00'), format_cell(42.0, "00000")
    ('7.5%', '$1,234.50', '00042')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float) and math.isfinite(value):
        shown = code and _format_number(Decimal(repr(value)), code)
        return shown or f"{value:.0f}" if value == int(value) else shown or f"{value:.15g}"
    if isinstance(value, date | time):
        shown = code and not isinstance(value, timedelta) and _format_date(value, code)
        return shown or str(value).removesuffix(" 00:00:00")
    return str(value)


def format_stored(value: str, code: str) -> str:
    """Return a chart's number formatted by its code; other values and codes leave it unchanged.

    >>> format_stored("37261.0", "m/d/yy"), format_stored("0.075", "0.0%"), format_stored("A", "0")
    ('1/5/02', '7.5%', 'A')
    """
    try:
        number = float(value) if code else math.nan
        codes = "".join(part for part in _sections(code)[0] if len(part) == 1)
        days = timedelta(days=number if _DATE.search(codes) else 0)
    except (ValueError, OverflowError):
        return value
    if timedelta(0) < days < timedelta(_LAST_DAY):
        return format_cell(_DAY_0 + days, code)
    return format_cell(number, code) if math.isfinite(number) else value


def _sections(code: str) -> list[list[str]]:
    """Return the parts of each section of a code: positive, negative, zero, text."""
    sections: list[list[str]] = [[]]
    for part in _PART.findall(code):
        if part == ";":
            sections.append([])
        elif not _HIDDEN.fullmatch(part):
            sections[-1].append(part)
    return sections


def _literal(part: str) -> str:
    if currency := _CURRENCY.fullmatch(part):
        return currency[1]
    return part.strip('"') if part[0] == '"' else part.removeprefix("\\")


def _format_number(value: Decimal, code: str) -> str:
    """Return the formatted number, or "" for an unsupported code (fractions, powers, dates)."""
    sections = _sections(code)[:3]
    place = 2 if value == 0 and len(sections) > 2 else int(value < 0 and len(sections) > 1)
    parts = sections[place]
    plain = "".join(part for part in parts if len(part) == 1)
    if re.search(r"[/E@]|General|" + _DATE.pattern, plain, re.IGNORECASE):
        return ""
    sign = "-" if value < 0 and not place else ""
    at = [i for i, part in enumerate(parts) if part in _PLACES]
    texts = [_literal(part) for part in parts]
    if at:
        first, end = at[0], at[-1] + 1
        value = abs(value) * (100 if "%" in plain else 1)
        inside = parts[first:end]
        is_one = all(part in _PLACES for part in inside)
        texts[first:end] = (
            [_format_digits(value, "".join(inside))] if is_one else _spread(value, inside)
        )
    return f"{sign}{''.join(texts)}".strip()


def _spread(value: Decimal, parts: Sequence[str]) -> list[str]:
    """Return the digits of an integer spread over a pattern such as `000-000`."""
    digits = list(str(int(value.quantize(Decimal(1), ROUND_HALF_UP))))
    shown: list[str] = []
    left = sum(part in "0#?" for part in parts)
    for part in reversed(parts):
        if part not in _PLACES:
            shown.append(_literal(part))
            continue
        left -= 1
        taken = "".join(digits) if not left else digits.pop() if digits else ""
        shown.append(taken or part.strip("#?"))
    return shown[::-1]


def _format_digits(value: Decimal, pattern: str) -> str:
    scaled = pattern.rstrip(",")  # each comma behind them divides by a thousand
    value /= Decimal(1000) ** (len(pattern) - len(scaled))
    whole, _, fraction = scaled.partition(".")
    rounded = value.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)
    left, _, right = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    left = left.zfill(whole.count("0"))
    digits = fraction.rfind("0") + 1
    right = right[:digits] + right[digits:].rstrip("0")
    return f"{left}.{right}" if right else left


def _format_date(value: date | time, code: str) -> str:
    """Return the formatted date or time, or "" if the code has no such parts."""
    parts = _sections(code)[0]
    plain = "".join(part if len(part) == 1 else "\0" for part in parts)
    literals = iter([_literal(part) for part in parts if len(part) > 1])
    matches = list(_DATE.finditer(plain))
    if not matches or _ELAPSED.search(code):
        return ""
    is_half = any(each[0].upper() in ("AM/PM", "A/P") for each in matches)
    shown, end, previous = "", 0, ""
    for i, each in enumerate(matches):
        letters = each[0].lower()
        following = matches[i + 1][0].lower() if i + 1 < len(matches) else ""
        if letters[0] == "m" and (previous[:1] == "h" or following[:1] == "s"):
            letters = letters.replace("m", "n")
        elif letters[0] == "h" and is_half:
            letters = letters.upper()
        shown += plain[end : each.start()] + _format_part(value, letters)
        end, previous = each.end(), letters.lower()
    return re.sub("\0", lambda _: next(literals), shown + plain[end:]).strip()


def _format_part(value: date | time, letters: str) -> str:
    """Return a part of a date or time; "n" means minutes, "H" the hours of a 12-hour clock."""
    day = value if isinstance(value, date) else date(1899, 12, 31)
    clock = value if isinstance(value, time) else getattr(value, "time", time)()
    size, kind = len(letters), letters[0]
    if kind == "a":
        return "AM" if clock.hour < 12 else "PM"
    if kind == "y":
        return f"{day.year:04}" if size > 2 else f"{day.year % 100:02}"
    if kind in "md" and size >= _NAMED:
        name = MONTHS[day.month - 1] if kind == "m" else _DAYS.split()[day.weekday()]
        return name if size == _LONG else name[:_NAMED]
    numbers = {"m": day.month, "d": day.day, "h": clock.hour, "n": clock.minute, "s": clock.second}
    number = (clock.hour - 1) % 12 + 1 if kind == "H" else numbers[kind]
    return f"{number:02}" if size > 1 else str(number)
