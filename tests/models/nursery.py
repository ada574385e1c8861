"""Runs in a child process that are killed at a chosen instant."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

# It imports once, and forks for every life: it has one thread, so a fork is safe. The dead child
# stays until it is waited for, so the signal cannot hit another process.
NURSERY = """
import fastjsonschema, os, signal, sys, time
import clew.extras.models.http
from {module} import run

for line in sys.stdin:
    url, path, life_s = line.split()
    child = os.fork()
    if child == 0:
        run(url, path)
        os._exit(0)
    end = time.monotonic() + float(life_s)
    done = 0
    while not done and time.monotonic() < end:
        time.sleep(max(0.0, min(0.01, end - time.monotonic())))
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""


@contextmanager
def nursery(module):
    """Give a function that begins `run(url, path)` of a module, kills it, and says how it ended."""
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY.format(module=module)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def live(url, path, life_s):
            process.stdin.write(f"{url} {path} {life_s}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield live
        process.stdin.close()


def until_done(live, url, path, lives, last_s):
    """Let `run` live so many seconds at a time until it ends by itself; count the kills.

    Its last life is of `last_s` seconds.
    """
    kills, at_rest = 0, threading.active_count()
    for life_s in (*lives, last_s):
        status = live(url, path, life_s)
        if not os.WIFSIGNALED(status):
            break
        kills += 1
        while threading.active_count() > at_rest:  # the server is still busy for the dead
            time.sleep(0.005)
    assert status == 0
    return kills
