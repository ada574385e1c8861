"""Connections to shards: in this process, or each in a process of its own."""

from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Protocol

from loky import ProcessPoolExecutor

from clew import Index, Snapshot
from clew import open as open_index
from clew.base.runtime.threads import exit_with_parent
from clew.errors import ClewError, NotAnIndex, StoreError
from clew.extras.cluster.shards.exchange import Receive, Reply, Request
from clew.extras.cluster.shards.shard import GenerationChanged, reply_to_request
from clew.index.store import opening


class Shard(Protocol):
    """A connection to a shard."""

    @property
    def name(self) -> str:
        """The name of the shard in messages."""
        ...

    def send(self, request: Request) -> Receive:
        """Send a request; return a function that waits for the reply."""
        ...

    def close(self) -> None: ...


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

    def send(self, request: Request) -> Receive:
        return partial(reply_to_request, self._index, request)

    def close(self) -> None:
        self._index.close()


class ProcessShard:
    """A shard in a child process, which ends with this one."""

    def __init__(self, folder: Path) -> None:
        self.name = opening.describe_place(folder)
        self._folder = str(folder)
        self._executor = ProcessPoolExecutor(
            1, timeout=None, initializer=exit_with_parent, env={"OMP_NUM_THREADS": "1"}
        )

    def send(self, request: Request) -> Receive:
        with self._explain_end():
            return partial(self._receive, self._executor.submit(_reply, self._folder, request))

    def _receive(self, pending: Future[Reply]) -> Reply:
        with self._explain_end():
            return pending.result()

    @contextmanager
    def _explain_end(self) -> Iterator[None]:
        """Raise StoreError if the process has ended."""
        try:
            yield
        except BrokenExecutor as error:
            raise StoreError(
                f"the process of the shard {self.name} ended: open the shards again"
            ) from error

    def close(self) -> None:
        self._executor.shutdown(wait=True, kill_workers=True)


def _reply(folder: str, request: Request) -> Reply:
    """Reply to a request in the process of a shard."""
    return reply_to_request(_open_once(folder), request)


@cache
def _open_once(folder: str) -> Index:
    return open_index(folder)


def ask_all(shards: Sequence[Shard], requests: Sequence[tuple[int, Request]]) -> list[Reply]:
    """Send requests to shards in parallel; replies have the order of the requests.

    Every reply is waited for, also where a shard fails. Raises GenerationChanged where one was
    written to, and else StoreError that names the first shard that failed.
    """
    waiting: list[tuple[int, Receive]] = []
    replies: list[Reply] = []
    failed: list[tuple[int, ClewError]] = []
    for number, request in requests:
        try:
            waiting.append((number, shards[number].send(request)))
        except ClewError as error:
            failed.append((number, error))
    for number, receive in waiting:
        try:
            replies.append(receive())
        except ClewError as error:
            failed.append((number, error))
    for _, why in failed:
        if isinstance(why, GenerationChanged):
            raise why
    for number, why in failed:
        if isinstance(why, NotAnIndex):
            raise StoreError(
                f"there is no index in the shard {shards[number].name}: put it back, or restore it;"
                f" new shards are filled by 'clew index PATH --into FOLDER' with the folder of all"
            ) from why
        raise StoreError(f"the shard {shards[number].name} failed: {why}") from why
    return replies
