"""Spending of keys, and budgets shared by requests and processes, robust to crashes.

Before a request is sent to a model its worst case is written down under the key, in a transaction
that looks at all that the key has spent and set aside. What a process had set aside that died
counts as spent: nobody knows whether it was billed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clew import Budget
from clew.base.runtime.sqlite import rows
from clew.errors import BudgetSpent
from clew.extras.server import request_records, tracing
from clew.extras.server.process_locks import is_alive
from clew.models import Stopped
from clew.models.budget import Bill, Held

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from clew.base.runtime.sqlite import Connection
    from clew.extras.server.database import ServerDatabase
    from clew.extras.server.keys import Key
    from clew.extras.server.process_locks import ProcessLock

NOBODY = ""  # the key of requests that need none

_SET_ASIDE = """INSERT INTO held (key, day, tokens, usd, owner) VALUES (?, ?, ?, ?, ?)
    RETURNING id"""
_IS_VALID = "SELECT 1 FROM key WHERE id = ? AND revoked IS NULL"
_LOOK_S = 0.05  # how often one that waits for others looks again
_ROUNDED = 1 + 1e-9  # dollars are sums of rounded numbers


class KeySpending:
    """The spending of a home's keys by day, and the reserved amounts."""

    def __init__(self, database: ServerDatabase, alive: ProcessLock) -> None:
        self.database = database
        self._alive = alive

    def make_budget(self, key: Key | None, *, tokens: int | None, usd: float | None) -> KeyBudget:
        """Return the budget of a request, within the limits of the key."""
        return KeyBudget(self, key, tokens=tokens, usd=usd)

    def settle_dead(self) -> None:
        """Book the reservations of dead processes as spent."""
        owners = {row[0] for row in self.database.read_rows("SELECT DISTINCT owner FROM held")}
        dead = [each for each in owners if not is_alive(self.database.home, each)]
        for owner in dead:
            question = "SELECT id, key, day, tokens, usd FROM held WHERE owner = ?"
            with self.database.writing() as connection:
                for number, key, day, tokens, usd in rows(connection, question, (owner,)):
                    connection.execute("DELETE FROM held WHERE id = ?", (number,))
                    _add_spent(connection, key, day, Bill(tokens, usd))

    def list_by_day(self, key: str | None = None) -> list[dict[str, Any]]:
        """Return the spending of one or all keys by day, newest first."""
        where, values = ("", ()) if key is None else (" WHERE key = ?", (key,))
        question = f"SELECT * FROM spent{where} ORDER BY day DESC, key"  # noqa: S608 -- of ours
        names = ("key", "day", "tokens", "usd", "unpriced_tokens", "requests")
        return [
            dict(zip(names, row, strict=True)) for row in self.database.read_rows(question, values)
        ]

    def sum_of_key(self, key: str) -> Mapping[str, Any]:
        """Return a key's spending today and in total."""
        with self.database.writing() as connection:
            today, whole = _sum_spent(connection, key, _find_day())
        return {
            "tokens_today": today.tokens,
            "usd_today": today.usd,
            "tokens": whole.tokens,
            "usd": whole.usd,
        }

    def sum_by_key(self) -> Mapping[str, Bill]:
        """Return the total spending by key id."""
        question = "SELECT key, sum(tokens), sum(usd), sum(unpriced) FROM spent GROUP BY key"
        return {
            key: Bill(tokens, usd, not unpriced)
            for key, tokens, usd, unpriced in self.database.read_rows(question)
        }

    def set_aside(self, key: Key | None, worst: Bill) -> int | None:
        """Reserve a worst case; return its number, or None if others hold the budget.

        Raises BudgetSpent where the key has no room for it, whatever others turn out to cost.
        """
        name, day = NOBODY if key is None else key.id, _find_day()
        with self.database.writing() as connection:
            if key is not None:
                if not rows(connection, _IS_VALID, (name,)):
                    raise BudgetSpent(f"the key {key.name!r} was revoked: no further model calls")
                spent = _sum_spent(connection, name, day)
                if sentence := _explain_lack(key, spent, worst):
                    raise BudgetSpent(sentence)
                waiting = _sum_spent(connection, name, day, held=True)
                together = (spent[0] + waiting[0], spent[1] + waiting[1])
                if _explain_lack(key, together, worst):
                    return None
            values = (name, day, worst.tokens, worst.usd, self._alive.name)
            [(number,)] = rows(connection, _SET_ASIDE, values)
            return int(number)

    def settle(self, number: int, billed: Bill) -> None:
        """Replace a reservation by the amount billed."""
        with self.database.writing() as connection:
            question = "SELECT key, day FROM held WHERE id = ?"
            for key, day in rows(connection, question, (number,)):
                connection.execute("DELETE FROM held WHERE id = ?", (number,))
                if billed != Bill():
                    _add_spent(connection, key, day, billed)


