"""What stands around a quote and makes it readable: a table's header, a list's lead-in, a term."""

from __future__ import annotations

import re

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import UNSPACED
from clew.text.statements import find_above

_NEAR = 150  # columns on either side, at most; a character of a script without spaces takes two
_HEADER = 1_000  # characters of a table's header, at most
_HEADING = compile_re(r"^#+ .*$", re.MULTILINE)  # stands beside the quote as its section
_STOP = compile_re(r"[.!?:;,]+(?=\s|$)")  # behind a quote that ends without it
_BREAK = compile_re(r"\n[ \t]*\n|(?<=[.!?:;])\s|(?<=[。！？])|\n")


def find_surroundings(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what is read before and after the range of a text.

    Before a row of a table that is its header, before an item of a list the line that leads in,
    and before an answer the question; else whole sentences or lines near by, and words where
    one of these is too long.
    """
    room = _NEAR // 2 if UNSPACED.search(text, start, end) else _NEAR
    if above := find_above(text, start):
        is_row = "|" in text[start:end]
        return text[slice(*above)][:_HEADER].strip(), "" if is_row else _read_after(text, end, room)
    return _read_before(text, start, room), _read_after(text, end, room)


def _read_before(text: str, start: int, room: int) -> str:
    begin = max(0, start - room)
    near = text[begin:start]
    if begin:
        ends = [m.end() for m in _BREAK.finditer(near.rstrip())]
        near = near[ends[0] :] if ends else near.partition(" ")[2]
    return _HEADING.split(near)[-1].strip()


def _read_after(text: str, end: int, room: int) -> str:
    near = text[end : end + room]
    if end + room < len(text):
        ends = [m.start() for m in _BREAK.finditer(near) if near[: m.start()].strip()]
        near = near[: ends[-1]] if ends else near.rpartition(" ")[0]
    if stop := _STOP.match(near):
        near = near[stop.end() :]
    return _HEADING.split(near)[0].strip()
