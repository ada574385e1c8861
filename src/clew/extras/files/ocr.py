"""Recognize the text of pictures with RapidOCR and its packaged models. Needs the extra `ocr`.

A document that was read so has the hash of its file as `ocr` in its metadata. As long as the file
has that hash the document of the index stands for it, so that nothing is recognised twice, and one
that was changed is read by OCR again. Tesseract is twice as fast and smaller, but needs a system
package for each language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.base.types import OCR
from clew.extras.files.placed import PlacedText, set_in_columns
from clew.readers import apart
from clew.readers.grid import format_row
from clew.readers.pictures import HINT, check_engine
from clew.readers.walk import File
from clew.text.quantities import format_count, join_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.base.types import Document

SIDE = 2_000  # pixels of the longer side that the engine looks at
_LOW = 0.9  # confidence below which a page is named
_WIDE = 0.6  # of the page's width, from which a line belongs to no column
_PROSE, _LEAST_LINES = 8.0, 3  # widths of a line to its height, and lines, of a column of prose
_MARGIN = 0.15  # of its height, of a box beside its text
_OPEN = 1.0  # of a line's height, from which the space above it parts paragraphs


class Line(NamedTuple):
    """A recognised line and its position in pixels, as if the page were upright."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    confidence: float

    @property
    def middle(self) -> float:
        """Return the vertical middle of the line."""
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        """Return the height of the line."""
        return self.bottom - self.top


class RecognizedPage(NamedTuple):
    """The text of a page, possibly "", and the mean confidence of its characters from 0 to 1."""

    text: str
    confidence: float


def keep_unchanged(file: File, data: bytes) -> Document | None:
    """Return the indexed document if it was read by OCR from the same bytes."""
    known = file.known
    return known if known is not None and known.metadata.get(OCR) == hash_file(data) else None


def hash_file(data: bytes) -> str:
    """Return the hash by which a document read by OCR refers to its file."""
    return blake2b(data, digest_size=16).hexdigest()


def recognize(pixels: NDArray[np.uint8]) -> RecognizedPage:
    """Return the recognised text of a picture, with its confidence.

    The pixels have the shape (height, width, 3), their colours the order blue, green, red.
    Raises MissingExtra without RapidOCR.
    """
    page = _load_engine()(pixels)
    boxes = () if page.boxes is None else page.boxes.tolist()
    text = arrange_lines(boxes, page.txts or (), page.scores or ())
    sizes = [len(each) for each in page.txts or ()]
    scores = zip(sizes, page.scores or (), strict=True)
    confidence = sum(n * score for n, score in scores) / max(sum(sizes), 1)
    apart.report_page_done()
    return RecognizedPage(text, float(confidence))


@cache
def _load_engine() -> Any:  # noqa: ANN401 -- RapidOCR has no types
    check_engine()
    from rapidocr import RapidOCR

    # It turns lines that stand on their heads, and now and then one that does not.
    return RapidOCR(params={"Global.log_level": "critical", "Global.use_cls": False})


def arrange_lines(
    boxes: Sequence[Sequence[Sequence[float]]], texts: Sequence[str], scores: Sequence[float]
) -> str:
    """Return recognised texts in reading order: rows as lines, columns of prose one by one.

    Bars part the cells of three rows or more that stand in three columns or more.

    A box is its four corners (x, y), clockwise from the upper left one.
    """
    slopes = [(b[1][1] - b[0][1]) / (b[1][0] - b[0][0]) for b in boxes if b[1][0] > b[0][0]]
    slope = _median(slopes) if slopes else 0.0
    lines = []
    for box, text, score in zip(boxes, texts, scores, strict=True):
        xs, ys = [x for x, _ in box], [y - slope * x for x, y in box]
        if text.strip():
            lines.append(Line(min(xs), min(ys), max(xs), max(ys), text.strip(), score))
    if not lines:
        return ""
    width = max(each.right for each in lines) - min(each.left for each in lines)
    lines.sort(key=lambda each: each.middle)
    blocks = groupby(lines, lambda each: each.right - each.left > _WIDE * width)
    ordered = [column for _, block in blocks for column in _part_columns(list(block))]
    return "".join(_join_rows(row for column in ordered for row in _rows(column))).strip()


