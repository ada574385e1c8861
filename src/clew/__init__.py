"""Clew: graph-based retrieval that answers from several documents, with the path to each hit.

    index = clew.open("my.clew")
    index.add("docs/")
    answer = index.ask("Who built the ship that ...?")

What stands in `__all__`, and what docs/public.md names beside it, is public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:
    from clew.answers.context import build_context
    from clew.api import Added, Index, restore
    from clew.api import open_index as open  # noqa: A004 -- clew.open is meant to read so
    from clew.base.types import (
        Answer,
        Apparatus,
        Citation,
        Context,
        Document,
        Evidence,
        EvidenceGraph,
        Exchange,
        Heading,
        Hit,
        Limits,
        Path,
        Skipped,
        Step,
        Usage,
    )
    from clew.client import AsyncClient, Client
    from clew.errors import ClewError, InputError
    from clew.filters import Filter, field
    from clew.index.recipe import Settings
    from clew.index.snapshot import Snapshot
    from clew.methods import Method
    from clew.models import Models
    from clew.models.budget import Budget
    from clew.models.loading import Specs, load_llm
    from clew.text.chunking import Chunking

__all__ = [
    "Added",
    "Answer",
    "Apparatus",
    "AsyncClient",
    "Budget",
    "Chunking",
    "Citation",
    "ClewError",
    "Client",
    "Context",
    "Document",
    "Evidence",
    "EvidenceGraph",
    "Exchange",
    "Filter",
    "Heading",
    "Hit",
    "Index",
    "InputError",
    "Limits",
    "Method",
    "Models",
    "Path",
    "Settings",
    "Skipped",
    "Snapshot",
    "Specs",
    "Step",
    "Usage",
    "__version__",
    "build_context",
    "field",
    "load_llm",
    "open",
    "restore",
]

__version__ = "0.1.0"

# numpy and scipy come with some of these, so only when one is asked for.
__getattr__ = _lazy(
    "clew",
    {
        "api": ("Added", "Index", "open=open_index", "restore"),
        "extras.client.clients": ("AsyncClient", "Client"),
        "answers.context": ("build_context",),
        "errors": ("ClewError", "InputError"),
        "filters": ("Filter", "field"),
        "index.recipe": ("Settings",),
        "methods": ("Method",),
        "models": ("Models",),
        "models.budget": ("Budget",),
        "models.loading": ("Specs", "load_llm"),
        "text.chunking": ("Chunking",),
        "index.snapshot": ("Snapshot",),
        "base.types": (
            "Answer", "Apparatus", "Citation", "Context", "Document", "Evidence", "EvidenceGraph",
            "Exchange", "Heading", "Hit", "Limits", "Path", "Skipped", "Step", "Usage",
        ),
    },
)  # fmt: skip
