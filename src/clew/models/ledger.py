"""Record every paid reply, so that no request is sent twice.

One SQLite file that processes share. A reply is on disk before anything is made of it, so a
process that is killed pays only for what was under way. Beside the replies stands what was made
of each input text ("pieces"), so that a text which comes back, even in another prompt together
with other texts, need not be asked about; and what each write of the index cost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clew.base.runtime import sqlite
from clew.base.types import Usage
from clew.models import Prompt, Turn
from clew.models.sqlite import Keep, Place, copy_rows, digest_parts, paid_file, rows_of_keys

_KIND = "ledger"
APPLICATION_ID = 0x436C654C  # "CleL" in the header of the file
_TABLES = (
    """call (key BLOB PRIMARY KEY, model TEXT NOT NULL, version TEXT NOT NULL, text TEXT NOT NULL,
    fault TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL,
    seconds REAL NOT NULL, calls INTEGER NOT NULL, turn INTEGER NOT NULL) WITHOUT ROWID""",
    "failed (key BLOB PRIMARY KEY) WITHOUT ROWID",  # calls of a conversation that came to nothing
    """piece (key BLOB PRIMARY KEY, model TEXT NOT NULL, version TEXT NOT NULL, data TEXT NOT NULL)
    WITHOUT ROWID""",
    """cost (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, before INTEGER NOT NULL,
    generation INTEGER NOT NULL, usage TEXT NOT NULL)""",
)
_KEEP = """INSERT INTO piece VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
    SET model = excluded.model, version = excluded.version, data = excluded.data"""

PieceKey = tuple[str, ...]  # model, version of the prompt, and whatever else tells it apart


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model: the prompt, and the earlier replies to it."""

    model: str  # the chat's name
    prompt: Prompt
    turns: Sequence[Turn] = ()
    known_key: bytes = b""  # of a request whose text is no longer at hand

    def key(self) -> bytes:
        """Return the SHA-256 of everything that determines the reply.

        Of an earlier turn that is its text: what is wrong with it follows from the text.
        """
        if self.known_key:
            return self.known_key
        prompt = self.prompt
        schema = "" if prompt.schema is None else json.dumps(prompt.schema)
        replies = [turn.text for turn in self.turns]
        parts = (prompt.version, prompt.system, prompt.user, schema, str(prompt.max_tokens))
        picture = [prompt.picture] if prompt.picture else []
        return digest_parts([self.model, *parts, *picture, *replies])


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The totals of the recorded calls of one model with one prompt version."""

    calls: int
    read: int  # prompts whose first reply could be used as a whole
    repaired: int  # others whose repair could
    failed: int  # those of which not all, or nothing, could be used
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # None: the price of one of them was not known


class Size(NamedTuple):
    """The tokens and the duration of one model call."""

    prompt_tokens: int
    completion_tokens: int
    seconds: float
    repair: bool  # it asked for a better reply than one before


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one write, which led from one generation of an index to another."""

    kind: str  # "add", "import"
    before: int
    generation: int
    usage: Usage


