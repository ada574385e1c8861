"""Whether a server lives and can work, and what it has done: for whatever looks after it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.errors import ClewError
from clew.server.endpoints import Call, door, refused
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
    content = await run_sync(_write_measures, call.hub, None if call.caller.is_keeper else key)
    return Response(content, media_type="text/plain; version=0.0.4")


def _write_measures(hub: Hub, key: Key | None) -> bytes:
    """Return all measures; of what keys spent only that of one, where one is given."""
    registry = CollectorRegistry()
    jobs = Gauge("clew_jobs", "Jobs", ("state",), registry=registry)
    for state, n in hub.jobs.queue.counts().items():
        jobs.labels(state).set(n)
    generations = Gauge("clew_index_generation", "Generation", ("index",), registry=registry)
    for name in hub.indexes.folders():
        with suppress(ClewError):  # what cannot be read is not ready, and has no number
            generations.labels(name).set(hub.indexes.generation(name))
    names = {each.id: each.name for each in hub.keys.all()}
    spent = hub.spending.totals()
    if key is not None:
        spent = {key.id: spent[key.id]} if key.id in spent else {}
    tokens = Counter("clew_model_tokens", "Tokens billed", ("key",), registry=registry)
    usd = Counter("clew_model_usd", "Dollars billed", ("key",), registry=registry)
    # The biggest have a name of their own, so that no number of keys makes this long.
    for place, (each, bill) in enumerate(sorted(spent.items(), key=lambda item: -item[1].tokens)):
        name = names.get(each, each or "local") if place < _MOST_KEYS else "(others)"
        tokens.labels(name).inc(bill.tokens)
        usd.labels(name).inc(bill.usd)
    ProcessCollector(registry=registry)
    return generate_latest(hub.measures.registry) + generate_latest(registry)


OPEN_PATHS = ("/healthz", "/readyz")  # need no key, and may be asked under any name
PATHS = (*OPEN_PATHS, "/metrics")
ROUTES = (
    Route("/healthz", _alive, methods=["GET"]),
    Route("/readyz", _ready, methods=["GET"]),
    Route("/metrics", door(_metrics, lambda refusal, _: refused(refusal)), methods=["GET"]),
)
