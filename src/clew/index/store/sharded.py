"""A sharded index: a folder with a file that lists its shards."""

import json
from collections import Counter
from pathlib import Path

from clew.errors import InputError

SHARDS = "shards.json"
_FORM = 'it has to be like {"shards": ["shard-0000", "shard-0001"]}'


def is_home(folder: Path) -> bool:
    """Check whether a folder is that of a sharded index."""
    return (folder / SHARDS).is_file()


def read_places(home: Path) -> list[str]:
    """Return the folders or addresses of the shards listed in a folder.

    Raises InputError where there are none.
    """
    try:
        listing = json.loads((home / SHARDS).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"there are no shards in {home} ({SHARDS}: {error.strerror}): name the folders of"
            f" several indexes, or split one"
        ) from error
    except ValueError as error:
        raise InputError(f"{home / SHARDS} is not JSON ({error}): {_FORM}") from error
    names = listing.get("shards") if isinstance(listing, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"{home / SHARDS} does not name shards: {_FORM}")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(
            f"{home / SHARDS} names {describe_shard(home, twice[0])} twice: remove one"
        )
    return names


def describe_shard(home: Path, name: str) -> str:
    """Return the name of a shard in messages: its folder, or an address without a password."""
    if "://" not in name:
        return str(home / name)
    from clew.index.store.opening import describe_address  # which opens shards, too

    return describe_address(name)


def explain_home(home: Path) -> str:
    """Return why a folder of shards cannot be opened as one index."""
    first = describe_shard(home, read_places(home)[0])
    return f"{home} is an index in shards, of which this takes one: name that, such as {first}"
