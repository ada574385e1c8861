"""Find the documents that a question asks to compare, or the one that it asks to sum up."""

import re
from functools import partial, reduce
from itertools import chain
from typing import NamedTuple

import numpy as np

from clew.base.runtime.lazy import compile_re
from clew.base.types import Document
from clew.index.snapshot import Snapshot
from clew.steps.linking import name_spans, named_entities
from clew.steps.mentions import titled_chunks
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.numbered import has_item_number
from clew.text.questions import asks_to_compare, find_summed_up

_MOST = 6  # documents that stand side by side
_MOST_CHUNKS = 1_000  # whose documents are looked at for a code in their titles
_SPLIT = compile_re(r"\s+(?:of|in|from|von|aus|de)\s+(?:the\s+)?(?=\S+(?:\s+\S+){0,7}$)")
_NUMBERED = compile_re(
    r"^(?:(?:chapter|section|part|appendix|kapitel|abschnitt) \w+[.:]?|\d[\d.]*)\s+", re.IGNORECASE
)
_KIND = compile_re(
    r"[\"'”’»“`]* (?:document|file|article|page|section|chapter|manual)$", re.IGNORECASE
)
_SUFFIX = compile_re(r"\.[A-Za-z]\w{0,4}$")
_NUMBER = compile_re(r"\d+(?:\.\d+)*")
_AROUND = "\"'“”‘’«»()[],.;:?!"  # a word


def is_about_documents(snapshot: Snapshot, query: str) -> bool:
    """Check whether a question asks to compare documents, or to sum one up."""
    return bool(find_part(snapshot, query) or find_compared(snapshot, query))


def find_compared(snapshot: Snapshot, query: str) -> list[int]:
    """Return the rows of the documents that a question asks to compare, in its order.

    There are none where it asks for something else, or names fewer than two.
    """
    if not asks_to_compare(query) or not len(snapshot.layer("chunk")):
        return []
    words = [word.strip(_AROUND) for word in query.split()]
    named = [
        (place, row) for place, row in enumerate(snapshot.document_layer.rows(words)) if row >= 0
    ]
    firsts = {key: place for (place, _), key in reversed(name_spans(query).items())}
    owners = snapshot.layer("chunk").columns["document"]
    for entity in named_entities(snapshot, query):
        titled = np.unique(owners[titled_chunks(snapshot, entity.row)]).tolist()
        titles = [name_key(each.title) for each in snapshot.documents(titled)]
        same = [row for row, title in zip(titled, titles, strict=True) if title == entity.mention]
        named += [(firsts[entity.mention], row) for row in (same or titled)[:1]]
    named += [(i, row) for i, word in enumerate(words) for row in _find_by_code(snapshot, word)]
    rows = list(dict.fromkeys(row for _, row in sorted(named)))
    return rows[:_MOST] if len(rows) > 1 else []


def _find_by_code(snapshot: Snapshot, word: str) -> list[int]:
    """Return the row of the only document that has a code, such as "PX-7", in its title."""
    if not (any(map(str.isdigit, word)) and any(map(str.isalpha, word))):
        return []
    found = terms(word)
    row = snapshot.layer("term").rows(found)[0] if len(found) == 1 else -1
    if row < 0:
        return []
    chunks = snapshot.linked("term", "chunk").entries_of(np.array([row])).indices[:_MOST_CHUNKS]
    owners = np.unique(snapshot.layer("chunk").columns["document"][chunks]).tolist()
    titles = [set(terms(each.title)) for each in snapshot.documents(owners)]
    rows = [owner for owner, title in zip(owners, titles, strict=True) if found[0] in title]
    return rows if len(rows) == 1 else []


class DocumentPart(NamedTuple):
    """A document, or the range of one of its sections, by its row."""

    row: int
    name: str
    start: int
    end: int


def find_part(snapshot: Snapshot, query: str) -> DocumentPart | None:
    """Return the document or section that a question asks to sum up.

    None where it asks for something else, or names none, or several sections.
    """
    name = find_summed_up(query)
    if not name or not len(snapshot.layer("chunk")):
        return None
    for each in (name, _KIND.sub("", name)):
        if part := _find_document(snapshot, each):
            return part
    splits = [(name[: m.start()], name[m.end() :]) for m in _SPLIT.finditer(name)]
    named = ((section, _find_document(snapshot, document)) for section, document in splits)
    within = [(section, [document.row]) for section, document in named if document]
    for section, rows in chain([(_KIND.sub("", name), _find_owners(snapshot, name))], within):
        parts = [part for row in rows for part in _find_sections(snapshot, row, section)]
        if len(parts) == 1:
            return parts[0]
    return None


def _find_document(snapshot: Snapshot, name: str) -> DocumentPart | None:
    """Return the first document with an id, file name or title, None if there is none."""
    rows = [row for row in snapshot.document_layer.rows([name]) if row >= 0]
    for row in rows or _find_owners(snapshot, name):
        document = snapshot.documents([row])[0]
        file = document.id.rpartition("/")[2]
        if rows or file == name or any(map(partial(_is_called, name), [document.title, file])):
            return DocumentPart(row, document.title or document.id, 0, len(document.text))
    return None


def _find_owners(snapshot: Snapshot, name: str) -> list[int]:
    """Return the documents with a passage that has, with its title, all known words of a name."""
    rows = [row for row in snapshot.layer("term").rows(terms(_spell(name))) if row >= 0]
    if not rows:
        return []
    link = snapshot.linked("term", "chunk")
    found = (link.entries_of(np.array([row])).indices for row in rows)
    chunks = reduce(np.intersect1d, found)[:_MOST_CHUNKS]
    owners: list[int] = np.unique(snapshot.layer("chunk").columns["document"][chunks]).tolist()
    return owners


def _find_sections(snapshot: Snapshot, row: int, name: str) -> list[DocumentPart]:
    """Return the sections of a document that are called by a name or number."""
    [document] = snapshot.documents([row])
    return [
        DocumentPart(row, heading.title, heading.start, _end_section(document, i))
        for i, heading in enumerate(document.headings)
        if _is_called(name, heading.title)
    ]


def _is_called(name: str, title: str) -> bool:
    if _NUMBER.fullmatch(name):
        return has_item_number(title, name)
    found = terms(_spell(_NUMBERED.sub("", title)))
    return bool(found) and found == terms(_spell(_NUMBERED.sub("", name)))


def _spell(name: str) -> str:
    """Return the words of a name that may be that of a file."""
    return _SUFFIX.sub("", name).replace("-", " ").replace("_", " ")


def _end_section(document: Document, i: int) -> int:
    later, level = document.headings[i + 1 :], document.headings[i].level
    return next((h.start for h in later if h.level <= level), len(document.text))
