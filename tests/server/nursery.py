"""Processes of jobs that are forked from one that has imported what they need.

A test whose promise is not the start of a process need not wait for its imports. Signals, locks,
sessions and exits are those of any process.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path

from clew.server.jobs.files import find_job_log

DEVNULL = subprocess.DEVNULL
_IMPORTED = "clew.server.jobs.process clew.evaluate.measure clew.methods.bm25 clew.methods.dense"
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(_IMPORTED.split())


class Popen:
    """A process of a job, as whoever starts it with `subprocess` sees it."""

    def __init__(self, command, *, cwd, **_):
        given = (command[-3:], os.path.realpath(cwd), dict(os.environ))
        self._process = _forks.Process(target=_run, args=given)
        self._process.start()
        self._lock = threading.Lock()  # a child is waited for once, whoever looks first
        self.pid = self._process.pid
        self.returncode = None

    def poll(self):
        with self._lock:
            self.returncode = self._process.exitcode
            return self.returncode

    def wait(self):
        self._process.join()
        return self.poll()


def _run(arguments, folder, environ):
    home, job_id, attempt = arguments
    os.setsid()
    with find_job_log(Path(home), job_id, int(attempt)).open("a") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["", *arguments]
    runpy.run_module("clew.server.jobs", run_name="__main__", alter_sys=True)
