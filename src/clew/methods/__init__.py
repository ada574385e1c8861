"""Retrieval methods. A method is a module of this package: its name is the module's.

A variant is a method with other defaults under a name of its own, such as a paper's ablation.

A module may say by GROUP which of `GROUPS` it is of, "own" if it does not. Its variants are of the
same one, but for those that it names in BASELINES. Other packages register methods of theirs
(`clew.plugins`), which are then like any other.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from clew import plugins
from clew.errors import InputError, UnknownMethod
from clew.types import Limits

if TYPE_CHECKING:
    from clew.derived import CachedArrays
    from clew.models import Models
    from clew.types import Evidence, Snapshot

DEFAULT = "walk"  # what is taken where none is named
# Clew's methods, those of papers, what they compare with, those of other packages.
GROUPS = ("own", "paper", "baseline", "package")


class Method(Protocol):
    """A frozen dataclass of parameters that computes evidence from a snapshot."""

    layers: ClassVar[frozenset[str]]  # what the index must hold
    # A class may say besides which of its parameters bound what it returns: limits = Limits(...),
    # and which cached arrays it asks the snapshot for: needs = (ARRAYS, ...). One that goes far
    # from the question may say where it looks, for shards: seeks(query, snapshot, models).

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        """Return the chunks found, best first, and why. The same input gives the same output."""
        ...


def names() -> list[str]:
    """Return the names of all methods, their variants' among them."""
    return sorted({*list_modules(), *_read_variants(), *plugins.registered("methods")})


def list_modules() -> list[str]:
    """Return the names of the methods that are modules."""
    return sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))


def group_names() -> dict[str, list[str]]:
    """Return the names of all methods by group: modules in order, each before its variants."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in list_modules():
        module = _load_module(name)
        group, baselines = getattr(module, "GROUP", "own"), getattr(module, "BASELINES", ())
        groups[group].append(name)
        for variant in sorted(getattr(module, "VARIANTS", {})):
            groups["baseline" if variant in baselines else group].append(variant)
    ours = {name for found in groups.values() for name in found}
    groups["package"] = [name for name in plugins.registered("methods") if name not in ours]
    return groups


def load(name: str) -> type[Method]:
    """Return the class of a method or variant by its name."""
    if name in list_modules():
        method: type[Method] = _load_module(name).METHOD
        return method
    variants = _read_variants()
    if name in variants:
        return variants[name]
    brought: type[Method] | None = plugins.find("methods", name)
    if brought is not None:
        return brought
    raise UnknownMethod(f"there is no method {name!r}: take one of {', '.join(names())}")


def get_limits(kind: type[Method]) -> Limits:
    """Return which parameters of a method bound what it returns, none where it does not say."""
    found: Limits = getattr(kind, "limits", Limits())
    return found


def list_needed_arrays(*wanted: str) -> list[CachedArrays]:
    """Return the cached arrays that some methods ask for, all where none is named, each once.

    A method of another package that cannot be loaded has asked for none, unless it is named.
    """
    ignored = () if wanted else (InputError,)
    found: dict[str, CachedArrays] = {}
    for name in wanted or names():
        with suppress(*ignored):
            found |= {each.name: each for each in getattr(load(name), "needs", ())}
    return [found[name] for name in sorted(found)]


def _read_variants() -> dict[str, type[Method]]:
    """Return the methods that are others with other defaults: a module's VARIANTS."""
    return {
        name: kind
        for module in list_modules()
        for name, kind in getattr(_load_module(module), "VARIANTS", {}).items()
    }


def _load_module(name: str) -> Any:  # noqa: ANN401 -- METHOD, and what else a module declares
    return import_module(f"{__name__}.{name}")
