"""Find the entities of the graph that a question names."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.linking import is_common
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.phrases import Span, overlap

# A word with what may belong to a name: "9/11", "M*A*S*H", "Dr.", "(500)"; never a closing mark.
_WORD = re.compile(r"[^\s?¿,;:\"“”„«»。，；：？]+")
_MAX_NAME_WORDS = 15  # of a name
_LIKE = 0.75  # the least cosine of a name to that of an entity which it may mean
_NOT_NAMES = ("DATE", "TERM")


class NamedEntity(NamedTuple):
    """An entity named in a question."""

    entity: int  # row
    span: Span  # of the name, in the question
    sure: bool  # a lone word in a question without capitals may be no name
    cosine: float = 1.0  # of the name to the entity's, 1 where it is the same


def mark_connected(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Return (n_entities,): whether each entity has a triple."""
    return snapshot.get(_CONNECTED)


def _compute_connected(snapshot: Snapshot) -> NDArray[np.bool_]:
    columns = snapshot.layer("triple").columns
    is_connected = np.zeros(len(snapshot.layer("entity")), dtype=bool)
    is_connected[columns["subject"]] = True
    is_connected[columns["object"]] = True
    return is_connected


_CONNECTED = Derived("entities that have a triple", _compute_connected)


def find_starts(snapshot: Snapshot, models: Models, query: str) -> list[NamedEntity]:
    """Return the entities with triples that a query names, in the order of their names.

    Where none is sure, the tagger's names are taken for the entity with the nearest name.
    """
    starts = _find_named(snapshot, query)
    if any(each.sure for each in starts):
        return starts
    return _find_similar(snapshot, models, query) or starts


def _find_similar(snapshot: Snapshot, models: Models, query: str) -> list[NamedEntity]:
    """Return the entities with triples whose names are similar to the tagger's mentions."""
    [mentions] = models.tagger.tag([query])
    spans = [(m.start, m.end) for m in mentions if m.label not in _NOT_NAMES]
    if not spans:
        return []
    vectors = models.embedder.embed([query[slice(*span)] for span in spans], kind="document")
    near = steps.near_rows(snapshot, "entity", vectors, 1, only=mark_connected(snapshot))
    starts: dict[int, NamedEntity] = {}
    for span, rows in zip(spans, near, strict=True):
        for row, cosine in rows:
            if cosine >= _LIKE:
                starts.setdefault(row, NamedEntity(row, span, sure=True, cosine=cosine))
    return list(starts.values())


def _find_named(snapshot: Snapshot, query: str) -> list[NamedEntity]:
    """Return the entities with triples whose exact names occur in a query.

    A name is certain if it begins with a capital, a digit or a letter of a caseless script, or has
    several words in a query without capitals, but not if it is a common word at the query's start.
    Uncertain names are used only if there are no certain ones; of overlapping names the longest is
    used.
    """
    words = [match.span() for match in _WORD.finditer(query)]
    first = words[0] if words else (0, 0)
    spans = [(a, b) for i, (a, _) in enumerate(words) for _, b in words[i : i + _MAX_NAME_WORDS]]
    names = {
        span: name
        for span in spans
        if terms(name := query[slice(*span)]) or (name[0].isupper() and span != first)
    }
    rows = snapshot.layer("entity").rows([name_key(name) for name in names.values()])
    in_graph = mark_connected(snapshot)
    any_capital = any(c.isupper() for c in query)

    def is_sure(span: Span, name: str) -> bool:
        if span == first and is_common(snapshot, (terms(name) or [""])[0]):
            return False
        return not name[0].islower() or (not any_capital and len(name.split()) > 1)

    entities = [
        NamedEntity(row, span, is_sure(span, name))
        for (span, name), row in zip(names.items(), rows, strict=True)
        if row >= 0 and in_graph[row]
    ]
    starts: list[NamedEntity] = []
    for each in sorted(entities, key=lambda s: (not s.sure, s.span[0] - s.span[1], s.span)):
        if not any(overlap(each.span, other.span) for other in starts):
            starts.append(each)
    sure = [each for each in starts if each.sure]
    return sorted(sure or starts, key=lambda each: each.span)
