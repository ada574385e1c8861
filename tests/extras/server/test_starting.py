"""What a server needs, and what it refuses before anybody is served."""

import ctypes
import json
import re
import signal
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from clew.errors import InputError, NotAnIndex, StoreError
from clew.extras.server.database import ServerDatabase
from clew.extras.server.run import bind, check_open, serve


def test_others_need_a_key(home):
    """Under an address of others, a further name or behind a proxy; with a key all may be had."""
    reached = (
        {"host": "192.0.2.1"},
        {"host": "::"},
        {"hosts": ("x.example",)},
        {"proxies": ("::1",)},
    )
    for changes in reached:
        with pytest.raises(InputError, match="create a key with 'clew keys add"):
            serve(replace(home.settings, **changes), pytest.fail)
    check_open(home.settings)
    home.key()
    for changes in reached:
        check_open(replace(home.settings, **changes))


def test_what_cannot_be_served(home, tmp_path):
    missing, file = tmp_path / "none.clew", tmp_path / "file"
    file.touch()
    with pytest.raises(NotAnIndex, match="holds no index to serve as 'none': run 'clew"):
        serve(replace(home.settings, indexes={"none": missing}), pytest.fail)
    with pytest.raises(StoreError, match="cannot be used .*: choose another with --home"):
        serve(replace(home.settings, home=file), pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"127.0.0.1:{port} is not available"):
            serve(replace(home.settings, port=port), pytest.fail)
    with bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_is_said_of_a_start_and_a_stop(home, form):
    """The indexes of the home are named, too; as JSON, each line on stderr is one object."""
    database = ServerDatabase(home.settings.home)
    with database.writing() as connection:
        connection.execute("INSERT INTO own_index VALUES ('notes', 'indexes/notes.clew')")
    database.close()
    command = [sys.executable, "-m", "clew", "serve", "--home", home.settings.home, "--port", "0"]
    with subprocess.Popen(
        [*command, "--log-format", form], stderr=subprocess.PIPE, text=True, cwd=home.settings.home
    ) as process:
        lines = [process.stderr.readline()]
        process.send_signal(signal.SIGTERM)
        lines += process.stderr.readlines()
    assert process.returncode == 0
    told = [json.loads(line)["message"] for line in lines] if form == "json" else lines
    assert re.match(r"Clew serves notes at http://127.0.0.1:\d+\n?$", told[0])
    assert "Clew stops: what is under way has 30 seconds to end" in told[-2]
    assert "Clew has stopped" in told[-1]


requirements = pytest.importorskip("packaging.requirements")

MOST_BYTES = 70_000_000
PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def needed(texts):
    """Return the packages that some requirements need here, with all that these need."""
    todo, found = [(text, frozenset()) for text in texts], set()
    while todo:
        text, extras = todo.pop()
        asked = requirements.Requirement(text)
        marker = asked.marker
        if marker and not any(marker.evaluate({"extra": each}) for each in extras | {""}):
            continue
        key = (asked.name.lower().replace("_", "-"), frozenset(asked.extras))
        if key not in found:
            found.add(key)
            try:
                todo += [(each, key[1]) for each in distribution(asked.name).requires or []]
            except PackageNotFoundError:
                pytest.skip(f"{asked.name} is not installed here")
    return {name for name, _ in found}


def test_a_server_adds_little():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    core = needed(project["dependencies"])
    server = needed([*project["dependencies"], *project["optional-dependencies"]["server"]])
    files = [each.locate() for name in server - core for each in distribution(name).files or []]
    size = sum(each.stat().st_size for each in files if each.is_file())
    assert 5_000_000 < size < MOST_BYTES


ARENAS = """
import ctypes, sys, threading
from clew.extras.server.serving import run_server

class Allocating:
    started = True

    def run(self, sockets):
        together = threading.Barrier(9)
        def allocate():
            held = [bytearray(1_000) for _ in range(100)]
            together.wait()
            together.wait()
        threads = [threading.Thread(target=allocate) for _ in range(8)]
        for each in threads:
            each.start()
        together.wait()
        ctypes.CDLL(None).malloc_stats()
        together.wait()

(run_server if sys.argv[1] == "served" else Allocating.run)(Allocating(), [])
"""


def count_arenas(how):
    command = [sys.executable, "-c", ARENAS, how]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return len(re.findall(r"^Arena \d+:", told, re.MULTILINE))


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="not glibc"
)
def test_threads_of_a_server_share_an_arena():
    """What one of them frees, all of them use: memory stays where it is."""
    assert count_arenas("alone") > 1
    assert count_arenas("served") == 1
