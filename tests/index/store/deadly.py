"""Processes of their own for tests, and calls that kill them."""

import os
import signal
import sys
import warnings

_OF_FILES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}


def fork():
    """Fork, as `os.fork` does, beside the threads of BLAS, of which Python warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def start_child(work):
    """Start some work in a child of this process, and return its id."""
    child = fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 -- a child must not come back into pytest
            os._exit(1)
        os._exit(0)
    return child


def killed_at_file(work, marked, left):
    """Do some work in a process that dies at the file after so many below a folder; its status."""

    def hook(event, given):
        nonlocal left
        if event in _OF_FILES and str(marked) in str(given):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def hooked():
        sys.addaudithook(hook)
        work()

    return os.waitstatus_to_exitcode(os.waitpid(start_child(hooked), 0)[1])


def deadly(at, *calls):
    """Return the calls so that the one that is `at` in order kills its process instead."""
    n_calls = 0

    def deadly_one(real):
        def call(*args, **kwargs):
            nonlocal n_calls
            n_calls += 1
            if n_calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    return map(deadly_one, calls)
