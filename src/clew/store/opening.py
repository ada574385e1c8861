"""Open the store of an index: the folder itself, a database, or one of another package.

Which package, and where its store is, stands in a file of the folder, beside the ledger and the
cached embeddings, so that whoever has the folder opens the same index. An index in PostgreSQL is
named by its address, and its folder holds copies that can be had again.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Protocol

from clew import plugins
from clew.errors import InputError, NotAnIndex, StoreError
from clew.runtime.private import make_file, make_folder
from clew.runtime.renamed import keep_old_names
from clew.store import sharded
from clew.store.embedded import NAMED_IN, EmbeddedStore
from clew.store.postgres import address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.models.sqlite import Place
    from clew.store import Store
    from clew.store.check import Damage
    from clew.types import Document, Scalar


_POSTGRES = "postgres"


class StoreKind(Protocol):
    """A store that a package registers under `clew.stores`; a spec is NAME:PLACE.

    Where nothing does it is the folder of the index.
    """

    def exists(self, place: str) -> bool:
        """Say whether an index is there."""
        ...

    def create(self, place: str, recipe: Mapping[str, Scalar]) -> Store:
        """Make an index there, or open the one that is."""
        ...

    def open(self, place: str) -> Store:
        """Open the index there. Raises NotAnIndex where there is none."""
        ...


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
    folder = address.parse_address(place).folder
    spec = f"{_POSTGRES}:{place}"
    if read_spec(folder) != spec:
        _write_spec(folder, spec)
    return folder


def describe_place(folder: Path) -> str:
    """Return the name of an index in messages: its folder, or its address without a password."""
    index_address = address_of(folder)
    return str(folder) if index_address is None else index_address.shown


def address_of(folder: Path) -> address.IndexAddress | None:
    """Return the address that a folder stands for, or None."""
    name, place = _read_kind(folder)
    return address.parse_address(place) if name == _POSTGRES and place else None


def paid_place(folder: Path, name: str) -> Place:
    """Return where an index keeps what was paid for: a file of its folder, or its database."""
    index_address = address_of(folder)
    if index_address is None:
        return folder / name
    from clew.store.postgres.paid import PostgresFile

    return partial(PostgresFile, index_address)


def erase(folder: Path) -> None:
    """Delete an index, wherever it is, with the folder that stands for it."""
    index_address = address_of(folder)
    if index_address is not None:
        from clew.store.postgres.store import PostgresStore

        with PostgresStore(index_address) as store:
            store.erase()
    shutil.rmtree(folder, ignore_errors=True)


def place_of(folder: Path) -> str:
    """Return the place of an index from any machine: its address, password included, or folder."""
    name, place = _read_kind(folder)
    return place if name == _POSTGRES and place else str(folder.absolute())


def exists(folder: Path) -> bool:
    """Say whether `folder` is an index's."""
    spec = read_spec(folder)
    if spec is None:
        return EmbeddedStore.exists(folder)
    kind, place = _kind(spec, folder)
    return kind.exists(place)


def create(folder: Path, recipe: Mapping[str, Scalar], spec: str = "") -> Store:
    """Make the index of a folder, kept by what `spec` names, else by the folder itself."""
    spec = read_spec(folder) or spec
    if sharded.is_home(folder):
        raise NotAnIndex(sharded.explain_home(folder))
    if not spec:
        return EmbeddedStore.create(folder, recipe)
    kind, place = _kind(spec, folder)
    store = kind.create(place, recipe)
    try:
        _write_spec(folder, spec)
    except StoreError:
        store.close()
        raise
    return store


def _write_spec(folder: Path, spec: str) -> None:
    """Write into a folder which store keeps its index."""
    try:
        make_folder(folder)
        own = folder / f"{token_hex(8)}.tmp"  # another process may read it right now
        make_file(own)
        own.write_text(f"{spec}\n", encoding="utf-8")
        own.replace(folder / NAMED_IN)
    except OSError as error:
        raise StoreError(f"{folder} cannot be used ({error.strerror}): name another") from error


def damages(folder: Path, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return the damage in an index, wherever it is; copies in `folder` are not checked.

    Raises NotAnIndex where there is none, InputError where another package's store keeps it.
    """
    from clew.store.check import find_damages as damages_of

    name, place = _read_kind(folder)
    if not name:
        return damages_of(folder, hash_of)
    if name == _POSTGRES:
        from clew.store.postgres.store import KIND

        return KIND.damages(place, hash_of)
    raise InputError(f"{folder} is kept by another store, which checks its own files")


def explain_backup(folder: Path) -> str:
    """Return how to back up an index outside its folder, or "" for one inside."""
    name, place = _read_kind(folder)
    if name == _POSTGRES:
        schema = address.parse_address(place).schema
        return (
            f"{describe_place(folder)} is in PostgreSQL: dump it with pg_dump --schema"
            f" '\"{schema}\"', and let the bucket keep what is deleted from it as long as the dumps"
        )
    return f"{folder} is kept by another store, which has backups of its own" if name else ""


def explain_repair(folder: Path) -> str:
    """Return how to repair a damaged index outside its folder."""
    if _read_kind(folder)[0] == _POSTGRES:
        return (
            f"{describe_place(folder)} is in PostgreSQL: restore the damaged objects from what"
            f" the bucket or a backup keeps, or the database from a dump, or index the documents"
            f" anew"
        )
    return f"{folder} is kept by another store, which repairs its own files"


def open_store(folder: Path) -> Store:
    """Open the store of an index. Raises NotAnIndex where there is none."""
    spec = read_spec(folder)
    if spec is None:
        return EmbeddedStore.open(folder)
    kind, place = _kind(spec, folder)
    return kind.open(place)


def _kind(spec: str, folder: Path) -> tuple[StoreKind, str]:
    name, _, place = spec.partition(":")
    if name == _POSTGRES:
        from clew.store.postgres.store import KIND

        return KIND, place
    kind: StoreKind | None = plugins.find("stores", name)
    if kind is None:
        have = ", ".join(plugins.registered("stores")) or "none is installed"
        raise InputError(f"no package brings a store {name!r} ({have}): install the one that does")
    return kind, place or str(folder)


def _read_kind(folder: Path) -> tuple[str, str]:
    """Return the name of the store that a folder names, or "", and the place in it."""
    name, _, place = (read_spec(folder) or "").partition(":")
    return name, place


def read_spec(folder: Path) -> str | None:
    """Return the spec of the store that a folder names, or None."""
    path = folder / NAMED_IN
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise StoreError(f"{folder} may not be read: ask its owner to allow it") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NotAnIndex(f"{path} cannot be read ({error}): it names the store") from error


__getattr__ = keep_old_names(
    __name__,
    {
        "backups_of": "explain_backup",
        "named_in": "read_spec",
        "paid_in": "paid_place",
        "repairs_of": "explain_repair",
        "shown": "describe_place",
    },
)
