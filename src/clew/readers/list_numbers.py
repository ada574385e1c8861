"""The numbers that Word computes for lists and headings, which stand nowhere in its files.

A paragraph, or its style, names a list and a level of it; the list says how the number of each
level is written, as in "%1.%2" (ECMA-376, 17.9).
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_HIGHEST = 32_767  # number of a list that Word has
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_HAN = "〇一二三四五六七八九"


class _Level(NamedTuple):
    """How a level of a list is numbered."""

    start: int
    form: str  # decimal, lowerRoman, ...
    text: str  # with %1 for the number of the first level
    restart: bool  # after a number of a level above
    plain: bool  # all numbers in digits


class ListNumbers:
    """Counts the paragraphs of each list, in the order of the document."""

    def __init__(self, numbering: Element | None, styles: Element) -> None:
        """Take the parts of a Word file that have its lists and its styles."""
        self._styles = {each.get("styleId", ""): each for each in styles.iter("style")}
        root = numbering if numbering is not None else Element("numbering")
        self._lists = {each.get("abstractNumId", ""): each for each in root.iter("abstractNum")}
        self._instances = {each.get("numId", ""): each for each in root.iter("num")}
        self._levels: dict[str, dict[int, _Level]] = {}  # of an instance
        self._counts: dict[str, dict[int, int]] = {}  # of a list, how far its levels are
        self._begun: set[str] = set()  # instances

    def number(self, properties: Mapping[str, str], style: str) -> str:
        """Return the number of the next paragraph, "" for one without.

        Its own `properties` may name `numId` and `ilvl`; else those of its style count.
        """
        num_id, level = self._place(properties, style)
        instance = self._instances.get(num_id)
        levels = self._read_levels(num_id)
        if instance is None or level not in levels:
            return ""
        counts = self._counts.setdefault(_value(instance, "abstractNumId"), {})
        if num_id not in self._begun:
            self._begun.add(num_id)
            for override in instance.iter("lvlOverride"):
                if override.find("startOverride") is not None:
                    counts.pop(_parse_whole(override.get("ilvl")), None)
        counts[level] = counts[level] + 1 if level in counts else levels[level].start
        for below in [each for each in counts if each > level and levels[each].restart]:
            del counts[below]
        here = levels[level]
        if here.form == "bullet":
            return ""

        def write(match: re.Match[str]) -> str:
            other = int(match[1]) - 1
            form = "decimal" if here.plain else levels[other].form if other in levels else ""
            start = levels[other].start if other in levels else 1
            return format_number(counts.setdefault(other, start), form)

        return _PLACE.sub(write, here.text).strip()

    def _place(self, properties: Mapping[str, str], style: str) -> tuple[str, int]:
        """Return the instance of a list and the level that a paragraph has."""
        values = dict(properties)
        seen: set[str] = set()
        while style in self._styles and style not in seen and "numId" not in values:
            seen.add(style)
            own = self._styles[style].find("pPr/numPr")
            if own is not None:
                values = {each.tag: each.get("val", "") for each in own} | values
                if "ilvl" not in values and "numId" in values:
                    return values["numId"], self._level_of_style(values["numId"], style)
            based = self._styles[style].find("basedOn")
            style = "" if based is None else based.get("val", "")
        return values.get("numId", ""), _parse_whole(values.get("ilvl"))

    def _level_of_style(self, num_id: str, style: str) -> int:
        for level in self._find_list(num_id) or ():
            if level.tag == "lvl" and _value(level, "pStyle") == style:
                return _parse_whole(level.get("ilvl"))
        return 0

    def _find_list(self, num_id: str) -> Element | None:
        """Return the list of an instance, which may be that of a style."""
        for _ in range(2):
            instance = self._instances.get(num_id)
            entry = None if instance is None else self._lists.get(_value(instance, "abstractNumId"))
            linked = "" if entry is None else _value(entry, "numStyleLink")
            style = self._styles.get(linked)
            if style is None:
                return entry
            number = style.find("pPr/numPr/numId")
            num_id = "" if number is None else number.get("val", "")
        return None

    def _read_levels(self, num_id: str) -> dict[int, _Level]:
        if num_id not in self._levels:
            levels: dict[int, _Level] = {}
            for each in self._find_list(num_id) or ():
                if each.tag == "lvl":
                    levels[_parse_whole(each.get("ilvl"))] = _read_level(each)
            instance = self._instances.get(num_id)
            for override in () if instance is None else instance.iter("lvlOverride"):
                place, own = _parse_whole(override.get("ilvl")), override.find("lvl")
                if own is not None:
                    levels[place] = _read_level(own)
                start = _value(override, "startOverride")
                if start and place in levels:
                    levels[place] = levels[place]._replace(start=_parse_whole(start))
            self._levels[num_id] = levels
        return self._levels[num_id]


def _read_level(level: Element) -> _Level:
    legal = level.find("isLgl")
    return _Level(
        _parse_whole(_value(level, "start") or "1"),
        _value(level, "numFmt") or "decimal",
        _value(level, "lvlText"),
        _value(level, "lvlRestart") != "0",
        legal is not None and legal.get("val", "1") not in ("0", "false"),
    )


def _value(element: Element, child: str) -> str:
    own = element.find(child)
    return "" if own is None else own.get("val", "")


def _parse_whole(written: str | None) -> int:
    return int(written) if written and written.isdecimal() else 0


def format_number(number: int, form: str) -> str:
    """Return a number in one of Word's forms, in digits where the form is none of these.

    >>> format_number(4, "upperRoman"), format_number(28, "lowerLetter")
    ('IV', 'bb')
    """
    if form == "none":
        return ""
    write = _FORMS.get(form) if 0 < number <= _HIGHEST else None
    return write(number) if write else str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _letter(number: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    times, place = divmod(number - 1, len(letters))
    return letters[place] * (times + 1)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _han(number: int) -> str:
    if number > 99:
        return str(number)
    tens, ones = divmod(number, 10)
    ten = "" if not tens else "十" if tens == 1 else f"{_HAN[tens]}十"
    return ten + (_HAN[ones] if ones or not tens else "")


_FORMS: Mapping[str, Callable[[int], str]] = {
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerLetter": _letter,
    "upperLetter": lambda number: _letter(number).upper(),
    "russianLower": lambda number: _letter(number, _RUSSIAN),
    "russianUpper": lambda number: _letter(number, _RUSSIAN.upper()),
    "decimalZero": lambda number: f"{number:02}",
    "ordinal": _ordinal,
    **dict.fromkeys(
        "chineseCounting chineseCountingThousand japaneseCounting taiwaneseCounting".split(), _han
    ),
}