class Ledger:
    """A file of all paid replies, created on first use and shared by processes.

    Every method raises StoreError where it cannot be used.
    """

    def __init__(self, place: Place) -> None:
        self._file = paid_file(place, _KIND, APPLICATION_ID, _TABLES)

    @property
    def path(self) -> Path:
        return self._file.path

    def exists(self) -> bool:
        """Check whether the ledger exists."""
        return self._file.exists()

    def faults(self) -> list[str]:
        """Return the damage, none if the ledger is missing."""
        return self._file.faults()

    def copy(self, place: Place, keep: Keep) -> None:
        """Copy the replies, and the extractions with selected keys, to another ledger."""
        target = paid_file(place, _KIND, APPLICATION_ID, _TABLES)
        tables = {"call": "key", "failed": "key", "piece": "key"}
        copy_rows(self._file, target, tables, {"piece": keep})

    def list_versions(self) -> list[tuple[str, str]]:
        """Return the models and prompt versions with recorded extractions."""
        question = "SELECT DISTINCT model, version FROM piece ORDER BY model, version"
        with self._file.open() as database:
            return [(model, version) for model, version in sqlite.rows(database, question)]

    # -- calls --------------------------------------------------------------------------------

    def recall(self, request: Request) -> Turn | None:
        """Return the recorded reply to a request, or None."""
        question = """SELECT text, fault, prompt_tokens, completion_tokens, cost_usd, seconds, calls
            FROM call WHERE key = ?"""
        with self._file.open() as database:
            rows = sqlite.rows(database, question, [request.key()])
        return Turn(*rows[0]) if rows else None

    def record(self, request: Request, turn: Turn) -> Turn:
        """Record the reply to a request; return the first one recorded.

        That is the earlier one where another process was faster, so that all go on with the same.
        """
        row = (
            request.key(),
            request.model,
            request.prompt.version,
            _utf8(turn.text),
            _utf8(turn.fault),
            turn.prompt_tokens,
            turn.completion_tokens,
            turn.cost_usd,
            turn.seconds,
            turn.calls,
            len(request.turns),
        )
        with self._file.writing() as database:
            places = ",".join("?" * len(row))
            database.execute(f"INSERT INTO call VALUES ({places}) ON CONFLICT DO NOTHING", row)  # noqa: S608 -- question marks
            is_first = bool(database.changes())
        return turn if is_first else self.recall(request) or turn

    def knows(self, model: str, version: str) -> bool:
        """Check whether any call of this model and prompt version was recorded."""
        question = "SELECT EXISTS (SELECT 1 FROM call WHERE model = ? AND version = ?)"
        with self._file.open() as database:
            return bool(database.execute(question, [model, version]).get)

    def mark_failed(self, requests: Collection[Request]) -> None:
        """Record that these requests, one conversation, had no usable reply."""
        keys = [(request.key(),) for request in requests]
        with self._file.writing() as database:
            database.executemany("INSERT INTO failed VALUES (?) ON CONFLICT DO NOTHING", keys)

    def forget_failed(self) -> int:
        """Forget failed conversations, to be asked again; return the number of calls."""
        with self._file.writing() as database:
            database.execute("DELETE FROM call WHERE key IN (SELECT key FROM failed)")
            n_gone = database.changes()
            database.execute("DELETE FROM failed")
        return n_gone

    # -- pieces -------------------------------------------------------------------------------

    def pieces(self, keys: Collection[PieceKey]) -> dict[PieceKey, Any]:
        """Return the known values of some keys."""
        by_digest = {digest_parts(key): key for key in keys}
        with self._file.open() as database:
            rows: dict[bytes, str] = dict(rows_of_keys(database, "piece", "data", list(by_digest)))
        return {by_digest[digest]: json.loads(data) for digest, data in rows.items()}

    def keep(self, pieces: Mapping[PieceKey, Any]) -> None:
        """Store the JSON value of each text, in one commit."""
        rows = [
            (digest_parts(key), _utf8(key[0]), _utf8(key[1]), json.dumps(data, allow_nan=False))
            for key, data in pieces.items()
        ]
        with self._file.writing() as database:
            database.executemany(_KEEP, rows)

    # -- writes -------------------------------------------------------------------------------

    def bill(self, cost: Cost) -> None:
        """Record the cost of a write."""
        row = (cost.kind, cost.before, cost.generation, json.dumps(asdict(cost.usage)))
        with self._file.writing() as database:
            database.execute(
                "INSERT INTO cost (kind, before, generation, usage) VALUES (?, ?, ?, ?)", row
            )

    def costs(self) -> list[Cost]:
        """Return the costs of all writes, oldest first."""
        question = "SELECT kind, before, generation, usage FROM cost ORDER BY number"
        with self._file.open() as database:
            rows = sqlite.rows(database, question)
        return [
            Cost(kind=kind, before=before, generation=generation, usage=Usage(**json.loads(usage)))
            for kind, before, generation, usage in rows
        ]

    # -- sums ---------------------------------------------------------------------------------

    def totals(self) -> dict[tuple[str, str], Total]:
        """Return the totals of all calls, by model and prompt version."""
        question = """SELECT model, version, sum(calls), sum(CASE WHEN turn = 0 THEN 1 ELSE 0 END),
            sum(CASE WHEN turn = 1 AND failed.key IS NULL THEN 1 ELSE 0 END),
            sum(CASE WHEN turn = 0 AND failed.key IS NOT NULL THEN 1 ELSE 0 END),
            coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
            coalesce(sum(cost_usd), 0.0), count(cost_usd) = count(*)
            FROM call LEFT JOIN failed USING (key)
            GROUP BY model, version ORDER BY model, version"""
        with self._file.open() as database:
            rows = sqlite.rows(database, question)
        return {
            (model, version): Total(
                calls=int(calls),
                read=int(asked) - int(repaired) - int(failed),
                repaired=int(repaired),
                failed=int(failed),
                prompt_tokens=int(given),
                completion_tokens=int(taken),
                cost_usd=cost if is_known else None,
            )
            for model, version, calls, asked, repaired, failed, given, taken, cost, is_known in rows
        }

    def sizes(self, model: str, version: str) -> list[Size]:
        """Return the size of every call with a known bill."""
        question = """SELECT prompt_tokens, completion_tokens, seconds, turn > 0 FROM call
            WHERE model = ? AND version = ? AND prompt_tokens IS NOT NULL
            AND completion_tokens IS NOT NULL ORDER BY key"""
        with self._file.open() as database:
            rows = sqlite.rows(database, question, [model, version])
        return [Size(given, taken, seconds, bool(repair)) for given, taken, seconds, repair in rows]


def text_keys(model: str, version: str, texts: Sequence[str]) -> list[bytes]:
    """Return the keys under which the extractions of texts are recorded."""
    return [digest_parts((model, version, text)) for text in texts]


def _utf8(text: str) -> str:
    """Return the text as SQLite takes it: a lone surrogate becomes a question mark, NUL a space."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")
