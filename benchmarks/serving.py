"""A server under load, over this machine's loopback.

    python -m benchmarks.serving [--passages 6000] [--seconds 10] [--index FOLDER] [--minutes 0]
                                 [--questions FILE] [--options "--processes 1"]...

Starts `clew serve` on an index of made passages, or on a copy of one's own, and asks it from 1, 8
and 32 connections, each of which sends its next question when the last one is answered; then from
8 while jobs add documents. Says how many answers came in a second and how long they took, and
checks that nothing failed and that each document which was sent is there once. Before, it measures
the start of a server on the example corpus, and its memory after a question by every method. With
--minutes mixed requests go on for so long, and memory is told each minute. With several --options
a server is measured with each of them, one after the other.

Clients and server share the machine, and whatever else runs on it: compare within a run only. The
CPU time of both is told for each answer.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.run import made

API = "/api/v1"
EXAMPLE = Path(__file__).parents[1] / "examples" / "polar"
_STATUS_OK = 200


@dataclass
class Server:
    """A server that runs, and how long its start took."""

    address: str
    home: Path
    pid: int
    start_s: float = 0.0

    def connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 -- JSON
        """Send one request; return the JSON of its reply, or the text."""
        connection = self.connection()
        try:
            status, content = _sent(connection, method, path, body)
        finally:
            connection.close()
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {content[:300]!r}")
        return json.loads(content) if content.startswith((b"{", b"[")) else content.decode()

    def measure(self, name: str) -> float:
        """Return a metric of the server's processes, in all."""
        found = re.search(rf"^{name} (\S+)", self.ask("GET", "/metrics"), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def memory_mb(self) -> list[float]:
        """Return the memory of each process: its own, and its part of what several share."""
        own = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        ids = [str(self.pid), *own]
        texts = [Path(f"/proc/{each}/smaps_rollup").read_text() for each in ids]
        return [
            int(found[1]) / 1000 for text in texts if (found := re.search(r"Pss: +(\d+)", text))
        ]


def _sent(
    connection: http.client.HTTPConnection, method: str, path: str, body: object = None
) -> tuple[int, bytes]:
    content = None if body is None else json.dumps(body).encode()
    connection.request(method, path, content)
    reply = connection.getresponse()
    return reply.status, reply.read()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    """Serve an index as a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "clew", "serve", "--port", "0", "--home", home]
        began = time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 -- ourselves
            [*command, "--log-format", "none", *options, str(folder)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stderr is not None  # noqa: S101 -- a pipe
        try:
            found = re.search(r"http://\S+", child.stderr.readline())
            if found is None:
                raise RuntimeError("the server did not start: " + child.stderr.read())
            drain = threading.Thread(target=child.stderr.read, daemon=True)
            drain.start()
            server = Server(found[0], Path(home), child.pid)
            server.ask("GET", "/healthz")
            server.start_s = time.perf_counter() - began
            yield server
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait()


@dataclass
class Load:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    took_s: float = 0.0  # to the last answer
    client_s: float = 0.0  # of CPU time
    server_s: float = 0.0


def loaded(server: Server, questions: Sequence[str], clients: int, seconds: float) -> Load:
    """Ask from so many connections for some seconds."""
    found = Load()
    spent, server_spent = time.process_time(), server.measure("process_cpu_seconds_total")
    started = time.perf_counter()
    until = started + seconds

    def work(place: int) -> None:
        connection = server.connection()
        number = place
        while time.perf_counter() < until:
            body = {"query": questions[number % len(questions)]}
            number += clients
            began = time.perf_counter()
            status, content = _sent(connection, "POST", f"{API}/indexes/made/search", body)
            found.seconds.append(time.perf_counter() - began)
            if status != _STATUS_OK:
                found.failed.append(f"{status} {content[:200]!r}")
        connection.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found.took_s = time.perf_counter() - started
    found.client_s = time.process_time() - spent
    found.server_s = server.measure("process_cpu_seconds_total") - server_spent
    return found


def row(name: str, load: Load) -> dict[str, Any]:
    """Return the figures of a load."""
    ordered = sorted(load.seconds)
    percentiles = {
        f"p{each}_ms": round(ordered[min(len(ordered) - 1, len(ordered) * each // 100)] * 1000, 1)
        for each in (50, 95, 99)
    }
    rate = round(len(ordered) / load.took_s, 1)
    cpu = {
        f"{who}_cpu_ms": round(spent / len(ordered) * 1000, 1)
        for who, spent in (("client", load.client_s), ("server", load.server_s))
    }
    return {"load": name, "a_second": rate, **percentiles, **cpu, "failed": len(load.failed)}


def with_jobs(server: Server, questions: Sequence[str], seconds: float) -> tuple[Load, str]:
    """Ask from 8 connections while jobs add documents; say what became of these."""
    before = server.ask("GET", f"{API}/indexes/made")["n_documents"]
    documents, _ = made(400, 1)
    sent: list[str] = []
    jobs: list[str] = []

    def write(place: int) -> None:
        part = [
            {"id": f"new-{place}-{i}", "text": each.text}
            for i, each in enumerate(documents[place::4])
        ]
        body = {"documents": part}
        jobs.append(server.ask("POST", f"{API}/indexes/made/documents", body)["id"])
        sent.extend(each["id"] for each in part)

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for each in writers:
        each.start()
    load = loaded(server, questions, 8, seconds)
    for each in writers:
        each.join()
    for each in jobs:
        while (job := server.ask("GET", f"{API}/jobs/{each}"))["state"] in {"queued", "running"}:
            time.sleep(0.2)
        if job["state"] != "done":
            load.failed.append(str(job))
    listed = server.ask("GET", f"{API}/indexes/made/documents?pattern=new-*&limit=1000")
    ids = [each["id"] for each in listed["items"]]
    after = server.ask("GET", f"{API}/indexes/made")["n_documents"]
    is_right = sorted(ids) == sorted(sent) and after == before + len(sent)
    told = "each there once" if is_right else f"{len(ids)} of {len(sent)} there"
    return load, f"{len(sent)} documents by {len(jobs)} jobs: {told}"


def on_the_example() -> dict[str, Any]:
    """Return how long a start takes, and the memory after a question by every method."""
    import clew

    with tempfile.TemporaryDirectory() as folder:
        with clew.open(Path(folder) / "made.clew") as index:
            index.add(EXAMPLE)
        with serving(Path(folder) / "made.clew") as server:
            first = sum(server.memory_mb())
            methods = [each["name"] for each in server.ask("GET", f"{API}/methods")["items"]]
            answered = []
            for method in methods:
                body = {"query": "Who built the Fram?", "method": method}
                status, _ = _sent(server.connection(), "POST", f"{API}/indexes/made/search", body)
                answered += [method] if status == _STATUS_OK else []
            return {
                "start_s": round(server.start_s, 2),
                "memory_mb_at_start": round(first),
                "memory_mb_after_all_methods": round(sum(server.memory_mb())),
                "methods": f"{len(answered)} of {len(methods)} answered",
            }


def for_long(server: Server, questions: Sequence[str], minutes: int) -> list[int]:
    """Return the memory after each of some minutes of mixed requests from 4 connections."""
    found = []
    for minute in range(minutes):
        loaded(server, questions, 4, 55)
        text = f"Minute {minute}: {questions[0]}"
        body = {"documents": [{"id": f"minute-{minute % 5}", "text": text}]}
        server.ask("POST", f"{API}/indexes/made/documents?wait=30", body)
        for path in ("graph", "entities", "documents", ""):
            server.ask("GET", f"{API}/indexes/made/{path}".rstrip("/"))
        found.append(round(sum(server.memory_mb())))
        print(f"minute {minute + 1}: {found[-1]} MB", flush=True)
    return found


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=6_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--index", type=Path, help="a folder, of which a copy is served")
    parser.add_argument("--keep", type=Path, help="where the made index is kept for --index")
    parser.add_argument("--minutes", type=int, default=0, help="of mixed requests at the end")
    parser.add_argument("--options", action="append", help="further options of 'clew serve'")
    parser.add_argument("--questions", type=Path, help="JSONL of such as are asked of --index")
    options = parser.parse_args()
    documents, questions = made(options.passages, 200)
    if options.questions:
        lines = options.questions.read_text(encoding="utf-8").splitlines()
        questions = [json.loads(line)["question"] for line in lines]
    print(json.dumps(on_the_example(), indent=1))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "made.clew"
        if options.index:
            shutil.copytree(options.index, folder)
        else:
            import clew

            with clew.open(folder) as index:
                index.add(documents)
            if options.keep:
                shutil.copytree(folder, options.keep)
        for number, each in enumerate(options.options or [""]):
            copied = shutil.copytree(folder, Path(place) / str(number) / folder.name)
            under_load(copied, each, questions, options.seconds, options.minutes)


def under_load(
    folder: Path, given: str, questions: Sequence[str], seconds: float, minutes: int
) -> None:
    """Measure a server with some options, and print what was found."""
    print(f"clew serve {given}")
    with serving(folder, *given.split()) as server:
        loaded(server, questions, 8, 5)  # what is read and prepared once
        rows = []
        for clients in (1, 8, 32):
            load = loaded(server, questions, clients, seconds)
            rows.append(row(f"{clients} clients", load))
            print(rows[-1], *load.failed[:3], flush=True)
        print("MB by process:", *map(round, server.memory_mb()))
        load, told = with_jobs(server, questions, seconds)
        rows.append(row("8 clients and jobs", load))
        print(rows[-1], *load.failed[:3], told, flush=True)
        one, eight = rows[0], rows[1]
        print(
            f"8 clients get {eight['a_second'] / one['a_second']:.2f} times the answers of one, at"
            f" a p95 of {eight['p95_ms'] / one['p50_ms']:.1f} times the p50 of one and"
            f" {eight['p95_ms'] / eight['p50_ms']:.1f} times their own"
        )
        for_long(server, questions, minutes)


if __name__ == "__main__":
    main()
