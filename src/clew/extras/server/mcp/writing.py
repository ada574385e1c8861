"""The tools by which an agent writes, where the server allows it: documents, notes, and edits.

All that they write are documents given as texts. A document that was read from a file is the file's
to change, so it is neither replaced nor edited.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from clew.base.types import Document
from clew.errors import InputError
from clew.extras.server.mcp.tools import IndexName, Place, make_tool
from clew.extras.wire.refusals import no_such_resource
from clew.text.dates import parse_period

_LONGEST = 1_000_000  # characters of a document
_TITLE = 80  # characters of a note's beginning

_Id = Annotated[
    str,
    Field(
        description="The document's id, such as notes/minutes.md.",
        min_length=1,
        max_length=1_000,
        pattern=r"^[^\x00-\x1f\x7f]+$",
    ),
]
_Text = Annotated[str, Field(min_length=1, max_length=_LONGEST)]


def add(
    place: Place,
    id: _Id,  # noqa: A002 -- as a model knows it from search
    text: Annotated[_Text, Field(description="The whole text, plain or Markdown.")],
    title: Annotated[str, Field(max_length=1_000)] = "",
    metadata: Annotated[
        dict[str, str | int | float | bool | None],
        Field(description="Fields to filter by, such as date."),
    ] = {},  # noqa: B006 -- pydantic copies it
    index: IndexName = "",
) -> dict[str, Any]:
    """Add a document, or replace the one that was added with this id before."""
    index, name = place.split_id(id, index)
    document = Document(id=name, text=text, title=title, metadata=metadata)
    return _put(place, index, name, lambda _: document)


def remember(
    place: Place,
    text: Annotated[_Text, Field(description="What to remember, as full sentences.")],
    source: Annotated[
        str, Field(description="Who said it, or where it stands.", max_length=1_000)
    ] = "",
    date: Annotated[
        str, Field(description="When it was so, as 2026-03-05; else today.", max_length=40)
    ] = "",
    index: IndexName = "",
) -> dict[str, Any]:
    """Keep a note with its source and date, so that later questions find it.

    The same text is one note, however often it is remembered.
    """
    if date and parse_period(date) is None:
        raise InputError(f"date must be a date such as 2026-03-05, not {date!r:.40}")
    first = text.strip().partition("\n")[0]
    about = {
        "date": date or datetime.now(UTC).date().isoformat(),
        "author": place.seat.caller.name,
        **({"from": source} if source else {}),
    }
    name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    note = Document(id=f"notes/{name}", text=text, title=first[:_TITLE], metadata=about)
    return _put(place, index, note.id, lambda _: note)


def edit(
    place: Place,
    id: _Id,  # noqa: A002 -- as a model knows it from search
    old: Annotated[_Text, Field(description="What stands there: it must occur exactly once.")],
    new: Annotated[str, Field(description="What shall stand there.", max_length=_LONGEST)],
    index: IndexName = "",
) -> dict[str, Any]:
    """Replace a passage of a document that was added or remembered."""
    index, name = place.split_id(id, index)
    return _put(place, index, name, partial(_replace_passage, name, old, new))


def _replace_passage(name: str, old: str, new: str, known: Document | None) -> Document:
    if known is None:
        raise no_such_resource(f"there is no document {name!r:.200} here")
    count = known.text.count(old)
    if count != 1:
        raise InputError(f"the text to replace occurs {count} times in {name!r:.200}, not once")
    text = known.text.replace(old, new)
    return Document(id=name, text=text, title=known.title, metadata=known.metadata)


def _put(
    place: Place, index: str, name: str, make: Callable[[Document | None], Document]
) -> dict[str, Any]:
    scoped = place.find_index(index)
    added = scoped.put(name, make, place.seat.server.indexes.find_uploads(scoped.name))
    return {
        "id": f"{scoped.name}/{name}",
        "url": place.url(scoped.name, name, None, None),
        "documents": added.n_documents,
        "tokens": added.usage.total_tokens,
    }


TOOLS = tuple(make_tool(each, writes=True) for each in (add, remember, edit))
