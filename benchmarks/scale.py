"""What indexing and serving take at sizes that nobody here has: `python -m benchmarks.scale`.

A model of costs, and a simulation of waiting. The costs of one chunk and of one question were
measured on one machine (`Measured`, each with its source); prices and the machine are round numbers
of clouds in general (`Prices`). Told are, for 1, 100 and 10,000 million chunks: core hours, hours
and money to index; bytes and money to keep; machines, money, and by simulation the latencies of a
fleet of shards under load.

The simulation: questions come at random (Poisson). Each goes through the stages of a gathered
question; a stage asks some or all of the shards, waits for the slowest, and for a round trip. A
shard has one core and serves one part after the other, in the order in which they come. Times vary
by a lognormal factor. Nothing fails, all shards are of one size, and their files are in memory.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

SIZES = (1_000_000, 100_000_000, 10_000_000_000)
OWN_S = 0.099  # what the process that asks takes, with walk, on 16 shards
_GB, _HOUR, _MONTH = 1e9, 3600.0, 2.6e6


@dataclass(frozen=True, slots=True)
class Measured:
    """What one chunk and one question take; seconds are those of one core."""

    index_s: float = 0.045  # 33.5 s on two cores for 1,500 chunks
    commit_s: float = 0.0007  # the same: 0.11 s for a batch of some 160 chunks
    kept_bytes: float = 17_000  # docs/results/engineering.md: with what three methods compute
    row_bytes: float = 1_500  # tables in PostgreSQL of a manual of 2,195 chunks
    busy_bytes: float = 6_000  # of those kept: a third (docs/results/engineering.md)
    question_s: float = 0.099  # docs/results/engineering.md: walk at a million chunks
    shard: int = 640_000  # chunks of the shard that was measured


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
    """A stage of a gathered question: seconds of a shard, and for all chunks; whom it asks."""

    fixed_s: float
    all_s: float = 0.0  # divided among the shards that are asked
    most: int | None = None  # shards that are asked: those that have some chunks; None: all


NEAR, AROUND = Stage(0.0207), Stage(0.0006)
TELL, TAKE = Stage(0.0008, most=130), Stage(0.0210, 0.00052 * 350, most=350)
STAGES = (NEAR, AROUND, TELL, AROUND, TELL, AROUND, TAKE)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Shards of equal size, each with a core, and what the process that asks adds."""

    shards: int
    stages: tuple[Stage, ...] = STAGES
    share: float = 1.0  # of the shards that stages for all of them ask
    own_s: float = OWN_S
    trip_s: float = 0.0005
    spread: float = 0.2  # of the logarithm of times: the slowest of 157 takes 1.7 times

    def asked(self, stage: Stage) -> int:
        """Return how many shards a stage asks."""
        reached = max(1, ceil(self.share * self.shards))
        return reached if stage.most is None else min(stage.most, reached)

    @property
    def question_s(self) -> float:
        """The seconds of cores that a question takes in all shards."""
        return sum(self.asked(s) * s.fixed_s + s.all_s for s in self.stages)


def simulated(fleet: Fleet, per_second: float, n: int = 300, seed: int = 1) -> tuple[float, float]:
    """Return the p50 and the p99 of the seconds of a question, of which so many come a second."""
    rng = np.random.default_rng(seed)
    free = np.zeros(fleet.shards)  # when each shard has done what it was given
    arrivals = np.cumsum(rng.exponential(1 / per_second, n))
    events = [(float(at), i, 0, float(at)) for i, at in enumerate(arrivals)]
    heapq.heapify(events)
    took: list[float] = []
    while events:
        now, number, done, began = heapq.heappop(events)
        if done == len(fleet.stages):
            took.append(now + fleet.own_s - began)
            continue
        stage = fleet.stages[done]
        n_asked = fleet.asked(stage)
        if n_asked == fleet.shards:
            asked = np.arange(fleet.shards)
        else:
            asked = rng.choice(fleet.shards, n_asked, replace=False)
        work = stage.fixed_s + stage.all_s / n_asked
        free[asked] = np.maximum(free[asked], now) + work * rng.lognormal(0, fleet.spread, n_asked)
        after = float(free[asked].max()) + fleet.trip_s
        heapq.heappush(events, (after, number, done + 1, began))
    return float(np.median(took)), float(np.quantile(took, 0.99))


def main() -> None:
    """Print a column of figures for each size."""
    known, prices = Measured(), Prices()
    for n in SIZES:
        print(f"\n{n:,} chunks")
        _print_indexing(n, known, prices)
        machines = _print_keeping(n, known, prices)
        _print_serving(n, machines, known, prices)


def _print_indexing(n: int, known: Measured, prices: Prices) -> None:
    hours = n * known.index_s / _HOUR
    print(f"  indexing: {hours:,.0f} core hours, {hours * prices.core_hour:,.2f} dollars")
    for cores, writers in ((2, 1), (64, 1), (4_096, 64)):
        needed = max(hours / cores, n * known.commit_s / writers / _HOUR)
        print(f"    on {cores:,} cores with {writers} committers: {needed:,.1f} hours")


def _print_keeping(n: int, known: Measured, prices: Prices) -> int:
    objects, tables = n * known.kept_bytes / _GB, n * known.row_bytes / _GB
    month = objects * prices.object_gb_month + tables * prices.table_gb_month
    print(f"  kept: {objects:,.0f} GB of objects, {tables:,.0f} GB of tables, {month:,.2f} a month")
    shards = ceil(n / known.shard)
    by_memory = n * known.busy_bytes / (0.75 * prices.memory_bytes)
    machines = max(1, ceil(by_memory), ceil(shards / prices.cores))
    print(f"  serving: {shards:,} shards, {machines:,} machines (by memory {by_memory:,.1f})")
    return machines


def _print_serving(n: int, machines: int, known: Measured, prices: Prices) -> None:
    month = machines * prices.machine_month
    if n <= 1_000_000:
        most = prices.cores / known.question_s
        print(f"    one index: {1e3 * known.question_s:.0f} ms, {most:.0f} a second at the most")
    whole = Fleet(ceil(n / known.shard))
    for fleet in (whole, replace(whole, share=0.05)) if whole.shards > 100 else (whole,):
        most = machines * prices.cores / (fleet.question_s + fleet.own_s)
        for busy in (0.05, 0.5):
            rate = busy * min(most, fleet.shards / fleet.question_s)
            p50, p99 = simulated(fleet, rate)
            each = month / (rate * _MONTH)
            print(
                f"    asks {fleet.share:.0%} of the shards, {fleet.question_s:,.1f} core seconds a"
                f" question, {rate:,.1f} a second ({busy:.0%} busy): p50 {1e3 * p50:,.0f} ms,"
                f" p99 {1e3 * p99:,.0f} ms, {each:.5f} dollars each ({month:,.0f} a month)"
            )


if __name__ == "__main__":
    main()
