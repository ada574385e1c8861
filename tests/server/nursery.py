"""Processes of jobs that are forked from one that has imported what they need.

A test whose promise is not the start of a process need not wait for its imports. Signals, locks,
sessions and exits are those of any process.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

# It has one thread, so a fork is safe. A child that ended stays until it is asked for, so that no
# signal can hit another process.
NURSERY = """
import json, os, runpy, socket, sys, traceback

import clew.evaluate.datasets, clew.evaluate.measure, clew.server.jobs.process
from clew import methods, testing

with testing.built(testing.small_documents(), triples=True) as snapshot:
    for name in ("bm25", "dense"):
        methods.load(name)().retrieve("Who built the Comet?", snapshot, testing.models())
del snapshot


def begin(asked, log):
    os.setsid()
    for number in (1, 2):
        os.dup2(log, number)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    sys.argv = ["", *asked["arguments"]]
    status = 1
    try:
        runpy.run_module("clew.server.jobs", run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


with socket.socket(fileno=int(sys.argv[1])) as asking:
    while True:
        text, logs, _, _ = socket.recv_fds(asking, 1 << 20, 1)
        if not text:
            break
        asked = json.loads(text)
        if "pid" in asked:
            pid, status = os.waitpid(asked["pid"], os.WNOHANG)
            told = os.waitstatus_to_exitcode(status) if pid else None
        elif (told := os.fork()) == 0:
            asking.close()
            begin(asked, *logs)
        for each in logs:
            os.close(each)
        asking.send(json.dumps(told).encode())
"""


class Nursery:
    """Where processes of jobs come from; it takes the place of `subprocess` for who starts them."""

    DEVNULL = subprocess.DEVNULL

    def __init__(self, asking):
        self._asking = asking
        self._lock = threading.Lock()

    def ask(self, asked, *logs):
        with self._lock:
            socket.send_fds(self._asking, [json.dumps(asked).encode()], logs)
            return json.loads(self._asking.recv(1 << 10))

    def Popen(self, command, *, cwd, stdout, **_):  # noqa: N802 -- as in `subprocess`
        asked = {
            "arguments": command[-3:],
            "cwd": os.path.realpath(cwd),
            "environ": dict(os.environ),
        }
        return Child(self, self.ask(asked, stdout.fileno()))


class Child:
    """A process of a job, as whoever started it sees it."""

    returncode: int | None = None

    def __init__(self, nursery, pid):
        self.pid = pid
        self._nursery = nursery
        self._lock = threading.Lock()  # a child is waited for once, whoever looks first

    def poll(self):
        with self._lock:
            if self.returncode is None:
                self.returncode = self._nursery.ask({"pid": self.pid})
            return self.returncode

    def wait(self):
        while self.poll() is None:
            time.sleep(0.01)
        return self.returncode


@contextmanager
def nursery(paths):
    """Give a nursery whose processes find what is in some folders."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with (
        ours,
        subprocess.Popen(
            [sys.executable, "-P", "-c", NURSERY, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        ) as process,
    ):
        theirs.close()
        yield Nursery(ours)
        ours.close()
        process.wait()