class KeyBudget(Budget):
    """A budget limited by a key and by its own limits."""

    def __init__(
        self, spending: KeySpending, key: Key | None, *, tokens: int | None, usd: float | None
    ) -> None:
        super().__init__(tokens=tokens, usd=usd)
        self._spending = spending
        self._key = key
        self._numbers: dict[Held, int] = {}
        self._spans: dict[Held, Span] = {}
        self._noted = request_records.find_record()
        self._trace = tracing.find_context()

    def reserve(self, worst: Bill, stop: threading.Event | None = None) -> Held:
        held = super().reserve(worst, stop)
        try:
            self._numbers[held] = self._set_aside(worst, stop)
        except BaseException:
            super()._put(held, Bill())
            raise
        self._spans[held] = tracing.begin_span(
            "llm", {"clew.worst_tokens": worst.tokens}, self._trace
        )
        return held

    def _set_aside(self, worst: Bill, stop: threading.Event | None) -> int:
        while True:
            try:
                number = self._spending.set_aside(self._key, worst)
            except BudgetSpent as error:
                self.refused = str(error)
                raise
            if number is not None:
                return number
            if stop is not None and stop.is_set():
                raise Stopped
            self._spending.settle_dead()
            time.sleep(_LOOK_S)

    def _put(self, held: Held, spent: Bill) -> None:
        number = self._numbers.pop(held, None)
        if number is not None:
            self._spending.settle(number, spent)
            self._noted.tokens += spent.tokens
        span = self._spans.pop(held, None)
        if span is not None:
            span.set_attribute("clew.tokens", spent.tokens)
            span.end()
        super()._put(held, spent)


def _find_day() -> str:
    return datetime.now(UTC).date().isoformat()


def _sum_spent(
    connection: Connection, key: str, day: str, *, held: bool = False
) -> tuple[Bill, Bill]:
    """Return what a key has spent, or reserved, on a day and in total."""
    table = "held" if held else "spent"
    question = f"""SELECT coalesce(sum(tokens) FILTER (WHERE day = ?), 0),
        coalesce(sum(usd) FILTER (WHERE day = ?), 0.0), coalesce(sum(tokens), 0),
        coalesce(sum(usd), 0.0) FROM {table} WHERE key = ?"""  # noqa: S608 -- of ours
    [(today, today_usd, whole, whole_usd)] = rows(connection, question, (day, day, key))
    return Bill(int(today), today_usd), Bill(int(whole), whole_usd)


def _explain_lack(key: Key, spent: tuple[Bill, Bill], worst: Bill) -> str:
    """Return why a key cannot afford a worst case, or ""."""
    options, (today, whole) = key.options, spent
    if not worst.priced and (options.usd is not None or options.usd_per_day is not None):
        return (
            f"the key {key.name!r} may spend so many dollars, and the price of this model is not"
            f" known: start the server with --price"
        )
    bounds = (
        (options.tokens, whole.tokens + worst.tokens, "tokens in all"),
        (options.tokens_per_day, today.tokens + worst.tokens, "tokens a day"),
        (options.usd, (whole.usd + worst.usd) / _ROUNDED, "dollars in all"),
        (options.usd_per_day, (today.usd + worst.usd) / _ROUNDED, "dollars a day"),
    )
    for most, needed, of_what in bounds:
        if most is not None and needed > most:
            return (
                f"the key {key.name!r} has a budget of {most:,g} {of_what}, which leaves no room"
                f" for this request: ask whoever gave you the key"
            )
    return ""


def _add_spent(connection: Connection, key: str, day: str, billed: Bill) -> None:
    unpriced = 0 if billed.priced else billed.tokens
    connection.execute(
        """INSERT INTO spent VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT (key, day) DO UPDATE SET
        tokens = spent.tokens + excluded.tokens, usd = spent.usd + excluded.usd,
        unpriced = spent.unpriced + excluded.unpriced, requests = spent.requests + 1""",
        (key, day, billed.tokens, billed.usd, unpriced),
    )
