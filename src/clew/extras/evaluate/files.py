"""Check that files can be written, before anything is measured."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from clew.errors import InputError


def check_file(file: str | Path, suffixes: Sequence[str], what: str) -> None:
    """Raise InputError for a file with another suffix, or in a folder that is not writable."""
    path = Path(file)
    if path.suffix not in suffixes:
        raise InputError(f"{what} is a file {' or '.join(suffixes)}, not {str(file)!r}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise InputError(f"{path}: Is a directory")
    _check_writable(path.parent, path)


def make_folder(folder: Path) -> None:
    """Create a folder for files. Raises InputError if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error
    _check_writable(folder, folder)


def _check_writable(folder: Path, path: Path) -> None:
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
