"""Shards wherever they live: in this process, or each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Protocol

from clew.api import open_index
from clew.errors import ClewError, NotAnIndex, StoreError
from clew.shards.shard import GenerationChanged, reply_or_error, reply_to_request
from clew.store import opening

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from clew.api import Index
    from clew.shards.exchange import Reply, Request
    from clew.snapshot import Snapshot


class Shard(Protocol):
    """One shard, to be asked. What is sent is replied to in order."""

    @property
    def name(self) -> str:
        """What the shard is called in messages."""
        ...

    def send(self, request: Request) -> None:
        """Ask for something; `receive` waits for the reply."""
        ...

    def receive(self) -> Reply:
        """Return the reply to what was sent first. Raises ClewError, as `reply_to_request`."""
        ...

    def forget(self) -> None:
        """Let what was sent and has no reply yet have none."""
        ...

    def close(self) -> None: ...


class LocalShard:
    """A shard in this process."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._waiting: list[Request] = []

    @property
    def name(self) -> str:
        return self._index.shown

    def snapshot(self) -> Snapshot:
        """Return the newest generation of the shard."""
        return self._index.snapshot()

    def send(self, request: Request) -> None:
        self._waiting.append(request)

    def receive(self) -> Reply:
        return reply_to_request(self._index, self._waiting.pop(0))

    def forget(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._index.close()


class ProcessShard:
    """A shard in a process of its own, which ends with this one."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._folder = folder
        context = multiprocessing.get_context("spawn")
        self._link, other = context.Pipe()
        self._process = context.Process(
            target=_serve_shard,
            args=(str(folder), other, threads),
            daemon=True,
            name=f"shard {folder}",
        )
        self._process.start()
        other.close()
        self._waiting = self._forgotten = 0  # replies that are to come, and those nobody waits for

    @property
    def name(self) -> str:
        return opening.describe_place(self._folder)

    def send(self, request: Request) -> None:
        try:
            self._link.send(request)
        except OSError as error:
            raise self._ended_error() from error
        self._waiting += 1

    def receive(self) -> Reply:
        try:
            while self._forgotten:
                self._link.recv()
                self._forgotten -= 1
            reply = self._link.recv()
            self._waiting -= 1
        except (EOFError, OSError) as error:
            raise self._ended_error() from error
        if isinstance(reply, ClewError):
            raise reply
        return reply  # type: ignore[no-any-return]  # a pipe has no types

    def forget(self) -> None:
        self._forgotten, self._waiting = self._forgotten + self._waiting, 0

    def _ended_error(self) -> StoreError:
        return StoreError(f"the process of the shard {self.name} ended: open the shards again")

    def close(self) -> None:
        self._link.close()
        self._process.join(_CLOSE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


_CLOSE_S = 5.0
_LOOK_S = 1.0  # how often a process looks whether it has a parent


def _serve_shard(folder: str, link: Connection, threads: int) -> None:
    """Reply to what a shard's coordinator asks until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with open_index(folder) as index:
        while True:
            try:
                request = link.recv()
            except (EOFError, OSError):
                return
            link.send(reply_or_error(index, request))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)


def ask_all(shards: Sequence[Shard], requests: Sequence[tuple[int, Request]]) -> list[Reply]:
    """Ask shards, by their numbers, all at once; the replies come in the order of the requests.

    Every reply is waited for, also where a shard fails. Raises GenerationChanged where one was
    written to, and else StoreError that names the first shard that failed.
    """
    try:
        found, failed = _send_all(shards, requests)
    except BaseException:
        for shard in shards:
            shard.forget()
        raise
    moved = [why for _, why in failed if isinstance(why, GenerationChanged)]
    if moved:
        raise moved[0]
    for number, why in failed:
        if isinstance(why, NotAnIndex):
            raise StoreError(
                f"there is no index in the shard {shards[number].name}: put it back, or restore it;"
                f" new shards are filled by 'clew index PATH --into FOLDER' with the folder of all"
            ) from why
        raise StoreError(f"the shard {shards[number].name} failed: {why}") from why
    return found


def _send_all(
    shards: Sequence[Shard], requests: Sequence[tuple[int, Request]]
) -> tuple[list[Reply], list[tuple[int, ClewError]]]:
    """Return the replies, and which shards failed, and why."""
    found: list[Reply] = []
    failed: list[tuple[int, ClewError]] = []
    sent = []
    for number, request in requests:
        try:
            shards[number].send(request)
            sent.append(number)
        except ClewError as error:
            failed.append((number, error))
    for number in sent:
        try:
            found.append(shards[number].receive())
        except ClewError as error:
            failed.append((number, error))
    return found, failed
