"""Names of a package that are imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from clew.runtime.renamed import find_renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy(
    package: str, names: Mapping[str, Sequence[str]], *, renamed: Mapping[str, str] | None = None
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose modules have these names.

    A name is written NAME, or NAME=OTHER where the module calls it OTHER. One that was `renamed`
    gives what it is called now, with a DeprecationWarning.
    """
    places = {}
    for module, written in names.items():
        for each in written:
            name, _, other = each.partition("=")
            places[name] = (f"{package}.{module}", other or name)

    def find(name: str) -> object:
        if name in places:
            module, own = places[name]
            return getattr(import_module(module), own)
        return find_renamed(package, renamed or {}, name)

    return find
