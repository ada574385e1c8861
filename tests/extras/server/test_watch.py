"""What is known of a server that runs: its log, audit log, measures and spans; and how it stops."""

import json
import logging
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from clew.extras.server import logs
from clew.extras.server.logs import Audit
from clew.extras.server.state import Measures
from tests.extras.server.conftest import REPLY, on_answers, open_with
from tests.extras.server.served import API, long_text, until

SEARCH = f"{API}/indexes/small/search"
SECRET = "Comet-4711"


@pytest.fixture
def told(caplog):
    """The lines that a server logs of requests, as JSON."""
    caplog.set_level(logging.INFO, logs.REQUESTS.name)
    form = logs.AsJson()
    return lambda: [
        json.loads(form.format(r)) for r in caplog.records if r.name == "clew.server.requests"
    ]


def audited(home):
    return [json.loads(line) for line in (home.folder / "audit.log").read_text().splitlines()]


def test_each_request_is_logged_without_its_texts(home, told):
    anna = home.key("anna")
    with home.client(proxies=("testclient",)) as client:
        client.headers.update(anna)
        found = client.post(SEARCH, json={"query": SECRET}, headers={"X-Forwarded-User": "eva"})
        client.get(f"{API}/indexes/small/documents?pattern={SECRET}")
        client.get(f"{API}/indexes/small?{SECRET}={SECRET}")
        client.get(f"{API}/indexes/small/documents/{SECRET}")
        client.get(f"{API}/indexes/{SECRET}")
        client.get(f"/{SECRET}", headers={"Authorization": f"Bearer {SECRET}"})
        client.request(SECRET, API)
        client.get(API, headers={"Authorization": f"Bearer {SECRET}"})
        for path in ("/healthz", "/readyz"):
            client.get(path)
    lines = told()
    assert [(line["route"], line["status"], line["index"]) for line in lines] == [
        (f"{API}/indexes/{{index}}/search", 200, "small"),
        (f"{API}/indexes/{{index}}/documents", 200, "small"),
        (f"{API}/indexes/{{index}}", 400, "small"),
        (f"{API}/indexes/{{index}}/documents/{{id:path}}", 404, "small"),
        (f"{API}/indexes/{{index}}", 404, ""),
        ("unknown", 404, ""),
        (API, 405, ""),
        (API, 401, ""),
    ]
    first = lines[0]
    assert first["bytes"] == len(found.content)
    assert first["ms"] > 0
    assert (first["caller"], first["user"], first["method"]) == ("anna", "eva", "POST")
    assert first["request"] == found.headers["x-request-id"]
    both = json.dumps([lines, audited(home)])
    assert SECRET not in both
    assert anna["Authorization"].split()[1] not in both
    kept = [(e["route"], e["status"], e["caller"], e["user"]) for e in audited(home)]
    assert kept == [(e["route"], e["status"], e["caller"], e["user"]) for e in lines]
    assert oct((home.folder / "audit.log").stat().st_mode)[-3:] == "600"


