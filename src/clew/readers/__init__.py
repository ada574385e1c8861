"""Files to documents.

    read(paths)  ->  Document | Skipped, one after the other, in a fixed order

A path is a file or a folder, a file:// address, `-` for standard input, or a web address.

What a document is, and what its text is:

- Plain text, markup and source code: the file; the whole decoded file.
- `.md .markdown`: the file; the whole decoded file.
- `.html .htm .xhtml .xml`, `.docx .pptx .odt .odp .epub`: the file; its paragraphs.
- `.srt .vtt`, `.ipynb`: the file; what is said, and its cells.
- `.eml`, `.mbox`, `.ics`: the file, each message, each event; its words and its headers.
- `.pdf` (extra `pdf`), `.xlsx .xls .ods .rtf` (extra `files`): the file; what was extracted.
  `.docm .dotx .dotm .pptm .ppsx .ppsm .potx .xlsm .xltx .xlsb .ott .otp .ots` as their kin.
- `.png .jpg .jpeg .tif .tiff .webp .bmp` (extra `ocr`, where OCR is asked for): what it reads.
- `.jsonl .ndjson .json .csv .tsv`, `.parquet` (extra `parquet`): a record; its text column.

What a reader saw and did not read it appends to `File.partly`, a note for each kind; the next
document that it yields has these as `partly` in its metadata.

A format is one function from a `File` to documents, and one line in `formats.READERS`; those that
are not plain text are in `clew.extras.files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.base.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clew.limits import ReadingLimits
    from clew.readers.formats import read
    from clew.readers.walk import Columns

__all__ = ["Columns", "read", "read_graph"]


def read_graph(path: str | Path, limits: ReadingLimits | None = None) -> Iterator[Any]:
    """Yield what a file of a knowledge graph states, and reports of what cannot be used.

    Raises InputError where there is no such file, or of no known format.
    """
    from clew import plugins

    statements: Iterator[Any] = plugins.load("graphs", "files", "'read_graph'").read_graph(
        path, *filter(None, [limits])
    )
    return statements


__getattr__ = _lazy("clew.readers", {"formats": ("read",), "walk": ("Columns",)})
