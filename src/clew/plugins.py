"""Find entry points registered by other packages and by Clew's own extras.

docs/public.md has the groups, and what is registered in each; `clew.extras` is registered like any
other package. What Clew's core has itself under a name comes first. Nothing is imported before it
is asked for by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from clew.errors import InputError

_METADATA = (".dist-info", ".egg-info")
_OURS = "clew."


class Registered(NamedTuple):
    """An entry point of a package."""

    name: str
    value: str  # MODULE or MODULE:ATTRIBUTE
    package: str

    def load(self) -> Any:  # noqa: ANN401 -- what a package brings
        """Import and return the object. Raises InputError."""
        module, _, attribute = self.value.partition(":")
        try:
            found = import_module(module)
            return attrgetter(attribute)(found) if attribute else found
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"{self.name!r} of the package {self.package} cannot be loaded ({error}): install"
                f" that package again, or remove it"
            ) from error


def find_registered(kind: str) -> Mapping[str, Registered]:
    """Return the entry points of a kind (methods, readers, ...), by name."""
    return read_registered().get(f"{_OURS}{kind}", {})


def find(kind: str, name: str) -> Any:  # noqa: ANN401 -- what a package brings
    """Return the entry registered under a name, or None.

    Raises InputError where it cannot be imported.
    """
    entry = find_registered(kind).get(name)
    return None if entry is None else entry.load()


def load(kind: str, name: str, purpose: str) -> Any:  # noqa: ANN401 -- what a package brings
    """Return the entry registered under a name; `purpose` is for the error message.

    Raises InputError where there is none, or it cannot be imported.
    """
    found = find(kind, name)
    if found is None:
        raise InputError(
            f"{purpose} needs a package that registers {name!r} in {_OURS}{kind}, and none is"
            f" installed: install clew again, with all its files"
        )
    return found


def find_usable(kind: str, name: str) -> Any:  # noqa: ANN401 -- what a package brings
    """Return the entry registered under a name, or None if it is missing or not importable."""
    with suppress(InputError):
        return find(kind, name)
    return None


def load_all(kind: str) -> list[Any]:
    """Return the importable entries of a kind, sorted by name."""
    found = (find_usable(kind, name) for name in find_registered(kind))
    return [each for each in found if each is not None]


@cache
def read_registered() -> Mapping[str, Mapping[str, Registered]]:
    """Return Clew's entry points of all installed packages, by group and name.

    The metadata is read here since importlib.metadata takes 45 ms, which `clew --help` would wait
    for. Of a package that is installed twice the first on the path counts.
    """
    groups: dict[str, dict[str, Registered]] = {}
    packages: dict[str, str] = {}  # the folder of the metadata of each
    for place in sys.path:
        with suppress(OSError), os.scandir(place or ".") as entries:
            for each in entries:
                if each.name.endswith(_METADATA):
                    packages.setdefault(each.name.partition("-")[0], each.path)
    for package, folder in sorted(packages.items()):
        for group, name, value in _read_entry_points(Path(folder, "entry_points.txt")):
            groups.setdefault(group, {}).setdefault(
                name, Registered(name, value, package.replace("_", "-"))
            )
    return {group: dict(sorted(found.items())) for group, found in groups.items()}


def _read_entry_points(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and value of each of a package's entry points for Clew."""
    group = ""
    try:
        content = file.read_bytes()
    except OSError:  # most packages have none
        return
    if _OURS.encode() not in content:
        return
    for line in content.decode(errors="replace").splitlines():
        head, _, value = line.partition("=")
        if line.startswith("["):
            group = line.strip("[] ")
        elif value and group.startswith(_OURS) and not line.startswith(("#", ";")):
            yield group, head.strip(), value.partition("[")[0].strip()  # without its extras
