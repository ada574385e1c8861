"""What benchmarks have in common: a process for each row, its memory, and times in milliseconds."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def in_process(script: str, *options: object) -> Any:  # noqa: ANN401 -- what the script prints
    """Run a script in a process of its own, and return the JSON of its last line."""
    command = [sys.executable, script, *map(str, options)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return json.loads(run.stdout.splitlines()[-1])


def peak_mb() -> int:
    """Return the most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def cuts_ms(seconds: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95 of some seconds, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return round(cuts[49] * 1000, 2), round(cuts[94] * 1000, 2)
