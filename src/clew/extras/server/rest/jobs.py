"""Routes that queue, show, follow and cancel jobs."""

from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
from anyio.to_thread import run_sync
from pydantic import Field, RootModel
from starlette.responses import Response

from clew.extras.server.bodies import Body, Part, QueryParameters, Whole, one_of
from clew.extras.server.endpoints import Call, EndpointGroup, make_reply
from clew.extras.server.jobs.options import (
    KINDS,
    CompactOptions,
    ExtractOptions,
    IndexOptions,
    RemoveOptions,
    check_options,
)
from clew.extras.server.jobs.queue import Job
from clew.extras.server.request_records import parse_number
from clew.extras.server.sse import stream_events, write_event
from clew.extras.wire.indexes import Listed
from clew.extras.wire.jobs import JOB_EVENTS, STATES, JobView
from clew.extras.wire.names import EVENT_STREAM, LAST_EVENT_HEADER, MOST_NUMBER
from clew.extras.wire.refusals import no_such_resource

JOBS = EndpointGroup("jobs")
_LOOK_S = 0.25  # for new events, and for the end of a job that is waited for
_LONGEST_WAIT = 60
_JOB = {"id": "the id of a job"}


class IndexJob(Body):
    """Uploaded files are indexed again."""

    kind: Literal["index"]
    options: IndexOptions = IndexOptions.model_validate({})


class ExtractJob(Body):
    """What is extracted from chunks."""

    kind: Literal["extract"]
    options: ExtractOptions = ExtractOptions.model_validate({})


class RemoveJob(Body):
    """Documents are removed."""

    kind: Literal["remove"]
    options: RemoveOptions


class CompactJob(Body):
    """What is removed is erased."""

    kind: Literal["compact"]
    options: CompactOptions = CompactOptions.model_validate({})


class JobBody(RootModel[IndexJob | ExtractJob | RemoveJob | CompactJob]):
    """What is to be done, and how."""

    root: IndexJob | ExtractJob | RemoveJob | CompactJob = Field(discriminator="kind")


class WaitQuery(QueryParameters):
    """How long a job is waited for."""

    wait: Whole = Field(0, ge=0, le=_LONGEST_WAIT, description="seconds to wait for the job's end")


class JobsQuery(Part):
    """Which jobs are listed."""

    index: str = Field("", max_length=64, description="only of this index")
    state: one_of(STATES) = Field("", description="only in this state")  # type: ignore[valid-type]
    kind: one_of(tuple(KINDS)) = Field("", description="only of this kind")  # type: ignore[valid-type]


class EventsQuery(QueryParameters):
    """From where on events are told."""

    after: Whole = Field(0, ge=0, le=MOST_NUMBER, description="number of the last event received")


# -- putting in -----------------------------------------------------------------------------------


async def submit_job(
    call: Call,
    name: str,
    kind: str,
    options: Body,
    query: WaitQuery,
    prepare: Callable[[Path], object] | None = None,
) -> Response:
    """Check and queue a job; reply with it, after its end if the caller waits."""
    seconds, jobs, key = query.wait, call.server.jobs, call.caller.key

    def queue_job() -> Job:
        server = call.server
        server.indexes.check_one(name)
        has_llm = server.settings.specs.llm is not None
        check_options(options, server.indexes.find_folder(name), has_llm=has_llm)
        plain = options.model_dump(mode="json", exclude_unset=True)
        key_id = "" if key is None else key.id
        return jobs.submit(name, kind, plain, key=key_id, prepare=prepare)

    job = await call.run(queue_job)
    jobs.wake()
    with anyio.move_on_after(seconds):
        while seconds and not job.has_ended and not call.server.stopping.is_set():
            await anyio.sleep(_LOOK_S / 2)
            job = await _find_job(call, job.id)
    return make_reply(job.make_view(), 200 if job.has_ended else 202)


# -- looking --------------------------------------------------------------------------------------


@JOBS.endpoint("GET", "/jobs")
async def list_jobs(call: Call, query: JobsQuery) -> Listed[JobView]:
    """List the jobs, the newest first."""
    names = _list_visible(call)
    if query.index:
        names = {query.index} if names is None or query.index in names else set()
    options = query.model_dump(exclude={"index"})
    page, total = await run_sync(partial(call.server.jobs.queue.list_jobs, names, **options))
    return Listed(items=tuple(job.make_view() for job in page), total=total)


@JOBS.endpoint(
    "POST", "/indexes/{index}/jobs", scope="write", body=JobBody, reply=JobView, status=202
)
async def add_job(call: Call, query: WaitQuery) -> Response:
    """Index uploaded files again, extract, remove or compact."""
    name = call.open_named_index("write").name
    body = (await call.read_body(JobBody)).root
    return await submit_job(call, name, body.kind, body.options, query)


def _list_visible(call: Call) -> set[str] | None:
    """Return the indexes whose jobs are visible to the caller; None means all."""
    if call.caller.where:
        return set()
    key = call.caller.key
    return None if key is None or not key.options.indexes else set(key.options.indexes)


async def _find_job(call: Call, job_id: str) -> Job:
    """Return a job visible to the caller. Raises Refusal 404."""
    job = await run_sync(call.server.jobs.queue.get, job_id)
    names = _list_visible(call)
    if job is None or (names is not None and job.name not in names):
        raise no_such_resource(f"there is no job {job_id!r:.80} here")
    return job


@JOBS.endpoint("GET", "/jobs/{id}", named=_JOB)
async def get_job(call: Call) -> JobView:
    """Look at a job."""
    return (await _find_job(call, call.read_path("id"))).make_view()


@JOBS.endpoint("DELETE", "/jobs/{id}", scope="write", named=_JOB)
async def cancel_job(call: Call) -> JobView:
    """Cancel a job; what it committed stays.

    One that waits ends at once, one that runs behind what it has at hand.
    """
    job = await _find_job(call, call.read_path("id"))
    if not job.has_ended:
        await run_sync(call.server.jobs.queue.cancel, job.id)
        call.server.jobs.wake()
    return (await _find_job(call, job.id)).make_view()


@JOBS.endpoint(
    "GET",
    "/jobs/{id}/events",
    events=JOB_EVENTS,
    headers={LAST_EVENT_HEADER: "the same, as browsers send it; it counts where both are sent"},
    named=_JOB,
)
async def job_events(call: Call, query: EventsQuery) -> Response:
    """Follow a job."""
    job = await _find_job(call, call.read_path("id"))
    last = query.after
    header = call.request.headers.get(LAST_EVENT_HEADER)
    if header is not None:
        last = parse_number(LAST_EVENT_HEADER, header)
    if call.request.method == "HEAD":  # which waits for nothing
        return Response(media_type=EVENT_STREAM)
    return stream_events(_write_events(call, job.id, last))


async def _write_events(call: Call, job_id: str, last: int) -> AsyncGenerator[bytes]:
    queue, key = call.server.jobs.queue, call.caller.key
    while not call.server.stopping.is_set():  # then the client asks the next server for the rest
        if key is not None and await run_sync(call.server.keys.find_by_id, key.id) is None:
            return  # it was revoked
        job = await run_sync(queue.get, job_id)  # first: what it told before its end is all there
        events = await run_sync(queue.list_events, job_id, last)
        for each in events:
            last = each.number
            yield write_event({"at": each.at, **each.data}, each.kind, each.number)
        if not events:
            if job is None or job.has_ended:
                return
            await anyio.sleep(_LOOK_S)