def test_a_request_keeps_the_id_that_it_came_with(client):
    assert client.get(API, headers={"X-Request-Id": "a-1.b_2"}).headers["x-request-id"] == "a-1.b_2"
    for odd in ("a" * 65, "a b", "", '"', "é".encode()):
        given = client.get(API, headers={"X-Request-Id": odd}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", given)


def test_tokens_of_a_request(home, told):
    """Those that models billed for it, and for nothing else; also under /metrics, by key."""
    _, opener = open_with(on_answers(REPLY))
    home.key("other")
    anna = home.key("anna")
    with home.client(opener) as client:
        client.post(f"{API}/indexes/small/ask", json={"question": "Who?"}, headers=anna)
        client.post(SEARCH, json={"query": "x", "method": "bm25"}, headers=anna)
        spent = client.get(API, headers=anna).json()["spent"]["tokens"]
        measures = client.get("/metrics", headers=anna).text
        others = client.get("/metrics", headers=home.key("b")).text
        assert "anna" in client.get("/metrics", headers=home.key("root", scope="admin")).text
    assert [line["tokens"] for line in told()][:2] == [spent, 0]
    assert spent > 0
    assert measured(measures)["clew_model_tokens_total", "anna"] == spent
    assert "anna" not in others


def test_text_lines():
    details = {
        "request": "r1", "caller": "anna", "method": "GET", "route": "/api/v1", "status": 200,
        "ms": 1.5, "bytes": 10, "index": "small",
    }  # fmt: skip
    record = logging.makeLogRecord({"msg": "GET /api/v1", "created": 0.0, "details": details})
    line = "1970-01-01T00:00:00.000Z anna 200 GET /api/v1 1.5 ms 10 bytes r1 index=small"
    assert logs.AsText().format(record) == line


def test_a_mistake_of_the_server_is_told_with_its_id(home, monkeypatch, told):
    """A status and a sentence, with the headers of every reply, and no word of what it was."""
    with home.client() as client:
        monkeypatch.setattr(client.app.state.server.keys, "has_keys", lambda: 1 / 0)
        failed = client.get(API)
    assert failed.status_code == 500
    assert failed.json()["error"]["code"] == "internal_error"
    assert "zero" not in failed.text
    assert failed.headers["x-frame-options"] == "DENY"
    [line] = told()
    assert (line["status"], line["request"]) == (500, failed.headers["x-request-id"])


def test_the_audit_log_is_added_to_by_many_and_rotated(tmp_path):
    audits = [Audit(tmp_path, most_bytes=2_000, kept=100) for _ in range(2)]
    entries = [[{"who": f"s{n}", "i": i} for i in range(100)] for n in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda audit, each: [*map(audit.add, each)], audits, entries))
    paths = sorted(tmp_path.glob("audit*.log"))
    found = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    told = sorted((e["who"], e["i"]) for e in found)
    assert told == [(e["who"], e["i"]) for each in entries for e in each]
    assert max(path.stat().st_size for path in paths) < 2_200
    few = Audit(tmp_path, most_bytes=1, kept=2)
    for i in range(5):
        few.add({"i": i})
    assert [json.loads(p.read_text())["i"] for p in sorted(tmp_path.glob("audit-*.log"))] == [3, 4]


def test_an_audit_log_that_cannot_be_written_is_told(tmp_path, caplog):
    (tmp_path / "audit.log").mkdir()
    Audit(tmp_path).add({})
    assert "the audit log cannot be written (Is a directory)" in caplog.text


def test_alive_and_ready(home, monkeypatch):
    home.key()
    with home.client() as client:
        for path in ("/healthz", "/readyz"):
            found = client.get(path, headers={"Host": "10.0.0.7:8765"})
            assert (found.status_code, found.json()) == (200, {"status": "ok"})
        (home.settings.indexes["small"] / "index.sqlite").write_bytes(b"x" * 4096)
        assert client.get("/readyz").status_code == 200  # as of the last second
        monkeypatch.setattr("clew.extras.server.state._FRESH_S", 0.0)
        bad = client.get("/readyz")
        assert (bad.status_code, bad.json()) == (503, {"status": "not ready"})
        assert client.get("/healthz").status_code == 200


