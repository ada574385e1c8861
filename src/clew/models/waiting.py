"""How long models are waited for, and whether an LLM can be done without.

Somebody waits for a question. So what it asks of an address that cannot be reached, or that lets it
wait in vain, is not tried again, and an LLM that gives nothing is done without. Runs that index try
again, since a server may come back. So do runs that measure, and where an LLM gives nothing there
is nothing to measure.
"""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from clew.errors import EndpointError, ModelError

Part = Literal["step", "answer"]
T = TypeVar("T")

STEP_S = 30.0  # for a step on the way to passages
BUSY_S = 30.0  # in all, between attempts at a server that says that it is busy
PATIENCE_S = 600.0  # the same where nobody waits, such as in a run that indexes
REST_S = 60.0  # in which questions do without an LLM that has let one wait in vain

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asking:
    """What came of models while one question is asked."""

    gone: dict[str, EndpointError] = field(default_factory=dict)  # by their addresses
    logged: set[str] = field(default_factory=set)  # sentences that are in the log


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)
_is_measured: ContextVar[bool] = ContextVar("is_measured", default=False)
_part: ContextVar[Part | None] = ContextVar("part", default=None)


@contextmanager
def hold_value(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value in the block, for this thread and what runs in its context."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


@contextmanager
def asking() -> Iterator[None]:
    """Ask a question in the block, which may be a part of one, unless models are measured."""
    current = _asking.get()
    with hold_value(_asking, _Asking() if current is None and not is_measured() else current):
        yield


def measuring() -> AbstractContextManager[None]:
    """Measure in the block what models do: what they fail at is raised."""
    return hold_value(_is_measured, True)


def is_measured() -> bool:
    """Say whether what models do is measured."""
    return _is_measured.get()


def find_failures() -> dict[str, EndpointError] | None:
    """Return what came of each address that gave this question nothing; None: nobody waits."""
    current = _asking.get()
    return None if current is None else current.gone


def in_part(part: Part) -> AbstractContextManager[None]:
    """Ask an LLM in the block for a part of a question which it can do without."""
    return hold_value(_part, part)


def part() -> Part | None:
    """Return what is asked for that this question can do without; None: nothing, or nobody waits.

    The answer may take as long as its endpoint may; a step on the way to the passages may not.
    """
    return None if find_failures() is None else _part.get()


def tell(error: ModelError) -> None:
    """Write to the log what an LLM failed at, once for a question."""
    current = _asking.get() or _Asking()
    if str(error) not in current.logged:
        current.logged.add(str(error))
        _log.warning("continuing without the LLM: %s", error)
