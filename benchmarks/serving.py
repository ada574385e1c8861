"""A server under load, over this machine's loopback.

    python -m benchmarks.serving [--passages 6000] [--seconds 10] [--index FOLDER] [--minutes 0]
                                 [--questions FILE] [--options "--processes 1"]...

Starts `clew serve` on an index of made passages, or on a copy of one's own, and asks it from 1, 8
and 32 connections, each of which sends its next question when the last one is answered; then from
8 while jobs add documents, and from one while a document is added each second. Says how many
answers came in a second and how long they took, and checks that nothing failed and that each
document which was sent is there once. Before, it measures the start of a server on the example
corpus, and its memory after a question by every method. With --minutes mixed requests go on for so
long, two a second: searches by all methods, answers, whole and as they come, uploads, deletions,
broken and refused requests; each minute it says what memory, files and threads each process holds.
With several --options a server is measured with each of them, one after the other.

Clients and server share the machine, and whatever else runs on it: compare within a run only. The
CPU time of both is told for each answer.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.run import made

API = "/api/v1"
MADE = f"{API}/indexes/made"
EXAMPLE = Path(__file__).parents[1] / "examples" / "polar"
_STATUS_OK = 200
_SIZES = ("Pss", "Rss")
_HANGS_S = 60.0  # a reply that takes longer is a failure


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

    def sample(self) -> Sample:
        """Return what each process holds."""
        own = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="utf-8").split()
        places = [Path("/proc", each) for each in (str(self.pid), *own)]
        maps = [(each / "smaps_rollup").read_text() for each in places]
        sizes = {
            name: re.findall(rf"^{name}: +(\d+)", "\n".join(maps), re.MULTILINE) for name in _SIZES
        }
        return Sample(
            *([round(int(each) / 1000, 1) for each in sizes[name]] for name in _SIZES),
            *([len(list((each / of).iterdir())) for each in places] for of in ("fd", "task")),
        )


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


def with_writes(server: Server, questions: Sequence[str], seconds: float) -> Load:
    """Ask from one connection while a document is added each second."""
    ended, written = threading.Event(), []

    def write() -> None:
        while not ended.wait(1.0):
            name = f"written-{time.time_ns()}"
            text = f"The brig {questions[len(written) % len(questions)]} sailed from Lund."
            body = {"documents": [{"id": name, "text": text}]}
            written.append(server.ask("POST", f"{API}/indexes/made/documents?wait=30", body))

    writer = threading.Thread(target=write)
    writer.start()
    load = loaded(server, questions, 1, seconds)
    ended.set()
    writer.join()
    return load


def on_the_example() -> dict[str, Any]:
    """Return how long a start takes, and the memory after a question by every method."""
    import clew

    with tempfile.TemporaryDirectory() as folder:
        with clew.open(Path(folder) / "made.clew") as index:
            index.add(EXAMPLE)
        with serving(Path(folder) / "made.clew") as server:
            first = sum(server.sample().memory_mb)
            methods = [each["name"] for each in server.ask("GET", f"{API}/methods")["items"]]
            answered = []
            for method in methods:
                body = {"query": "Who built the Fram?", "method": method}
                status, _ = _sent(server.connection(), "POST", f"{API}/indexes/made/search", body)
                answered += [method] if status == _STATUS_OK else []
            return {
                "start_s": round(server.start_s, 2),
                "memory_mb_at_start": round(first),
                "memory_mb_after_all_methods": round(sum(server.sample().memory_mb)),
                "methods": f"{len(answered)} of {len(methods)} answered",
            }


@dataclass(frozen=True)
class Sample:
    """What the processes of a server hold at one time: it alone, then each that serves."""

    memory_mb: list[float]  # its own, and its part of what several share
    resident_mb: list[float]
    files: list[int]
    threads: list[int]


@dataclass
class Mix:
    """Mixed requests, each as a method without arguments that returns the status of its reply."""

    server: Server
    questions: Sequence[str]
    methods: Sequence[str]
    chance: random.Random
    n_sent: int = 1

    def question(self) -> str:
        """Return a question that was not asked before."""
        self.n_sent += 1
        return f"{self.chance.choice(self.questions)} {self.n_sent}"

    def coin(self) -> bool:
        return self.chance.random() < 1 / 2

    def send(self, method: str, path: str, body: object = None, **headers: str) -> int:
        connection = self.server.connection()
        content = json.dumps(body) if isinstance(body, dict) else body
        try:
            connection.request(method, path, content, headers)  # type: ignore[arg-type]
            reply = connection.getresponse()
            reply.read()
        finally:
            connection.close()
        return reply.status

    def search(self) -> int:
        body = {"query": self.question(), "method": self.chance.choice(self.methods)}
        if self.chance.random() < 1 / 3:
            body["where"] = f"title != 'x{self.n_sent}'"
        return self.send("POST", f"{MADE}/search", body)

    def ask(self) -> int:
        body = {"question": self.question(), "stream": (stream := self.coin()), "graph": stream}
        return self.send("POST", f"{MADE}/ask", body)

    def chat(self) -> int:
        messages = [{"role": "user", "content": self.question()}]
        body = {"model": "clew/made", "messages": messages, "stream": self.coin()}
        return self.send("POST", "/v1/chat/completions", body)

    def respond(self) -> int:
        body = {"model": "clew/made", "input": self.question(), "stream": self.coin()}
        return self.send("POST", "/v1/responses", body)

    def look(self) -> int:
        seen = ("/entities", "/documents", "/graph", "", "/documents?where=title+like+'A*'")
        paths = ["/metrics", "/readyz", f"{API}/openapi.json", "/", *(MADE + each for each in seen)]
        return self.send("GET", self.chance.choice(paths))

    def fail(self) -> int:
        """Send what is to be refused."""
        self.n_sent += 1
        question = {"query": "Who?"}
        refused: list[tuple[Any, ...]] = [
            ("POST", f"{MADE}/search", "{"),
            ("POST", f"{MADE}/search", {"query": "Who?", "method": f"none{self.n_sent}"}),
            ("POST", f"{MADE}/search", question | {"where": f"none{self.n_sent} = 1"}),
            ("POST", f"{MADE}/search", {"query": "x" * 200_000}),
            ("POST", f"{API}/indexes/none{self.n_sent}/search", question),
            ("POST", "/v1/chat/completions", {"model": "clew/made", "messages": []}),
            ("GET", f"/none{self.n_sent}"),
            ("PUT", f"{MADE}/search", question),
        ]
        return self.send(*self.chance.choice(refused))

    def abort(self) -> int:
        """Close a connection before its request is whole, or while the reply comes."""
        connection, body = self.server.connection(), {"question": self.question(), "stream": True}
        content = json.dumps(body).encode()
        part = content if (is_whole := self.coin()) else content[:10]
        head = f"POST {MADE}/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}"
        connection.connect()
        connection.send(head.encode() + b"\r\n\r\n" + part)
        if is_whole and self.coin():
            connection.sock.recv(10)
        connection.close()
        return 0

    def write(self) -> int:
        """Upload a small file, or delete it."""
        self.n_sent += 1
        name = f"mixed-{self.n_sent // 2}.md"
        if self.n_sent % 2:
            return self.send("DELETE", f"{MADE}/documents/made/{name}")
        part = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        text = f"{part}{self.chance.choice(self.questions)} {self.n_sent}\r\n--b--\r\n"
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        return self.send("POST", f"{MADE}/documents?wait=30", text, **kind)


def for_long(
    server: Server, questions: Sequence[str], minutes: int, a_second: float = 2.0
) -> tuple[list[Sample], Counter[tuple[str, int | str]]]:
    """Return what the server held after each of some minutes of mixed requests, and its replies.

    The replies are counted by the kind of the request, and by their status or what went wrong,
    which is a text.
    """
    methods = [each["name"] for each in server.ask("GET", f"{API}/methods")["items"]]
    replies: Counter[tuple[str, int | str]] = Counter()
    until = time.monotonic() + 60 * minutes

    def work(place: int, kinds: Sequence[str], pause_s: float) -> None:
        mix = Mix(server, questions, methods, random.Random(place))  # noqa: S311
        for kind in itertools.cycle(kinds):
            began = time.monotonic()
            if began > until:
                return
            try:
                found: int | str = getattr(mix, kind)()
            except (OSError, http.client.HTTPException) as error:
                found = repr(error)
            took_s = time.monotonic() - began
            replies[kind, found if took_s < _HANGS_S else f"{found} after {took_s:.0f} s"] += 1
            time.sleep(max(0.0, began + pause_s - time.monotonic()))

    mixed = ("search", "ask", "search", "chat", "look", "search", "respond", "abort", "fail")
    lines = [("write",)] + [mixed[place:] + mixed[:place] for place in (0, 3, 6)]
    threads = [
        threading.Thread(target=work, args=(i, kinds, 3 / a_second if i else 20.0))
        for i, kinds in enumerate(lines)
    ]
    for each in threads:
        each.start()
    samples = []
    for minute in range(1, minutes + 1):
        time.sleep(max(0.0, until - 60 * (minutes - minute) - time.monotonic()))
        samples.append(server.sample())
        print(f"minute {minute}:", json.dumps(asdict(samples[-1])), flush=True)
    for each in threads:
        each.join()
    for (kind, found), number in sorted(replies.items(), key=str):
        print(kind, found, number)
    return samples, replies


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=6_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load; 0 for none")
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
        if seconds:
            under_clients(server, questions, seconds)
        if minutes:
            for_long(server, questions, minutes)


def under_clients(server: Server, questions: Sequence[str], seconds: float) -> None:
    """Measure a server that is asked from ever more connections, and print what was found."""
    loaded(server, questions, 8, 5)  # what is read and prepared once
    rows = []
    for clients in (1, 8, 32):
        load = loaded(server, questions, clients, seconds)
        rows.append(row(f"{clients} clients", load))
        print(rows[-1], *load.failed[:3], flush=True)
    load = with_writes(server, questions, seconds)
    rows.append(row("1 client and writes", load))
    share = rows[-1]["p50_ms"] / rows[0]["p50_ms"]
    print(rows[-1], *load.failed[:3], f"p50 {share:.2f} times that without", flush=True)
    print("MB by process:", *map(round, server.sample().memory_mb))
    load, told = with_jobs(server, questions, seconds)
    rows.append(row("8 clients and jobs", load))
    print(rows[-1], *load.failed[:3], told, flush=True)
    one, eight = rows[0], rows[1]
    print(
        f"8 clients get {eight['a_second'] / one['a_second']:.2f} times the answers of one, at"
        f" a p95 of {eight['p95_ms'] / one['p50_ms']:.1f} times the p50 of one and"
        f" {eight['p95_ms'] / eight['p50_ms']:.1f} times their own"
    )


if __name__ == "__main__":
    main()
