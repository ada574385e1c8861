"""Functions that take their time, for an event loop: NumPy, CTranslate2 and SQLite know none.

A second object with awaitable methods would have locks and models of its own, so each slow function
has a twin, named as in LangChain and LlamaIndex. To cancel it ends the waiting and not the thread:
a write is always whole.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a method as one that is awaited while a thread does it; its name begins with an a."""

    @wraps(call)
    async def run_in_thread(*given: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # which a program without an event loop does not load

        return await asyncio.to_thread(call, *given, **kwargs)

    name = call.__name__
    run_in_thread.__name__ = f"a{name}"
    run_in_thread.__qualname__ = call.__qualname__.replace(f".{name}", f".a{name}")
    run_in_thread.__doc__ = (
        f"Do as `{name}`, in a thread, while the event loop goes on with others."
    )
    return run_in_thread
