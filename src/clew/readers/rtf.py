"""Rich Text Format: the text is its paragraphs, joined by blank lines; footnotes stand at the end.

The cells of a table's row are set apart by ` | `. The title is the one in the file's properties,
else the file name. Needs the extra `files`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.errors import UnreadableSource
from clew.readers.decode import SURROGATE
from clew.readers.extras import needs
from clew.readers.properties import properties
from clew.readers.titled import extracted, stated_title
from clew.readers.walk import File
from clew.types import Document

_INNERMOST = r"(?:[^{}\\]|\\.)*"
_GROUP = (
    rf"((?:[^{{}}\\]|\\.|\{{(?:[^{{}}\\]|\\.|\{{{_INNERMOST}\}})*\}})*)\}}"  # with groups in it
)
_NOTE = re.compile(r"\{(?:\\\*)?\\footnote\b" + _GROUP, re.DOTALL)
_ABOUT = re.compile(r"\{\\(title|author|subject|keywords)\b" + _GROUP, re.DOTALL)
_FONTS = re.compile(r"\{\\fonttbl\b" + _GROUP, re.DOTALL)  # they say which characters bytes are
_MACINTOSH = re.compile(r"\s*\{\\rtf\d*\s*\\mac\b")
_CELL = re.compile(r"[ \t]*\|[ \t]*(?=.*\|[ \t]*$)")  # striprtf's mark, in lines that end with one
_NO_LENGTH = re.compile(r"\\bin(?![a-z0-9])")  # striprtf asks for one


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a file in Rich Text Format."""
    with needs("striprtf", "files", "reading an RTF file"):
        from striprtf.striprtf import rtf_to_text

    source = file.path.read_bytes().decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableSource(file.source, "is not an RTF file")
    source = _NO_LENGTH.sub("", source)
    encoding = "mac_roman" if _MACINTOSH.match(source) else "cp1252"
    fonts = _FONTS.search(source)
    head = source[: source.find("{", source.index("{") + 1)] if fonts else r"{\rtf1"
    head += fonts[0] if fonts else ""

    def text(of: str) -> str:
        words: str = rtf_to_text(of, encoding, errors="replace")  # type: ignore[no-untyped-call]
        return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", words)

    def part(of: str) -> str:
        return " ".join(text(f"{head}\\plain{of}}}").split())

    try:
        lines = [_CELL.sub(" | ", line).strip(" |\t") for line in text(source).split("\n")]
        notes = [part(note) for note in _NOTE.findall(source)]
        about = [(name, part(words)) for name, words in _ABOUT.findall(source)]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnreadableSource(file.source, "is a broken RTF file") from None
    title = next((words for name, words in about if name == "title"), "")
    metadata = properties((name, words) for name, words in about if name != "title")
    paragraphs = [line for line in (*lines, *notes) if line]
    yield extracted(file, paragraphs, stated_title(title), metadata)
