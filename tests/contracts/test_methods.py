"""Every method of `clew.methods` keeps the contract for methods; a new module is tested at once."""

import json
import shutil
from contextlib import closing, contextmanager
from dataclasses import fields
from inspect import signature
from itertools import count

import pytest

from clew import methods
from clew.api import Index, open_index
from clew.generation import open_snapshot
from clew.index import Settings
from clew.store.embedded import EmbeddedStore
from clew.testing import MethodContract, models, small_documents


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """Return what gives the folder of indexed documents, which are indexed once for all methods."""
    kept = {}

    def folder_of(documents, triples):
        key = (*(document.id for document in documents), triples)
        if key not in kept:
            kept[key] = tmp_path_factory.mktemp("indexed") / "index"
            settings = Settings(unit_bits=8, token_bits=8)
            with open_index(kept[key], models=models(), settings=settings) as index:
                index.add(documents, triples=triples)
        return kept[key]

    return folder_of


class TestMethods(MethodContract):
    @pytest.fixture(params=methods.names())
    def method(self, request):
        return methods.load(request.param)()

    @pytest.fixture(autouse=True)
    def _folders(self, indexed, tmp_path):
        self.indexed = indexed
        self.copies = (tmp_path / str(number) for number in count())

    @contextmanager
    def _index(self, method, documents):
        """Open a copy, so that no method finds what an earlier one has cached."""
        triples = "cooccurrence" if "triple" in method.layers else None
        copy = shutil.copytree(self.indexed(documents, triples), next(self.copies))
        with EmbeddedStore.open(copy) as store:
            snapshot = open_snapshot(store)
        with closing(snapshot):
            yield snapshot

    def test_a_question_of_nothing_is_no_accident(self, method):
        """It finds something or nothing, the same again, and all of it is JSON."""
        with self._index(method, small_documents()) as snapshot:
            for question in ("", " ", "of the", "?!", "\n\n", "$question"):
                first, second = (method.retrieve(question, snapshot, models()) for _ in range(2))
                assert first == second
                json.dumps(first.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", methods.names())
def test_parameters_can_be_given_beside_those_of_a_search(name):
    """No parameter of a method has the name of an argument of `Index.ask` or `Index.search`."""
    taken = {*signature(Index.ask).parameters, *signature(Index.search).parameters}
    assert taken.isdisjoint(field.name for field in fields(methods.load(name)))
