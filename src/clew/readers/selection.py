"""Select files in folders; a file named explicitly is always read.

Left out are hidden files and folders, folders that programs fill, what `.gitignore` files name, and
what the caller excludes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate
from pathlib import Path
from typing import TYPE_CHECKING

from clew.base.runtime.lazy import compile_re
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.readers.gitignore import Ignored

# What programs leave beside documents, by name and by the file that marks such a folder.
BY_DEFAULT = (
    ".*", "node_modules", "bower_components", "__pycache__", "*.egg-info", "__MACOSX", "Thumbs.db",
    "desktop.ini", "~$*", "*.min.js", "*.min.css", "package-lock.json", "npm-shrinkwrap.json",
    "pnpm-lock.yaml", "clew.toml", "_sources", "_static", "searchindex.js",
)  # fmt: skip
_BY_DEFAULT = compile_re("|".join(map(translate, BY_DEFAULT)))
MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
BY_PATTERN, BY_GITIGNORE = "exclude", "gitignore"


class Selection:
    """The rules for selecting files, and what they left out so far."""

    def __init__(
        self,
        exclude: Sequence[str] = (),
        *,
        gitignore: bool = True,
        follow_links: bool = False,
        changed: Iterable[str | Path] | None = None,
    ) -> None:
        """Exclude files by the patterns in `exclude` and by `.gitignore` files.

        A pattern is like those of `clew.text.patterns`, for the id of a file or folder, its path
        below the folder that is read, its path as it was given, or its name alone. Where `changed`
        files are given, no others are taken, as if all others were read before. Links that lead out
        of a folder are taken only where it is to `follow_links`.
        """
        if isinstance(exclude, str):
            raise InputError(f"patterns must be a list, not a string. Hint: exclude=[{exclude!r}]")
        self._patterns = [each.removeprefix("./").rstrip("/") for each in exclude]
        self._gitignore = gitignore
        self.follow_links = follow_links
        changed = None if changed is None else list(changed)
        if changed is not None and any(Path(each).is_symlink() for each in changed):
            changed = None  # what a link leads to may be read in its own place
        self._changed = None if changed is None else _places(changed)
        self._above_changed = {above for each in self._changed or () for above in each.parents}
        self._left_out: dict[str, str] = {}  # by the id of a file or folder, and why
        self._file_ids: set[str] = set()

    @property
    def patterns(self) -> Sequence[str]:
        """Return the caller's exclusion patterns."""
        return self._patterns

    def name(self, file_id: str) -> None:
        """Record a file that the caller named explicitly."""
        self._file_ids.add(file_id)

    def ignored_above(self, root: Path) -> Ignored | None:
        """Return the `.gitignore` patterns that apply in a folder, or None."""
        if not self._gitignore:
            return None
        from clew.readers.gitignore import Ignored

        return Ignored.above(root)

    def takes(
        self, path: Path, place: Path, folder: Path, file_id: str, ignored: Ignored | None
    ) -> bool:
        """Check whether a file or folder below a `folder` is to be read."""
        why = ""
        if _BY_DEFAULT.match(path.name):
            why = "default"
        elif self._patterns and self._names(file_id, path, folder):
            why = BY_PATTERN
        elif ignored and ignored.files and ignored.names(place, is_folder=path.is_dir()):
            why = BY_GITIGNORE
        if why:
            self._left_out[file_id] = why
        if why or self._changed is None or place in self._above_changed:
            return not why
        return not self._changed.isdisjoint([place, *place.parents])

    def leave(self, file_id: str) -> None:
        """Record that a link is skipped."""
        self._left_out[file_id] = "default"

    def is_marked(self, folder_id: str, names: Iterable[str]) -> bool:
        """Check whether a folder is generated, by the names of its files."""
        if MARKS.isdisjoint(names):
            return False
        self._left_out[folder_id] = "default"
        return True

    def excludes(self, file_id: str) -> bool:
        """Check whether a file or its folder was excluded."""
        if file_id in self._file_ids:
            return False
        parts = file_id.split("/")
        return any("/".join(parts[:n]) in self._left_out for n in range(1, len(parts) + 1))

    def counts(self) -> dict[str, int]:
        """Return the numbers of files and folders excluded by patterns, and ignored."""
        counts = Counter(why for why in self._left_out.values() if why != "default")
        return dict(sorted(counts.items()))

    def _names(self, file_id: str, path: Path, folder: Path) -> bool:
        below = path.relative_to(folder)
        ways = file_id, below.as_posix(), path.as_posix(), path.name
        return any(way == p or fnmatchcase(way, p) for p in self._patterns for way in ways)


def _places(paths: Iterable[str | Path]) -> set[Path]:
    """Return the real folders of files, links resolved."""
    absolute = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 -- links stay
    return {*absolute, *(path.parent.resolve() / path.name for path in absolute)}
