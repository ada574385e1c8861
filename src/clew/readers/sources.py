"""Interpret what is passed to `add`: paths or documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

from clew.base.types import Document, Skipped
from clew.errors import InputError
from clew.readers.inputs import locate_input

Source = str | Path | Document | Iterable[str | Path] | Iterable[Document]

_MOST_REASONS = 10  # that an error names


def items_of(
    source: Source, read: Callable[[list[str | Path]], Iterable[Document | Skipped]]
) -> Iterable[Document | Skipped]:
    """Yield the items of `source`; documents are consumed lazily."""
    several = [source] if isinstance(source, str | Path | Document) else source
    items: Iterator[object] = iter(several)
    first = list(islice(items, 1))
    given = chain(first, items)
    if first and isinstance(first[0], Document):
        return map(_check_document, given)
    paths = [i if isinstance(i, str | Path) else _refuse(i) for i in given]
    return read(paths)


def paths_of(source: Source) -> list[Path]:
    """Return the paths passed to `add`, without documents, pages and standard input."""
    several = [source] if isinstance(source, str | Path | Document) else source
    if not isinstance(several, list | tuple):
        return []
    places = [locate_input(each) for each in several if isinstance(each, str | Path)]
    return [each for each in places if isinstance(each, Path)]


def describe_source(source: object) -> str:
    """Return a description of what was passed to `add`, for messages."""
    if isinstance(source, list | tuple):
        return ", ".join(map(describe_source, source)) or "an empty list"
    return repr(str(source)) if isinstance(source, str | Path) else "what was given"


def no_file(names: str, left_out: Mapping[str, int]) -> InputError:
    """Return the error for input without files to index, given how many were left out."""
    why = " but what is excluded or in a .gitignore file; see --no-gitignore" if left_out else ""
    return InputError(f"there is no file to index in {names}{why}")


def find_document(
    items: Iterator[Document | Skipped], source: Source, left_out: Callable[[], Mapping[str, int]]
) -> list[Document | Skipped]:
    """Consume items up to the first document. Raises InputError if there is none."""
    taken: list[Document | Skipped] = []
    for item in items:
        taken.append(item)
        if isinstance(item, Document):
            return taken
    if not taken:
        raise no_file(describe_source(source), left_out())
    raise nothing_read([each for each in taken if isinstance(each, Skipped)])


def nothing_read(skipped: Sequence[Skipped]) -> InputError:
    """Return the error for completely skipped input, with the first reasons."""
    shown = "; ".join(map(str, skipped[:_MOST_REASONS]))
    more = f"; and {n:,} more" if (n := len(skipped) - _MOST_REASONS) > 0 else ""
    return InputError(f"nothing could be read: {shown}{more}")


def _check_document(item: object) -> Document:
    if not isinstance(item, Document):
        _refuse(item)
    if not (isinstance(item.id, str) and item.id and isinstance(item.text, str)):
        raise InputError(f"a document must have an id and a text, both strings, not {item!r:.80}")
    if not (isinstance(item.title, str) and isinstance(item.metadata, Mapping)):
        raise InputError(f"the title of {item.id!r:.60} must be a string, its metadata a mapping")
    return item


def _refuse(item: object) -> NoReturn:
    raise InputError(f"add needs paths or documents (clew.Document), not both and not {item!r:.80}")
