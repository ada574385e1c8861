"""Every method of `clew.methods` keeps the contract for methods; a new module is tested at once."""

import pytest

from clew import methods
from clew.testing import MethodContract


class TestMethods(MethodContract):
    @pytest.fixture(params=methods.names())
    def method(self, request):
        return methods.load(request.param)()
