"""Ask shards within a deadline: of each its copies in turn, and go on without those that are lost.

A copy that takes longer than is usual is not waited for alone: the next one is asked as well, and
the first good reply counts.
"""

import logging
import os
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from clew.errors import ClewError, NotAnIndex, StoreError
from clew.extras.cluster.shards.exchange import Reply, Request
from clew.extras.cluster.shards.shard import GenerationChanged

_log = logging.getLogger(__name__)

DEADLINE_S = 10.0  # of a question, for all that it asks of shards
_SHARE = 0.5  # of the time that is left, for one round of requests
_SUSPECT_SHARE = 0.05  # of that, for a shard whose copies all failed the last time
_HEDGE_AT = 0.95  # the quantile of the seconds of replies after which another copy is asked
_HEDGE_LEAST_S, _HEDGE_FIRST_S = 0.02, 0.5  # at least, and before any reply is known
_REMEMBERED = 100  # seconds of replies to requests of one kind
_THREADS = 4  # of each copy: one that hangs does not keep the next question from it


class ShardLost(StoreError):
    """A shard did not reply; the question begins again without it."""


class ShardCopy(Protocol):
    """A connection to one copy of a shard, with its name in messages to those who run it."""

    @property
    def name(self) -> str: ...

    def ask(self, request: Request) -> Reply:
        """Return the reply to a request. Raises ClewError, as `shard.reply_to_request`."""
        ...

    def close(self) -> None: ...


class Shard:
    """A shard by its copies; the one whose reply counted last is asked first."""

    def __init__(self, copies: Sequence[ShardCopy], label: str, *, is_here: bool = False) -> None:
        self.copies = copies
        self.label = label  # in answers, which do not tell where it is
        self.name = copies[0].name
        self.is_here = is_here  # in this process, and so never lost by time
        self.first = os.getpid() % len(copies)  # processes that ask begin with different copies
        self.failed: set[int] = set()  # copies that did not reply the last time
        self.is_reported = False  # as lost, in the log, until it replies again
        self._seconds: dict[type, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._asking = ThreadPoolExecutor(1, "clew-shard")
        self._threads = ThreadPoolExecutor(_THREADS * len(copies), "clew-copy")

    def send(self, request: Request, seconds: float) -> Future[Reply]:
        """Ask the copies of a remote shard, for at most `seconds`."""
        return self._asking.submit(self._ask, request, time.monotonic() + seconds)

    def _ask(self, request: Request, ends: float) -> Reply:
        """Return the first good reply of a copy."""
        began = time.monotonic()
        if len(self.failed) == len(self.copies):
            ends -= (ends - began) * (1 - _SUSPECT_SHARE)
        known = sorted(self._seconds[type(request)]) or [_HEDGE_FIRST_S]
        hedge_s = max(known[int(_HEDGE_AT * (len(known) - 1))], _HEDGE_LEAST_S)
        order = range(len(self.copies))
        left = sorted(order, key=lambda n: (n in self.failed, (n - self.first) % len(order)))
        sent: dict[Future[Reply], int] = {}
        why: ClewError = StoreError(f"no reply within {ends - began:.2g} s")
        while (left or sent) and (now := time.monotonic()) < ends:
            if left:
                copy = left.pop(0)
                sent[self._threads.submit(self._ask_copy, copy, request)] = copy
            until = min(ends, now + hedge_s) if left else ends
            for future in wait(sent, until - now, FIRST_COMPLETED).done:
                copy, error = sent.pop(future), future.exception()
                if error is None:
                    self.first = copy
                    return future.result()
                if not isinstance(error, ClewError):
                    raise error
                why = why if isinstance(why, GenerationChanged) else error
        self.failed.update(sent.values())
        for future in sent:  # what is not sent yet need not be
            future.cancel()
        raise why

    def _ask_copy(self, copy: int, request: Request) -> Reply:
        """Ask one copy; record how long it took, or that it failed."""
        began = time.monotonic()
        try:
            reply = self.copies[copy].ask(request)
        except GenerationChanged:  # that it was written to is no fault of it
            raise
        except ClewError:
            self.failed.add(copy)
            raise
        self.failed.discard(copy)
        self._seconds[type(request)].append(time.monotonic() - began)
        return reply

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._asking.shutdown(wait=False)
        for each in self.copies:
            each.close()


class Inquiry:
    """What one question asks of shards: within a deadline, and without those that were lost."""

    def __init__(self, shards: Sequence[Shard], deadline_s: float, *, strict: bool) -> None:
        self.lost: dict[int, ClewError] = {}
        self._shards = shards
        self._ends = time.monotonic() + deadline_s
        self._strict = strict

    def ask(self, requests: Mapping[int, Request], *, is_needed: bool = True) -> dict[int, Reply]:
        """Ask the shards that are not lost, by their numbers, all at once.

        What is not needed is not waited for long. Raises GenerationChanged where a shard was
        written to, ShardLost where one is lost now, and StoreError where `strict` and one is lost,
        or where all are.
        """
        seconds = max(0.0, self._ends - time.monotonic()) * _SHARE
        seconds *= 1 if is_needed else _SUSPECT_SHARE
        shards = {n: self._shards[n] for n in requests if n not in self.lost}
        sent = {
            n: each.send(requests[n], seconds) for n, each in shards.items() if not each.is_here
        }
        replies: dict[int, Reply] = {}
        failed: dict[int, ClewError] = {}
        for number, shard in shards.items():
            try:
                if number in sent:
                    replies[number] = sent[number].result()
                else:
                    replies[number] = shard.copies[0].ask(requests[number])
            except ClewError as error:
                failed[number] = error
            else:
                shard.is_reported = False
        if is_needed and failed:
            self._lose(failed)
        return replies

    def _lose(self, failed: Mapping[int, ClewError]) -> None:
        for why in failed.values():
            if isinstance(why, GenerationChanged):
                raise why
        self.lost |= failed
        for number, why in failed.items():
            name = self._shards[number].name
            said = f"the shard {name} failed: {why}"
            if isinstance(why, NotAnIndex):
                hint = (
                    "put it back, restore it, or fill new shards by 'clew index PATH --into FOLDER'"
                )
                said = f"there is no index in the shard {name}: {hint}"
            if self._strict or len(self.lost) == len(self._shards):
                raise StoreError(said) from why
            if not self._shards[number].is_reported:
                self._shards[number].is_reported = True
                _log.warning("%s", said)
        raise ShardLost("a shard was lost while it was asked: ask again")

    @property
    def missing(self) -> tuple[str, ...]:
        """The labels of the shards that are lost."""
        return tuple(self._shards[number].label for number in sorted(self.lost))
