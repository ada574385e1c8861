"""Wrong arguments of public functions: an error of Clew's own, in a sentence, before any work."""

import inspect

import numpy as np
import pytest

import clew
from clew.api import Index
from clew.base.types import Document
from clew.errors import InputError
from clew.testing import models

TEXT = "Colin Archer built the Fram for Nansen."
FUNCTIONS = {
    "open": clew.open,
    "load_llm": clew.load_llm,
    "build_context": clew.build_context,
    "Specs": clew.Specs,
    "Budget": clew.Budget,
    "Chunking": clew.Chunking,
    "Settings": clew.Settings,
    **{
        name: each
        for name, each in inspect.getmembers(Index, inspect.isfunction)
        if not name.startswith("_")
        if name not in {"snapshot_for", "choose_method", "note_missing"}  # which the pipeline calls
        if not inspect.iscoroutinefunction(each)  # the function of its name without the a
    },
}
OPEN_ENDED = inspect.Parameter.VAR_KEYWORD
CASES = [
    pytest.param(
        function,
        parameter,
        id=f"{name}-{parameter.name}",
        marks=[pytest.mark.satellite] * (name == "export"),
    )
    for name, function in FUNCTIONS.items()
    for parameter in inspect.signature(function).parameters.values()
    if parameter.name != "self" and parameter.kind is not OPEN_ENDED
    if name not in {"load_llm", "Specs"} or parameter.name not in {"ledger", "prices", "budget"}
]
GOOD = {"source": Document(id="a", text=TEXT), "chunk_ids": ["a:0-39"], "path": "a.jsonl"}
GOOD |= {"name": "Fram", "into": "Nansen", "spec": "local", "folder": "a.clew", "start": "Fram"}
GOOD |= dict.fromkeys(("query", "question", "text"), "Who built the Fram?")


class Nothing:
    """What no argument may be."""

    def __repr__(self):
        return "<nothing>"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index that no call changes: a wrong argument is told before any work."""
    with clew.open(tmp_path_factory.mktemp("wrong") / "my.clew", models=models()) as opened:
        opened.add(Document(id="a", text=TEXT))
        yield opened


@pytest.fixture(scope="module")
def call(index):
    """Call a function with right values for what it must be given, but for one argument."""
    good = {**GOOD, "evidence": index.search("Who built the Fram?")}

    def called(function, name, value):
        parameters = inspect.signature(function).parameters
        given = {
            each.name: good[each.name]
            for each in parameters.values()
            if each.default is each.empty and each.name in good
        }
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            return function(index, value)
        return function(*([index] if "self" in parameters else []), **{**given, name: value})

    return called


@pytest.mark.parametrize(("function", "parameter"), CASES)
def test_every_argument_is_checked(call, function, parameter):
    with pytest.raises(InputError) as raised:
        call(function, parameter.name, Nothing())
    assert "nothing" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("function", "name", "value", "said"),
    [
        (Index.search, "query", 3, "'query' is a text, not 3"),
        (Index.search, "query", b"Fram", "'query' is a text, not b'Fram'"),
        (Index.ask, "question", None, "'question' is a text, not None"),
        (Index.ask, "context_tokens", -1, "whole number, at least 1, not -1"),
        (Index.ask, "context_tokens", "400", "at least 1, not '400'"),
        (Index.ask, "context_tokens", True, "at least 1, not True"),
        (Index.ask, "min_support", 1.5, "from 0 to 1, not 1.5"),
        (Index.ask, "min_support", float("nan"), "from 0 to 1, not nan"),
        (Index.ask, "method", 0, "'method' is a method's name, or has `layers`"),
        (Index.search, "where", 3, "a filter must be a text or built with clew.field, not 3"),
        (Index.search, "budget", 100, "'budget' is a clew.Budget, not 100"),
        (Index.add, "source", 3, "a path, a document, or a list of either"),
        (Index.add, "source", "", "not ''"),
        (Index.add, "source", b"docs", "not b'docs'"),
        (Index.add, "source", {"a": 1}, "not {'a': 1}"),
        (Index.add, "methods", "walk", "'methods' is a list of texts in valid Unicode, not 'walk'"),
        (Index.add, "prune", "yes", "'prune' is true or false, not 'yes'"),
        (Index.remove, "ids", 3, "a text or a list of texts, in valid Unicode, not 3"),
        (Index.documents, "patterns", 3, "'patterns' is a text in valid Unicode, not 3"),
        (Index.answer, "evidence", "Fram", "the Evidence that a search gave, not 'Fram'"),
        (clew.open, "folder", 3, "'folder' is a path, not 3"),
        (clew.open, "folder", "", "'folder' is a path, not ''"),
        (clew.open, "folder", "a\0b", "is a path, not"),
        (clew.open, "specs", "minilm", "'specs' is a clew.Specs, not 'minilm'"),
        (clew.Specs, "embedder", 3, "'embedder' is a text in valid Unicode, not 3"),
        (clew.Budget, "usd", "1", "'usd' is a number, at least 0, not '1'"),
        (clew.Budget, "tokens", 1.5, "'tokens' is a whole number, at least 0, not 1.5"),
        (clew.Chunking, "size", 1.5, "'size' is a whole number, not 1.5"),
    ],
)
def test_the_sentence_says_what_may_stand_there(call, function, name, value, said):
    with pytest.raises(InputError) as raised:
        call(function, name, value)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"units": "half"}, "'units' is a number, from 0 to 1, not 'half'"),
        ({"entity_words": 1.5}, "'entity_words' is a whole number"),
        ({"relations": "llm"}, "there is no argument 'relations': take one of exclude, limit"),
    ],
)
def test_what_is_to_be_extracted_is_checked_too(index, wish, said):
    with pytest.raises(InputError) as raised:
        index.add(Document(id="b", text=TEXT), **wish)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "document",
    [
        Document(id=3, text=TEXT),
        Document(id="", text=TEXT),
        Document(id="b", text=None),
        Document(id="b", text=TEXT, title=3),
        Document(id="b", text=TEXT, metadata=3),
    ],
)
def test_a_document_is_made_of_texts(index, document):
    with pytest.raises(
        InputError, match="a document must have an id and a text|title of 'b' must be"
    ):
        index.add(document)
    assert index.documents() == ["a"]


def test_names_are_those_of_python_and_numbers_those_of_numpy(index):
    with pytest.raises(
        TypeError, match=r"documents\(\) got an unexpected keyword argument 'filter'"
    ):
        index.documents(filter="x")
    with pytest.raises(TypeError, match=r"search\(\) missing 1 required positional"):
        index.search()
    answer = index.ask("Who built the Fram?", context_tokens=np.int64(100), min_support=0)
    assert answer.context.budget_tokens == 100
