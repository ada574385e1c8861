"""Health, readiness and metrics of a server."""

import multiprocessing
import operator
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync
from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.errors import ClewError
from clew.extras.server.endpoints import Call, make_handler
from clew.extras.server.keys import Key
from clew.extras.server.state import Known, ServerState
from clew.extras.wire.refusals import forbidden
from clew.models.budget import Bill

_MOST_KEYS = 100
_UNAVAILABLE = 503


async def _report_health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _report_readiness(request: Request) -> Response:
    server: ServerState = request.app.state.server
    is_ready = await run_sync(server.readiness.check)
    status = {"status": "ok" if is_ready else "not ready"}
    return JSONResponse(status, 200 if is_ready else _UNAVAILABLE)


async def _report_measures(call: Call) -> Response:
    key = call.caller.key
    if key is not None and (key.options.where or key.options.indexes):
        raise forbidden("metrics cover the whole server, but your key is limited to a part of it")
    content = await run_sync(_write_measures, call.server, None if call.caller.is_keeper else key)
    return Response(content, media_type="text/plain; version=0.0.4")


def _write_measures(server: ServerState, key: Key | None) -> bytes:
    """Return all metrics in Prometheus' text format; spending optionally of one key."""
    registry = CollectorRegistry()
    metrics = (*_measure_state(server), *_measure_spending(server, key), *_measure_processes())
    registry.register(Known(metrics))
    return server.measures.write() + generate_latest(registry)


def _measure_state(server: ServerState) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("clew_jobs", "Jobs", labels=("state",))
    for state, n in server.jobs.queue.count_states().items():
        jobs.add_metric((state,), n)
    generations = GaugeMetricFamily("clew_index_generation", "Generation", labels=("index",))
    for name in server.indexes.list_folders():
        with suppress(ClewError):  # what cannot be read is not ready, and has no number
            generations.add_metric((name,), server.indexes.read_generation(name))
    yield from (jobs, generations)


def _measure_spending(server: ServerState, key: Key | None) -> Iterator[Metric]:
    names = {each.id: each.name for each in server.keys.list_keys()}
    spent = server.spending.sum_by_key()
    if key is not None:
        spent = {key.id: spent[key.id]} if key.id in spent else {}
    # The biggest have a name of their own, so that no number of keys makes this long.
    summed: dict[str, Bill] = {}
    for place, (each, bill) in enumerate(sorted(spent.items(), key=lambda item: -item[1].tokens)):
        name = names.get(each, each or "local") if place < _MOST_KEYS else "(others)"
        summed[name] = summed.get(name, Bill()) + bill
    tokens = CounterMetricFamily("clew_model_tokens", "Tokens billed", labels=("key",))
    usd = CounterMetricFamily("clew_model_usd", "Dollars billed", labels=("key",))
    for name, bill in summed.items():
        tokens.add_metric((name,), bill.tokens)
        usd.add_metric((name,), bill.usd)
    yield from (tokens, usd)


def _measure_processes() -> Iterable[Metric]:
    """Return the resource usage of all server processes, summed."""
    summed: dict[str, Metric] = {}
    for pid in _list_processes():
        for each in ProcessCollector(pid=partial(str, pid), registry=None).collect():
            total = summed.setdefault(each.name, each)
            if total is each:
                continue
            [sample], [more] = total.samples, each.samples
            combine = min if each.name == "process_start_time_seconds" else operator.add
            total.samples = [sample._replace(value=combine(sample.value, more.value))]
    return summed.values()


def _list_processes() -> list[str]:
    """Return the ids of all server processes, "self" for a single one."""
    supervisor = multiprocessing.parent_process()
    if supervisor is None:
        return ["self"]
    of_it = Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children")
    try:
        return [str(supervisor.pid), *of_it.read_text(encoding="ascii").split()]
    except OSError:  # it has ended
        return ["self"]


OPEN_PATHS = ("/healthz", "/readyz")  # need no key, and may be asked under any name
PATHS = (*OPEN_PATHS, "/metrics")
ROUTES = (
    Route("/healthz", _report_health, methods=["GET"]),
    Route("/readyz", _report_readiness, methods=["GET"]),
    Route("/metrics", make_handler(_report_measures), methods=["GET"]),
)
