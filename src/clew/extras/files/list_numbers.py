"""Compute the numbers of lists and headings, which files do not contain.

In Word a paragraph, or its style, names a list and a level of it; the list says how the number of
each level is written, as in "%1.%2" (ECMA-376, 17.9). In OpenDocument lists stand in each other,
and name a style for their levels; in PowerPoint a paragraph says how its own number is written.
Numbers of both are written at the elements of their paragraphs, as the attribute `LIST_NUMBER`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

from clew.readers.number_forms import LETTERED, format_number

LIST_NUMBER = "list-number"
_PLACE = re.compile(r"%([1-9])")
_APART = frozenset(("text-box", "note-body", "annotation", "table-cell"))  # begin lists anew
_BEFORE = frozenset(("number", "soft-page-break"))  # what may stand before an item's paragraph
_AUTOMATIC = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}


class _Level(NamedTuple):
    """The numbering of a list level."""

    start: int
    form: str  # decimal, lowerRoman, ...
    text: str  # with %1 for the number of the first level
    restart: bool  # after a number of a level above
    plain: bool  # all numbers in digits


class ListNumbers:
    """Counts the paragraphs of each list in document order."""

    def __init__(self, numbering: Element, styles: Element) -> None:
        """Initialize from the numbering and styles parts of a Word file."""
        self._styles = {each.get("styleId", ""): each for each in styles.iter("style")}
        lists = numbering.iter("abstractNum")
        self._lists = {each.get("abstractNumId", ""): each for each in lists}
        self._instances = {each.get("numId", ""): each for each in numbering.iter("num")}
        self._levels: dict[str, dict[int, _Level]] = {}  # of an instance
        self._counts: dict[str, dict[int, int]] = {}  # of a list, how far its levels are
        self._begun: set[str] = set()  # instances

    def number(self, properties: Mapping[str, str], style: str) -> str:
        """Return the number of the next paragraph, or "".

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
        return _count_on(counts, levels, level)

    def _place(self, properties: Mapping[str, str], style: str) -> tuple[str, int]:
        """Return a paragraph's list instance and level."""
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
        """Return the list of an instance, possibly through a style."""
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


def _count_on(counts: dict[int, int], levels: Mapping[int, _Level], level: int) -> str:
    """Count a paragraph at a list level; return its number, "" for a bullet."""
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


def number_open_document(content: Element, styles: Element) -> None:
    """Number the lists and headings of an OpenDocument text; `styles` is its styles part."""
    lists = [each for root in (styles, content) for each in root.iter("list-style")]
    levels_of = {each.get("name", ""): _read_open_levels(each) for each in lists}
    outline = next(map(_read_open_levels, styles.iter("outline-style")), {})
    headings: dict[int, int] = {}
    last: dict[str, dict[int, int]] = {}  # the counts of lists, by style and by id
    stack: list[tuple[Element, int, str, dict[int, int]]] = [(content, -1, "", {})]
    while stack:
        element, level, style, counts = stack.pop()
        if element.tag == "list":
            style = element.get("style-name", style)
            if level < 0:
                goes_on = element.get("continue-numbering") == "true"
                counts = last.get(element.get("continue-list", style if goes_on else "\0"), {})
                last[style] = last[element.get("id", style)] = counts
            level += 1
        elif element.tag == "list-item":
            first = next((each for each in element if each.tag not in _BEFORE), element)
            if first.tag in ("p", "h"):
                _number_open(first, element, counts, levels_of.get(style, {}), level)
        elif element.tag == "h" and level < 0:
            place = _parse_whole(element.get("outline-level", "1")) - 1
            _number_open(element, element, headings, outline, place)
        elif element.tag in _APART:
            level = -1
        stack += ((child, level, style, counts) for child in reversed(element))


def _number_open(
    paragraph: Element, item: Element, counts: dict[int, int], levels: dict[int, _Level], level: int
) -> None:
    """Number a paragraph: a heading, or the first of a list item."""
    start = item.get("start-value", "")
    if start.isdecimal():
        counts[level] = int(start) - 1
    if level in levels and "".join(paragraph.itertext()).strip():
        paragraph.set(LIST_NUMBER, _count_on(counts, levels, level))


def _read_open_levels(style: Element) -> dict[int, _Level]:
    """Return the numbering of an OpenDocument list's levels."""
    forms = {
        _parse_whole(each.get("level")) - 1: LETTERED.get(each.get("num-format", ""), "decimal")
        for each in style
        if each.get("num-format")
    }
    levels = {}
    for each in style:
        level = _parse_whole(each.get("level")) - 1
        shown = range(level + 1 - _parse_whole(each.get("display-levels", "1")), level + 1)
        places = ".".join(f"%{place + 1}" for place in shown if place in forms)
        text = f"{each.get('num-prefix', '')}{places}{each.get('num-suffix', '')}"
        start = _parse_whole(each.get("start-value", "1"))
        form = forms.get(level, "bullet")
        levels[level] = _Level(start, form, text, restart=True, plain=False)
    return levels


def number_slide(slide: Element) -> None:
    """Number the paragraphs of a slide, consecutive ones of equal level and kind."""
    for body in slide.iter("txBody"):
        counts: dict[int, tuple[Mapping[str, str], int]] = {}
        for paragraph in body.iter("p"):
            own = paragraph.find("pPr")
            level = 0 if own is None else _parse_whole(own.get("lvl"))
            kind = None if own is None else own.find("buAutoNum")
            if not "".join(paragraph.itertext()).strip():
                continue
            before = counts.get(level)
            counts = {place: count for place, count in counts.items() if place < level}
            if kind is not None:
                start = _parse_whole(kind.get("startAt", "1"))
                goes_on = before is not None and before[0] == kind.attrib
                number = before[1] + 1 if before and goes_on else start
                counts[level] = kind.attrib, number
                paragraph.set(LIST_NUMBER, _write_automatic(number, kind.get("type", "")))


def _write_automatic(number: int, kind: str) -> str:
    """Return a number in a PowerPoint style, such as "romanUcParenR"."""
    form = next((LETTERED[sign] for name, sign in _AUTOMATIC.items() if name in kind), "decimal")
    written = format_number(number, form)
    if kind.endswith("Plain"):
        return written
    return f"({written})" if "ParenBoth" in kind else f"{written}{')' if 'Paren' in kind else '.'}"


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
