"""Read Rich Text Format: paragraphs joined by blank lines.

Footnotes, comments, headers and footers stand at the end.
The cells of a table's row are set apart by ` | `. The title is the one in the file's properties,
else the file name. Needs the extra `files`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from clew.base.runtime.lazy import needs
from clew.base.types import Document
from clew.errors import UnreadableSource
from clew.extras.files.edges import PageEdge, read_edges
from clew.readers.decode import replace_surrogates
from clew.readers.grid import format_row
from clew.readers.properties import properties
from clew.readers.titled import MarkedParagraph, make_document, stated_title
from clew.readers.unread import describe_unread
from clew.readers.walk import File

_INNERMOST = r"(?:[^{}\\]|\\.)*"
_GROUP = (
    rf"((?:[^{{}}\\]|\\.|\{{(?:[^{{}}\\]|\\.|\{{{_INNERMOST}\}})*\}})*)\}}"  # with groups in it
)
_NOTE = re.compile(
    r"\{(?:\\\*)?\\(footnote|annotation|header[lrf]?|footer[lrf]?)\b" + _GROUP, re.DOTALL
)
_ABOUT = re.compile(r"\{\\(title|author|subject|keywords)\b" + _GROUP, re.DOTALL)
_HIDDEN = re.compile(r"\{\\v(?![a-z0-9])" + _GROUP, re.DOTALL)
_FONTS = re.compile(r"\{\\fonttbl\b" + _GROUP, re.DOTALL)  # they say which characters bytes are
_MACINTOSH = re.compile(r"\s*\{\\rtf\d*\s*\\mac\b")
_NO_HEAD = r"{\rtf1"
_LEAST_HEADS, _TIMES_HEADS = 1_000_000, 10  # characters of heads that are read again with notes
_NO_LENGTH = re.compile(r"\\bin(?![a-z0-9])")  # striprtf asks for one


def read(file: File) -> Iterator[Document]:
    """Yield a Rich Text file as one document."""
    with needs("striprtf", "files", "reading an RTF file"):
        from striprtf.striprtf import rtf_to_text

    source = file.path.read_bytes().decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableSource(file.source, "is not an RTF file")
    source, n_hidden = _HIDDEN.subn("", _NO_LENGTH.sub("", source))
    counts = {"hidden passage": n_hidden, "picture": source.count("{\\pict")}
    file.partly.extend(describe_unread(counts))
    encoding = "mac_roman" if _MACINTOSH.match(source) else "cp1252"
    fonts = _FONTS.search(source)
    head = source[: source.find("{", source.index("{") + 1)] if fonts else _NO_HEAD
    head += fonts[0] if fonts else ""

    def text(of: str) -> str:
        words: str = rtf_to_text(of, encoding, errors="replace")  # type: ignore[no-untyped-call]
        return replace_surrogates(words)

    def parts(of: Sequence[str]) -> Iterator[str]:
        heads = _LEAST_HEADS + _TIMES_HEADS * len(source)
        for each in of:
            heads -= len(head)
            yield " ".join(text(f"{head if heads > 0 else _NO_HEAD}\\plain{each}}}").split())

    try:
        lines = list(map(_format_line, text(source).split("\n")))
        groups = _NOTE.findall(source)
        notes = list(_mark_notes(groups, parts([words for _, words in groups])))
        info = _ABOUT.findall(source)
        about = [*zip((name for name, _ in info), parts([words for _, words in info]), strict=True)]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnreadableSource(file.source, "is a broken RTF file") from None
    title = next((words for name, words in about if name == "title"), "")
    metadata = properties((name, words) for name, words in about if name != "title")
    paragraphs: list[str | MarkedParagraph] = [*filter(None, lines), *notes]
    yield make_document(file, paragraphs, stated_title(title), metadata)


def _mark_notes(
    groups: Sequence[tuple[str, str]], texts: Iterable[str]
) -> Iterator[MarkedParagraph]:
    """Yield footnotes and comments, then headers and footers."""
    edges: list[PageEdge] = []
    for (name, source), text in zip(groups, texts, strict=True):
        if name.startswith(("header", "footer")):
            is_numbered = "\\chpgn" in source or "PAGE" in source
            edges.append(PageEdge(name[:6].title(), text, is_numbered))
        elif text:
            yield MarkedParagraph(f"Comment: {text}" if name == "annotation" else text)
    yield from read_edges(edges)


def _format_line(line: str) -> str:
    """Return a line, with its cells separated if it is a table row."""
    *cells, end = line.split("|")
    if end.strip(" \t") or len(cells) < 2:
        return line.strip(" |\t")
    return format_row(cells)
