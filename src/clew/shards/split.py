"""One index into shards, without a model: rows are cut out and committed as they are."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.api import open_index
from clew.calls import checked
from clew.errors import InputError, StoreError
from clew.private import make_folder
from clew.store import opening

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Batch, Snapshot

SHARDS = "shards.json"  # which names the folders of the shards
_AT_ONCE = 500  # documents of a commit


def shard_of(document_id: str, n_shards: int) -> int:
    """Return which shard a document belongs to: the same on every machine, evenly by chance."""
    digest = blake2b(document_id.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_shards


@checked
def split(folder: str | Path, home: str | Path, n_shards: int) -> list[Path]:
    """Make `n_shards` indexes in the folder `home` of the documents of one; return their folders.

    No model is loaded and nothing is extracted: the shards hold the same rows. Raises InputError
    for a number below 1 or a folder that is not empty, StoreError where it cannot be written.
    """
    if n_shards < 1:
        raise InputError(f"an index has at least one shard, not {n_shards}")
    home = Path(home)
    if home.exists() and any(home.iterdir()):
        raise InputError(f"{home} is not empty: name a new folder for the shards")
    places = [home / f"shard-{number:04d}" for number in range(n_shards)]
    with open_index(folder) as index:
        snapshot = index.snapshot()
        hashes = index.hashes()
        aliases = dict(index.alias_targets())
        try:
            for place in places:
                make_folder(place)
        except OSError as error:
            raise StoreError(f"{home} cannot be made ({error.strerror}): name another") from error
        ids = snapshot.layer("document").ids(range(len(snapshot.document_layer)))
        owners = np.array([shard_of(each, n_shards) for each in ids], dtype=np.int64)
        for number, place in enumerate(places):
            with closing(opening.create(place, dict(snapshot.recipe))) as store:
                rows = np.flatnonzero(owners == number)
                for start in range(0, len(rows), _AT_ONCE):
                    batch = _documents(snapshot, rows[start : start + _AT_ONCE])
                    store.commit(batch, [hashes[each.id] for each in batch.documents])
                if aliases:
                    store.set_aliases(aliases)
    names = [place.name for place in places]
    (home / SHARDS).write_text(json.dumps({"shards": names}, indent=1) + "\n", encoding="utf-8")
    return places


def named_in(home: Path) -> list[str]:
    """Return the folders of shards, below or elsewhere, that the file in a folder names.

    Raises InputError where there is no such file, or it names none.
    """
    try:
        names = json.loads((home / SHARDS).read_text(encoding="utf-8"))["shards"]
    except OSError as error:
        raise InputError(
            f"there are no shards in {home} ({SHARDS}: {error.strerror}): name the folders of"
            f" several indexes, or split one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{home / SHARDS} does not name shards ({error}): split again") from error
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"{home / SHARDS} names no shard: split again")
    return names


def _documents(snapshot: Snapshot, rows: NDArray[np.int64]) -> Batch:
    """Return some documents, whole, with all their rows."""
    assert snapshot.cutter is not None  # noqa: S101 -- an index has one
    inside = np.isin(snapshot.layer("chunk").columns["document"], rows)
    cut = snapshot.cutter.cut(np.flatnonzero(inside), rows)
    whole = {each.id: each for each in snapshot.documents(rows.tolist())}
    found = [whole[each.id] for each in cut.batch.documents]
    return replace(cut.batch, documents=found)
