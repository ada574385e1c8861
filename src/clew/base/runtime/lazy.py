"""Import or compile on first use."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from clew.errors import MissingExtra


def lazy(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return a module `__getattr__` that imports names from a package's modules on access.

    A name is written NAME, or NAME=OTHER where the module calls it OTHER.
    """
    places = {}
    for module, written in names.items():
        for each in written:
            name, _, other = each.partition("=")
            places[name] = (f"{package}.{module}", other or name)

    values: dict[str, object] = {}  # each is looked up once

    def find(name: str) -> object:
        if name not in values:
            if name not in places:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            module, own = places[name]
            values[name] = getattr(import_module(module), own)
        return values[name]

    return find


@contextmanager
def needs(package: str, extra: str, purpose: str) -> Iterator[None]:
    """Turn a failed import in the block into MissingExtra."""
    try:
        yield
    except ImportError:
        raise MissingExtra(package, extra, purpose) from None


def check_installed(package: str, extra: str, purpose: str) -> None:
    """Raise MissingExtra if a package is not installed, without importing it."""
    if find_spec(package) is None:
        raise MissingExtra(package, extra, purpose)


class LazyPattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Return the compiled pattern."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> object:
        value = getattr(self.compiled, name)
        setattr(self, name, value)  # it is looked up once
        return value


def compile_re(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a lazily compiled pattern.

    To compile all of them takes longer than to load NumPy, and a command uses few.
    """
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
