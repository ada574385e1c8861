"""Apply `.gitignore` files as git and ripgrep do.

They count in the folder that they stand in and below it, the nearest first and the last line first.
Those of the folders above count up to the folder of the repository, and none beyond it; behind them
all comes the repository's own `.git/info/exclude`. Outside of a repository only those count that
stand in the folder that is read, or below it.

The package pathspec is not used: `a*a*a*a*a*a*a*a*b` takes it seconds for a name of fifty letters,
`[z-a]` is an error there, and `!a/**` includes the folder `a` itself, which git does not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NAME = ".gitignore"
_GIT = ".git"  # a folder, or a file where the work tree stands elsewhere
_OWN = Path(_GIT, "info", "exclude")
_TOKEN = re.compile(
    r"(?P<folders>(?:(?<=/)|\A)\*\*/)|(?P<inside>(?:(?<=/)|\A)\*\*\Z)|(?P<some>\*+)|(?P<one>\?)"
    r"|\[(?P<no>[!^]?)(?P<set>(?:\\.|\[:\w+:\]|(?<=[\[!^])\]|[^\]\\])+)\]|\\?(?P<plain>.)",
    re.DOTALL,
)
_SIGN = re.compile(r"[*?\[\\]")
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": r"\s", "xdigit": "0-9a-fA-F",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore`: what it matches, and whether it ignores or (!) includes."""

    regex: re.Pattern[str]
    ignores: bool
    folders_only: bool
    plain: str  # the path that it names, behind a slash a name anywhere; "" where it has signs

    @classmethod
    def parse(cls, line: str) -> Pattern | None:
        """Parse a line; return None for comments, empty and invalid lines.

        >>> Pattern.parse("# backups")
        >>> Pattern.parse("build/").folders_only
        True
        >>> bool(Pattern.parse("a/**/*.log").regex.fullmatch("a/b/c/d.log"))
        True
        """
        line = re.sub(r"(?<![\\ ]) ++\Z|(?<=\\ ) ++\Z", "", line)
        glob = line.removeprefix("!")
        folders_only = glob.endswith("/")
        glob = glob.removesuffix("/")
        if not glob or line.startswith("#"):
            return None
        anchored = "/" in glob
        if not anchored:
            glob = f"**/{glob}"
        ignores, path = not line.startswith("!"), glob.removeprefix("/")
        name = path.removeprefix("**") if not anchored else path
        plain = "" if _SIGN.search(name) else name
        with suppress(re.error):
            regex = re.compile(_regex(path), re.DOTALL)
            return cls(regex, ignores=ignores, folders_only=folders_only, plain=plain)
        return None


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of a file and their folder; those without wildcards are looked up."""

    folder: Path
    plain: Mapping[tuple[str, bool], tuple[int, bool]]  # what, only a folder: line, is it ignored
    others: Sequence[tuple[int, Pattern]]  # with their lines, the last first

    def says(self, path: Path, *, is_folder: bool) -> bool | None:
        """Return whether a file or folder is ignored, None if no line matches."""
        below = os.path.relpath(path, self.folder).replace(os.sep, "/")
        names = (below, f"/{below.rpartition('/')[2]}")
        keys = [(name, only) for name in names for only in (False, is_folder)]
        lines = (self.plain[key] for key in keys if key in self.plain)
        line, ignored = max(lines, default=(-1, None))
        for other, pattern in self.others:
            if other < line:
                break
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(below):
                return pattern.ignores
        return ignored


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that apply in a folder, those of the innermost file last."""

    files: tuple[Patterns, ...] = ()

    @classmethod
    def above(cls, folder: Path) -> Ignored:
        """Return the patterns that apply in a folder, none outside a repository.

        Nothing counts either where the folder is ignored itself: it was named in spite of that.
        """
        chain: list[Path] = []
        for parent in folder.parents if not (folder / _GIT).exists() else ():
            chain.insert(0, parent)
            if (parent / _GIT).exists():
                break
        else:
            return cls()
        ignored = cls()
        for parent, child in zip(chain, [*chain[1:], folder], strict=True):
            ignored = ignored.enter(parent)
            if ignored.names(child, is_folder=True):
                return cls()
        return ignored

    def enter(self, folder: Path) -> Ignored:
        """Return the patterns that apply in a subfolder."""
        files = self.files
        if (folder / _GIT).exists():
            files = tuple(_patterns(folder, folder / _OWN))
        return Ignored((*files, *_patterns(folder, folder / NAME)))

    def names(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether a file or folder is ignored, given that its parent is not."""
        answers = (file.says(path, is_folder=is_folder) for file in reversed(self.files))
        return next((each for each in answers if each is not None), False)


def _patterns(folder: Path, path: Path) -> Iterator[Patterns]:
    """Yield the patterns of a file, if it exists; of equal lines only the last."""
    try:
        lines = path.read_text("utf-8-sig", "replace").split("\n")
    except OSError:
        return
    last = {line: number for number, line in enumerate(lines)}
    pairs = [
        (n, each)
        for n, line in enumerate(lines)
        if last[line] == n and (each := Pattern.parse(line))
    ]
    plain = {(each.plain, each.folders_only): (n, each.ignores) for n, each in pairs if each.plain}
    if pairs:
        yield Patterns(folder, plain, [each for each in reversed(pairs) if not each[1].plain])


def _regex(glob: str) -> str:
    """Return a git glob as a regular expression for a path below its folder.

    What stands behind a star, up to the next one, is taken where it comes first: no path takes
    longer than its length times that of the glob.
    """
    parts: list[str] = []
    some = folders = -1  # the last star of this part of the path, and the last `**/`
    for token in _TOKEN.finditer(glob):
        if token["folders"]:
            if folders >= 0:
                parts[folders:] = [f"(?>(?:.+?/)??{''.join(parts[folders + 1 :])})"]
            some, folders = -1, len(parts)
            parts.append("(?:.+/)?")
        elif token["inside"]:
            parts.append(".+")
        elif token["some"]:
            if some >= 0:
                parts[some:] = [f"(?>[^/]*?{''.join(parts[some + 1 :])})"]
            some = len(parts)
            parts.append("[^/]*")
        elif token["one"]:
            parts.append("[^/]")
        elif token["set"]:
            members = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], ""), token["set"])
            members = re.sub(r"[\[&~|]", r"\\\g<0>", members)
            parts.append(f"(?!/)[{'^' if token['no'] else ''}{members}]")
        else:
            some = -1 if token["plain"] == "/" else some
            parts.append(re.escape(token["plain"]))
    return "".join(parts)
