"""Bounds of what computes, which are for one process and not for those that it starts."""

import json
import math
import subprocess
import sys

import pytest

from clew.runtime.cores import read_quota

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


@pytest.mark.parametrize(
    ("group", "quota", "n"),
    [("/", "150000 100000", 2), ("/a/b.service", "50000 100000", 1), ("/", "max 100000", math.inf)],
)
def test_a_quota_bounds_the_cores(tmp_path, group, quota, n):
    """That of a container, whose group is the root that it sees, or of a unit."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"1:cpu:/x\n0::{group}\n")
    own = tmp_path / "sys" / "fs" / "cgroup" / group.strip("/")
    own.mkdir(parents=True)
    (own / "cpu.max").write_text(f"{quota}\n")
    assert read_quota(tmp_path) == n
    assert read_quota(tmp_path / "sys") == math.inf
