"""Streams of events: what all of them have, and what keeps a silent one alive."""

import anyio
import pytest

from clew.extras.server import sse

QUESTION = "Who built the Comet in Bakken?"
STREAMS = {
    "/api/v1/indexes/small/ask": {"question": QUESTION, "stream": True},
    "/v1/chat/completions": {
        "model": "clew/small",
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
    },
    "/v1/responses": {"model": "clew/small", "input": QUESTION, "stream": True},
}


def check_stream(reply):
    assert reply.status_code == 200
    assert reply.headers["content-type"].partition(";")[0] == "text/event-stream"
    assert reply.headers["x-accel-buffering"] == "no"
    assert reply.content.endswith(b"\n\n")


@pytest.mark.parametrize("path", STREAMS)
def test_proxies_pass_on_answers_as_they_come(client, path):
    check_stream(client.post(path, json=STREAMS[path]))


def test_proxies_pass_on_what_a_job_tells(home):
    with home.client() as client:
        made = client.post("/api/v1/indexes/small/jobs", json={"kind": "compact"}).json()
        check_stream(client.get(f"/api/v1/jobs/{made['id']}/events"))


def test_a_silent_stream_has_comments(monkeypatch):
    """Whatever a stream waits for, comments come meanwhile, and its events stay as they are."""
    monkeypatch.setattr(sse, "_QUIET_S", 0.001)

    async def main():
        goes_on, is_closed = anyio.Event(), anyio.Event()

        async def events():
            try:
                yield sse.write_event({"n": 1}, "told", 1)
                await goes_on.wait()
                yield sse.write_event("\n\u2028", "")
            finally:
                is_closed.set()

        pieces = sse.stream_events(events()).body_iterator
        found = [await anext(pieces), await anext(pieces), await anext(pieces)]
        goes_on.set()
        found += [each async for each in pieces]
        assert is_closed.is_set()
        return found

    first, *comments, last = anyio.run(main)
    assert first == b'id: 1\nevent: told\ndata: {"n":1}\n\n'
    assert set(comments) == {b": still here\n\n"}
    assert len(comments) >= 2
    assert last == 'data: "\\n\u2028"\n\n'.encode()


def test_a_stream_that_nobody_reads_is_closed(monkeypatch):
    """What makes the events of a client that went is ended, though it waits."""
    monkeypatch.setattr(sse, "_QUIET_S", 0.001)

    async def main():
        is_closed = anyio.Event()

        async def events():
            try:
                await anyio.sleep_forever()
                yield b""
            finally:
                is_closed.set()

        pieces = sse.stream_events(events()).body_iterator
        assert await anext(pieces) == b": still here\n\n"
        await pieces.aclose()
        assert is_closed.is_set()

    anyio.run(main)
