"""Every method of `clew.methods` keeps the contract for methods; a new module is tested at once."""

from dataclasses import fields
from inspect import signature

import pytest

from clew import methods
from clew.api import Index
from clew.testing import MethodContract


class TestMethods(MethodContract):
    @pytest.fixture(params=methods.names())
    def method(self, request):
        return methods.load(request.param)()


@pytest.mark.parametrize("name", methods.names())
def test_parameters_can_be_given_beside_those_of_a_search(name):
    """No parameter of a method has the name of an argument of `Index.ask` or `Index.search`."""
    taken = {*signature(Index.ask).parameters, *signature(Index.search).parameters}
    assert taken.isdisjoint(field.name for field in fields(methods.load(name)))
