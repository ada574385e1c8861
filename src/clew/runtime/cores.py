"""How many cores this process may use."""

import os

_COMPUTING, _BLAS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
_bounds: list[str] = []  # variables that `bound_threads` has set


def cores() -> int:
    """Return how many cores this process may use: OMP_NUM_THREADS bounds them where it is set."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    n = len(allowed(0)) if allowed else os.cpu_count() or 1
    bound = os.environ.get(_COMPUTING, "")
    return min(n, int(bound)) if bound.isdecimal() and int(bound) else n


def bound_threads(n: int) -> None:
    """Let a model compute in `n` threads and BLAS in one, unless the environment says otherwise.

    This is for a process that has not imported NumPy yet.
    """
    for name, most in ((_COMPUTING, n), (_BLAS, 1)):
        if name not in os.environ:
            os.environ[name] = str(most)
            _bounds.append(name)


def unbounded_environment() -> dict[str, str]:
    """Return the environment without what `bound_threads` has set, for another process."""
    return {name: value for name, value in os.environ.items() if name not in _bounds}
