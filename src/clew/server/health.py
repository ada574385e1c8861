"""Whether a server lives and can work, and what it has done: for whatever looks after it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from clew.errors import ClewError
from clew.server.endpoints import Call, door, refused
from clew.server.measures import labelled, written
from clew.wire.refusals import forbidden

if TYPE_CHECKING:
    from starlette.requests import Request

    from clew.server.hub import Hub
    from clew.server.keys import Key

_MOST_KEYS = 100
_UNAVAILABLE = 503


async def _alive(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _ready(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    is_ready = await run_sync(hub.readiness.check)
    status = {"status": "ok" if is_ready else "not ready"}
    return JSONResponse(status, 200 if is_ready else _UNAVAILABLE)


async def _metrics(call: Call) -> Response:
    key = call.caller.key
    if key is not None and (key.options.where or key.options.indexes):
        raise forbidden("measures are of the whole server, of which your key sees a part")
    lines = await run_sync(_lines, call.hub, None if call.caller.is_keeper else key)
    text = "\n".join(lines) + "\n"
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _lines(hub: Hub, key: Key | None) -> list[str]:
    """Return all measures; of what keys spent only that of one, where one is given."""
    lines = hub.measures.lines()
    lines += written("clew_jobs", "gauge", labelled(hub.jobs.queue.counts(), "state"))
    lines += written("clew_index_generation", "gauge", labelled(_generations(hub), "index"))
    names = {each.id: each.name for each in hub.keys.all()}
    spent = hub.spending.totals()
    if key is not None:
        spent = {key.id: spent[key.id]} if key.id in spent else {}
    tokens: dict[str, float] = {}
    usd: dict[str, float] = {}
    # The biggest have a name of their own, so that no number of keys makes this long.
    for place, (each, bill) in enumerate(sorted(spent.items(), key=lambda item: -item[1].tokens)):
        name = names.get(each, each or "local") if place < _MOST_KEYS else "(others)"
        tokens[name] = tokens.get(name, 0) + bill.tokens
        usd[name] = usd.get(name, 0.0) + bill.usd
    lines += written("clew_model_tokens_total", "counter", labelled(tokens, "key"))
    lines += written("clew_model_usd_total", "counter", labelled(usd, "key"))
    cpu = sum(os.times()[:2])
    lines += written("process_cpu_seconds_total", "counter", [((), round(cpu, 2))])
    if (resident := resident_bytes()) is not None:
        lines += written("process_resident_memory_bytes", "gauge", [((), resident)])
    return lines


def _generations(hub: Hub) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in hub.indexes.folders():
        with suppress(ClewError):  # what cannot be read is not ready, and has no number
            found[name] = hub.indexes.generation(name)
    return found


def resident_bytes() -> int | None:
    """Return how much memory this process has, None where the system does not say it so."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


OPEN_PATHS = ("/healthz", "/readyz")  # need no key, and may be asked under any name
PATHS = (*OPEN_PATHS, "/metrics")
ROUTES = (
    Route("/healthz", _alive, methods=["GET"]),
    Route("/readyz", _ready, methods=["GET"]),
    Route("/metrics", door(_metrics, lambda refusal, _: refused(refusal)), methods=["GET"]),
)
