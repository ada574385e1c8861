"""How many cores this process may use."""

import os


def cores() -> int:
    """Return how many cores this process may use: OMP_NUM_THREADS bounds them where it is set."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    n = len(allowed(0)) if allowed else os.cpu_count() or 1
    bound = os.environ.get("OMP_NUM_THREADS", "")
    return min(n, int(bound)) if bound.isdecimal() and int(bound) else n
