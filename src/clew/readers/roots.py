"""Assign ids to files: the name of a root, and the path below it.

A root is a folder or file that was once named to be read. An index remembers the names of its
roots with their places, so one file has one id however it is named later, and two files never have
the same: a second folder `docs` is called by its parent too, as in `other/docs`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from clew.errors import InputError


class Roots:
    """The names of root folders and files, and their paths."""

    def __init__(self, places: Mapping[str, Path] | None = None) -> None:
        self.places: dict[str, Path] = dict(places or {})

    def add(self, path: Path, name: str = "") -> None:
        """Add a path as a root, unless it is below one.

        It gets its own name, with those of its parents where another root has it, or the `name`
        that is given; a root of that name has moved then. Raises InputError where that would give
        a file two ids, and where a root of its own name is gone, so that it may have been moved.
        """
        place = path.resolve()
        if name:
            self._name(place, name)
        elif self._root_of(place) is None:
            self.places[self._free_name(place)] = place

    def id_of(self, path: Path) -> str:
        """Return the id of a file that is a root or below one."""
        place = Path(os.path.abspath(path))  # noqa: PTH100 -- links stay what they are called
        name = self._root_of(place)
        if name is None:
            place = path.resolve()
            name = self._root_of(place)
        if name is None:
            return show_name(path.name)
        below = place.parts[len(self.places[name].parts) :]
        return "/".join([name, *map(show_name, below)])

    def _root_of(self, place: Path) -> str | None:
        """Return the name of the innermost root at or above a path."""
        names = [name for name, root in self.places.items() if place.is_relative_to(root)]
        return max(names, key=lambda name: (len(self.places[name].parts), name), default=None)

    def _name(self, place: Path, name: str) -> None:
        inside = self._root_of(place)
        if inside not in (None, name) and self.places.get(name) != place:
            raise InputError(
                f"{place} is already in this index as {inside!r}, so it cannot also be {name!r}"
            )
        self.places[name] = place

    def _free_name(self, place: Path) -> str:
        names = list(map(show_name, reversed(place.parts)))
        for n in range(1, len(names) + 1):
            name = "/".join(reversed(names[:n])).strip("/")
            other = self.places.get(name)
            if other is None:
                return name
            if not other.exists():
                raise InputError(
                    f"{name!r} in this index is {other}, which is gone, and {place} has that name: "
                    f"say --as {name} if it was moved there, or another name if it is another one"
                )
        raise InputError(f"{place} has no unused name: give one with --as")


def show_name(name: str) -> str:
    """Return a file name as encodable text."""
    return os.fsencode(name).decode("utf-8", "replace")
