"""Which entities of the graph a question names, and where."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.derived import Derived
from clew.models import Models
from clew.snapshot import Snapshot
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.phrases import Span, overlap

# A word with what may belong to a name: "9/11", "M*A*S*H", "Dr.", "(500)"; never a closing mark.
_WORD = re.compile(r"[^\s?¿,;:\"“”„«»。，；：？]+")
_MOST_WORDS = 15  # of a name
_LIKE = 0.75  # the least cosine of a name to that of an entity which it may mean
_NO_NAMES = ("DATE", "TERM")


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a question names."""

    entity: int  # row
    span: Span  # of the name, in the question
    sure: bool  # a lone word in a question without capitals may be no name
    cosine: float = 1.0  # of the name to the entity's, 1 where it is the same


def mark_connected(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Return (n_entities,): which entities have a triple."""
    return snapshot.get(_CONNECTED)


def _compute_connected(snapshot: Snapshot) -> NDArray[np.bool_]:
    columns = snapshot.layer("triple").columns
    found = np.zeros(len(snapshot.layer("entity")), dtype=bool)
    found[columns["subject"]] = True
    found[columns["object"]] = True
    return found


_CONNECTED = Derived("entities that have a triple", _compute_connected)


def find_starts(snapshot: Snapshot, models: Models, query: str) -> list[NamedEntity]:
    """Return the entities with triples that a query names, in the order of their names there.

    Where none is sure, the tagger's names are taken for the entity with the nearest name.
    """
    found = _find_named(snapshot, query)
    return (
        found
        if any(each.sure for each in found)
        else _find_similar(snapshot, models, query) or found
    )


def _find_similar(snapshot: Snapshot, models: Models, query: str) -> list[NamedEntity]:
    """Return the entities with triples whose names come near to those that the tagger finds."""
    [mentions] = models.tagger.tag([query])
    spans = [(m.start, m.end) for m in mentions if m.label not in _NO_NAMES]
    if not spans:
        return []
    vectors = models.embedder.embed([query[slice(*span)] for span in spans], kind="document")
    near = steps.near_rows(snapshot, "entity", vectors, 1, only=mark_connected(snapshot))
    found: dict[int, NamedEntity] = {}
    for span, rows in zip(spans, near, strict=True):
        if rows and rows[0][1] >= _LIKE:
            found.setdefault(
                rows[0][0], NamedEntity(rows[0][0], span, sure=True, cosine=rows[0][1])
            )
    return list(found.values())


def _find_named(snapshot: Snapshot, query: str) -> list[NamedEntity]:
    """Return the entities with triples whose very names stand in a query.

    A name is sure where it begins with a capital, a digit or a letter of a script without
    capitals, or has several words in a query without capitals; but a lone word at the query's start
    is none where it is a common one. Where some names are sure, no other is taken. Of names that
    overlap, the longest is.
    """
    words = [match.span() for match in _WORD.finditer(query)]
    spans = [
        (words[i][0], words[j][1])
        for i in range(len(words))
        for j in range(i, min(i + _MOST_WORDS, len(words)))
    ]
    any_capital = any(c.isupper() for c in query)
    named = {span: query[slice(*span)] for span in spans}
    first = words[0] if words else (0, 0)
    named = {
        span: name
        for span, name in named.items()
        if terms(name) or (name[0].isupper() and span != first)
    }
    keys = [name_key(name) for name in named.values()]
    rows = snapshot.layer("entity").rows(keys)
    in_graph = mark_connected(snapshot)
    found = [
        NamedEntity(
            row,
            span,
            _is_sure(
                name,
                any_capital=any_capital,
                is_common=span == first and _is_common(snapshot, name),
            ),
        )
        for (span, name), row in zip(named.items(), rows, strict=True)
        if row >= 0 and in_graph[row]
    ]
    kept: list[NamedEntity] = []
    for each in sorted(found, key=lambda s: (not s.sure, s.span[0] - s.span[1], s.span)):
        if not any(overlap(each.span, other.span) for other in kept):
            kept.append(each)
    sure = [each for each in kept if each.sure]
    return sorted(sure or kept, key=lambda each: each.span)


def _is_common(snapshot: Snapshot, name: str) -> bool:
    layer = snapshot.layer("term")
    [row] = layer.rows(terms(name)[:1] or [""])
    return row >= 0 and bool(layer.columns["common"][row])


def _is_sure(name: str, *, any_capital: bool, is_common: bool) -> bool:
    several = len(name.split()) > 1
    if is_common:
        return False
    return not name[0].islower() or (several and not any_capital)
