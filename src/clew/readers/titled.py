"""What the readers of whole files share: titles, and documents made of extracted paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.errors import UnreadableSource
from clew.readers.walk import File
from clew.types import Document, Value


def stem_title(file: File) -> str:
    """Return the file name as a title: without suffix, `-` and `_` as spaces."""
    stem = file.path.stem
    return " ".join(stem.replace("-", " ").replace("_", " ").split()) or stem


def extracted(
    file: File,
    paragraphs: Sequence[str],
    title: str,
    metadata: Mapping[str, Value] | None = None,
    pages: Sequence[int] = (),
) -> Document:
    """Join paragraphs by blank lines; the body begins behind a first one that is the title.

    Raises UnreadableSource if there is no text.
    """
    text = "\n\n".join(paragraphs)
    if not text.strip():
        raise UnreadableSource(file.source, "holds no text")
    title = " ".join(title.split()) or stem_title(file)
    titled = len(paragraphs) > 1 and " ".join(paragraphs[0].split()) == title
    return Document(
        id=file.id,
        text=text,
        title=title,
        source=file.source,
        body_start=len(paragraphs[0]) + 2 if titled else 0,
        metadata=metadata or {},
        pages=tuple(pages),
    )
