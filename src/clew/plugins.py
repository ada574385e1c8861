"""Find the methods, readers and models of other packages by their entry points.

- `clew.methods`: the name is the method's, the value its class, as `clew.methods.Method`.
- `clew.readers`: the name is a suffix, such as `.xyz`, the value reads a `File`, as `clew.readers`.
- `clew.embedders`, `clew.taggers`, `clew.llms`: the name is the KIND of a spec KIND:NAME, the value
  makes the model from NAME.
- `clew.rerankers`: the same, from NAME and the embedder.

What Clew has itself under a name comes first. Nothing is imported before it is asked for by name.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint


@cache
def find_registered(kind: str) -> Mapping[str, EntryPoint]:
    """Return what the installed packages register as methods, readers, ..., by name."""
    from importlib.metadata import entry_points  # which loads the parser of mail

    points = entry_points(group=f"clew.{kind}")
    return MappingProxyType({each.name: each for each in sorted(points, key=lambda e: e.name)})


def find(kind: str, name: str) -> Any:  # noqa: ANN401 -- what a package brings
    """Return the entry registered under a name, or None.

    Raises InputError where it cannot be imported.
    """
    entry = find_registered(kind).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist is not None else entry.value
        raise InputError(
            f"{name!r} of the package {package} cannot be loaded ({error}): update or remove it"
        ) from error
