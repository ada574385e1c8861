"""What JSON has of a value becomes the value again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.base import reports, types
from clew.base.display.shown import Shown, plain
from clew.base.types import Answer, Document, Evidence, Hit
from clew.client import from_plain
from clew.extras.connect import export
from clew.extras.server import files
from clew.extras.wire import about, answers, graphs, indexes, jobs
from clew.extras.wire.indexes import Listed
from clew.index import extract, graph

MODULES = (export, extract, files, graph, reports, types)
KINDS = [
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Shown) and kind.__module__ == module.__name__
]
VIEWS = [
    kind
    for module in (about, answers, graphs, indexes, jobs)
    for kind in vars(module).values()
    if is_dataclass(kind) and kind.__module__ == module.__name__ and kind is not Listed
]
SHORT = st.text(max_size=5)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | SHORT
ANY = st.recursive(SCALAR, lambda of: st.lists(of, max_size=2) | st.dictionaries(SHORT, of))


@lru_cache
def values(hint):  # noqa: PLR0911 -- one return for each shape of type
    """Return a strategy for a type as it stands in a field."""
    origin, of = get_origin(hint), get_args(hint)
    if hint is types.Value:
        return SCALAR | st.lists(SCALAR, max_size=2).map(tuple)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{each.name: values(hints[each.name]) for each in fields(hint)})
    if origin is Listed:
        several = st.lists(values(of[0]), max_size=2).map(tuple)
        return st.builds(Listed, items=several, total=st.integers())
    if origin is tuple and of[-1] is ...:
        return st.lists(values(of[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, of))
    if origin is list:
        return st.lists(values(of[0]), max_size=2)
    if origin in {dict, Mapping}:
        return st.dictionaries(SHORT, values(of[1]), max_size=2)
    if of:
        return st.one_of(*map(values, of))
    known = {str: SHORT, float: st.floats(allow_nan=False), int: st.integers()}
    known |= {Any: ANY}
    return known[hint] if hint in known else st.from_type(hint)


@pytest.mark.parametrize("kind", [*KINDS, *VIEWS], ids=lambda kind: kind.__name__)
@settings(max_examples=10)
@given(data=st.data())
def test_a_value_comes_back(kind, data):
    value = data.draw(values(kind))
    found = from_plain(kind, json.loads(json.dumps(plain(value))))
    assert found == value
    assert type(found) is kind


def test_public_results_are_tried_and_versions_may_differ():
    names = {kind.__name__ for kind in KINDS}
    assert {"Answer", "Evidence", "Hit", "Document", "Usage", "Plan", "ExtractionReport"} <= names
    assert len(KINDS) > 30
    value = {"id": "a", "text": "b", "colour": "red"}
    assert from_plain(Document, value) == Document(id="a", text="b")
    with pytest.raises(ValueError, match="value: Expected `complex`"):
        from_plain(_Odd, {"value": 1})
    assert from_plain(Answer | None, None) is None


FOUND = {"query": "q", "method": "m"}
HIT = {"chunk_id": "c", "score": 1, "document_id": "d", "title": "", "source": "", "start": 0}


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Hit, HIT, "Hit: Object missing required field `end`"),
        (Hit, {**HIT, "end": 0, "text": 5}, "Hit.text: Expected `str`, got `int`"),
        (Hit, {**HIT, "end": True}, "Hit.end: Expected `int`, got `bool`"),
        (Hit, [], "Hit: Expected `object`, got `array`"),
        (Evidence, {**FOUND, "hits": [7]}, "Evidence.hits[0]: Expected `object`, got `int`"),
        (Evidence, {**FOUND, "hits": {}}, "Evidence.hits: Expected `array`, got `object`"),
        (tuple[str, float], ["a"], "Expected `array` of length 2, got 1"),
        (int | str, 0.5, "Expected `int | str`, got `float`"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(kind, value, said):
    with pytest.raises(ValueError, match=r".") as raised:
        from_plain(kind, value)
    assert said in str(raised.value)


@dataclass(frozen=True)
class _Odd:
    value: complex
