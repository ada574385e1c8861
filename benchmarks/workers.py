"""How indexing grows with workers, and when the process that commits becomes the limit.

    python -m benchmarks.workers [--passages 3000] [--repeats 3] [--workers 1,2]

Indexes made passages with so many processes, and says the time, the share of it that the process
spent itself (reading, committing, handing over; not waiting for workers), and the memory of all.
Then it simulates more workers by the costs of a batch that were measured with the most of them:
each takes as long as it took here, the committer does one batch after the other.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import tempfile
import threading
import time
from pathlib import Path

import clew
from benchmarks.run import made
from clew.index import AHEAD, BATCH_CHARACTERS

SIMULATED = (1, 2, 4, 8, 16, 32, 64, 128)


def measured(documents: list[clew.Document], n: int) -> tuple[float, float, float]:
    """Return seconds, those of this process itself, and the peak of all processes' memory in MB."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            peak[0] = max(peak[0], _resident_mb())

    with tempfile.TemporaryDirectory() as place, clew.open(Path(place) / "made.clew") as index:
        watcher = threading.Thread(target=watch)
        watcher.start()
        began, cpu = time.perf_counter(), time.process_time()
        index.add(documents, workers=n)
        seconds, own = time.perf_counter() - began, time.process_time() - cpu
        done.set()
        watcher.join()
    return seconds, own, peak[0]


def _resident_mb() -> float:
    """Return the memory that this process and those below it hold alone or share, in MB."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        pages[int(stat.parent.name)] = int(fields[21])
    ours, known = {_own()}, 0
    while len(ours) > known:
        known = len(ours)
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    return sum(pages[pid] for pid in ours if pid in pages) * 4096 / 1e6


def _own() -> int:
    return int(Path("/proc/self").resolve().name)


def simulated(n_batches: int, worker_s: float, committer_s: float, n: int) -> float:
    """Return the seconds of a run with n workers: a batch begins when one is free and few wait."""
    free = [0.0] * n
    made: list[float] = []
    committed: list[float] = []
    for i in range(n_batches):
        begins = heapq.heappop(free)
        if i >= AHEAD * n:
            begins = max(begins, committed[i - AHEAD * n])
        made.append(begins + worker_s)
        heapq.heappush(free, made[-1])
        before = committed[-1] if committed else 0.0
        committed.append(max(before, made[-1]) + committer_s)
    return committed[-1]


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=3_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", default="1,2")
    options = parser.parse_args()
    documents, _ = made(options.passages, 1)
    n_batches = -(-sum(len(each.text) for each in documents) // BATCH_CHARACTERS)
    print(f"{len(documents):,} documents in {n_batches} batches")
    counts = [int(each) for each in options.workers.split(",")]
    runs = {n: [measured(documents, n) for _ in range(options.repeats)] for n in counts}
    for n, found in runs.items():
        seconds, own, peak = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"{n} workers: {seconds:.1f} s, this process computed {own:.1f} s, {peak:.0f} MB")
    most = max(counts)
    seconds, own, _ = (statistics.median(each) for each in zip(*runs[most], strict=True))
    committer_s, worker_s = own / n_batches, (seconds * most) / n_batches
    print(f"a batch: {worker_s:.2f} s of a worker, {committer_s:.3f} s of this process")
    many = 4_000
    one = many * (worker_s + committer_s)
    for n in SIMULATED:
        print(
            f"{n} workers, simulated: {one / simulated(many, worker_s, committer_s, n):.1f} times"
        )


if __name__ == "__main__":
    main()
