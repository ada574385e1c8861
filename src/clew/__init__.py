"""Clew: graph-based retrieval for questions that need several texts, with the thread behind each.

index = clew.open("my.clew")
index.add("docs/")
answer = index.ask("Who built the ship that ...?")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.api import Index
    from clew.api import open_index as open  # noqa: A004 -- clew.open is meant to read so

__all__ = ["Index", "__version__", "open"]

__version__ = "0.1.0"

_LAZY = {"Index": "Index", "open": "open_index"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from clew import api  # numpy and scipy come with it: only when it is asked for

        return getattr(api, _LAZY[name])
    raise AttributeError(f"module 'clew' has no attribute {name!r}")
