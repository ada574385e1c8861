"""One question to several indexes, whose hits are put in one order.

A hit's relevance means the same for all methods and indexes, which a score does not: so hits of
several indexes are merged by it. Those of one index keep their order, in which a passage may stand
that leads to the next one and answers nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from clew import methods
from clew.errors import InputError
from clew.server.errors import Refusal, not_found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.server.endpoints import Seat
    from clew.server.scoped import ScopedIndex
    from clew.types import Evidence, Hit

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class MergedHit:
    """A hit, and the index in which it is one."""

    index: str
    hit: Hit


def with_documents(seat: Seat, names: Sequence[str]) -> list[ScopedIndex]:
    """Return those of some indexes that hold a document which the caller sees, in order."""
    found = []
    for name in names:
        scoped = seat.opened(name)
        try:
            if scoped.sizes()[1]:
                found.append(scoped)
        except Refusal as error:  # a key that sees none of its documents
            if error.status != _NOT_FOUND:
                raise
    return found


def search(seat: Seat, query: str, *, most: int, index: str = "") -> list[MergedHit]:
    """Return the hits of an index, or of all that the caller sees, the most relevant first.

    Equal ones stand by the names of their indexes. Raises a refusal, 404, where there is no
    document to search in.
    """
    chosen = with_documents(seat, [index] if index else seat.names())
    if not chosen:
        raise not_found("there is no document here that you may search")
    found = [
        (-relevance, place, rank, MergedHit(each.name, hit))
        for place, each in enumerate(chosen)
        for rank, (relevance, hit) in enumerate(_ahead(each.search(query, **at_least(most, None))))
    ]
    found.sort(key=lambda row: row[:3])
    return [each for _, _, _, each in found[:most]]


def _ahead(evidence: Evidence) -> list[tuple[float, Hit]]:
    """Return each hit with the highest relevance from it on, by which their order stays."""
    best = accumulate(reversed(relevances(evidence)), max)
    return list(zip(reversed(list(best)), evidence.hits, strict=True))


def relevances(evidence: Evidence) -> list[float]:
    """Return how relevant each hit is, 0 to 1.

    Where that is not known, it is the score as a share of the best one, which says no more than
    the order does.
    """
    best = max((hit.score for hit in evidence.hits), default=0.0)
    return [
        (max(0.0, hit.score / best) if best > 0 else 0.0)
        if hit.relevance is None
        else hit.relevance
        for hit in evidence.hits
    ]


def split_method(name: str) -> tuple[str, str | None]:
    """Return the index and the method of INDEX or INDEX@METHOD, as other programs name them.

    >>> split_method("polar@bm25")
    ('polar', 'bm25')
    >>> split_method("polar")
    ('polar', None)
    """
    index, _, method = name.partition("@")
    return index, method or None


def at_least(most: int, method: str | None) -> dict[str, Any]:
    """Return the parameters by which a method finds `most` chunks where it finds fewer else."""
    kind = methods.load(method or methods.DEFAULT)
    name = methods.limits(kind).chunks
    defaults = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]
    usual = defaults.get(name)
    return {name: most} if isinstance(usual, int) and 0 < usual < most else {}


def one_index(seat: Seat, name: str = "") -> str:
    """Return an index by name, or the only one that the caller sees where none is named.

    Raises InputError where several may be meant.
    """
    if name:
        return name
    names = seat.names()
    if len(names) == 1:
        return names[0]
    raise InputError(f"say which index is meant: there are {', '.join(names) or 'none'!s:.400}")
