"""Bounds of what computes, which are for one process and not for those that it starts."""

import json
import subprocess
import sys

import pytest

BOUNDED = """
import json, os, sys
from clew.runtime.cores import bound_threads, cores, unbounded_environment

bound_threads(1)
import numpy
n_threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
names = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
print(json.dumps([cores(), n_threads, *map(unbounded_environment().get, names)]))
"""


@pytest.mark.parametrize("given", [{}, {"OPENBLAS_NUM_THREADS": "1"}])
def test_bounds_are_for_one_process(given, monkeypatch):
    """A model and BLAS take one thread; processes get what the environment said before."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", BOUNDED], check=True, capture_output=True)
    assert json.loads(done.stdout) == [1, 1, None, given.get("OPENBLAS_NUM_THREADS")]
