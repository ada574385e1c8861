"""What is loaded or compiled when it is asked for."""

import re
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

import clew
from clew.base.runtime.lazy import LazyPattern, compile_re


def lazy_patterns():
    """Return the patterns of all modules that are loaded, by module and name."""
    for each in ("text", "answers", "models", "steps"):
        package = import_module(f"clew.{each}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.count(".") == 2 and not module.ispkg:
                import_module(module.name)
    return [
        (module, name, value)
        for module, held in sorted(sys.modules.items())
        if module.startswith(f"{clew.__name__}.")
        for name, value in vars(held).items()
        if isinstance(value, LazyPattern)
    ]


def test_every_pattern_compiles():
    """A mistake in one would be seen where it is first used."""
    found = lazy_patterns()
    assert len(found) > 100
    for _, _, pattern in found:
        assert isinstance(pattern.compiled, re.Pattern)


def test_a_pattern_is_compiled_when_it_is_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *args: compiled.append(args))
    pattern = compile_re(r"a+", re.IGNORECASE)
    assert pattern.pattern == "a+"
    assert not compiled
    monkeypatch.undo()
    assert pattern.findall("xAaxa") == pattern.findall("xAaxa") == ["Aa", "a"]
    assert pattern.flags & re.IGNORECASE
    with pytest.raises(AttributeError):
        pattern.nothing  # noqa: B018 -- raises
