"""What a server refuses before anybody is served."""

import json
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from clew.errors import InputError, NotAnIndex, StoreError
from clew.server.database import ServerDatabase
from clew.server.run import _bind, check_open, serve


def test_others_need_a_key(home):
    """Under an address of others, a further name or behind a proxy; with a key all may be had."""
    reached = (
        {"host": "192.0.2.1"},
        {"host": "::"},
        {"hosts": ("x.example",)},
        {"proxies": ("::1",)},
    )
    for changes in reached:
        with pytest.raises(InputError, match="no key was made: make one first, with 'clew keys"):
            serve(replace(home.settings, **changes), pytest.fail)
    check_open(home.settings)
    home.key()
    for changes in reached:
        check_open(replace(home.settings, **changes))


def test_what_cannot_be_served(home, tmp_path):
    """A folder without an index, a home that is none, and a port that is taken: one sentence."""
    missing, file = tmp_path / "none.clew", tmp_path / "file"
    file.touch()
    with pytest.raises(NotAnIndex, match="holds no index to serve as 'none': make it with 'clew"):
        serve(replace(home.settings, indexes={"none": missing}), pytest.fail)
    with pytest.raises(StoreError, match="cannot be used .*: name another with --home"):
        serve(replace(home.settings, home=file), pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"127.0.0.1:{port} cannot be listened on"):
            serve(replace(home.settings, port=port), pytest.fail)


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


def test_replies_are_sent_at_once():
    """Without Nagle's algorithm, which asyncio switches off for what it knows to be TCP."""
    with _bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
