"""Draw the figures of a PDF: pictures and inserted drawings, as the page shows them.

What covers a page is the page itself: a scan, or a background. The caption of a figure is the one
that is nearest to its place in the page's text ("Figure 3: ..."). Turned pages are left out.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.base.types import Figure
from clew.extras.files.figures import hash_picture, hold_figures, is_caption, is_figure
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pypdfium2 import PdfPage, PdfTextPage

_MOST_OBJECTS = 20_000  # of a page
_LEAST_SIDE, _WHOLE = 40.0, 0.8  # points of a figure, and share of the page that covers it
_AROUND, _SCALE, _MOST_PIXELS = 4.0, 2.0, 1_200  # points, dots a point, and of the longer side
_CAPTION = re.compile(
    r"^[^\n]*\d[^\n]*(?:(?<![.:])\n(?!\d+\.)[^\n]+){0,2}", re.MULTILINE
)  # up to a stop
_LONGEST = 300  # characters of a caption


def find_figures(page: PdfPage, text_page: PdfTextPage) -> Iterator[tuple[float, bytes]]:
    """Yield each figure of a page: the share of the text above its middle, and its picture."""
    from pypdfium2.raw import FPDF_PAGEOBJ_FORM, FPDF_PAGEOBJ_IMAGE

    whole, n = page.get_bbox(), max(text_page.count_chars(), 1)
    width, height = whole[2] - whole[0], whole[3] - whole[1]
    for each in islice(page.get_objects(max_depth=1), _MOST_OBJECTS):
        if each.type in (FPDF_PAGEOBJ_FORM, FPDF_PAGEOBJ_IMAGE) and not page.get_rotation():
            left, bottom, right, top = each.get_bounds()
            is_large = min(right - left, top - bottom) >= _LEAST_SIDE
            if is_large and (right - left) * (top - bottom) < _WHOLE * width * height:
                cuts = left - whole[0], bottom - whole[1], whole[2] - right, whole[3] - top
                crop = tuple(max(cut - _AROUND, 0.0) for cut in cuts)
                scale = min(_SCALE, _MOST_PIXELS / max(right - left, top - bottom))
                with closing(page.render(scale=scale, crop=crop, rev_byteorder=True)) as bitmap:
                    picture = write_png(bitmap.to_numpy()[:, :, :3])
                above = text_page.get_text_bounded(bottom=(bottom + top) / 2)
                if is_figure(picture):
                    yield len(above) / n, picture


def write_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return (height, width, 3) pixels, their colours red, green, blue, as PNG."""
    height, width, _ = pixels.shape
    rows = np.pad(pixels.reshape(height, 3 * width), ((0, 0), (1, 0)))  # 0: not filtered
    head = width.to_bytes(4) + height.to_bytes(4) + b"\x08\x02\0\0\0"
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(rows.tobytes()), b"IEND")
    parts = (len(e[4:]).to_bytes(4) + e + zlib.crc32(e).to_bytes(4) for e in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def place_figures(
    found: Sequence[Sequence[tuple[float, bytes]]], pages: Sequence[str], starts: Sequence[int]
) -> dict[str, Any]:
    """Return the fields of a document with the figures of its pages.

    The place of a figure is its caption, else the line at its share of the page's text.
    """
    placed = []
    for number, (figures, page, start) in enumerate(zip(found, pages, starts, strict=True), 1):
        lines = accumulate((len(line) + 1 for line in page.split("\n")), initial=0)
        captions = [
            m.span() for at in lines if (m := _CAPTION.match(page, at)) and is_caption(m[0])
        ]
        for share, data in figures if page else ():
            at = int(share * len(page))
            begin = page.rfind("\n", 0, at) + 1
            span = begin, (page + "\n").index("\n", begin)
            if captions:
                span = min(captions, key=lambda each: abs(each[0] - at))
                captions.remove(span)
            words = collapse(page[slice(*span)])[:_LONGEST]
            caption = words if is_caption(words) else ""
            place = start + span[0], start + span[1], caption, hash_picture(data), number
            placed.append((Figure(*place), data))
    return hold_figures(placed)
