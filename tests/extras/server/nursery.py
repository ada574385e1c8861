"""Processes of jobs, as who starts them with `subprocess` sees them."""

import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path

from clew.extras.server.jobs.queue import find_job_log
from tests.forks import make_process

DEVNULL = subprocess.DEVNULL


class Popen:
    """The process of a job."""

    def __init__(self, command, *, cwd, **_):
        given = (command[-3:], os.path.realpath(cwd), dict(os.environ))
        self._process = make_process(_run, *given)
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
    runpy.run_module("clew.extras.server.jobs", run_name="__main__", alter_sys=True)
