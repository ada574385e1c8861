"""Cache derived arrays of a generation on disk, one file per name.

Nothing breaks where one is missing, damaged, or of another generation. So readers write them too,
without the writer's lock: a file is whole before it has its name, and whoever computes the arrays
of one generation computes the same ones. Where the folder cannot be written nothing is cached.
"""

import os
import re
import threading
from contextlib import suppress
from pathlib import Path

from clew.base.runtime.lazy import compile_re
from clew.errors import DamagedIndex, StoreError
from clew.index.store import segments
from clew.index.store.segments import Arrays

FOLDER = "cached"
_FILE = compile_re(rf"([a-z][a-z0-9-]*)-(\d{{6,}}){re.escape(segments.SUFFIX)}")


class FileCache:
    """The cached arrays of an index, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._held: dict[str, tuple[object, Arrays]] = {}  # what was loaded last, by name

    def names(self) -> list[str]:
        """Return the names of all cached arrays, of any generation."""
        return sorted({name for name, _, _ in self._files()})

    def generations(self, name: str) -> list[int]:
        """Return the generations that have cached arrays of this name, ascending."""
        return sorted(generation for each, generation, _ in self._files() if each == name)

    def oldest(self, newest: int) -> int:
        """Return the first generation with cached arrays, at most `newest`."""
        return min((generation for _, generation, _ in self._files()), default=newest)

    def load(self, name: str, generation: int) -> Arrays | None:
        """Return the cached arrays of a generation, or None if there are none to read.

        A damaged array may raise DamagedIndex when it is asked for.
        """
        path = self._path(name, generation)
        file, held = segments.file_state(path), self._held.get(name)
        if held is not None and held[0] == file:
            return held[1]  # of which nothing is looked at twice
        with suppress(DamagedIndex):
            arrays = self._read(path)
            if file is not None:
                self._held[name] = file, arrays
            return arrays
        return None

    def let_go(self) -> None:
        """Close the loaded files."""
        self._held.clear()

    def newest(self, name: str) -> Arrays | None:
        """Return the newest cached arrays of this name, fully verified."""
        generations = self.generations(name)
        with suppress(DamagedIndex):
            return dict(self._read(self._path(name, generations[-1]))) if generations else None
        return None

    def save(self, name: str, generation: int, arrays: Arrays) -> None:
        """Cache arrays, replacing those of earlier generations; ignore an unwritable cache."""
        path = self._path(name, generation)
        if not _FILE.fullmatch(path.name):
            raise ValueError(f"{name!r} is not a valid name: use a-z, digits and hyphens")
        if any(each == name and later > generation for each, later, _ in self._files()):
            return
        own = path.with_name(f"{os.getpid()}-{threading.get_ident()}.tmp")
        with suppress(StoreError, OSError):
            segments.write_segment(own, arrays, final=path)
            own.replace(path)
            for each, former, former_path in self._files():
                if each == name and former < generation:
                    self._held.pop(name, None)
                    segments.unlink(former_path)

    def drop(self, before: int) -> None:
        """Delete the cached arrays of generations before `before`."""
        old = [path for _, g, path in self._files() if g < before]
        for path in (*old, *self._folder.glob("*.tmp")):
            segments.unlink(path)

    def _read(self, path: Path) -> Arrays:
        return segments.open_segment(path)

    def _path(self, name: str, generation: int) -> Path:
        return self._folder / f"{name}-{generation:06d}{segments.SUFFIX}"

    def _files(self) -> list[tuple[str, int, Path]]:
        """Return the name, the generation and the path of each file."""
        with suppress(OSError):
            matches = ((_FILE.fullmatch(path.name), path) for path in self._folder.iterdir())
            return [(each[1], int(each[2]), path) for each, path in matches if each]
        return []
