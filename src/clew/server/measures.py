"""Counters and histograms of a server, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: twice the lines, and nobody asked for it


class Measures:
    """The counters and histograms of one server; threads may share it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "clew_requests", "Requests", ("method", "route", "status"), registry=self.registry
        )
        self._request_seconds = self._histogram("clew_request_seconds", ("method", "route"))
        self._question_seconds = self._histogram(
            "clew_question_seconds", ("index", "kind", "method")
        )
        self.under_way = Gauge("clew_requests_under_way", "Requests now", registry=self.registry)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that came to its end."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def count_question(self, index: str, kind: str, method: str, seconds: float) -> None:
        """Count a question that an index was asked."""
        self._question_seconds.labels(index, kind, method).observe(seconds)

    def _histogram(self, name: str, labels: tuple[str, ...]) -> Histogram:
        return Histogram(name, "Seconds", labels, registry=self.registry, buckets=_BOUNDS)
