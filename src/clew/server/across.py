"""One question to several indexes, whose hits are put in one order.

A hit's relevance means the same for all methods and indexes, which a score does not: so hits of
several indexes are merged by it. Those of one index keep their order, in which a passage may stand
that leads to the next one and answers nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any

from clew import methods
from clew.asking.answer import locate_citation
from clew.asking.method import CONTEXT_TOKENS
from clew.asking.pipeline import Listeners, answer_from, limit_models
from clew.asking.question import Question
from clew.errors import InputError
from clew.models.waiting import asking
from clew.server.errors import Refusal, not_found
from clew.types import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.server.endpoints import Seat
    from clew.server.scoped import ScopedIndex
    from clew.types import Answer, Citation, Hit

_NOT_FOUND = 404


_NOBODY = Listeners()


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

    Equal ones stand in the order of their indexes. Raises a refusal, 404, where there is no
    document to search in.
    """
    chosen = _searched(seat, [index] if index else seat.names())
    question = Question(text=query, parameters=at_least(most, None))
    found = [each.search(question) for each in chosen]
    return _merged(chosen, found)[:most]


def _searched(seat: Seat, names: Sequence[str]) -> list[ScopedIndex]:
    chosen = with_documents(seat, names)
    if not chosen:
        raise not_found("there is no document here that you may search")
    return chosen


def _merged(chosen: Sequence[ScopedIndex], found: Sequence[Evidence]) -> list[MergedHit]:
    """Return the hits that were found in each index, the most relevant first."""
    rows = [
        (-relevance, place, rank, MergedHit(each.name, hit))
        for place, (each, evidence) in enumerate(zip(chosen, found, strict=True))
        for rank, (relevance, hit) in enumerate(_ahead(evidence))
    ]
    rows.sort(key=lambda row: row[:3])
    return [each for _, _, _, each in rows]


@asking()
def ask(
    seat: Seat,
    question: Question,
    listeners: Listeners = _NOBODY,
) -> Answer:
    """Answer a question from all indexes that the caller sees, as `Index.ask` does from one.

    What they find is put in one order, and as many hits as one of them gives are an answer's
    context. Documents are called INDEX/DOCUMENT in it. The LLM is that of the index in which the
    most relevant one stands, which keeps its reply. An index whose documents lack what a filter
    asks for is left out, unless all do: then InputError is raised. Otherwise raises as `search`.
    """
    context_tokens = question.context_tokens or CONTEXT_TOKENS
    question = replace(question, context_tokens=context_tokens)
    chosen, found, refused = [], [], None
    for each in _searched(seat, seat.names()):
        try:
            found.append(each.search(question))
            chosen.append(each)
        except InputError as error:
            refused = refused or error
    if refused is not None and not chosen:
        raise refused
    hits = _merged(chosen, found)[: max(len(each.hits) for each in found)]
    first = hits[0].index if hits else chosen[0].name
    by_name = {each.name: (each, evidence) for each, evidence in zip(chosen, found, strict=True)}
    lead, evidence = by_name[first]
    evidence = Evidence(
        query=evidence.query,
        method=evidence.method,
        where=evidence.where,
        hits=tuple(map(_called, hits)),
        notes=tuple(dict.fromkeys(note for each in found for note in each.notes)),
        prompt=evidence.prompt,
        support=max((s for each in found if (s := each.support) is not None), default=None),
        usage=reduce(add, (each.usage for each in found)),
    )
    if listeners.on_evidence is not None:
        listeners.on_evidence(evidence)
    models = limit_models(lead.asked.models, lead.budget)
    answer = answer_from(evidence, None, models, question, listeners)
    citations = tuple(_placed(by_name, each) for each in answer.citations)
    usage = evidence.usage + answer.usage
    return replace(answer, question=question.text, citations=citations, usage=usage)


def _called(merged: MergedHit) -> Hit:
    """Return a hit whose document and chunk are called by their index, too."""
    hit, index = merged.hit, merged.index
    return replace(
        hit, document_id=f"{index}/{hit.document_id}", chunk_id=f"{index}/{hit.chunk_id}"
    )


def _placed(by_name: Mapping[str, tuple[ScopedIndex, Evidence]], citation: Citation) -> Citation:
    index, document = in_index("", citation.document_id)
    found = by_name[index][0].text_of(document)
    return citation if found is None else locate_citation(found, citation)


def in_index(index: str, document: str) -> tuple[str, str]:
    """Return the index and the document that are meant: without an index, of INDEX/DOCUMENT.

    >>> in_index("polar", "log/day 1.md")
    ('polar', 'log/day 1.md')
    >>> in_index("", "polar/log/day 1.md")
    ('polar', 'log/day 1.md')
    """
    if index:
        return index, document
    index, _, document = document.partition("/")
    return index, document


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
    name = methods.get_limits(kind).chunks
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
