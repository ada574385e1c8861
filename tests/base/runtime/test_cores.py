"""Bounds of what computes, which are for one process and not for those that it starts."""

import json
import math
import os
import subprocess
import sys

import pytest

from clew.base.runtime.threads import bound_threads, read_quota

BOUNDED = """
import json, os, sys
from clew.base.runtime.threads import bound_threads, cores, environment_without_bounds

bound_threads(1)
import numpy
n_threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
names = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
print(json.dumps([cores(), n_threads, *map(environment_without_bounds().get, names)]))
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


STARTED = """
import importlib.abc, os, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            print(*map(os.environ.get, ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")), flush=True)
            os._exit(0)

sys.meta_path.insert(0, Finder())
from clew.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "words",
    [
        ["index", "notes.md"],
        ["index", "notes.md", "--workers", "2"],
        ["ask", "Who built the Fram?"],
        ["show"],
        pytest.param(["serve", "--port", "0", "--home", "home"], marks=pytest.mark.satellite),
        pytest.param(
            ["serve", "--port", "0", "--home", "home", "--processes", "2"],
            marks=pytest.mark.satellite,
        ),
        pytest.param(["mcp", "notes.clew"], marks=pytest.mark.satellite),
        pytest.param(["eval", "notes.jsonl"], marks=pytest.mark.satellite),
    ],
    ids=" ".join,
)
def test_threads_are_bound_before_numpy_is_imported(words, tmp_path, monkeypatch):
    """BLAS starts its threads at its import: later bounds are none."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "notes.md").write_text("Colin Archer built the Fram.")
    command = [sys.executable, "-c", STARTED, *words]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    computing, blas = done.stdout.split()
    assert int(computing) >= 1
    assert blas == "1"


def test_a_later_bound_replaces_an_earlier_one_but_not_the_environment(monkeypatch):
    monkeypatch.setattr("clew.base.runtime.threads._bounds", [])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which is what stands there again at the end
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    for n in (4, 2):
        bound_threads(n)
        assert os.environ["OMP_NUM_THREADS"] == str(n)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
