"""How many cores this process may use, and how long it lives that another one of ours started."""

import math
import os
import signal
import sys
import threading
import time
from pathlib import Path

_COMPUTING, _BLAS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
_bounds: list[str] = []  # variables that `bound_threads` has set
_SYNCHRONIZE = 0x100000  # what Windows is asked for to wait for a process
_LOOK_S = 1.0  # how often it is looked whether there is a parent


def cores() -> int:
    """Return how many cores this process may use: OMP_NUM_THREADS bounds them where it is set."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    n = int(min(len(allowed(0)) if allowed else os.cpu_count() or 1, read_quota()))
    bound = os.environ.get(_COMPUTING, "")
    return min(n, int(bound)) if bound.isdecimal() and int(bound) else n


def read_quota(root: Path = Path("/")) -> float:
    """Return how many cores a container or a unit of systemd may use; infinity: no bound is set.

    Linux has it in the files of version 2 of control groups, below `root`.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = next(line[3:].strip("/") for line in groups if line.startswith("0::"))
        quota, period = (root / "sys/fs/cgroup" / own / "cpu.max").read_text("utf-8").split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, StopIteration, ValueError):  # "max", or another system
        return math.inf


def bound_threads(n: int) -> None:
    """Let a model compute in `n` threads and BLAS in one, unless the environment says otherwise.

    Call this before NumPy is imported, since BLAS starts its threads then. A later call replaces
    what an earlier one has set.
    """
    for name, most in ((_COMPUTING, n), (_BLAS, 1)):
        if name not in os.environ:
            _bounds.append(name)
        if name in _bounds:
            os.environ[name] = str(most)


def unbounded_environment() -> dict[str, str]:
    """Return the environment without what `bound_threads` has set, for another process."""
    return {name: value for name, value in os.environ.items() if name not in _bounds}


def live_with_parent() -> None:
    """Leave Ctrl-C to the process that has started this one, and end where that has ended."""
    parent = os.getppid()

    def watch() -> None:
        if sys.platform == "win32":  # there a process goes on to name a parent that has ended
            import ctypes

            handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, parent)
            ctypes.windll.kernel32.WaitForSingleObject(handle, -1)
        while sys.platform != "win32" and os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
