"""Connections to shards: in this process, or each in a process of its own."""

from concurrent.futures import BrokenExecutor
from functools import cache, partial
from pathlib import Path

from loky import ProcessPoolExecutor

from clew import Index, Snapshot
from clew import open as open_index
from clew.base.runtime.threads import exit_with_parent
from clew.errors import StoreError
from clew.extras.cluster.shards.exchange import Reply, Request
from clew.extras.cluster.shards.shard import reply_to_request
from clew.index.store import opening


class LocalShard:
    """A shard in this process."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def name(self) -> str:
        return self._index.shown

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the shard's newest generation."""
        return self._index.snapshot()

    def ask(self, request: Request) -> Reply:
        return reply_to_request(self._index, request)

    def close(self) -> None:
        self._index.close()


class ProcessShard:
    """A shard in a child process, which ends with this one, and is replaced if it ends before."""

    def __init__(self, folder: Path) -> None:
        self.name = opening.describe_place(folder)
        self._folder = str(folder)
        self._executor = _start_process()

    def ask(self, request: Request) -> Reply:
        executor = self._executor
        try:
            return executor.submit(_reply, self._folder, request).result()  # type: ignore[no-any-return]  # loky has no types
        except BrokenExecutor as error:
            if executor is self._executor:
                self._executor = _start_process()
            raise StoreError("its process ended, and another one is started") from error

    def close(self) -> None:
        self._executor.shutdown(wait=True, kill_workers=True)


_start_process = partial(
    ProcessPoolExecutor, 1, timeout=None, initializer=exit_with_parent, env={"OMP_NUM_THREADS": "1"}
)


def _reply(folder: str, request: Request) -> Reply:
    """Reply to a request in the process of a shard."""
    return reply_to_request(_open_once(folder), request)


@cache
def _open_once(folder: str) -> Index:
    return open_index(folder)
