"""Addresses of indexes in PostgreSQL: postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE/INDEX."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from clew.errors import InputError

SCHEMES = ("postgresql://", "postgres://")
_FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE/INDEX"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,47}")
_OBJECTS = "objects"
_ADDRESS = re.compile(r"[a-z0-9]+://")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: the database, the name of the index, and where its objects are to be."""

    database: str  # a connection string of libpq, with the password if one was given
    index: str
    shown: str  # without the password
    objects: str = ""  # an address of object storage, or a folder; "": as the database says

    @property
    def schema(self) -> str:
        """The schema of the database that holds the tables of the index."""
        return f"clew_{self.index}"

    def beside(self, name: str) -> str:
        """Return the address of an index of a server's home, which has this address itself.

        It has no password: PGPASSWORD or a file of passwords is to have it on every machine.
        """
        place, _, query = self.shown.partition("?")
        parts = [query, f"objects={quote(self.objects, safe='/:')}" if self.objects else ""]
        return f"{place}-{name}?{'&'.join(filter(None, parts))}"

    @property
    def folder(self) -> Path:
        """The folder of this machine in which copies of its files are kept."""
        digest = sha256(self.shown.encode()).hexdigest()[:12]
        return cache_root() / f"{self.index}-{digest}"


def is_address(text: str) -> bool:
    """Say whether a text is to name an index in PostgreSQL."""
    return text.startswith(SCHEMES)


def parse(text: str) -> Address:
    """Return what an address names. Raises InputError for another form."""
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2]
        user = parts.username
        fields = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True))
    except ValueError as error:
        if urlsplit(text).query or "[" in text:
            raise InputError(f"an address of PostgreSQL is {_FORM}, not {_public(text)}") from error
        raise
    database, _, index = unquote(parts.path).strip("/").rpartition("/")
    if not database or "/" in database or not _NAME.fullmatch(index):
        raise InputError(
            f"an address of PostgreSQL is {_FORM}, not {_public(text)}: INDEX has letters, digits,"
            f" '_', '.' and '-', 48 at the most"
        )
    objects = fields.pop(_OBJECTS, "")
    if objects and not _ADDRESS.match(objects):
        objects = str(Path(objects).absolute())
    query = f"?{urlencode(fields)}" if fields else ""
    public = "&".join(f"{k}={quote(v, safe='/:')}" for k, v in fields.items() if k != "password")
    at = f"{quote(unquote(user))}@" if user else ""
    return Address(
        database=f"postgresql://{parts.netloc}/{quote(database)}{query}",
        index=index,
        shown=f"postgresql://{at}{host}/{database}/{index}{f'?{public}' if public else ''}",
        objects=objects,
    )


def cache_root() -> Path:
    """Return the folder of copies: $CLEW_CACHE, else `clew` in the user's folder of caches."""
    chosen = os.environ.get("CLEW_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "clew"


def _public(text: str) -> str:
    """Return an address without what may be a password."""
    return re.sub(r"//[^/@]*@", "//...@", text.partition("?")[0])
