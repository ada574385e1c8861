"""Create shards: empty ones, or by splitting an index without recomputing its rows."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew import Index, Snapshot
from clew import open as open_index
from clew.api import checked
from clew.api.opened import MADE_FOR
from clew.base.runtime.private import make_folder
from clew.errors import InputError, StoreError
from clew.index import choose, origins
from clew.index.generation import open_snapshot
from clew.index.snapshot.batch import Batch
from clew.index.store import opening, paid, sharded
from clew.index.store.database import LOCK, WriterLock
from clew.index.store.segmented import Store
from clew.models import Ledger, cache
from clew.models.cache import vector_keys
from clew.models.ledger import text_keys
from clew.models.sqlite import Keep
from clew.readers.part import ShardPart, shard_of

Digests = NDArray[np.uint64]

_ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/")  # which a path has made of an address
_BATCH_SIZE = 500  # documents of a commit
_TEXTS = 10_000
_STAGED = ".splitting"  # ends the name of the folder in which shards are not whole
_DIGEST = 8  # bytes of a key by which it is told from others
# The notes that the next `add` goes by.
_CHOICES = (choose.NOTE, MADE_FOR, origins.DESCRIBED, origins.IMPORTED)


@checked
def create(home: str | Path, n_shards: int) -> list[Path]:
    """Create a folder of `n_shards` empty indexes; return their folders.

    Each is made by the first `add`. Raises InputError for a number below 1 or a folder that is not
    empty, StoreError where it cannot be written.
    """
    home = Path(home)
    places = _shard_folders(home, n_shards)
    _check_empty(home)
    _make_folders(home, places)
    _write_places(home, [place.name for place in places])
    return places


@checked
def split(folder: str | Path, home: str | Path, n_shards: int) -> list[Path]:
    """Split an index into `n_shards` indexes in the folder `home`; return their folders.

    No model is loaded and nothing is extracted: the shards hold the same rows, and each has its
    part of what was paid for. Where it is killed, `home` is as it was, and the same call begins
    anew. Raises InputError and StoreError as `create`, IndexLocked while another process splits
    into the folder, and NotAnIndex.
    """
    home = Path(home)
    names = [place.name for place in _shard_folders(home, n_shards)]
    _check_empty(home)
    with open_index(folder) as index, _stage(home) as staged:
        parts: list[dict[str, str]] = [{} for _ in names]  # the documents, with their hashes
        for name, content in sorted(index.hashes().items()):
            parts[shard_of(name, n_shards)][name] = content
        digests = []
        for number, (name, part) in enumerate(zip(names, parts, strict=True)):
            recipe = dict(index.snapshot().recipe)
            with closing(opening.create(staged / name, recipe)) as store:
                _fill_shard(store, index, part)
                origins.set_part(store, ShardPart(number, n_shards))
                digests.append(_read_digests(store, index.folder))
        for name, own in zip(names, digests, strict=True):
            _copy_paid(index.folder, staged / name, _filter_keys(own, digests))
        _write_places(staged, names)
    return [home / name for name in names]


def _fill_shard(store: Store, index: Index, part: Mapping[str, str]) -> None:
    """Commit some documents of an index to a shard, with its whole vocabulary and its choices."""
    snapshot = index.snapshot()
    rows = np.asarray(snapshot.layer("document").rows(list(part)), dtype=np.int64)
    for start in range(0, len(rows), _BATCH_SIZE):
        batch = _read_documents(snapshot, rows[start : start + _BATCH_SIZE])
        store.commit(batch, [part[each.id] for each in batch.documents])
    if vocabulary := index.vocabulary():
        store.set_vocabulary(vocabulary)
    with closing(opening.open_store(index.folder)) as whole:
        for name in _CHOICES:
            if values := whole.note(name):
                store.set_note(name, values)


# -- where they are --------------------------------------------------------------------------------


def _shard_folders(home: Path, n_shards: int) -> list[Path]:
    if n_shards < 1:
        raise InputError(f"the number of shards must be at least 1, not {n_shards}")
    if _ADDRESS.match(str(home)) or opening.address_of(home) is not None:
        raise InputError(
            "shards are created in a folder: index into each address with --part I/N, and then list"
            f" all addresses in the file {sharded.SHARDS} of a folder"
        )
    return [home / f"shard-{number:04d}" for number in range(n_shards)]


def _write_places(home: Path, places: Sequence[str]) -> None:
    """Write the list of shards to a new folder. Raises StoreError."""
    try:
        listing = json.dumps({"shards": list(places)}, indent=1) + "\n"
        (home / sharded.SHARDS).write_text(listing, encoding="utf-8")
    except OSError as error:
        raise _making_error(home, error) from error


def _check_empty(home: Path) -> None:
    """Raise InputError for a folder that has anything in it."""
    try:
        is_empty = not home.exists() or not any(home.iterdir())
    except OSError as error:
        raise _making_error(home, error) from error
    if not is_empty:
        raise InputError(f"{home} is not empty: choose a new folder for the shards")


def _make_folders(home: Path, places: Iterable[Path]) -> None:
    try:
        for place in (home, *places):
            make_folder(place)
    except OSError as error:
        raise _making_error(home, error) from error


def _making_error(home: Path, error: OSError) -> StoreError:
    return StoreError(f"{home} cannot be made ({error.strerror}): name another")


@contextmanager
def _stage(home: Path) -> Iterator[Path]:
    """Yield a temporary folder to be renamed to `home`; leftovers of killed splits are deleted."""
    staged = home.with_name(f"{home.name}{_STAGED}")
    _make_folders(staged, ())
    lock = WriterLock(staged)
    try:
        for each in staged.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
        yield staged
        if os.name == "nt":  # where a folder with an open file cannot be renamed
            lock.release()
        if home.exists():
            home.rmdir()
        staged.rename(home)
        (home / LOCK).unlink()
    except OSError as error:
        raise _making_error(home, error) from error
    finally:
        lock.release()


# -- what was paid for -----------------------------------------------------------------------------


def _read_digests(store: Store, folder: Path) -> Digests:
    """Return ascending digests of the keys of a shard's paid results.

    Those are of pieces, by models and versions of prompts, and of vectors, as the index in the
    `folder` has them.
    """
    ledger = Ledger(opening.paid_place(folder, paid.CALLS))
    pieces = ledger.list_versions() if ledger.exists() else []
    has_vectors = cache.has_vectors(opening.paid_place(folder, paid.EMBEDDINGS))
    digests: list[Digests] = [np.zeros(0, dtype=np.uint64)]
    if pieces or has_vectors:
        with closing(open_snapshot(store)) as snapshot:
            embedder = str(snapshot.recipe["embedder"])
            for name in ("chunk", "unit", "sentence", "entity") if has_vectors else ("chunk",):
                for texts in _read_layer(snapshot, name):
                    digests.append(_shorten_keys(vector_keys(embedder, texts)))
                    if name == "chunk":
                        digests += [_shorten_keys(text_keys(*piece, texts)) for piece in pieces]
    return np.unique(np.concatenate(digests))


def _read_layer(snapshot: Snapshot, name: str) -> Iterator[Sequence[str]]:
    """Yield the texts of a layer: chunks with their titles, the keys of entities."""
    layer = snapshot.layer(name)
    read = {"chunk": snapshot.titled_texts, "entity": layer.ids}.get(name, layer.texts)
    for start in range(0, len(layer), _TEXTS):
        yield read(range(start, min(start + _TEXTS, len(layer))))


def _shorten_keys(keys: Sequence[bytes]) -> Digests:
    return np.array([int.from_bytes(key[:_DIGEST]) for key in keys], dtype=np.uint64)


def _filter_keys(own: Digests, all_: Sequence[Digests]) -> Keep:
    """Return a filter of a shard's keys: those of its texts, and those of no text.

    The latter are of questions, and of what is made of several texts.
    """
    everybody = np.unique(np.concatenate(all_))

    def keep(keys: Sequence[bytes]) -> list[bool]:
        digests = _shorten_keys(keys)
        keeps: list[bool] = (_contains(own, digests) | ~_contains(everybody, digests)).tolist()
        return keeps

    return keep


def _contains(ascending: Digests, values: Digests) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    is_in: NDArray[np.bool_] = ascending[places] == values
    return is_in


def _copy_paid(folder: Path, place: Path, keep: Keep) -> None:
    """Copy a shard's part of the paid results, so that it need not pay again."""
    ledger = Ledger(opening.paid_place(folder, paid.CALLS))
    if ledger.exists():
        ledger.copy(place / paid.CALLS, keep)
    vectors = opening.paid_place(folder, paid.EMBEDDINGS)
    cache.copy(vectors, place / paid.EMBEDDINGS, keep)
    with closing(opening.open_store(place)) as store:
        paid.record_paid_files(store, place)


def _read_documents(snapshot: Snapshot, rows: NDArray[np.int64]) -> Batch:
    """Return some whole documents with all their rows."""
    assert snapshot.cutter is not None  # noqa: S101 -- an index has one
    inside = np.isin(snapshot.layer("chunk").columns["document"], rows)
    cut = snapshot.cutter.cut(np.flatnonzero(inside), rows)
    whole = {each.id: each for each in snapshot.documents(rows.tolist())}
    documents = [whole[each.id] for each in cut.batch.documents]
    return replace(cut.batch, documents=documents)
