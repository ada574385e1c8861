"""Addresses of indexes in PostgreSQL: postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE/INDEX."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from clew.base.runtime.lazy import compile_re
from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.base.types import Document, Scalar
    from clew.extras.cluster.postgres.paid import PostgresFile
    from clew.extras.cluster.postgres.store import PostgresStore
    from clew.index.store.check import Damage

FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE/INDEX"
_NAME = compile_re(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,47}")
_OBJECTS = "objects"
_ADDRESS = compile_re(r"[a-z0-9]+://")
# A host, one in brackets of IPv6, or the folder of a socket with percent signs; and a port.
_HOST = compile_re(r"(?:[^\s\[\]:@]*|\[[^\s\[\]@]*\])(?::[0-9]*)?")
_SECRET = ("password", "sslpassword")


@dataclass(frozen=True, slots=True)
class IndexAddress:
    """The address of an index: database, index name, and the place of its objects."""

    database: str = field(repr=False)  # for libpq, with the password if one was given
    index: str
    shown: str  # without the password
    objects: str = ""  # an address of object storage, or a folder; "": as the database says

    @property
    def schema(self) -> str:
        """The database schema of the index."""
        return f"clew_{self.index}"

    def address_beside(self, name: str) -> str:
        """Return the address of an index in the server's home at this address.

        It has no password: PGPASSWORD or a file of passwords is to have it on every machine.
        """
        place, _, query = self.shown.partition("?")
        parts = [query, f"objects={quote(self.objects, safe='/:')}" if self.objects else ""]
        return f"{place}-{name}?{'&'.join(filter(None, parts))}"

    @property
    def folder(self) -> Path:
        """The local folder for copies of its files."""
        digest = sha256(self.shown.encode()).hexdigest()[:12]
        return cache_root() / f"{self.index}-{digest}"

    def exists(self) -> bool:
        """Check whether the index exists."""
        return _load_store().exists(self)

    def open(self) -> PostgresStore:
        """Open the store of the index. Raises NotAnIndex if it does not exist."""
        return _load_store()(self)

    def create(self, recipe: Mapping[str, Scalar]) -> PostgresStore:
        """Create the index, or open an existing one."""
        return _load_store().create(self, recipe)

    def erase(self) -> None:
        """Delete the index."""
        with self.open() as store:
            store.erase()

    def find_damages(self, hash_of: Callable[[Document], str]) -> list[Damage]:
        """Return the damage in the database and the object storage."""
        from clew.extras.cluster.postgres.store import find_postgres_damages

        with self.open() as store:
            return find_postgres_damages(store, hash_of)

    def open_paid(self, kind: str, application_id: int, tables: Sequence[str]) -> PostgresFile:
        """Return the tables for paid model replies."""
        from clew.extras.cluster.postgres.paid import PostgresFile

        return PostgresFile(self, kind, application_id, tables)

    def explain_backup(self) -> str:
        """Return how the index is backed up."""
        return (
            f"{self.shown} is in PostgreSQL: dump it with pg_dump --schema '\"{self.schema}\"', and"
            f" let the bucket keep what is deleted from it as long as the dumps"
        )


def _load_store() -> type[PostgresStore]:
    """Import and return the store class, whose libraries are optional."""
    from clew.extras.cluster.postgres.store import PostgresStore

    return PostgresStore


def parse_address(text: str) -> IndexAddress:
    """Parse an address. Raises InputError if it is invalid."""
    try:
        text.encode()  # no half of a surrogate pair
        parts = urlsplit(text, allow_fragments=False)
        query = parts.query.replace("+", "%2B")  # a plus is one, as it is for libpq
        fields = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError as error:
        raise _wrong_form(text) from error
    user, password, host = _server(parts.netloc, text)
    database, _, index = unquote(parts.path).strip("/").rpartition("/")
    if not database or "/" in database or "@" in parts.path or not _NAME.fullmatch(index):
        raise _wrong_form(text)
    if any("\0" in each for each in (database, user, password, *fields, *fields.values())):
        raise _wrong_form(text)
    objects = fields.pop(_OBJECTS, "")
    if objects and not _ADDRESS.match(objects):
        objects = str(Path(objects).absolute())
    query = f"?{urlencode(fields, quote_via=quote)}" if fields else ""
    public = "&".join(f"{k}={quote(v, safe='/:')}" for k, v in fields.items() if k not in _SECRET)
    public = f"?{public}" if public else ""
    at, own = f"{_quote(user)}@" if user else "", f":{_quote(password)}" if password else ""
    at_with = f"{_quote(user)}{own}@" if user or own else ""
    return IndexAddress(
        database=f"postgresql://{at_with}{host}/{_quote(database)}{query}",
        index=index,
        shown=f"postgresql://{at}{host}/{_quote(database)}/{index}{public}",
        objects=objects,
    )


def _server(netloc: str, text: str) -> tuple[str, str, str]:
    """Split a server's user, password, and hosts with ports."""
    own, _, host = netloc.rpartition("@")
    user, _, password = own.partition(":")
    if not all(_HOST.fullmatch(each) for each in host.split(",")):
        raise _wrong_form(text)
    return unquote(user), unquote(password), host


def _quote(text: str) -> str:
    return quote(text, safe="")


def cache_root() -> Path:
    """Return the cache folder: $CLEW_CACHE, else `clew` in the user's cache folder."""
    folder = os.environ.get("CLEW_CACHE")
    if folder:
        return Path(folder).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("clew", appauthor=False)


def _wrong_form(text: str) -> InputError:
    return InputError(
        f"an address of PostgreSQL is {FORM}, not {_hide_password(text)}: INDEX has letters,"
        f" digits, '_', '.' and '-', 48 at the most, and what else is special in a user or a"
        f" password is written with percent signs, such as %2F for '/'"
    )


def _hide_password(text: str) -> str:
    """Return the beginning of an address without a possible password."""
    scheme, _, rest = text.partition("//")
    head, *tail = re.split("[?#]", rest, maxsplit=1)
    if "@" in "".join(tail):
        return f"{scheme}//..."
    if "@" in head:
        return f"{scheme}//...@{head.rpartition('@')[2]}"
    return f"{scheme}//{re.sub(r':(?![0-9]+(?:[/,]|$))[^/]*', ':...', head)}"
