"""Ask several indexes at once, and merge their hits by relevance.

A hit's relevance means the same for all methods and indexes, which a score does not: so hits of
several indexes are merged by it. Those of one index keep their order, in which a passage may stand
that leads to the next one and answers nothing itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

from clew import methods
from clew.answers.answer import locate_citation
from clew.answers.method import CONTEXT_TOKENS
from clew.answers.pipeline import NO_LISTENERS, Listeners, answer_from
from clew.answers.question import Question
from clew.base.types import Answer, Citation, Evidence, Hit
from clew.errors import InputError
from clew.extras.server.endpoints import Access
from clew.extras.server.scoped_questions import Scoped
from clew.extras.wire.refusals import Refusal, no_such_resource
from clew.models.run import start_question_run


@dataclass(frozen=True, slots=True)
class MergedHit:
    """A hit and its index."""

    index: str
    hit: Hit


def find_indexes_with_documents(seat: Access, names: Sequence[str]) -> list[Scoped]:
    """Return the names of the indexes with at least one document for the caller."""
    indexes = []
    for name in names:
        scoped = seat.open_any(name)
        try:
            if scoped.count_documents()[1]:
                indexes.append(scoped)
        except Refusal as error:  # a key that sees none of its documents
            if error.status != 404:
                raise
    return indexes


def search_indexes(seat: Access, query: str, *, most: int, index: str = "") -> list[MergedHit]:
    """Search one index, or all the caller can see; return hits by relevance.

    Equal ones stand in the order of their indexes. Raises a refusal, 404, where there is no
    document to search in.
    """
    indexes = _choose_indexes(seat, [index] if index else seat.list_names())
    question = Question(text=query, parameters=_build_parameters(most))
    of_each = [each.search(question) for each in indexes]
    return _merge_hits(indexes, of_each)[:most]


def _choose_indexes(seat: Access, names: Sequence[str]) -> list[Scoped]:
    indexes = find_indexes_with_documents(seat, names)
    if not indexes:
        raise no_such_resource("there is no document that you may search")
    return indexes


def _merge_hits(indexes: Sequence[Scoped], of_each: Sequence[Evidence]) -> list[MergedHit]:
    """Merge the hits of several indexes, the most relevant first."""
    rows = [
        (-relevance, place, rank, MergedHit(each.name, hit))
        for place, (each, evidence) in enumerate(zip(indexes, of_each, strict=True))
        for rank, (relevance, hit) in enumerate(_highest_ahead(evidence))
    ]
    rows.sort(key=lambda row: row[:3])
    return [each for _, _, _, each in rows]


def ask_indexes(seat: Access, question: Question, listeners: Listeners = NO_LISTENERS) -> Answer:
    """Answer a question from all indexes visible to the caller, as `Index.ask`.

    What they find is put in one order, and as many hits as one of them gives are an answer's
    context: with an LLM all that fit, those that would be quoted first. Documents are called
    INDEX/DOCUMENT in it. The LLM is that of the index in which the most relevant one stands, which
    keeps its reply. An index whose documents lack what a filter asks for is left out, unless all
    do: then InputError is raised. Otherwise raises as `search`.
    """
    context_tokens = question.context_tokens or CONTEXT_TOKENS
    question = replace(question, context_tokens=context_tokens)
    run = start_question_run()
    indexes, retrieved, refused = [], [], None
    for each in _choose_indexes(seat, seat.list_names()):
        try:
            retrieved.append(each.retrieve(question, run))
            indexes.append(each)
        except InputError as error:
            refused = refused or error
    if refused is not None and not indexes:
        raise refused
    of_each = [each.evidence for each in retrieved]
    usual = max((n for each in retrieved if (n := each.n_quotable) is not None), default=None)
    most = max(len(each.hits) for each in of_each) if usual is None else None
    hits = _merge_hits(indexes, of_each)[:most]
    first = hits[0].index if hits else indexes[0].name
    by_name = {each.name: (each, evidence) for each, evidence in zip(indexes, of_each, strict=True)}
    lead, evidence = by_name[first]
    evidence = Evidence(
        query=evidence.query,
        method=evidence.method,
        where=evidence.where,
        hits=tuple(map(_name_by_index, hits)),
        notes=tuple(dict.fromkeys(note for each in of_each for note in each.notes)),
        partial=any(each.partial for each in of_each),
        missing=tuple(name for each in of_each for name in each.missing),
        prompt=evidence.prompt,
        support=max((s for each in of_each if (s := each.support) is not None), default=None),
        usage=reduce(add, (each.usage for each in of_each)),
    )
    if listeners.on_evidence is not None:
        listeners.on_evidence(evidence)
    bounded = replace(question, budget=lead.budget)
    answer = answer_from(
        evidence, None, lead.askable.models, bounded, listeners, whole=run, n_quotable=usual
    )
    citations = tuple(_place_citation(by_name, each) for each in answer.citations)
    usage = evidence.usage + answer.usage
    return replace(answer, question=question.text, citations=citations, usage=usage)


def _name_by_index(merged: MergedHit) -> Hit:
    """Return a hit with ids prefixed by its index."""
    hit, index = merged.hit, merged.index
    return replace(
        hit, document_id=f"{index}/{hit.document_id}", chunk_id=f"{index}/{hit.chunk_id}"
    )


def _place_citation(by_name: Mapping[str, tuple[Scoped, Evidence]], citation: Citation) -> Citation:
    index, document = split_document("", citation.document_id)
    source = by_name[index][0].find_document(document)
    return citation if source is None else locate_citation(source, citation)


def split_document(index: str, document: str) -> tuple[str, str]:
    """Split INDEX/DOCUMENT, unless the index is given.

    >>> split_document("polar", "log/day 1.md")
    ('polar', 'log/day 1.md')
    >>> split_document("", "polar/log/day 1.md")
    ('polar', 'log/day 1.md')
    """
    if index:
        return index, document
    index, _, document = document.partition("/")
    return index, document


def _highest_ahead(evidence: Evidence) -> list[tuple[float, Hit]]:
    """Pair each hit with the highest relevance from it on, which makes them descending."""
    best = accumulate(reversed(_compute_relevances(evidence)), max)
    return list(zip(reversed(list(best)), evidence.hits, strict=True))


def _compute_relevances(evidence: Evidence) -> list[float]:
    """Return the relevance of each hit, from 0 to 1.

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
    """Split the name of a served model, INDEX or INDEX@METHOD, into index and method.

    >>> split_method("polar@bm25")
    ('polar', 'bm25')
    >>> split_method("polar")
    ('polar', None)
    """
    index, _, method = name.partition("@")
    return index, method or None


def _build_parameters(most: int) -> dict[str, Any]:
    """Return the parameters by which the default method returns `most` chunks."""
    kind = methods.load(methods.DEFAULT)
    name = methods.get_limits(kind).chunks
    defaults = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]
    usual = defaults.get(name)
    return {name: most} if isinstance(usual, int) and 0 < usual < most else {}
