"""New shards: empty ones, or of an index, whose rows are cut out and committed as they are."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.api import open_index
from clew.calls import checked
from clew.errors import InputError, StoreError
from clew.index.origins import set_part
from clew.private import make_folder
from clew.readers.part import ShardPart, shard_of
from clew.store import opening, sharded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Batch, Snapshot

_ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/")  # which a path has made of an address
_AT_ONCE = 500  # documents of a commit


@checked
def create(home: str | Path, n_shards: int) -> list[Path]:
    """Make a folder for `n_shards` indexes that are empty; return their folders.

    Each is made by the first `add`. Raises InputError for a number below 1 or a folder that is not
    empty, StoreError where it cannot be written.
    """
    home = Path(home)
    places = _places(home, n_shards)
    sharded.name(home, [place.name for place in places])
    return places


@checked
def split(folder: str | Path, home: str | Path, n_shards: int) -> list[Path]:
    """Make `n_shards` indexes in the folder `home` of the documents of one; return their folders.

    No model is loaded and nothing is extracted: the shards hold the same rows. Where it is killed,
    no shards are there yet. Raises InputError and StoreError as `create`, and NotAnIndex.
    """
    home = Path(home)
    with open_index(folder) as index:
        snapshot = index.snapshot()
        hashes = index.hashes()
        aliases = dict(index.alias_targets())
        places = _places(home, n_shards)
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
                set_part(store, ShardPart(number, n_shards))
    sharded.name(home, [place.name for place in places])
    return places


def _places(home: Path, n_shards: int) -> list[Path]:
    """Return new folders for shards."""
    if n_shards < 1:
        raise InputError(f"an index has at least one shard, not {n_shards}")
    if _ADDRESS.match(str(home)) or opening.address_of(home) is not None:
        raise InputError(
            "shards are made in a folder: index into each address with --part I/N, and name them in"
            f" the file {sharded.SHARDS} of one"
        )
    places = [home / f"shard-{number:04d}" for number in range(n_shards)]
    try:
        if home.exists() and any(home.iterdir()):
            raise InputError(f"{home} is not empty: name a new folder for the shards")
        for place in places:
            make_folder(place)
    except OSError as error:
        raise StoreError(f"{home} cannot be made ({error.strerror}): name another") from error
    return places


def _documents(snapshot: Snapshot, rows: NDArray[np.int64]) -> Batch:
    """Return some documents, whole, with all their rows."""
    assert snapshot.cutter is not None  # noqa: S101 -- an index has one
    inside = np.isin(snapshot.layer("chunk").columns["document"], rows)
    cut = snapshot.cutter.cut(np.flatnonzero(inside), rows)
    whole = {each.id: each for each in snapshot.documents(rows.tolist())}
    found = [whole[each.id] for each in cut.batch.documents]
    return replace(cut.batch, documents=found)
