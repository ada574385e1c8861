"""Write and stream server-sent events."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from functools import partial

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token
from starlette.responses import StreamingResponse

from clew.base.display.shown import plain
from clew.extras.server.endpoints import dump_json, run_in_thread
from clew.extras.server.state import ServerState
from clew.extras.wire.names import EVENT_STREAM

_QUIET_S = 15.0  # then a comment is sent, so that nothing between takes the stream for dead
_PING = b": still here\n\n"


def write_event(data: object, kind: str = "", number: int | None = None) -> bytes:
    """Return an event in wire format; JSON keeps the data on one line."""
    id_line = "" if number is None else f"id: {number}\n"
    kind_line = f"event: {kind}\n" if kind else ""
    return f"{id_line}{kind_line}data: {dump_json(plain(data))}\n\n".encode()


def stream_events(events: AsyncGenerator[bytes]) -> StreamingResponse:
    """Return a response that streams events, with a comment during long silences.

    Proxies are told to pass on what comes as it comes.
    """
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_with_pings(events), media_type=EVENT_STREAM, headers=headers)


async def _with_pings(events: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    coming: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(anext(events, None))
            if not (await asyncio.wait({coming}, timeout=_QUIET_S))[0]:
                yield _PING
                continue
            piece, coming = coming.result(), None
            if piece is None:
                return
            yield piece
    finally:
        with anyio.CancelScope(shield=True):  # whoever listened may have gone
            if coming is not None:
                coming.cancel()
                with suppress(asyncio.CancelledError):
                    await coming
            await events.aclose()


async def stream_thread_events(
    server: ServerState, work: Callable[[Callable[[str, object], None]], None]
) -> AsyncIterator[tuple[str, object]]:
    """Run `work` in a thread, and yield the events it sends to its argument.

    It works on to its end where nobody listens any more: what an LLM answers is kept. What it
    raises is raised here.
    """
    send, receive = anyio.create_memory_object_stream[tuple[str, object]](math.inf)
    token = current_token()

    def put(kind: str, data: object) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens
            send.send_nowait((kind, data))

    def tell(kind: str, data: object) -> None:
        from_thread.run_sync(put, kind, data, token=token)

    async def worker() -> None:
        try:
            await run_in_thread(partial(work, tell), server.threads)
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            put("", error)
        finally:
            send.close()

    server.background.start_soon(worker)
    async with receive:
        async for kind, data in receive:
            if isinstance(data, BaseException):
                raise data
            yield kind, data
