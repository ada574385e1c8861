"""Read files as documents.

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

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:
    from clew.readers.formats import read
    from clew.readers.graph_files import read_graph
    from clew.readers.walk import Columns

__all__ = ["Columns", "read", "read_graph"]

__getattr__ = _lazy(
    "clew.readers", {"formats": ("read",), "graph_files": ("read_graph",), "walk": ("Columns",)}
)
