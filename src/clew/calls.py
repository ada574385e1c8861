"""What surrounds the functions of an index that users call: checks, and threads for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from clew import loading
from clew.index import Settings
from clew.limits import ReadingLimits
from clew.models import Models
from clew.models.budget import Budget
from clew.progress import Progress
from clew.readers import Columns
from clew.runtime import arguments
from clew.runtime.arguments import Kind
from clew.stopping import Stop
from clew.types import Document, Evidence, Exchange

P = ParamSpec("P")
T = TypeVar("T")

# What `where` may be is said where it is read.
checked = arguments.checked(
    {
        "folder": arguments.PATH,
        "home": arguments.PATH,
        "n_shards": arguments.whole(1),
        "processes": arguments.TRUTH,
        "path": arguments.PATH,
        "source": Kind(
            lambda value: (
                isinstance(value, Document)
                or arguments.is_path(value)
                or arguments.are_several(value)
            ),
            "a path, a document, or several, all paths or all documents",
        ),
        "name": arguments.TEXT,
        "into": arguments.TEXT,
        "spec": arguments.TEXT,
        "label": arguments.TEXT,
        "query": arguments.TEXT,
        "question": arguments.TEXT,
        "text": arguments.TEXT,
        "patterns": arguments.TEXT,
        "methods": arguments.TEXTS,
        "chunk_ids": arguments.TEXTS,
        "ids": arguments.TEXT_OR_TEXTS,
        "method": Kind(
            lambda value: isinstance(value, str) or hasattr(value, "retrieve"),
            "a method's name, or has `layers` and a `retrieve`",
        ),
        "context_tokens": arguments.whole(1),
        "answer_tokens": arguments.whole(1),
        "probe": arguments.whole(0),
        "generation": arguments.whole(0),
        "every_s": arguments.number(0),
        "core": arguments.number(0, 1),
        "min_support": arguments.number(0, 1),
        "name_weight": arguments.number(0),
        "exclude": arguments.TEXTS,
        "limits": arguments.instance("a ReadingLimits", ReadingLimits),
        "suffix": arguments.TEXT,
        "changed": Kind(arguments.are_several, "several paths"),
        "columns": arguments.instance("a clew.readers.Columns", Columns),
        "gitignore": arguments.TRUTH,
        "web": arguments.TRUTH,
        "prune": arguments.TRUTH,
        "again": arguments.TRUTH,
        "dry_run": arguments.TRUTH,
        "exact": arguments.TRUTH,
        "raw": arguments.TRUTH,
        "on_progress": arguments.FUNCTION,
        "on_chunks": arguments.FUNCTION,
        "on_evidence": arguments.FUNCTION,
        "on_text": arguments.FUNCTION,
        "on_citation": arguments.FUNCTION,
        "history": Kind(
            lambda value: (
                isinstance(value, Sequence) and all(isinstance(each, Exchange) for each in value)
            ),
            "a list of clew.Exchange",
        ),
        "stop": arguments.instance("a clew.stopping.Stop", Stop),
        "progress": arguments.instance("a clew.progress.Progress", Progress),
        "budget": arguments.instance("a clew.Budget", Budget),
        "evidence": arguments.instance("the Evidence that a search gave", Evidence),
        "models": arguments.instance("a clew.Models", Models),
        "specs": arguments.instance("a clew.Specs", loading.Specs),
        "settings": arguments.instance("a clew.Settings", Settings),
        "prices": arguments.MAPPING,
        "llm": Kind(
            lambda value: hasattr(value, "complete") or hasattr(value, "ask"),
            "an LLM, such as load_llm gives",
        ),
    }
)


def awaitable(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a method as one that is awaited while a thread does it; its name begins with an a."""

    @wraps(call)
    async def awaited(*given: P.args, **named: P.kwargs) -> T:
        return await asyncio.to_thread(call, *given, **named)

    name = call.__name__
    awaited.__name__ = f"a{name}"
    awaited.__qualname__ = f"Index.a{name}"
    awaited.__doc__ = f"Do as `{name}`, in a thread, while the event loop goes on with others."
    return awaited
