"""How long models are waited for, and whether an LLM can be done without.

Somebody waits for a question. So what it asks of an address that cannot be reached is not tried
again, and an LLM that gives nothing is done without. Runs that index try again, since a server may
come back. So do runs that measure, and where an LLM gives nothing there is nothing to measure.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.errors import EndpointError, ModelError

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asking:
    """What came of models while one question is asked."""

    gone: dict[str, EndpointError] = field(default_factory=dict)  # by their addresses
    told: set[str] = field(default_factory=set)  # sentences that are in the log


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)
_is_measured: ContextVar[bool] = ContextVar("is_measured", default=False)


@contextmanager
def asking() -> Iterator[None]:
    """Ask a question in the block, which may be a part of one, unless models are measured."""
    known = _asking.get()
    before = _asking.set(_Asking() if known is None and not is_measured() else known)
    try:
        yield
    finally:
        _asking.reset(before)


@contextmanager
def measuring() -> Iterator[None]:
    """Measure in the block what models do: what they fail at is raised."""
    before = _is_measured.set(True)
    try:
        yield
    finally:
        _is_measured.reset(before)


def is_measured() -> bool:
    """Say whether what models do is measured."""
    return _is_measured.get()


def gone() -> dict[str, EndpointError] | None:
    """Return what came of each address that gave this question nothing; None: nobody waits."""
    known = _asking.get()
    return None if known is None else known.gone


def tell(error: ModelError) -> None:
    """Write to the log what an LLM failed at, once for a question."""
    known = _asking.get() or _Asking()
    if str(error) not in known.told:
        known.told.add(str(error))
        _log.warning("the LLM is done without: %s", error)
