"""An index in shards: a folder with a file that names the folders or addresses of these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clew.errors import InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SHARDS = "shards.json"


def is_home(folder: Path) -> bool:
    """Say whether a folder names shards."""
    return (folder / SHARDS).is_file()


def name(home: Path, places: Sequence[str]) -> None:
    """Write into a folder what its shards are. Raises StoreError where it cannot be written."""
    own = home / f"{SHARDS}.tmp"
    try:
        own.write_text(json.dumps({"shards": list(places)}, indent=1) + "\n", encoding="utf-8")
        own.replace(home / SHARDS)
    except OSError as error:
        raise StoreError(f"{home} cannot be written ({error.strerror}): name another") from error


def named_in(home: Path) -> list[str]:
    """Return the folders of shards, below or elsewhere, or addresses, that a folder names.

    Raises InputError where there are none.
    """
    try:
        names = json.loads((home / SHARDS).read_text(encoding="utf-8"))["shards"]
    except OSError as error:
        raise InputError(
            f"there are no shards in {home} ({SHARDS}: {error.strerror}): name the folders of"
            f" several indexes, or split one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{home / SHARDS} does not name shards ({error}): write it anew, or split again"
        ) from error
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"{home / SHARDS} names no shard: write it anew, or split again")
    return names


def why_not_one(home: Path) -> str:
    """Return why a folder of shards is no index by itself."""
    first = home / named_in(home)[0]
    return f"{home} is an index in shards, of which this takes one: name that, such as {first}"