def measured(text):
    """Return what Prometheus reads of measures: values by a name and those of its labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_measures(home):
    """As Prometheus reads them: requests, questions, jobs, generations, memory."""
    with home.client() as client:
        client.post(SEARCH, json={"query": "Comet", "method": "bm25"})
        client.post(SEARCH, json={"query": "Comet", "method": "nothing"})
        for name in ("/a", "/b", '/c"%0A'):
            client.get(name)
        sent = client.get("/metrics")
    assert sent.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = measured(sent.text)
    route = f"{API}/indexes/{{index}}/search"
    assert found["clew_requests_total", "POST", route, "200"] == 1
    assert found["clew_requests_total", "POST", route, "400"] == 1
    assert found["clew_requests_total", "GET", "unknown", "404"] == 3
    assert found["clew_request_seconds_bucket", "+Inf", "POST", route] == 2
    assert found["clew_question_seconds_count", "small", "search", "bm25"] == 1
    assert found["clew_jobs", "running"] == 0
    assert found["clew_index_generation", "small"] == 1
    assert found["clew_requests_under_way",] == 1
    assert not [name for name, *_ in found if name.endswith("_created")]
    if sys.platform == "linux":
        assert found["process_resident_memory_bytes",] > 10_000_000
        assert found["process_cpu_seconds_total",] > 0
    for options in ({"indexes": ("small",)}, {"where": "group = 'open'"}):
        key = home.key(str(options), **options)
        with home.client() as client:
            assert client.get("/metrics", headers=key).status_code == 403
            assert client.get("/metrics").status_code == 401


def test_histograms_add_up():
    """A bound holds what is at most as long; each bucket holds those before it."""
    measures = Measures()
    for seconds in (0.004, 0.005, 0.3, 100.0):
        measures.request_seconds.labels("GET", "/r").observe(seconds)
    found = measured(generate_latest(measures.registry).decode())
    for bound, n in (("0.005", 2), ("0.25", 2), ("0.5", 3), ("60.0", 3), ("+Inf", 4)):
        assert found["clew_request_seconds_bucket", bound, "GET", "/r"] == n
    assert found["clew_request_seconds_sum", "GET", "/r"] == pytest.approx(100.309)


def test_spans(home):
    """A request, its question and what an LLM was asked are one trace, that of the sender."""
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _, opener = open_with(on_answers(REPLY))
    sender = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with home.client(opener) as client:
        headers = {"traceparent": sender}
        client.post(f"{API}/indexes/small/ask", json={"question": SECRET}, headers=headers)
    found = {span.name: span for span in exporter.get_finished_spans()}
    route = f"POST {API}/indexes/{{index}}/ask"
    assert list(found) == ["llm", "ask", route]
    ids = {name: span.context.span_id for name, span in found.items()}
    assert {span.context.trace_id for span in found.values()} == {int(sender.split("-")[1], 16)}
    assert found[route].parent.span_id == int(sender.split("-")[2], 16)
    assert found["ask"].parent.span_id == ids[route]
    assert found["llm"].parent.span_id == ids[route]
    assert found["llm"].attributes["clew.tokens"] > 0
    assert found["ask"].attributes["clew.method"] == "walk"
    assert SECRET not in str([span.to_json() for span in found.values()])


def test_asked_to_stop_it_ends_what_is_under_way(jobs_home):
    """By SIGTERM: nothing new is taken, searches get answers, streams an end; the status is 0."""
    jobs_home.gate.touch()
    command = [sys.executable, "-m", "clew", "serve", "--port", "0", "--log-format", "json"]
    home = jobs_home.settings.home
    child = subprocess.Popen([*command, "--home", home], stderr=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(child.stderr.readline, "")))
    reader.start()
    try:
        [address] = until(lambda: re.findall(r"http://[\d.:]+", "".join(lines)))
        index, jobs = f"{address}{API}/indexes/notes", f"{address}{API}/jobs"
        notes = {"documents": [{"id": f"n{i}", "text": long_text(i)} for i in range(4)]}
        job = httpx2.post(f"{index}/documents", json=notes).json()["id"]
        query = {"query": "Who is Ada Lund 3?"}
        until(lambda: httpx2.get(index).json()["n_documents"])
        with ThreadPoolExecutor(2) as pool:
            search = pool.submit(httpx2.post, f"{index}/search", json=query, timeout=60)
            events = pool.submit(httpx2.get, f"{jobs}/{job}/events", timeout=60)
            until(lambda: "clew_requests_under_way 3" in httpx2.get(f"{address}/metrics").text)
            child.send_signal(signal.SIGTERM)
            assert events.result(60).status_code == 200
            assert "event: running" in events.result().text
            with pytest.raises(httpx2.TransportError):
                httpx2.get(f"{address}/healthz")
            assert not search.done()
            assert child.poll() is None
            jobs_home.gate.unlink()
            assert search.result(60).status_code == 200
        assert child.wait(60) == 0
    finally:
        jobs_home.gate.unlink(missing_ok=True)
        child.kill()
        child.wait()
        reader.join()
        child.stderr.close()
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert {line["status"] for line in logged if "status" in line} == {200, 202}
    assert until(lambda: jobs_home.job(job).has_ended or None)
    assert jobs_home.job(job).state == "done"  # it went on without its server
