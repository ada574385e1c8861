"""Retrieval methods. A method is a module of this package: its name is the module's."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Protocol

from clew.errors import UnknownMethod

if TYPE_CHECKING:
    from clew.models import Models
    from clew.types import Evidence, Snapshot


class Method(Protocol):
    """A frozen dataclass of parameters that computes evidence from a snapshot."""

    layers: ClassVar[frozenset[str]]  # what the index must hold

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        """Return the chunks found, best first, and why. The same input gives the same output."""
        ...


def names() -> list[str]:
    """Return the names of all methods."""
    return sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> type[Method]:
    """Return a method's class by its name."""
    if name not in names():
        raise UnknownMethod(f"there is no method {name!r}: take one of {', '.join(names())}")
    method: type[Method] = import_module(f"{__name__}.{name}").METHOD
    return method
