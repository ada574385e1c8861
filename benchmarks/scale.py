"""What indexing and serving take at sizes that nobody here has: `python -m benchmarks.scale`.

A model of costs, and a simulation of waiting. The costs of one chunk and of one question were
measured on one machine (`Measured`, each with its source); prices and the machine are round numbers
of clouds in general (`Prices`). Told are, for 1, 100 and 10,000 million chunks: core hours, hours
and money to index; bytes and money to keep; machines, money, and by simulation the latencies of a
fleet of shards under load.

The simulation: questions come at random (Poisson). Each goes through the stages of a gathered
question; a stage asks some or all of the shards, waits for the slowest, and for a round trip. A
shard has so many cores and serves one part after the other, in the order in which they come. Times
vary by measured ratios. Nothing fails, all shards are of one size, and their files are in memory.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass
from math import ceil

import numpy as np


@dataclass(frozen=True, slots=True)
class Measured:
    """What one chunk and one question take; seconds are those of one core."""

    index_s: float = 0.045  # benchmarks/workers.py: 33.5 s on two cores for 1,500 chunks
    commit_s: float = 0.0007  # the same: 0.11 s for a batch of some 160 chunks
    kept_bytes: float = 17_000  # docs/guides/documents.md: with what three methods compute
    row_bytes: float = 1_500  # tables of a manual of 2,195 chunks in PostgreSQL
    busy_bytes: float = 6_000  # of the former, read by questions again and again: a third
    question_s: float = 0.156  # docs/guides/update.md: walk at a million chunks, in one index


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars, as clouds take without a contract; a machine has 16 cores and 128 GB."""

    core_hour: float = 0.05
    machine_month: float = 600.0
    object_gb_month: float = 0.023
    table_gb_month: float = 0.12
    cores: int = 16
    memory_bytes: float = 128e9


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a gathered question: what a shard takes for it, and how many are asked."""

    fixed_s: float
    share_s: float  # for the chunks of the stage, divided among the shards that are asked
    asked: int | None  # None: all


@dataclass(frozen=True, slots=True)
class Fleet:
    """Shards of equal size, each on `cores`, and what the process that asks adds to a question."""

    shards: int
    cores: int
    stages: tuple[Stage, ...]
    own_s: float
    trip_s: float = 0.0005
    spread: float = 0.35  # of the logarithm of times: the slowest of a hundred takes 2.3 times


def simulated(fleet: Fleet, per_second: float, n: int = 400, seed: int = 1) -> tuple[float, float]:
    """Return the p50 and the p99 of the seconds of a question, of which so many come a second."""
    rng = np.random.default_rng(seed)
    free = [np.zeros((fleet.shards, fleet.cores))]  # when each core has done what it was given
    events = [(at, i, 0, at) for i, at in enumerate(np.cumsum(rng.exponential(1 / per_second, n)))]
    heapq.heapify(events)
    took = []
    while events:
        now, number, stage_number, began = heapq.heappop(events)
        if stage_number == len(fleet.stages):
            took.append(now + fleet.own_s - began)
            continue
        stage = fleet.stages[stage_number]
        n_asked = fleet.shards if stage.asked is None else min(stage.asked, fleet.shards)
        asked = rng.choice(fleet.shards, n_asked, replace=False)
        work = stage.fixed_s + stage.share_s / n_asked
        seconds = work * rng.lognormal(0.0, fleet.spread, n_asked)
        core = free[0][asked].argmin(axis=1)
        ends = np.maximum(free[0][asked, core], now) + seconds
        free[0][asked, core] = ends
        after = float(ends.max()) + fleet.trip_s
        heapq.heappush(events, (after, number, stage_number + 1, began))
    measured = np.sort(took[n // 5 :])
    return float(np.median(measured)), float(measured[int(0.99 * len(measured))])
