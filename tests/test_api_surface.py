"""What the package shows: names that exist, sentences that explain them, a quick start."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import clew

PACKAGE = Path(clew.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


_SATELLITES = {"AsyncClient", "Client"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.satellite) if name in _SATELLITES else name
        for name in clew.__all__
    ],
)
def test_every_public_name_is_there(name):
    """What `__all__` promises can be imported."""
    assert getattr(clew, name) is not None


def test_a_name_that_is_not_there():
    """A wrong name is an AttributeError like any module's."""
    with pytest.raises(AttributeError, match="module 'clew' has no attribute 'ask'"):
        clew.ask  # noqa: B018 -- looking it up is the test


def test_nothing_else_is_public():
    """All that can be looked up without an underscore is promised, or a module."""
    shown = {name for name in vars(clew) if not name.startswith("_")}
    modules = {name for name in shown if f"clew.{name}" in sys.modules}
    assert shown - modules - {"annotations", "TYPE_CHECKING"} <= set(clew.__all__)


def test_import_clew_loads_no_numpy():
    """The package costs nothing until it is used, and `clew.open` is there then."""
    script = (
        "import sys, clew; print('numpy' in sys.modules); clew.open; print('numpy' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["False", "True"]


def undocumented(path):
    """Yield the module, and its public functions and classes, where they have no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if tree.body and ast.get_docstring(tree) is None:
        yield "the module"
    for node in tree.body:
        kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
        if isinstance(node, kinds) and not node.name.startswith("_"):
            decorators = {getattr(d, "id", "") for d in node.decorator_list}
            if ast.get_docstring(node) is None and "overload" not in decorators:
                yield node.name


def test_what_is_public_is_explained():
    """Every module, public function and public class has a sentence."""
    found = {str(path.relative_to(PACKAGE)): list(undocumented(path)) for path in FILES}
    missing = {path: names for path, names in found.items() if names}
    assert not missing, f"each of these needs a docstring: {missing}"
