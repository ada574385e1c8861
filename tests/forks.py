"""Processes that are forked from one that has imported what they need.

A test whose promise is not the start of a process need not wait for its imports. Signals, pipes,
locks, limits and exits are those of any process.
"""

import multiprocessing
import os
import sys
import threading
from multiprocessing import forkserver

IMPORTED = (
    "clew.extras.server.jobs.process", "clew.extras.evaluate.measure", "clew.methods.bm25",
    "clew.methods.dense",
    "clew.extras.files.office", "clew.extras.files.pdf", "clew.extras.files.sheets",
    "clew.extras.files.word", "pypdf", "pypdfium2", "python_calamine",
    "tests.extras.cluster.postgres.writers",
)  # fmt: skip
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(list(IMPORTED))
_lock = threading.Lock()


def make_process(target, *given, daemon=None):
    """Return a process that is not started yet."""
    with _lock:
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # to import by
        forkserver.ensure_running()
        os.environ.pop("PYTHONPATH")
        os.environ.update({} if before is None else {"PYTHONPATH": before})
    return _FORKS.Process(target=target, args=given, daemon=daemon)
