"""Progress of a run that reads documents: one thread updates it, others read it.

From what was looked at, `TimeLeft` says how long the rest takes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from typing import Any


@dataclass(slots=True)
class Progress:
    """The work done so far, in bytes of files whose documents are indexed.

    A document that was read counts while it is embedded, and wholly once it is committed.
    """

    stage: str = "starting"  # then "indexing", "extracting", "finishing"
    total: int | None = None  # bytes of all files; None: not known, as where documents are given
    shard: str = ""  # of an index in shards the one at hand, such as "shard 3 of 16"
    source: str = ""  # of the file at hand
    documents: int = 0  # done with
    chunks: tuple[int, int] = (0, 0)  # extracted, and to be extracted
    meter: Any = None  # what the run costs: a `clew.models.run.Meter`
    _before: int = 0  # bytes of files that are read
    _size: int = 0  # of the file at hand
    _characters: int = 0  # of the documents that came from it
    _last: str = ""  # the document that was read last
    _weights: dict[str, float] = field(default_factory=dict)  # bytes of each document at hand
    _at_hand: float = 0.0  # bytes of all these
    _expected: float = 0.0  # characters that are to be embedded for them
    _embedded: float = 0.0

    def enter(self, shard: str) -> None:
        """Restart for one of several shards."""
        documents = self.documents
        self.__init__()  # type: ignore[misc]
        self.shard, self.documents = shard, documents

    @property
    def done_bytes(self) -> float:
        """The number of bytes done."""
        share = min(self._embedded / self._expected, 1.0) if self._expected else 0.0
        return self._read - self._at_hand * (1.0 - share)

    @property
    def _read(self) -> float:
        return self._before + min(self._size, self._characters)

    def open(self, source: str, size: int) -> None:
        """Start a file of so many bytes; the last file's markup counts with its document."""
        rest = self._size - min(self._size, self._characters)
        if self._last in self._weights:
            self._weights[self._last] += rest
            self._at_hand += rest
        self._before += self._size
        self.source, self._size, self._characters = source, size, 0

    def read(self, document_id: str, characters: int, *, whole: bool = False) -> None:
        """Record a document of the current file, or one that is the `whole` file."""
        before, self._last = self._read, document_id
        self._characters += max(characters, self._size) if whole else characters
        self._weights[document_id] = self._read - before
        self._at_hand += self._read - before

    def expect(self, characters: float) -> None:
        """Add the number of characters to embed for the current documents."""
        self._expected, self._embedded = characters, 0.0

    def add_embedded(self, characters: int) -> None:
        """Add a number of embedded characters."""
        self._embedded += characters

    def settle(self, document_ids: Iterable[str]) -> None:
        """Record documents as indexed or skipped."""
        for each in document_ids:
            self._at_hand -= self._weights.pop(each, 0.0)
            self.documents += 1
        if not self._weights:
            self._at_hand = self._expected = self._embedded = 0.0


# -- how long the rest takes ----------------------------------------------------------------------

_BASIS_S, _LEAST_SHARE, _LONG_S = 10.0, 0.01, 60.0
_WINDOW_S, _WINDOW_SHARE = 60.0, 1 / 3
_SLOTS, _MOST_OF_MEDIAN = 12, 3.0
_SMOOTH_S = 10.0
_ASLEEP_S, _MOST_S = 30.0, 360_000.0
_APART_S, _MOST_STEPS = 1.0, 2_000  # seconds between two that are kept, and how many are


@dataclass(slots=True)
class TimeLeft:
    """An estimate of the remaining time, from the speed observed so far.

    Work comes in steps, stands still, and is sometimes had for nothing: vectors that were embedded
    before, documents that did not change. So the speed is that of the last third of the time, and
    of its parts none counts for more than three times the usual one. What is said follows what is
    found within some ten seconds. Nothing is said before there is a basis: ten seconds behind the
    first step and a hundredth of the work, or a minute; nor of more than a hundred hours. While
    nobody looks for half a minute, as of a machine that sleeps, no time passes.
    """

    _steps: list[tuple[float, float]] = field(default_factory=list)  # seconds, and work done then
    _looked: float | None = None  # at the time of the last look
    _slept: float = 0.0  # seconds that did not pass
    _before: float | None = None  # work done at the first look: behind the first step the time runs
    _last: tuple[float, float] | None = None  # seconds at which, and what was found to be left

    def estimate_seconds_left(self, now: float, done: float, total: float | None) -> float | None:
        """Return the seconds that are left at a time, of which so much work is done; or None."""
        if self._looked is not None and now - self._looked > _ASLEEP_S:
            self._slept += now - self._looked
        self._looked, now = now, now - self._slept
        if self._before is None:
            self._before = done
        if done > (self._steps[-1][1] if self._steps else self._before):
            self._step(now, done)
        if not (self._steps and total) or done >= total:
            return None
        first, at_first = self._steps[0]
        passed, share = now - first, (done - at_first) / total
        if passed < _BASIS_S or done == at_first or (share < _LEAST_SHARE and passed < _LONG_S):
            return None
        left = self._estimate(now, done, total)
        if self._last is not None:
            when, estimate = self._last
            aged = max(estimate - (now - when), 1.0)
            left = aged * (left / aged) ** (1.0 - exp(-(now - when) / _SMOOTH_S))
        self._last = now, left
        return left if left < _MOST_S else None

    def _step(self, now: float, done: float) -> None:
        if len(self._steps) > 1 and now - self._steps[-2][0] < _APART_S:
            self._steps.pop()
        elif len(self._steps) > _MOST_STEPS:
            self._steps = self._steps[::2]
        self._steps.append((now, done))

    def _estimate(self, now: float, done: float, total: float) -> float:
        """Return an estimate from the speed between steps, expecting pauses like earlier ones."""
        window = max(_WINDOW_S, (now - self._steps[0][0]) * _WINDOW_SHARE)
        recent = self._steps[bisect_left(self._steps, (now - window,)) - 1 :] or self._steps
        usual = max((after[0] - before[0] for before, after in pairwise(recent)), default=0.0)
        waited = now - self._steps[-1][0]
        steps = self._steps if waited <= usual else [*self._steps, (now, done)]
        left = (total - done) / _speed(steps, window)
        return max(left - min(waited, usual), 1.0)


def _speed(steps: Sequence[tuple[float, float]], window: float) -> float:
    """Return the typical speed in the last `window` of some steps."""
    from statistics import median  # which loads fractions and decimals

    end = steps[-1][0]
    begin = max(steps[0][0], end - window)
    edges = [begin + (end - begin) * i / _SLOTS for i in range(_SLOTS + 1)]
    done = [_work_at(steps, edge) for edge in edges]
    parts = [after - before for before, after in pairwise(done)]
    usual = median(parts)
    work = sum(min(part, usual * _MOST_OF_MEDIAN) for part in parts) if usual > 0 else sum(parts)
    return max(work, 1e-9) / max(end - begin, 1e-9)


def _work_at(steps: Sequence[tuple[float, float]], when: float) -> float:
    """Return the work done at a time between two steps, interpolated linearly."""
    place = min(max(bisect_left(steps, (when,)), 1), len(steps) - 1)
    (left, before), (right, after) = steps[place - 1], steps[place]
    share = (when - left) / (right - left) if right > left else 1.0
    return before + (after - before) * min(max(share, 0.0), 1.0)
