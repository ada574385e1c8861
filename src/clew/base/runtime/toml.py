"""Read TOML files that people write."""

from pathlib import Path
from typing import Any

from clew.errors import InputError


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file. Raises InputError if it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}") from error
