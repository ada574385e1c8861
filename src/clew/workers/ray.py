"""Workers of a Ray cluster: one task of Ray for each, retried by it where a process or node ends.

The models' packages must be on each node, in the releases that the recipe of the index names. A
node's process loads them once and keeps them for later tasks.
"""

from __future__ import annotations

import logging
import os
import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from clew.errors import MissingExtra, ModelError
from clew.workers import tasks

if TYPE_CHECKING:
    from clew.loading import Specs

_REACH_S = 10
_TRIES = 20  # of a task whose process or node ended


class RayWorkers:
    """The cores of a cluster, as many as it has when it is reached."""

    def __init__(self, spec: str, specs: Specs) -> None:
        """Reach a cluster.

        "ray" is that of this machine, "ray:HOST:PORT" one of which this machine is a node, and
        "ray://HOST:PORT" another one, through its Ray client server.
        """
        if find_spec("ray") is None:
            raise MissingExtra("ray", "ray", "a Ray cluster")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray = ray
        address = spec if spec.startswith("ray://") else spec.removeprefix("ray").removeprefix(":")
        self._was_there = ray.is_initialized()
        try:
            if not self._was_there:
                _reach(address)
                ray.init(
                    address=address or "auto", log_to_driver=False, logging_level=logging.ERROR
                )
            self._n = int(ray.cluster_resources().get("CPU", 0))
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            where = address or "of this machine"
            raise ModelError(
                f"the Ray cluster {where} cannot be reached ({_first(error)}): start one with"
                f" 'ray start --head', or name its address"
            ) from error
        if not self._n:
            raise ModelError("the Ray cluster has no core to work with: see 'ray status'")
        self._run = ray.remote(num_cpus=1, max_retries=_TRIES)(tasks.run)
        self._named = ray.put(specs)

    @property
    def n(self) -> int:
        return self._n

    def submit(self, task: str, *given: Any) -> _Task:  # noqa: ANN401 -- as the task takes
        """Let a worker do a task; see `clew.index.building.Workers`."""
        return _Task(self._ray, self._run.remote(self._named, task, given))

    def close(self) -> None:
        """Leave the cluster, which goes on; tasks that it has at hand end."""
        if not self._was_there:
            self._ray.shutdown()


class _Task:
    """A task, wherever it is done."""

    def __init__(self, ray: Any, reference: Any) -> None:  # noqa: ANN401 -- a module and what it gives
        self._ray = ray
        self._reference = reference

    def is_done(self) -> bool:
        done, _ = self._ray.wait([self._reference], timeout=0, fetch_local=False)
        return bool(done)

    def result(self) -> Any:  # noqa: ANN401 -- as the task returns
        try:
            return self._ray.get(self._reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise ModelError(
                f"the Ray cluster did not do its work ({_first(error)}): see 'ray status', and run"
                f" the same command again, which goes on"
            ) from error


def _reach(address: str) -> None:
    """Raise OSError where nobody listens at an address: Ray would end this process for that."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()


def _first(error: BaseException) -> str:
    """Return the first sentence of what another package says."""
    return str(error).strip().partition("\n")[0].removesuffix(".")[:200] or type(error).__name__
