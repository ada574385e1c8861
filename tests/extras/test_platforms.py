"""What Windows and macOS do not have, and how they say things, as far as that can be tried here."""

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from clew.base.runtime import threads
from clew.cli.plain import make_printable
from clew.errors import InputError
from clew.extras.server import run
from clew.extras.server.jobs import driver

# What Windows lacks goes when the libraries have been imported, for which it is as it is.
_ON_WINDOWS = """
import asyncio, multiprocessing.context, mmap, os, signal, socket, sys
import apsw, click, loky, mcp.server, prometheus_client.multiprocess, scipy.sparse, uvicorn

for module, names in {
    multiprocessing.context: "ForkProcess ForkContext",
    os: "fork register_at_fork setsid killpg getuid sched_getaffinity getloadavg",
    signal: "SIGKILL SIGHUP SIGUSR1 pthread_sigmask SIG_BLOCK SIG_UNBLOCK",
    socket: "AF_UNIX send_fds recv_fds",
    mmap: "MADV_DONTNEED",
}.items():
    for name in names.split():
        vars(module).pop(name, None)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None

import clew.extras.server.jobs.process, clew.extras.server.run, clew.shards
import clew.extras.cluster.workers.processes
from clew.cli import main
for words in (["index", "fram.md", "-q"], ["ask", "Who built the Fram?"], ["compact"]):
    main(words, standalone_mode=False)
"""


def test_what_windows_lacks_is_missed_by_nothing(tmp_path):
    (tmp_path / "fram.md").write_text("# Fram\n\nThe Fram was built by Colin Archer in Larvik.\n")
    done = subprocess.run(
        [sys.executable, "-c", _ON_WINDOWS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Colin Archer" in done.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "latin-1"])
def test_a_console_of_any_encoding_is_printed_to(encoding, monkeypatch):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    make_printable()
    print("┌ question  “Łódź” …", flush=True)  # noqa: T201
    shown = written.getvalue().decode(encoding)
    assert "question" in shown
    assert r"\u0141" in shown
    assert shown[0] in "┌+"


def test_a_process_is_ended_where_there_is_no_sigkill(monkeypatch):
    sent = []
    monkeypatch.setattr(driver.os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.delattr(driver.os, "killpg", raising=False)
    driver.send_signal(7, driver.KILL, whole=True)
    assert sent == [(7, driver.KILL)]


def test_a_process_that_windows_cannot_find_has_ended(monkeypatch):
    def refuse(_pid, _number):
        raise OSError(22, "The parameter is incorrect")

    monkeypatch.setattr(driver.os, "kill", refuse)
    driver.send_signal(7, driver.KILL, whole=False)


def test_several_processes_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(run.sys, "platform", "darwin")
    with pytest.raises(InputError, match="several processes are supported on Linux only"):
        run.serve(SimpleNamespace(processes=2), print)


def test_a_port_in_use_is_not_taken_over_on_windows(monkeypatch):
    options = []
    monkeypatch.setattr(run.socket, "SO_EXCLUSIVEADDRUSE", 99, raising=False)
    monkeypatch.setattr(run.socket.socket, "setsockopt", lambda *given: options.append(given[2]))
    run.bind("127.0.0.1", 0).close()
    assert options == [99]


def test_a_process_ends_with_its_parent_on_windows(monkeypatch):
    waited, ended = [], []
    kernel = SimpleNamespace(
        OpenProcess=lambda *given: given, WaitForSingleObject=lambda *given: waited.append(given)
    )
    monkeypatch.setattr(threads.sys, "platform", "win32")
    monkeypatch.setitem(
        sys.modules, "ctypes", SimpleNamespace(windll=SimpleNamespace(kernel32=kernel))
    )
    monkeypatch.setattr(threads.os, "_exit", ended.append)
    monkeypatch.setattr(threads.signal, "signal", lambda *_: None)
    monkeypatch.setattr(threads.threading, "Thread", AtOnce)
    threads.exit_with_parent()
    [((_, _, parent), timeout)] = waited
    assert (parent, timeout) == (threads.os.getppid(), -1)
    assert ended == [1]


class AtOnce:
    """A thread that runs where it is started."""

    def __init__(self, target, **_):
        self.start = target


def test_a_pipe_that_was_closed_ends_silently_on_windows(monkeypatch):
    import os

    from clew.cli.program import Program

    def break_pipe(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr("click.Group.invoke", break_pipe)
    with pytest.raises(BrokenPipeError):
        Program(name="clew").invoke(None)
