"""Workers on this machine: loky processes, which do not import the caller's main module."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future
from typing import TYPE_CHECKING, Any

from loky import ProcessPoolExecutor

from clew.base.runtime.threads import cores, exit_with_parent
from clew.errors import ModelError
from clew.extras.cluster.workers import tasks

if TYPE_CHECKING:
    from clew.models.loading import Specs

_TRIES = 3  # before a task is given up at which workers end


class ProcessWorkers:
    """A pool of processes, started by the first task; each loads the models once.

    What computes in a worker has its part of the cores. For the thread that made them only.
    """

    def __init__(self, n: int, specs: Specs) -> None:
        self.n = n
        self._specs = specs
        self._executor: ProcessPoolExecutor | None = None
        self._waiting: dict[_Task, None] = {}  # in the order in which they were given
        self._ends = 0  # of workers, since the last task that was done

    def submit(self, task: str, *arguments: Any) -> _Task:  # noqa: ANN401 -- as the task takes
        """Run a task on a worker; see `clew.index.building.Workers`."""
        new_task = _Task(self, task, arguments)
        self._waiting[new_task] = None
        new_task.send()
        return new_task

    def send(self, task: str, arguments: tuple[Any, ...]) -> Future[Any]:
        """Send a task to the processes."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.n,
                timeout=None,
                initializer=exit_with_parent,
                env={"OMP_NUM_THREADS": str(max(1, cores() // self.n))},
            )
        return self._executor.submit(tasks.run, self._specs, task, arguments)  # type: ignore[no-any-return]  # loky has no types

    def forget(self, task: _Task) -> None:
        """Forget a finished task."""
        self._waiting.pop(task, None)
        self._ends = 0

    def restart(self, error: BrokenExecutor) -> None:
        """Replace the processes after a crash, and send unfinished tasks again."""
        self._ends += 1
        if self._ends == _TRIES:
            self.close()
            raise ModelError(
                f"a worker ended {_TRIES} times at the same work, maybe for lack of memory: use"
                f" fewer, as in --workers {max(1, self.n // 2)}"
            ) from error
        self._end()
        for each in self._waiting:
            if not each.has_result():
                each.send()

    def close(self) -> None:
        """End the processes and their tasks."""
        self._waiting.clear()
        self._ends = 0
        self._end()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


class _Task:
    """A task, independent of the worker that runs it."""

    def __init__(self, workers: ProcessWorkers, name: str, arguments: tuple[Any, ...]) -> None:
        self._workers = workers
        self._name = name
        self._given = arguments
        self._future: Future[Any] = Future()

    def send(self) -> None:
        self._future = self._workers.send(self._name, self._given)

    def has_result(self) -> bool:
        return self._future.done() and not isinstance(self._future.exception(), BrokenExecutor)

    def is_done(self) -> bool:
        return self._future.done() and self._future.exception() is None

    def result(self) -> Any:  # noqa: ANN401 -- as the task returns
        while True:
            try:
                result = self._future.result()
            except BrokenExecutor as error:
                self._workers.restart(error)
            else:
                self._workers.forget(self)
                return result