def _part_columns(lines: list[Line]) -> list[list[Line]]:
    """Split lines into columns of prose, from the left; cells of a table stay together."""
    by_left, reach = sorted(lines, key=lambda each: each.left), -inf
    for place, line in enumerate(by_left):
        sides = by_left[:place], by_left[place:]
        if line.left - reach > line.height / 2 and all(map(_is_prose, sides)):
            return [sides[0], *_part_columns(sides[1])]
        reach = max(reach, line.right)
    return [lines]


def _is_prose(lines: Sequence[Line]) -> bool:
    shapes = [(each.right - each.left) / max(each.height, 1.0) for each in lines]
    return len(lines) >= _LEAST_LINES and _median(shapes) >= _PROSE


def _rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield rows of pieces at the same height, from the top."""
    row: list[Line] = []
    for line in sorted(lines, key=lambda each: each.middle):
        if row and line.middle - row[0].middle > min(line.height, row[0].height) / 2:
            yield row
            row = []
        row.append(line)
    yield row


def _join_rows(rows: Iterator[list[Line]]) -> Iterator[str]:
    """Yield the text of each row, preceded by its separator from the row above."""
    bottom = inf
    for row, text in _mark_cells(rows):
        height = _median(each.height for each in row)
        top = min(each.top for each in row)
        yield "\n\n" if top - bottom > _OPEN * height else "\n"
        yield text
        bottom = max(each.bottom for each in row)


def _mark_cells(rows: Iterator[list[Line]]) -> Iterator[tuple[list[Line], str]]:
    """Yield rows as texts, with bars between the cells of aligned columns."""
    for is_row, group in groupby(rows, lambda row: len(row) > 1):
        block = [sorted(row, key=lambda each: each.left) for row in group]
        placed = [[_place(each) for each in row] for row in block]
        cells = set_in_columns(placed) if is_row else []
        plain = (" ".join(each.text for each in row) for row in block)
        yield from zip(block, map(format_row, cells) if cells else plain, strict=True)


def _place(line: Line) -> PlacedText:
    margin = _MARGIN * line.height
    return PlacedText(line.text, line.left + margin, line.right - margin, is_divisible=True)


def _median(values: Iterable[float]) -> float:
    from statistics import median  # with fractions and decimals

    return median(values)


def describe_pages(pages: Mapping[int, RecognizedPage], n: int) -> Iterator[str]:
    """Yield notes on the pages that were read by OCR; pages count from 1 to `n`."""
    of = format_count(n, "page")
    read = {number: page for number, page in pages.items() if page.text}
    size = sum(len(page.text) for page in read.values())
    if read:
        mean = sum(len(page.text) * page.confidence for page in read.values()) / size
        was = "was" if len(read) == 1 else "were"
        done = f"{len(read):,} of {of} {was} read by OCR" if n > 1 else "read by OCR"
        low = sorted(number for number, page in read.items() if page.confidence < _LOW)
        where = f" on page{'s' * (len(low) > 1)} {join_numbers(low)}" if n > 1 else ""
        below = f", low{where}" if low else ""
        shown = f"{mean:.2f}".removeprefix("0")
        yield f"{done}, confidence {shown}{below}"
    if bare := sorted(pages.keys() - read.keys()):
        holds = "holds" if len(bare) == 1 else "hold"
        yield f"{len(bare):,} of {of} {holds} no text that OCR reads ({join_numbers(bare)})"


def describe_bare(bare: Sequence[int], n: int) -> str:
    """Return the note on pages, of `n`, without text and not read by OCR."""
    holds = "holds" if len(bare) == 1 else "hold"
    of = format_count(n, "page")
    return f"{len(bare):,} of {of} {holds} no text ({join_numbers(bare)}): scanned? {HINT}"
