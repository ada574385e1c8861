"""What a spreadsheet holds beside the values of its cells, for notes on what is not read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from clew.readers.archive import ArchiveParts
from clew.readers.drawings import describe_unread
from clew.text.quantities import format_count

READ = "read with the others"
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml|content\.xml")
_DRAWING = re.compile(r"xl/drawings/[^/]+\.xml")
_IS_HIDDEN = rb"hidden=\"(?:1|true)|visibility=\"(?:collapse|filter)"
_HIDDEN = {
    what: re.compile(rb"<(?:\w+:)?(?:table-)?%s\s[^<>]*?\b(?:%s)\"" % (tag, _IS_HIDDEN))
    for what, tag in (("hidden row", b"row"), ("hidden column", b"col(?:umn)?"))
}  # a range of columns is counted as one, and so are rows of OpenDocument that are repeated
# A formula whose value no program has computed: behind it stands none.
_NO_VALUE = re.compile(
    rb"<(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)


def describe_workbook(parts: ArchiveParts) -> Iterator[str]:
    """Yield notes on a spreadsheet: what is hidden, which is read, and what is not.

    Raises ValueError where a part is no XML.
    """
    counts = Counter[str]()
    for sheet in map(parts.data, filter(_SHEET.fullmatch, parts.names)):
        counts.update({what: len(pattern.findall(sheet)) for what, pattern in _HIDDEN.items()})
        counts["formula cell"] += len(_NO_VALUE.findall(sheet))
    yield from describe_unread({what: counts[what] for what in _HIDDEN}, READ)
    if counts["formula cell"]:
        cells = format_count(counts["formula cell"], "formula cell")
        yield f"{cells} without a stored value: open and save the file in a spreadsheet program"
    drawings = (parts.xml(name) for name in parts.names if _DRAWING.fullmatch(name))
    yield from describe_unread({"picture": sum(1 for d in drawings for _ in d.iter("pic"))})
