"""`/dify/retrieval`: an index as external knowledge of Dify.

A record's score is the relevance of its hit, which is a probability, so a threshold means the same
for all methods and indexes. The passages stand in the order in which they were found.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.answers.question import Question
from clew.base.display.shown import plain
from clew.base.types import Hit
from clew.errors import InputError
from clew.extras.server.across import build_parameters, compute_relevances, split_method
from clew.extras.server.addresses import build_document_address, find_base
from clew.extras.server.bodies import Asking, Loose
from clew.extras.server.endpoints import Call, make_handler, respond
from clew.extras.server.scoped_questions import Scoped
from clew.extras.wire.refusals import Refusal
from clew.filters import Filter, field

# What Dify's documentation calls the errors that it knows; others have their HTTP status.
_NO_FORM, _NO_KEY, _NO_KNOWLEDGE = 1001, 1002, 2001
_MOST = 100  # records

_Values = str | int | float | bool | list[str | int | float | bool] | None


class RetrievalSetting(Loose):
    """How many records are wanted, and how relevant ones."""

    top_k: int = Field(default=4, ge=1)
    score_threshold: float | None = Field(default=None, ge=0, le=1)


class Condition(Loose):
    """One field beside a value; of several fields it holds for one."""

    name: str | list[str]
    comparison_operator: str
    value: _Values = None


class MetadataCondition(Loose):
    """Conditions that all hold, or one of them."""

    logical_operator: str | None = "and"
    conditions: list[Condition] | None = None


class RetrievalBody(Loose):
    """What Dify sends."""

    knowledge_id: str = Field(min_length=1, max_length=200)
    query: Asking
    retrieval_setting: RetrievalSetting = Field(default_factory=RetrievalSetting)
    metadata_condition: MetadataCondition | None = None


async def retrieve(call: Call) -> Response:
    """Return the passages of an index that are relevant to a query."""
    body = await call.read_body(RetrievalBody)
    index, method = split_method(body.knowledge_id)
    wanted = make_filter(body.metadata_condition)
    base = find_base(call.request, call.server.settings)
    records = await call.run(_make_records, call.open_any(index), method, body, wanted, base)
    return respond({"records": records})


def _make_records(
    index: Scoped, method: str | None, body: RetrievalBody, wanted: Filter | None, base: str
) -> list[dict[str, Any]]:
    if wanted is not None and not index.has_match(wanted):
        return []
    most = min(body.retrieval_setting.top_k, _MOST)
    where, parameters = None if wanted is None else str(wanted), build_parameters(most, method)
    evidence = index.search(
        Question(text=body.query, method=method, where=where, parameters=parameters)
    )
    least = body.retrieval_setting.score_threshold or 0.0
    records = [
        _make_record(index.name, hit, score, base)
        for hit, score in zip(evidence.hits, compute_relevances(evidence), strict=True)
        if score >= least
    ]
    return records[:most]


def _make_record(index: str, hit: Hit, score: float, base: str) -> dict[str, Any]:
    about = {
        "document_id": hit.document_id,
        "chunk_id": hit.chunk_id,
        "start": hit.start,
        "end": hit.end,
        "url": build_document_address(base, index, hit.document_id, hit.start, hit.end),
    }
    if hit.section:
        about["section"] = hit.section
    if hit.page is not None:
        about["page"] = hit.page
    return {
        "content": hit.text,
        "score": score,
        "title": hit.title or hit.document_id,
        "metadata": {**plain(hit.metadata), **about},
    }


# -- conditions as filters ------------------------------------------------------------------------


def make_filter(given: MetadataCondition | None) -> Filter | None:
    """Return the filter of some conditions, or None for none.

    Raises InputError for an operator that is not known, and for a value that it cannot take.

    >>> condition = {"name": "tags", "comparison_operator": "contains", "value": "ice"}
    >>> str(make_filter(MetadataCondition(conditions=[condition])))
    "tags has 'ice'"
    """
    if given is None or not given.conditions:
        return None
    joined = {"and": and_, "or": or_}.get((given.logical_operator or "and").casefold())
    if joined is None:
        raise InputError(f"conditions are joined by and, or or, not {given.logical_operator!r:.40}")
    return reduce(joined, map(_make_condition, given.conditions))


def _make_condition(condition: Condition) -> Filter:
    names = [condition.name] if isinstance(condition.name, str) else condition.name
    operator = " ".join(condition.comparison_operator.casefold().split())
    compared = _OPERATORS.get(operator)
    if compared is None:
        raise InputError(
            f"there is no comparison operator {condition.comparison_operator!r:.40}: choose one of"
            f" {', '.join(_OPERATORS)}"
        )
    if not names:
        raise InputError("a condition names the field that it is about")
    parts = [compared(field(name), condition.value) for name in names]
    return reduce(and_ if operator in _NEGATIVE else or_, parts)


def _read_value(value: _Values) -> Any:  # noqa: ANN401 -- as fields are compared
    if value is None or isinstance(value, list):
        raise InputError(f"a condition compares with one value, not with {value!r:.80}")
    return value


def _read_values(value: _Values) -> Sequence[Any]:
    """Return the values of a list, or of a text with commas."""
    if isinstance(value, str):
        return [each.strip() for each in value.split(",")]
    return value if isinstance(value, list) else [_read_value(value)]


def _make_pattern(value: _Values) -> str:
    return re.sub(r"([*?\[])", r"[\1]", str(_read_value(value)))


def _is_empty(of: field) -> Filter:
    return (of == None) | (of == "")  # noqa: E711 -- what a filter is made of


_OPERATORS: Mapping[str, Callable[[field, _Values], Filter]] = {
    "contains": lambda of, value: of.has(_read_value(value)),
    "not contains": lambda of, value: ~of.has(_read_value(value)),
    "start with": lambda of, value: of.like(f"{_make_pattern(value)}*"),
    "end with": lambda of, value: of.like(f"*{_make_pattern(value)}"),
    "is": lambda of, value: of == _read_value(value),
    "is not": lambda of, value: of != _read_value(value),
    "in": lambda of, value: of.one_of(_read_values(value)),
    "not in": lambda of, value: ~of.one_of(_read_values(value)),
    "empty": lambda of, _: _is_empty(of),
    "not empty": lambda of, _: ~_is_empty(of),
    "null": lambda of, _: of == None,  # noqa: E711
    "not null": lambda of, _: of != None,  # noqa: E711
    "=": lambda of, value: of == _read_value(value),
    "≠": lambda of, value: of != _read_value(value),
    ">": lambda of, value: of > _read_value(value),
    "<": lambda of, value: of < _read_value(value),
    "≥": lambda of, value: of >= _read_value(value),
    "≤": lambda of, value: of <= _read_value(value),
    "before": lambda of, value: of < _read_value(value),
    "after": lambda of, value: of > _read_value(value),
}
_NEGATIVE = frozenset({"not contains", "is not", "not in", "≠", "empty", "null"})


# -- errors ---------------------------------------------------------------------------------------


def respond_to_refusal(refusal: Refusal, request: Request) -> Response:
    """Return a response with an error in Dify's form."""
    status = code = refusal.status
    if refusal.status == 401:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        has_form = scheme.casefold() == "bearer" and key.strip()
        status, code = 403, _NO_KEY if has_form else _NO_FORM
    elif refusal.code == "not_found":
        status, code = 404, _NO_KNOWLEDGE
    return respond({"error_code": code, "error_msg": str(refusal)}, status, refusal.headers)


ROUTES = tuple(
    Route(path, make_handler(retrieve, respond_to_refusal), methods=["POST"])
    for path in ("/dify/retrieval", "/retrieval")
)
