"""Processes that read files, as who starts them with `subprocess` sees them."""

import os
import sys
from multiprocessing import Pipe
from pathlib import Path
from subprocess import PIPE  # noqa: F401 -- as `subprocess` has it

from tests.forks import make_process


class Popen:
    """A process whose input and output are pipes."""

    def __init__(self, command, *, env, **_):
        asked, given = Pipe(duplex=False)
        found, told = Pipe(duplex=False)
        with asked, given, found, told:
            what = (command[-1], asked, told, Path.cwd(), env)
            self._process = make_process(_run, *what, daemon=True)
            self._process.start()
            self.stdin = os.fdopen(os.dup(given.fileno()), "wb")
            self.stdout = os.fdopen(os.dup(found.fileno()), "rb")

    def kill(self):
        self._process.kill()

    def wait(self):
        self._process.join()


def _run(program, asked, told, folder, environ):
    for number, pipe in enumerate((asked, told)):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = environ["PYTHONPATH"].split(os.pathsep)
    exec(program, {})  # noqa: S102 -- as `python -c` does
