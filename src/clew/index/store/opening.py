"""Open the store of an index: the folder itself, or PostgreSQL and object storage by an address.

The address stands in a file of a folder that stands for it and holds copies that can be had again,
so that whoever has the folder opens the same index.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from clew.base.runtime.private import make_file, make_folder
from clew.errors import InputError, NotAnIndex, StoreError
from clew.extras.cluster.postgres import address
from clew.index.store import sharded
from clew.index.store.database import FILE
from clew.index.store.embedded import NAMED_IN, EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.base.types import Document, Scalar
    from clew.extras.cluster.postgres.store import PostgresStore
    from clew.index.store import Store
    from clew.index.store.check import Damage
    from clew.models.sqlite import Place

_POSTGRES = "postgres:"  # stands before the address in a folder's file


def folder_of(place: str | Path) -> Path:
    """Return the folder of an index: a folder itself, or that of the copies behind an address.

    Raises InputError for an address that cannot be read, StoreError where no folder can be made.
    """
    if not isinstance(place, str) or "://" not in place:
        return Path(place)
    if not address.is_address(place):
        raise InputError(
            f"an index is a folder, or {address.FORM}; {place.partition('://')[0]}:// is neither"
        )
    folder, spec = address.parse_address(place).folder, f"{_POSTGRES}{place}"
    if _read_spec(folder) != spec:
        try:
            make_folder(folder)
            own = folder / f"{token_hex(8)}.tmp"  # another process may read it right now
            make_file(own)
            own.write_text(f"{spec}\n", encoding="utf-8")
            own.replace(folder / NAMED_IN)
        except OSError as error:
            raise StoreError(f"{folder} cannot be used ({error.strerror}): name another") from error
    return folder


def describe_place(folder: Path) -> str:
    """Return what an index is called in messages: its folder, or its address without a password."""
    place = address_of(folder)
    return str(folder) if place is None else place.shown


def address_of(folder: Path) -> address.IndexAddress | None:
    """Return the address for which a folder stands, None where it stands for none.

    Raises InputError where the folder names a store of another kind.
    """
    place = _address_in(folder)
    return None if place is None else address.parse_address(place)


def paid_place(folder: Path, name: str) -> Place:
    """Return where an index keeps what was paid for: a file of its folder, or its database."""
    place = address_of(folder)
    if place is None:
        return folder / name
    from clew.extras.cluster.postgres.paid import PostgresFile

    return partial(PostgresFile, place)


def erase(folder: Path) -> None:
    """Delete an index, wherever it is, with the folder that stands for it."""
    place = address_of(folder)
    if place is not None:
        with _postgres_store()(place) as store:
            store.erase()
    shutil.rmtree(folder, ignore_errors=True)


def place_of(folder: Path) -> str:
    """Return what names an index on any machine: its address, with a password, else its folder."""
    return _address_in(folder) or str(folder.absolute())


def exists(folder: Path) -> bool:
    """Say whether `folder` is an index's, or stands for one that is there."""
    place = address_of(folder)
    return EmbeddedStore.exists(folder) if place is None else _postgres_store().exists(place)


def find_file(folder: Path) -> int | None:
    """Return the number of the file of an index: one that is made anew has another.

    None where there is no such file, as behind an address.
    """
    try:
        return (folder / FILE).stat().st_ino
    except OSError:
        return None


def create(folder: Path, recipe: Mapping[str, Scalar]) -> Store:
    """Make the index of a folder, or open the one that is; it is where its address says."""
    if sharded.is_home(folder):
        raise NotAnIndex(sharded.explain_home(folder))
    place = address_of(folder)
    if place is None:
        return EmbeddedStore.create(folder, recipe)
    return _postgres_store().create(place, recipe)


def damages(folder: Path, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return what is damaged in an index, wherever it is, copies in `folder` not among it.

    Raises NotAnIndex where there is none.
    """
    place = address_of(folder)
    if place is None:
        from clew.index.store.check import find_damages

        return find_damages(folder, hash_of)
    from clew.extras.cluster.postgres.store import find_postgres_damages

    with _postgres_store()(place) as store:
        return find_postgres_damages(store, hash_of)


def explain_backup(folder: Path) -> str:
    """Return how an index is backed up that is not in its folder, "" where it is."""
    place = address_of(folder)
    if place is None:
        return ""
    return (
        f"{place.shown} is in PostgreSQL: dump it with pg_dump --schema '\"{place.schema}\"', and"
        f" let the bucket keep what is deleted from it as long as the dumps"
    )


def explain_repair(folder: Path) -> str:
    """Return how a damaged index is mended that is not in its folder."""
    return (
        f"{describe_place(folder)} is in PostgreSQL: restore the damaged objects from what the"
        f" bucket or a backup keeps, or the database from a dump, or index the documents anew"
    )


def open_store(folder: Path) -> Store:
    """Open the store of an index. Raises NotAnIndex where there is none."""
    place = address_of(folder)
    return EmbeddedStore.open(folder) if place is None else _postgres_store()(place)


def _postgres_store() -> type[PostgresStore]:
    """Return the class of stores in PostgreSQL, whose libraries are loaded for these alone."""
    from clew.extras.cluster.postgres.store import PostgresStore

    return PostgresStore


def _address_in(folder: Path) -> str | None:
    """Return the address for which a folder stands as it was given, None for none."""
    spec = _read_spec(folder)
    if spec is None:
        return None
    if not spec.startswith(_POSTGRES):
        raise InputError(
            f"{folder / NAMED_IN} names the store {spec!r}, which Clew does not have: index the"
            f" documents anew into another folder"
        )
    return spec.removeprefix(_POSTGRES)


def _read_spec(folder: Path) -> str | None:
    """Return what a folder says of the store that it stands for, None where it says nothing."""
    path = folder / NAMED_IN
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise StoreError(f"{folder} is not readable: ask its owner for permission") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NotAnIndex(f"{path} cannot be read ({error}): it names the store") from error
