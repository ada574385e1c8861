"""Read pictures by OCR; a TIFF may have several pages. Needs the extra `ocr`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from clew.base.runtime.lazy import needs
from clew.base.types import OCR
from clew.errors import UnreadableSource
from clew.extras.files import ocr
from clew.extras.files.page_lines import join_divided_words, mark_divided_words
from clew.readers.titled import make_document
from clew.readers.walk import File

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image as Picture

    from clew.base.types import Document

_FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")


def read(file: File) -> Iterator[Document]:
    """Yield a picture as one document, with notes on the OCR."""
    data = file.path.read_bytes()
    if document := ocr.keep_unchanged(file, data):
        yield document
        return
    pages = [ocr.recognize(pixels) for pixels in _frames(file, data)]
    if not any(page.text for page in pages):
        raise UnreadableSource(file.source, "is a picture without text that OCR reads")
    n = len(pages)
    texts = join_divided_words([mark_divided_words(page.text) for page in pages])
    file.partly.extend(ocr.describe_pages(dict(enumerate(pages, 1)), n))
    starts = list(accumulate((len(text) + 2 for text in texts[:-1]), initial=0))
    about = {OCR: ocr.hash_file(data)}
    yield make_document(file, texts, "", about, pages=starts if n > 1 else ())


def _frames(file: File, data: bytes) -> Iterator[NDArray[np.uint8]]:
    """Yield the pages of a TIFF, and the first frame of any other picture, for `ocr.recognize`.

    Raises UnreadableSource for a picture that is broken or meets the limit `pixels`.
    """
    with needs("PIL", "ocr", "reading a picture"):
        from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # our own limit comes first
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as picture:
            n = getattr(picture, "n_frames", 1)
            n_read = n if picture.format == "TIFF" else 1
            for number in range(n_read):
                picture.seek(number)
                if picture.width * picture.height > file.limits.pixels:
                    reason = f"has {file.limits.more_than('pixels')}"
                    raise UnreadableSource(file.source, reason)
                yield _to_pixels(picture)
            if n > n_read:
                file.partly.append(f"1 of {n:,} frames was read")
    except (OSError, SyntaxError, ValueError, EOFError, struct.error):
        raise UnreadableSource(file.source, "is a broken picture, or not one") from None


def _to_pixels(picture: Picture) -> NDArray[np.uint8]:
    """Return the pixels of a picture: upright, on white, within the maximum size for OCR."""
    from PIL import Image, ImageOps

    if picture.mode.startswith(("I", "F")):  # more than 8 bits: a scan in fine greys
        greys = np.asarray(picture, dtype=np.float64)
        picture = Image.fromarray((greys * (255 / max(greys.max(), 1.0))).astype(np.uint8))
    upright = ImageOps.exif_transpose(picture)
    if upright.has_transparency_data:
        above = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above)
    upright = upright.convert("RGB")
    upright.thumbnail((ocr.SIDE, ocr.SIDE))
    return np.ascontiguousarray(np.asarray(upright)[:, :, ::-1])
