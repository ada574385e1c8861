"""Workers on a Ray cluster: one Ray task per task, retried if a process or node dies.

The models' packages must be on each node, in the releases that the recipe of the index names. A
node's process loads them once and keeps them for later tasks.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clew.base.runtime.lazy import check_installed
from clew.errors import ClewError, ModelError
from clew.extras.cluster.workers import tasks

if TYPE_CHECKING:
    from clew.models.loading import Specs

_REACH_S = 10
_TRIES = 20  # of a task whose process or node ended
LOOK_S = 5.0  # how often the head of the cluster is looked for
GONE_S = 40.0  # before it is given up; after a minute Ray would end this process


class RayWorkers:
    """The cores of a cluster at the time of connecting."""

    def __init__(self, spec: str, specs: Specs) -> None:
        """Connect to a cluster.

        "ray" is that of this machine, "ray:HOST:PORT" one of which this machine is a node, and
        "ray://HOST:PORT" another one, through its Ray client server.
        """
        self._ray, self._address, self._was_there = connect(spec)
        self._looked = self._seen = time.monotonic()
        self.n = int(self._ray.cluster_resources().get("CPU", 0))
        if not self.n:
            raise ModelError("the Ray cluster has no free core: see 'ray status'")
        self._run = self._ray.remote(num_cpus=1, max_retries=_TRIES)(_run)
        self._specs = self._ray.put(specs)

    def submit(self, task: str, *arguments: Any) -> _Task:  # noqa: ANN401 -- as the task takes
        """Run a task on a worker; see `clew.index.building.Workers`."""
        return _Task(self, self._ray, self._run.remote(self._specs, task, arguments))

    def check_head(self) -> None:
        """Check periodically that the head of the cluster is alive.

        Raises ModelError where it has been gone for a while.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        try:
            _reach(self._address)
            self._seen = now
        except OSError as error:
            if now - self._seen >= GONE_S:
                raise ModelError(
                    f"the head of the Ray cluster {self._address} is gone"
                    f" ({first_sentence(error)}): run the same command again to continue,"
                    f" with another cluster or without one"
                ) from error

    def close(self) -> None:
        """Disconnect; the cluster stays, and running tasks end."""
        if not self._was_there:
            self._ray.shutdown()


@dataclass(frozen=True, slots=True)
class _TaskError:
    """The result of a failed task, since Ray writes raised errors on stderr."""

    error: ClewError


def _run(specs: Specs, task: str, arguments: Sequence[Any]) -> Any:  # noqa: ANN401 -- as the task returns
    """Run a task on a node."""
    try:
        return tasks.run(specs, task, arguments)
    except ClewError as error:
        return _TaskError(error)


class _Task:
    """A task, independent of the node that runs it."""

    def __init__(self, workers: RayWorkers, ray: Any, reference: Any) -> None:  # noqa: ANN401 -- a module and what it gives
        self._workers = workers
        self._ray = ray
        self._reference = reference
        self._is_well = True

    def is_done(self) -> bool:
        if not self._is_well or not self._is_ready(0):
            return False
        try:
            self._is_well = not isinstance(self._ray.get(self._reference), _TaskError)
        except (self._ray.exceptions.RayError, ConnectionError):
            self._is_well = False
        return self._is_well

    def result(self) -> Any:  # noqa: ANN401 -- as the task returns
        try:
            self._workers.check_head()
            while not self._is_ready(LOOK_S):
                self._workers.check_head()
            result = self._ray.get(self._reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise ModelError(
                f"the Ray cluster failed ({first_sentence(error)}): see 'ray status',"
                f" and run the same command again to continue"
            ) from error
        if isinstance(result, _TaskError):
            raise result.error
        return result

    def _is_ready(self, seconds: float) -> bool:
        """Wait up to a timeout for the task to end, with a result or an error."""
        done, _ = self._ray.wait([self._reference], timeout=seconds)
        return bool(done)


def connect(spec: str) -> tuple[Any, str, bool]:
    """Connect to the cluster of a spec; return Ray, its address, and whether it was connected.

    Raises MissingExtra, and ModelError where the cluster cannot be reached.
    """
    check_installed("ray", "ray", "a Ray cluster")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    was_there, address = ray.is_initialized(), ""
    try:
        address = _address(spec)
        if not was_there:
            _reach(address)
            with _keep_handler():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            # Else it writes on standard output that a process ended, whose task is done again.
            ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 -- Ray has no switch
        ray.cluster_resources()
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ModelError(
            f"the Ray cluster {address or 'of this machine'} cannot be reached"
            f" ({first_sentence(error)}): start one with 'ray start --head', or name its address"
        ) from error
    return ray, address, was_there


def _address(spec: str) -> str:
    """Return the address of a cluster, by default the one that Ray would use.

    Raises ConnectionError where there is none.
    """
    if spec.startswith("ray://"):
        return spec
    address = spec.removeprefix("ray").removeprefix(":") or os.environ.get("RAY_ADDRESS", "")
    if address not in {"", "auto"}:
        return address
    from ray._private.services import canonicalize_bootstrap_address_or_die

    return str(canonicalize_bootstrap_address_or_die("auto"))


@contextmanager
def _keep_handler() -> Iterator[None]:
    """Restore the SIGTERM handler after the block: Ray's ends this process."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _reach(address: str) -> None:
    """Raise OSError if nobody listens at an address; Ray itself would end this process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()


def first_sentence(error: BaseException) -> str:
    """Return the first sentence of another package's message."""
    return str(error).strip().partition("\n")[0].removesuffix(".")[:200] or type(error).__name__
