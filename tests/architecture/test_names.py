"""What a class is called, one can look for."""

import ast
from collections import Counter
from pathlib import Path

import clew

PACKAGE = Path(clew.__file__).parent


def test_no_two_classes_have_one_name():
    """A name without an underscore is that of one class of the package."""
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len(names) > 100
    assert [name for name, n in names.items() if n > 1] == []
