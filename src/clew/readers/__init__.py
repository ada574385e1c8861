"""Read files as documents.

    read(paths)  ->  Document | Skipped, one after the other, in a fixed order

A path is a file or a folder, a file:// address, `-` for standard input, or a web address.
docs/guides/documents.md has the formats, and what the text of each is.

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

    graphs = plugins.load("graphs", "files", "'read_graph'")
    statements: Iterator[Any] = graphs.read_graph_file(path, *filter(None, [limits]))
    return statements


__getattr__ = _lazy("clew.readers", {"formats": ("read",), "walk": ("Columns",)})
