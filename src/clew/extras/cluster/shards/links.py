"""Connections to shards: in this process, or each in a process of its own."""

import multiprocessing
import os
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

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
        context = multiprocessing.get_context("spawn")
        self._link, other = context.Pipe()
        self._process = context.Process(
            target=_serve_shard, args=(str(folder), other), daemon=True, name=f"shard {folder}"
        )
        self._process.start()
        other.close()
        self._n_sent = self._n_received = 0

    def send(self, request: Request) -> Receive:
        try:
            self._link.send(request)
        except OSError as error:
            raise self._ended_error() from error
        self._n_sent += 1
        return partial(self._receive, self._n_sent)

    def _receive(self, number: int) -> Reply:
        """Return the reply with this number, discarding earlier ones."""
        reply: Any = None  # a pipe has no types
        try:
            while self._n_received < number:
                reply = self._link.recv()
                self._n_received += 1
        except (EOFError, OSError) as error:
            raise self._ended_error() from error
        if isinstance(reply, ClewError):
            raise reply
        return reply  # type: ignore[no-any-return]

    def _ended_error(self) -> StoreError:
        return StoreError(f"the process of the shard {self.name} ended: open the shards again")

    def close(self) -> None:
        self._link.close()
        self._process.join(_CLOSE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


_CLOSE_S = 5.0


def _serve_shard(folder: str, link: Connection) -> None:
    """Reply to a coordinator's requests until it closes the connection."""
    exit_with_parent()
    os.environ["OMP_NUM_THREADS"] = "1"
    with open_index(folder) as index:
        while True:
            try:
                request = link.recv()
            except (EOFError, OSError):
                return
            try:
                reply: Reply | ClewError = reply_to_request(index, request)
            except ClewError as error:
                reply = error
            link.send(reply)


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
