"""Retrieval methods: each module of this package is a method of the same name.

A variant is a method with other defaults under a name of its own, such as a paper's ablation.

A module may say by GROUP which of `GROUPS` it is of, "own" if it does not. Its variants are of the
same one, but for those that it names in BASELINES. Other packages register methods of theirs
(`clew.plugins`), which are then like any other; so does `clew.extras.baselines`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import getmodule
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from clew import plugins
from clew.errors import UnknownMethod, suggest

if TYPE_CHECKING:
    from clew.base.derived import CachedArrays
    from clew.base.types import Evidence, Limits
    from clew.index.snapshot import Snapshot
    from clew.models import Models

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
    """Return the names of all loadable methods, including variants."""
    return sorted(name for group in group_names().values() for name in group)


@cache
def list_modules() -> tuple[str, ...]:
    """Return the names of the methods that are modules here."""
    return tuple(sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_")))


def group_names() -> dict[str, list[str]]:
    """Return the names of all methods by group: modules in order, each before its variants."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    registered = _load_registered()
    for name in sorted({*list_modules(), *registered}):
        if name in registered:
            own = getattr(getmodule(registered[name]), "GROUP", None)
            groups["baseline" if own == "baseline" else "package"].append(name)
            continue
        module = _load_module(name)
        group, baselines = getattr(module, "GROUP", "own"), getattr(module, "BASELINES", ())
        groups[group].append(name)
        for variant in sorted(_variants(name)):
            groups["baseline" if variant in baselines else group].append(variant)
    return groups


def load(name: str) -> type[Method]:
    """Return the class of a method or variant by its name."""
    if name in list_modules():
        method: type[Method] = _load_module(name).METHOD
        return method
    for module in list_modules():
        if name in _variants(module):
            return _variants(module)[name]
    brought: type[Method] | None = plugins.find("methods", name)
    if brought is None:
        brought = _load_registered().get(name)  # a variant
    if brought is not None:
        return brought
    known = names()
    near = suggest(name, known)
    raise UnknownMethod(f"there is no method {name!r}{near}: choose one of {', '.join(known)}")


def is_preset(name: str) -> bool:
    """Check whether a method is a variant with the values of a paper."""
    return name in group_names()["paper"] and name not in list_modules()


def get_limits(kind: type[Method]) -> Limits:
    """Return the parameters of a method that limit the number of results, if declared."""
    from clew.base.types import Limits

    limits: Limits = getattr(kind, "limits", Limits())
    return limits


def list_needed_arrays(*names: str) -> list[CachedArrays]:
    """Return the cached arrays that the given methods need; unknown methods need none.

    Raises InputError for one of another package that cannot be loaded.
    """
    arrays: dict[str, CachedArrays] = {}
    for name in names:
        with suppress(UnknownMethod):
            arrays |= {each.name: each for each in _needs(load(name))}
    return [arrays[name] for name in sorted(arrays)]


def find_arrays(wanted: Collection[str]) -> list[CachedArrays]:
    """Return cached arrays by name, without those that no method declares.

    Methods are loaded until all are found, the default one first; methods of other packages that
    cannot be loaded are skipped.
    """
    arrays: dict[str, CachedArrays] = {}
    kinds = _iterate_classes()
    while arrays.keys() < set(wanted) and (kind := next(kinds, None)) is not None:
        arrays |= {each.name: each for each in _needs(kind) if each.name in wanted}
    return [arrays[name] for name in sorted(arrays)]


def _needs(kind: type[Method]) -> Sequence[CachedArrays]:
    needed: Sequence[CachedArrays] = getattr(kind, "needs", ())
    return needed


def _iterate_classes() -> Iterator[type[Method]]:
    """Yield the class of every method that can be loaded, the default first."""
    for name in dict.fromkeys((DEFAULT, *list_modules())):
        yield load(name)
        yield from _variants(name).values()
    yield from _load_registered().values()


def _load_registered() -> dict[str, type[Method]]:
    """Return the registered methods that can be loaded, and their modules' variants.

    Methods with a name of this package's are left out.
    """
    ours = {*list_modules(), *(name for module in list_modules() for name in _variants(module))}
    others = [name for name in plugins.find_registered("methods") if name not in ours]
    found = {name: plugins.find_usable("methods", name) for name in others}
    usable = {name: kind for name, kind in found.items() if kind is not None}
    for kind in list(usable.values()):
        usable |= getattr(getmodule(kind), "VARIANTS", {})
    return usable


def _variants(module: str) -> Mapping[str, type[Method]]:
    variants: Mapping[str, type[Method]] = getattr(_load_module(module), "VARIANTS", {})
    return variants


def _load_module(name: str) -> Any:  # noqa: ANN401 -- METHOD, and what else a module declares
    return import_module(f"{__name__}.{name}")
