"""Who pays for what an embedding endpoint bills: the run in whose context it is asked.

An embedder is used from many places, also inside a reranker, and by several runs at a time. So a
run says that it pays, around the call, and the embedder asks who does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.models.budget import Bill, Budget


@dataclass(frozen=True, slots=True)
class Payer:
    """What is told of each bill, and the budget that bounds them."""

    on_bill: Callable[[Bill], None]
    budget: Budget | None = None


_payer: ContextVar[Payer | None] = ContextVar("payer", default=None)


def payer() -> Payer | None:
    """Return who pays for what this thread asks, None where nobody said so."""
    return _payer.get()


@contextmanager
def paid_by(who: Payer) -> Iterator[None]:
    """Let `who` pay for what this thread asks in the block."""
    before = _payer.set(who)
    try:
        yield
    finally:
        _payer.reset(before)
