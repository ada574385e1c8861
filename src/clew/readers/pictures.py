"""Picture formats, and whether OCR is available."""

from clew.base.runtime.lazy import check_installed
from clew.errors import write_install

PICTURES = tuple(".bmp .jpeg .jpg .png .tif .tiff .webp".split())
HINT = f"--ocr reads pictures ({write_install('ocr')})"


def check_engine() -> None:
    """Raise MissingExtra if RapidOCR is not installed."""
    check_installed("rapidocr", "ocr", "OCR")
