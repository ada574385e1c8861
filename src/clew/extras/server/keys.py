"""API keys: scopes, indexes, filters, rates and budgets.

A key is shown once, when it is made; the home keeps its SHA-256. Its 256 bits are random, so no
slow hash is needed.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from clew.base.runtime.sqlite import rows
from clew.errors import InputError
from clew.extras.server.database import ServerDatabase
from clew.extras.server.settings import check_name
from clew.filters import to_filter

SCOPES = ("read", "write", "admin")  # each may do what those before it may
CITATIONS = ("annotations", "open-webui", "markdown", "none")
_PREFIX = "clew"
SESSION_S = 30 * 24 * 3600.0
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions:
    """The rights and limits of a key's holder."""

    scope: str = "read"
    indexes: tuple[str, ...] = ()  # their names; none: all
    where: str = ""  # a filter; no other documents are ever seen
    requests_per_minute: int | None = None
    tokens: int | None = None  # in all; those that models take, not those of requests
    tokens_per_day: int | None = None
    usd: float | None = None
    usd_per_day: float | None = None
    citations: str = "annotations"  # how OpenAI-compatible answers cite

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise InputError(f"a scope must be one of {', '.join(SCOPES)}, not {self.scope!r:.40}")
        if self.citations not in CITATIONS:
            names = ", ".join(CITATIONS)
            raise InputError(f"citations must be one of {names}, not {self.citations!r:.40}")
        for name in self.indexes:
            check_name(name)
        if to_filter(self.where) is not None and self.scope != "read":
            raise InputError("a key with a filter can only have the scope 'read'")
        for name in ("requests_per_minute", "tokens", "tokens_per_day", "usd", "usd_per_day"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name} of a key must be a number >= 0, not {value!r:.40}")

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return options from JSON. Raises InputError for an unknown option."""
        names = {each.name for each in fields(cls)}
        for name in values:
            if name not in names:
                raise InputError(f"a key has no option {name!r:.40}: use {', '.join(names)}")
        return cls(**{**values, "indexes": tuple(values.get("indexes", ()))})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as stored in the home."""

    id: str
    name: str
    options: KeyOptions
    made: float
    revoked: float | None = None
    digest: bytes = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the key without its secret."""
        own = {name: getattr(self, name) for name in ("id", "name", "made", "revoked")}
        return {**own, **asdict(self.options)}


class Keys:
    """The keys of a home."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def add(self, name: str, options: KeyOptions) -> tuple[Key, str]:
        """Create a key; return it with its text, of which only a hash is stored."""
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        text = f"{_PREFIX}_{key_id}_{secret}"
        key = Key(id=key_id, name=name, options=options, made=time.time(), digest=_digest(text))
        row = (key_id, name, key.digest, json.dumps(asdict(options)), key.made, None)
        with self._database.writing() as connection:
            connection.execute("INSERT INTO key VALUES (?, ?, ?, ?, ?, ?)", row)
        return key, text

    def list_keys(self) -> list[Key]:
        """Return all keys, revoked ones included, oldest first."""
        return [
            _make_key(row)
            for row in self._database.read_rows("SELECT * FROM key ORDER BY made, id")
        ]

    def has_keys(self) -> bool:
        """Check whether a key was ever created, so that requests need one."""
        return bool(self._database.read_rows("SELECT 1 FROM key LIMIT 1"))

    def get(self, name: str) -> Key:
        """Return the valid key by name or id. Raises InputError."""
        matches = [k for k in self.list_keys() if name in (k.id, k.name) and k.revoked is None]
        if not matches:
            raise InputError(f"there is no key {name!r:.60}: see 'clew keys list'")
        if len(matches) > 1:
            raise InputError(f"several keys have the name {name!r:.60}: give an id")
        return matches[0]

    def revoke(self, name: str) -> Key:
        """Revoke a key and its sessions. Raises InputError as `get` does."""
        key = self.get(name)
        with self._database.writing() as connection:
            connection.execute("UPDATE key SET revoked = ? WHERE id = ?", (time.time(), key.id))
            connection.execute("DELETE FROM session WHERE key = ?", (key.id,))
        return key

    def find(self, text: str) -> Key | None:
        """Return the valid key with this text, or None."""
        parts = text.split("_", 2)
        if len(parts) != 3 or parts[0] != _PREFIX:
            return None
        key = self.find_by_id(parts[1])
        if key is None or not hmac.compare_digest(key.digest, _digest(text)):
            return None
        return key

    def find_by_id(self, key_id: str) -> Key | None:
        """Return the valid key with this id, or None."""
        question = "SELECT * FROM key WHERE id = ? AND revoked IS NULL"
        matches = self._database.read_rows(question, (key_id,))
        return _make_key(matches[0]) if matches else None

    def take_request(self, key_id: str, per_minute: int) -> float:
        """Take a request from a key's rate limit, a bucket refilled within a minute.

        Returns 0, or the seconds until there is one to take.
        """
        now = time.time()
        question = "SELECT remaining, at FROM rate WHERE key = ?"
        with self._database.writing(durable=False) as connection:
            [(remaining, then)] = rows(connection, question, (key_id,)) or [(per_minute, now)]
            refilled = max(0.0, now - then) * per_minute / _MINUTE_S
            remaining = min(float(per_minute), remaining + refilled)
            is_taken = remaining >= 1
            connection.execute(
                """INSERT INTO rate VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET
                remaining = excluded.remaining, at = excluded.at""",
                (key_id, remaining - is_taken, now),
            )
        if is_taken:
            return 0.0
        return (1 - remaining) * _MINUTE_S / per_minute if per_minute else _MINUTE_S

    # -- sessions of the page -----------------------------------------------------------------

    def begin_session(
        self, key: Key, *, seconds: float = SESSION_S, user: str = "", once: str = ""
    ) -> str:
        """Begin a session for a key, of a `user` if known; return its cookie text.

        Raises InputError where one was begun with the same `once`, a secret that is remembered
        as long as the session.
        """
        text = secrets.token_urlsafe(32)
        now = time.time()
        with self._database.writing() as connection:
            connection.execute("DELETE FROM session WHERE ends < ?", (now,))
            connection.execute("DELETE FROM begun WHERE ends < ?", (now,))
            connection.execute(
                "DELETE FROM signed_in WHERE digest NOT IN (SELECT digest FROM session)"
            )
            if once:
                digest = _digest(once)
                if rows(connection, "SELECT 1 FROM begun WHERE digest = ?", (digest,)):
                    raise InputError("a session was begun by this already")
                connection.execute("INSERT INTO begun VALUES (?, ?)", (digest, now + seconds))
            row = (_digest(text), key.id, now + seconds)
            connection.execute("INSERT INTO session VALUES (?, ?, ?)", row)
            if user:
                connection.execute("INSERT INTO signed_in VALUES (?, ?)", (row[0], user))
        return text

    def find_by_session(self, text: str) -> tuple[Key, str] | None:
        """Return the valid key and user ("" if unknown) of a session cookie, or None."""
        question = """SELECT session.key, signed_in.name FROM session
            LEFT JOIN signed_in ON signed_in.digest = session.digest
            WHERE session.digest = ? AND session.ends > ?"""
        matches = self._database.read_rows(question, (_digest(text), time.time()))
        if not matches:
            return None
        [(key_id, user)] = matches
        key = self.find_by_id(key_id)
        return None if key is None else (key, user or "")

    def end_session(self, text: str) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM session WHERE digest = ?", (_digest(text),))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _make_key(row: tuple[Any, ...]) -> Key:
    key_id, name, digest, options, made, revoked = row
    return Key(
        id=key_id,
        name=name,
        options=KeyOptions.from_plain(json.loads(options)),
        made=made,
        revoked=revoked,
        digest=bytes(digest),
    )
