"""Turn the subjects of a graph into documents of a line per triple, and split these."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.base.types import ENTITY_TYPES, Described, Document
from clew.text import tokens
from clew.text.chunking import Window

COLUMNS = ("subject", "relation", "object", "description", "strength", "validity")
OTHER = ENTITY_TYPES[0]  # the type of an entity of which none is known
_STOPS = (".", "!", "?")


class Subject(NamedTuple):
    """The triples and the description of an entity, as a document."""

    document: Document
    key: int  # of the entity, a place in the graph's `keys`
    described: Described | None
    rows: range  # its triples; each is a line of the text, behind that of the description
    content: str  # changes whenever the rows would


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectGraph:
    """Distinct triples as number columns, sorted by subject key, then in file order.

    "subject" and "object" count into `names`, and "relation", "description" and "validity" into the
    sequences of these.
    """

    names: Sequence[str]  # as written
    keys: Sequence[str]  # of entities
    key_of: NDArray[np.int32]  # (n_names,) the entity of each name
    relations: Sequence[str]
    relation_keys: NDArray[np.uint64]  # (n_relations,)
    descriptions: Sequence[str]
    times: Sequence[str]  # as `Validity` writes them
    columns: Mapping[str, NDArray[np.int32]]  # each (n,)
    owners: Sequence[int]  # the entities that have a document, in the order of their keys
    begins: NDArray[np.intp]  # where the triples of each begin, and at last n
    described: Mapping[int, Described]  # by entity

    def __len__(self) -> int:
        return len(self.columns["subject"])

    def ids(self, file_id: str) -> list[str]:
        """Return the id of each subject's document, in the order of their keys."""
        return [f"{file_id}#{self.keys[key]}" for key in self.owners]

    def subjects(self, file_id: str, source: str) -> Iterator[Subject]:
        """Yield a document for each subject or described entity, by id."""
        pairs = zip(self.owners, self.ids(file_id), strict=True)
        for place, (key, document_id) in enumerate(pairs):
            rows = range(int(self.begins[place]), int(self.begins[place + 1]))
            described = self.described.get(key)
            triples = self._triples(rows)
            title = triples[0][0] if described is None else described.name
            lines = [*_describe(described, alone=not triples), *(_line(*each) for each in triples)]
            about = described and [described.type, described.description]
            times = filter(any, [[time for *_, time in triples]])
            fields = [title, about, [each[:5] for each in triples], *times]
            yield Subject(
                document=Document(
                    id=document_id,
                    title=title,
                    text="\n".join(lines),
                    source=f"{source}#{self.keys[key]}",
                ),
                key=key,
                described=described,
                rows=rows,
                content=hashlib.sha256(json.dumps(fields).encode()).hexdigest(),
            )

    def _triples(self, rows: range) -> list[tuple[str, str, str, str, int, str]]:
        """Return subject, relation, object, description, strength and time of each row."""
        some = slice(rows.start, rows.stop)
        columns = (self.columns[name][some].tolist() for name in COLUMNS)
        return [
            (
                *(self.names[s], self.relations[r], self.names[o], self.descriptions[about]),
                *(strength, self.times[time]),
            )
            for s, r, o, about, strength, time in zip(*columns, strict=True)
        ]


def _describe(described: Described | None, *, alone: bool) -> Iterator[str]:
    """Yield the line that describes an entity; without other lines, its type or name."""
    if described and described.description:
        yield f"{described.name}: {described.description}"
    elif described and alone:
        yield described.name if described.type == OTHER else f"{described.name}: {described.type}"


def _line(subject: str, relation: str, target: str, description: str, _: int, time: str) -> str:
    """Return a triple with its description as a line ("Fram built by Colin Archer.")."""
    statement = f"{subject} {relation} {target}" + f" ({time})" * bool(time)
    statement = statement if statement.endswith(_STOPS) else f"{statement}."
    return f"{statement} {description}" if description else statement


def line_windows(lines: Sequence[str], size: int) -> tuple[list[Window], list[int]]:
    """Return windows of whole lines of at most `size` tokens, and each line's window.

    They are of the lines joined by line breaks, and have no sentences. Only a window of one line
    may have more tokens.
    """
    begins = _window_starts(lines, size) if tokens.count("\n".join(lines)) > size else [0]
    windows: list[Window] = []
    of_line: list[int] = []
    start = 0
    for begin, end in pairwise([*begins, len(lines)]):
        text = "\n".join(lines[begin:end])
        of_line += [len(windows)] * (end - begin)
        windows.append(Window(start, start + len(text), tokens.count(text), ()))
        start += len(text) + 1
    return windows, of_line


def _window_starts(lines: Sequence[str], size: int) -> list[int]:
    """Return the first line of each window. A line break ends a token, so that counts add up."""
    begins, used = [0], 0
    for place, line in enumerate(lines):
        n = tokens.count(f"{line}\n")
        if used and used + n > size:
            begins.append(place)
            used = 0
        used += n
    return begins
