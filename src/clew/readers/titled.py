"""Titles of files, and documents made of paragraphs, for all readers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from clew.base.types import Apparatus, Document, Heading, Value
from clew.errors import UnreadableSource
from clew.readers.walk import File
from clew.text.normalize import collapse

_PLAIN_NAMES = frozenset(
    "AUTHORS CHANGELOG CHANGES CONTRIBUTING COPYING COPYRIGHT Dockerfile FAQ HACKING HISTORY "
    "INSTALL LICENCE LICENSE MAINTAINERS Makefile NEWS NOTES NOTICE README THANKS "
    "TODO".upper().split()
)  # whatever comes behind a full stop, in upper or lower case
_PRINTED = re.compile(r"Microsoft (?:Office )?(?:Word|PowerPoint|Excel) - (.+?)(?:\.\w{2,4})?")
_OF_PROGRAMS = re.compile(
    r"(?:(?:untitled|unbenannt(?:es)?|sans titre|sin título|senza titolo|sem título|"
    r"no(?: slide)? title)(?: (?:do[ck]ument|page|presentation))?|"
    r"do[ck]umento?|pr[eäé]sentation|slide|folie|diapositiv[ae]|tit(?:el|le|re)|"
    r"powerpoint[ -]pr[eä]sentati(?:on|e)|présentation powerpoint|"
    r"presentación de powerpoint|presentazione (?:standard )?di powerpoint|"
    r"apresentação do powerpoint|microsoft word|kein folientitel)[ -]?\d*",
    re.IGNORECASE,
)  # what office programs write where nobody wrote a title
_FILE_NAME = re.compile(r"\S+\.(?:dvi|tex|ps|docx?|pptx?|xlsx?|odt|rtf|indd|qxd)", re.IGNORECASE)


class MarkedParagraph(NamedTuple):
    """A paragraph with its structure: heading, page, link list."""

    text: str
    level: int = 0  # of a heading, from 1
    apparatus: str = ""  # "contents", "index" or "bibliography", where it belongs to one
    table: int = 0  # the number of the table of which it is a row, from 1


def is_plain_name(path: Path) -> bool:
    """Check for a generic file name, such as README or changelog."""
    return path.name.partition(".")[0].upper() in _PLAIN_NAMES


def stem_title(file: File) -> str:
    """Return the file name as a title: without suffix, `-` and `_` replaced by spaces.

    A name that texts have everywhere stands behind that of the folder.
    """
    stem, folder = file.path.stem, PurePosixPath(file.id).parent.name
    words = [folder, stem] if folder and is_plain_name(file.path) else [stem]
    return " ".join(" ".join(words).replace("-", " ").replace("_", " ").split()) or stem


def stated_title(given: str) -> str:
    """Return the title in a file's properties, ignoring placeholders of programs.

    >>> stated_title("Microsoft Word - The Fram.docx"), stated_title("PowerPoint-Präsentation")
    ('The Fram', '')
    """
    words = " ".join(given.split())
    printed = _PRINTED.fullmatch(words)
    title = printed[1] if printed else words
    return "" if _OF_PROGRAMS.fullmatch(title) or _FILE_NAME.fullmatch(title) else title


def make_document(
    file: File,
    paragraphs: Sequence[str | MarkedParagraph],
    title: str,
    metadata: Mapping[str, Value] | None = None,
    pages: Sequence[int] = (),
    headings: Sequence[Heading] = (),
) -> Document:
    """Join paragraphs by blank lines; the body begins after the title.

    Headings are those among the paragraphs, or those that are given. Raises UnreadableSource if
    there is no text.
    """
    marked = [
        each if isinstance(each, MarkedParagraph) else MarkedParagraph(each) for each in paragraphs
    ]
    marked = [
        each._replace(text=f"{each.text}\n") if 0 < each.table != after.table > 0 else each
        for each, after in zip(marked, [*marked[1:], MarkedParagraph("")], strict=False)
    ]  # a further line between two tables
    text = "\n\n".join(each.text for each in marked)
    if not text.strip():
        raise UnreadableSource(file.source, "; ".join(["holds no text", *file.partly]))
    title = " ".join(title.split()) or stem_title(file)
    titled = len(marked) > 1 and collapse(marked[0].text) == title
    starts = list(accumulate((len(each.text) + 2 for each in marked), initial=0))
    return Document(
        id=file.id,
        text=text,
        title=title,
        source=file.source,
        body_start=starts[1] if titled else 0,
        metadata=metadata or {},
        pages=tuple(pages),
        headings=tuple(without_title(headings or _headings(marked, starts), title)),
        apparatus=tuple(_apparatus(marked, starts)),
    )


def without_title(headings: Sequence[Heading], title: str) -> list[Heading]:
    """Return headings without a first level-1 heading equal to the title."""
    first = next((heading for heading in headings if heading.level == 1), None)
    return [
        heading
        for heading in headings
        if heading is not first or heading.title.casefold() not in title.casefold()
    ]


def _headings(paragraphs: Sequence[MarkedParagraph], starts: Sequence[int]) -> list[Heading]:
    return [
        Heading(start, each.level, collapse(each.text))
        for each, start in zip(paragraphs, starts, strict=False)
        if each.level and each.text.strip()
    ]


def _apparatus(paragraphs: Sequence[MarkedParagraph], starts: Sequence[int]) -> Iterator[Apparatus]:
    """Yield the ranges of consecutive paragraphs in a list of one kind."""
    for kind, group in groupby(range(len(paragraphs)), lambda i: paragraphs[i].apparatus):
        if kind:
            places = list(group)
            first, last = places[0], places[-1]
            yield Apparatus(starts[first], starts[last] + len(paragraphs[last].text), kind)
