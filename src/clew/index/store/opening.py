"""Open the store of an index by folder or address.

The address stands in a file of a folder that stands for it and holds copies that can be had again,
so that whoever has the folder opens the same index. A package registers by the scheme what reads
addresses (`clew.stores`): a module with `FORM` and `parse_address`, which gives a `StoreAddress`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clew import plugins
from clew.base.runtime.private import make_file, make_folder
from clew.errors import InputError, NotAnIndex, StoreError, write_install
from clew.index.store import sharded
from clew.index.store.database import FILE
from clew.index.store.embedded import NAMED_IN, EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.base.types import Document, Scalar
    from clew.index.store.check import Damage
    from clew.index.store.segmented import Store
    from clew.models.sqlite import PaidFile, Place


class StoreAddress(Protocol):
    """The address of an index that is not in a local folder."""

    @property
    def shown(self) -> str:
        """Return the address without a password."""

    @property
    def folder(self) -> Path:
        """Return the local folder of an address."""

    def exists(self) -> bool: ...
    def open(self) -> Store: ...
    def create(self, recipe: Mapping[str, Scalar]) -> Store: ...
    def erase(self) -> None: ...
    def find_damages(self, hash_of: Callable[[Document], str]) -> list[Damage]: ...
    def open_paid(self, kind: str, application_id: int, tables: Sequence[str]) -> PaidFile: ...
    def explain_backup(self) -> str: ...


def folder_of(place: str | Path) -> Path:
    """Return the local folder of an index: its own, or the cache of an address.

    Raises InputError for an address that cannot be read, StoreError where no folder can be made.
    """
    if not isinstance(place, str) or "://" not in place:
        return Path(place)
    scheme = place.partition("://")[0]
    if scheme not in plugins.find_registered("stores"):
        forms = dict.fromkeys(each.FORM for each in plugins.load_all("stores"))
        others = (
            " or ".join(forms) or f"an address of a package such as {write_install('postgres')}"
        )
        raise InputError(f"an index must be a folder or {others}, not {scheme}://")
    folder, spec = parse_address(place).folder, f"{scheme}:{place}"
    if _read_spec(folder) != spec:
        from secrets import token_hex

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
    """Return the name of an index in messages: its folder, or its address without a password."""
    place = address_of(folder)
    return str(folder) if place is None else place.shown


def address_of(folder: Path) -> Any:  # noqa: ANN401 -- an `StoreAddress`, of a package's own type
    """Return the address for which a folder is the cache, or None.

    Raises InputError where the folder names a store that no package opens.
    """
    place = _address_in(folder)
    return None if place is None else parse_address(place)


def parse_address(place: str) -> StoreAddress:
    """Parse an address. Raises InputError if no plug-in supports it."""
    package = plugins.load("stores", place.partition(":")[0], "an address of this kind")
    address: StoreAddress = package.parse_address(place)
    return address


def describe_address(place: str) -> str:
    """Return an address for messages, without a password."""
    known = place.partition("://")[0] in plugins.find_registered("stores")
    return parse_address(place).shown if known else place


def paid_place(folder: Path, name: str) -> Place:
    """Return where an index stores paid results: a file in its folder, or its database."""
    place: StoreAddress | None = address_of(folder)
    return folder / name if place is None else place.open_paid


def erase(folder: Path) -> None:
    """Delete an index with its local folder."""
    import shutil

    place = address_of(folder)
    if place is not None:
        place.erase()
    shutil.rmtree(folder, ignore_errors=True)


def place_of(folder: Path) -> str:
    """Return the machine-independent location of an index: its address or folder."""
    return _address_in(folder) or str(folder.absolute())


def exists(folder: Path) -> bool:
    """Check whether an index exists, in `folder` or behind its address."""
    place: StoreAddress | None = address_of(folder)
    return EmbeddedStore.exists(folder) if place is None else place.exists()


def find_file(folder: Path) -> int | None:
    """Return the inode of the index's file, which changes if it is recreated.

    None where there is no such file, as behind an address.
    """
    try:
        return (folder / FILE).stat().st_ino
    except OSError:
        return None


def create(folder: Path, recipe: Mapping[str, Scalar]) -> Store:
    """Create or open the index of a folder or its address."""
    if sharded.is_home(folder):
        raise NotAnIndex(sharded.explain_home(folder))
    place: StoreAddress | None = address_of(folder)
    return EmbeddedStore.create(folder, recipe) if place is None else place.create(recipe)


def damages(folder: Path, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return the damage in an index, excluding local copies.

    Raises NotAnIndex where there is none.
    """
    place: StoreAddress | None = address_of(folder)
    if place is not None:
        return place.find_damages(hash_of)
    from clew.index.store.check import find_damages

    return find_damages(folder, hash_of)


def open_store(folder: Path) -> Store:
    """Open the store of an index. Raises NotAnIndex if there is none."""
    place: StoreAddress | None = address_of(folder)
    return EmbeddedStore.open(folder) if place is None else place.open()


def _address_in(folder: Path) -> str | None:
    """Return the address stored in a folder, or None."""
    spec = _read_spec(folder)
    if spec is None:
        return None
    kind, _, place = spec.partition(":")
    if kind not in plugins.find_registered("stores"):
        raise InputError(
            f"{folder / NAMED_IN} names the store {spec!r}, which no installed package opens:"
            f" install that package, or index the documents again into another folder"
        )
    return place


def _read_spec(folder: Path) -> str | None:
    """Return the store address file of a folder, or None."""
    path = folder / NAMED_IN
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise StoreError(f"{folder} is not readable: ask its owner for permission") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NotAnIndex(f"{path} with the index's address cannot be read: {error}") from error
