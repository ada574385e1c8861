"""Counters and histograms of a server, and how they are written for Prometheus."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Seconds:
    counts: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS) + 1))
    total: float = 0.0


class Measures:
    """What is counted while a server runs; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[Labels, int] = {}
        self._seconds: dict[str, dict[Labels, _Seconds]] = {}
        self.under_way = 0  # requests; changed in the event loop only

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that came to its end."""
        where = (("method", method), ("route", route))
        counted = (*where, ("status", str(status)))
        with self._lock:
            self._requests[counted] = self._requests.get(counted, 0) + 1
        self._observe("clew_request_seconds", where, seconds)

    def question(self, index: str, kind: str, method: str, seconds: float) -> None:
        """Count a question that an index was asked."""
        labels = (("index", index), ("kind", kind), ("method", method))
        self._observe("clew_question_seconds", labels, seconds)

    def _observe(self, name: str, labels: Labels, seconds: float) -> None:
        with self._lock:
            found = self._seconds.setdefault(name, {}).setdefault(labels, _Seconds())
            found.counts[bisect_left(_BOUNDS, seconds)] += 1
            found.total += seconds

    def lines(self) -> list[str]:
        """Return what was counted, as Prometheus reads it."""
        with self._lock:
            found = written("clew_requests_total", "counter", self._requests.items())
            for name, histograms in sorted(self._seconds.items()):
                found.append(f"# TYPE {name} histogram")
                for labels, seconds in sorted(histograms.items()):
                    found += _histogram(name, labels, seconds)
        found += written("clew_requests_under_way", "gauge", [((), self.under_way)])
        return found


def _histogram(name: str, labels: Labels, seconds: _Seconds) -> list[str]:
    found, total = [], 0
    for bound, count in zip((*_BOUNDS, math.inf), seconds.counts, strict=True):
        total += count
        text = "+Inf" if bound == math.inf else f"{bound:g}"
        found.append(f"{name}_bucket{_labels((*labels, ('le', text)))} {total}")
    return [
        *found,
        f"{name}_sum{_labels(labels)} {seconds.total:.6f}",
        f"{name}_count{_labels(labels)} {total}",
    ]


def written(name: str, kind: str, values: Iterable[tuple[Labels, float]]) -> list[str]:
    """Return the lines of one counter or gauge with all of its labels.

    >>> written("clew_jobs", "gauge", [((("state", "running"),), 2)])
    ['# TYPE clew_jobs gauge', 'clew_jobs{state="running"} 2']
    """
    lines = [f"{name}{_labels(labels)} {value}" for labels, value in sorted(values)]
    return [f"# TYPE {name} {kind}", *lines]


def labelled(values: Mapping[str, float], label: str) -> list[tuple[Labels, float]]:
    """Return values by the one label that they have."""
    return [(((label, name),), value) for name, value in values.items()]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
