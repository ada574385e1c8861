"""Deprecated names of a public module, which work for one more minor version."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def keep_old_names(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module that gives new names for old ones, with a warning."""

    def find(name: str) -> object:
        return find_renamed(module, names, name)

    return find


def find_renamed(module: str, names: Mapping[str, str], name: str) -> object:
    """Return what an old name of a module is called now, for its `__getattr__`.

    Raises AttributeError for a name that `names` lacks.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(
        f"{module}.{name} is called {names[name]} now; the old name goes with the next"
        f" minor version",
        DeprecationWarning,
        stacklevel=3,  # of who looks the name up
    )
    return getattr(sys.modules[module], names[name])
