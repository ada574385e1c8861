"""Bound what models may cost, by reserving the worst case before each request.

A reply that cost more than the worst case is kept, since it is paid for, and ends the run.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Self

from clew.base.runtime import arguments
from clew.errors import BadReply, BudgetSpent, ClewError
from clew.models import Stopped
from clew.models.prices import Price, cost_usd

_ROUNDED = 1 + 1e-9  # dollars are sums of rounded numbers
_LOOK_S = 0.05  # how often one that waits for others looks whether the batch has ended


@dataclass(frozen=True, slots=True)
class Bill:
    """An amount of tokens, and of dollars if their price is known."""

    tokens: int = 0
    usd: float = 0.0
    priced: bool = True  # False: some of the tokens had no known price

    def __add__(self, other: Bill) -> Bill:
        return Bill(self.tokens + other.tokens, self.usd + other.usd, self.priced and other.priced)

    def __str__(self) -> str:
        return f"{self.tokens:,} tokens" + (f" (${self.usd:,.4f})" if self.usd else "")


def bill(prompt_tokens: int, completion_tokens: int, price: Price | None) -> Bill:
    """Return the bill of tokens at a price."""
    usd = cost_usd(price, prompt_tokens, completion_tokens)
    return Bill(prompt_tokens + completion_tokens, usd or 0.0, usd is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The amount reserved for one request until its bill is known."""

    worst: Bill


class Budget:
    """A limit of tokens, dollars or both, shared by all its users.

    A request is sent only when its worst case fits beside what is spent and what other requests
    under way may still cost. So as long as a model bills no more than it was asked for, neither
    bound is ever exceeded. The first bill that says more ends all requests to come, and the first
    request is sent alone, so that such a model is met once. Without bounds it only counts. Threads
    may share it.
    """

    def __init__(self, tokens: int | None = None, usd: float | None = None) -> None:
        bounds = {"tokens": tokens, "usd": usd}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        arguments.check_arguments(
            given, {"tokens": arguments.whole_numbers(0), "usd": arguments.number(0)}
        )
        self.tokens = tokens
        self.usd = usd
        self.refused = ""  # why the last request that did not fit was not sent
        self._spent = Bill()
        self._unanswered = Bill()
        self._unstated = Bill()
        self._held: set[Held] = set()
        self._broken = ""  # how a bill exceeded its worst case
        self._is_kept = tokens is None and usd is None  # a bill kept within its worst case
        self._changed = threading.Condition()

    @property
    def spent_tokens(self) -> int:
        """Return the tokens billed, or possibly billed."""
        return self._spent.tokens

    @property
    def spent_usd(self) -> float | None:
        """Return the dollars billed, or possibly billed; None if a price was unknown."""
        return self._spent.usd if self._spent.priced else None

    @property
    def lost_tokens(self) -> int:
        """Return the part of `spent_tokens` that may be billed although no reply arrived."""
        return self._unanswered.tokens + self._unstated.tokens

    def reserve(self, worst: Bill, stop: threading.Event | None = None) -> Held:
        """Reserve the worst case of a request.

        While others are under way, wait for them: most cost far less than their worst case.
        Raises BudgetSpent where none is and it still does not fit, Stopped where `stop` is set.
        """
        held = Held(worst)
        with self._changed:
            while self._broken or not self._may_send(worst):
                if self._broken:
                    self.refused = self._broken
                    raise BudgetSpent(self._broken)
                if stop is not None and stop.is_set():
                    raise Stopped
                if not self._held:
                    self.refused = self._sentence(worst)
                    raise BudgetSpent(self.refused)
                self._changed.wait(_LOOK_S)
            self._held.add(held)
        return held

    def settle(self, held: Held, billed: Bill) -> None:
        """Replace the worst case by the bill.

        Where it is more, no further request is sent.
        """
        with self._changed:
            self._put(held, billed)
            if billed.tokens > held.worst.tokens or billed.usd > held.worst.usd * _ROUNDED:
                if self.tokens is not None or self.usd is not None:
                    self._broken = self.refused = (
                        f"a reply took {billed}, more than the {held.worst} that it was limited"
                        f" to, so the budget cannot be kept and the run stops. Hint: all replies"
                        f" are kept; use an endpoint that respects limits, or no budget"
                    )
            else:
                self._is_kept = True

    def lose(self, held: Held, *, answered: bool = False) -> None:
        """Count the worst case as spent, since the bill is unknown.

        No usable answer came, or one that does not state its usage (`answered`).
        """
        with self._changed:
            self._put(held, held.worst)
            if answered:
                self._unstated += held.worst
                self._is_kept = True  # nothing that it says is counted
            else:
                self._unanswered += held.worst

    def correct(self, before: Bill, after: Bill) -> None:
        """Count `after` as spent in place of `before`: of a batch its bill, and first its worst."""
        with self._changed:
            tokens, usd = after.tokens - before.tokens, after.usd - before.usd
            self._spent += Bill(tokens, usd, after.priced)

    def release(self, held: Held) -> None:
        """Release the reservation of an unbilled request."""
        self._put(held, Bill())

    def _put(self, held: Held, spent: Bill) -> None:
        with self._changed:
            self._held.remove(held)
            self._spent += spent
            self._changed.notify_all()

    def _may_send(self, worst: Bill) -> bool:
        total = sum((held.worst for held in self._held), self._spent + worst)
        fits = self.tokens is None or total.tokens <= self.tokens
        fits = fits and (self.usd is None or total.usd <= self.usd)
        return fits and (self._is_kept or not self._held)

    def _sentence(self, worst: Bill) -> str:
        """Return the error message for a request that does not fit."""
        lost = (
            (self._unanswered, "requests without a usable answer"),
            (self._unstated, "replies for which the endpoint stated no usage"),
        )
        text = (f", {bill} of them as the worst case of {why}" for bill, why in lost if bill.tokens)
        bounds = [] if self.tokens is None else [f"{self.tokens:,} tokens"]
        bounds += [] if self.usd is None else [f"${self.usd:,.4f}"]
        return (
            f"the budget of {' and '.join(bounds)} leaves no room: {self._spent} are spent"
            f"{''.join(text)}, and the next request may take up to {worst}."
            f" Hint: every reply is kept; run the same command again, with a budget that has room"
            f" for it, to continue"
        )


class Purchase:
    """The reservation for one exchange, settled or released at the end of a block."""

    def __init__(self, budget: Budget, worst: Bill, stop: threading.Event | None = None) -> None:
        self._budget = budget
        self._worst = worst
        self._stop = stop
        self._held: Held | None = None

    def __enter__(self) -> Self:
        self._held = self._budget.reserve(self._worst, self._stop)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Release the reservation, or count it as spent if the request may have been billed."""
        held = self._take()
        is_known = isinstance(error, ClewError | Stopped) and not isinstance(error, BadReply)
        if held is not None:
            (self._budget.release if is_known else self._budget.lose)(held)

    def set_aside_again(self, again: bool) -> None:  # noqa: FBT001 -- `OnLost` of clew.models
        """Count an attempt without a reply as spent, and reserve another one."""
        held = self._take()
        if held is not None:
            self._budget.lose(held)
        if again:
            self._held = self._budget.reserve(self._worst, self._stop)

    def settle(self, billed: Bill | None) -> None:
        """Replace the worst case by the bill, or keep it if the bill is None."""
        held = self._take()
        if held is not None and billed is None:
            self._budget.lose(held, answered=True)
        elif held is not None and billed is not None:
            self._budget.settle(held, billed)

    def _take(self) -> Held | None:
        held, self._held = self._held, None
        return held
