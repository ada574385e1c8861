"""Files to documents.

    read(paths)  ->  Document | Skipped, one after the other, in a fixed order

What a document is, and what its text is:

- `.txt .text .rst`, `.md .markdown`: the file; the whole decoded file.
- `.html .htm .xhtml`: the file; its visible paragraphs.
- `.pdf`, `.docx` (extra `docs`): the file; what was extracted from it.
- `.jsonl .ndjson .json .csv .tsv`, `.parquet` (extra `parquet`): a record; its text column.

A format is one function from a `File` to documents, and one line in `formats.READERS`.
"""

from clew.readers.formats import read
from clew.readers.graph_files import read_graph

__all__ = ["read", "read_graph"]
