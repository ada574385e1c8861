"""Solve the 0/1 knapsack problem exactly, by an expanding core.

After Pisinger (1997), "A Minimal Algorithm for the 0-1 Knapsack Problem". Items are sorted by value
per weight. Taking them until one does not fit gives the break solution, from which the optimum
differs in few items near that point. So items are flipped outwards from there, keeping only states
that no lighter one beats and that may still win.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError

TOLERANCE = 1e-12  # of the whole value: a gain below it is rounding


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen items, and whether the choice is known to be optimal."""

    rows: NDArray[np.intp]  # (k,) ascending
    exact: bool  # if not, it is worth at least what taking the densest that fit would be


@dataclass(frozen=True, slots=True)
class _Sack:
    """Items by falling density; the first `n_break` are the break solution."""

    values: NDArray[np.float64]  # (n,) > 0
    weights: NDArray[np.int64]  # (n,) > 0
    capacity: int
    n_break: int

    @property
    def break_value(self) -> float:
        return float(self.values[: self.n_break].sum())

    @property
    def room(self) -> int:
        return self.capacity - int(self.weights[: self.n_break].sum())


def knapsack(
    values: NDArray[np.floating],
    weights: NDArray[np.integer],
    capacity: int,
    *,
    max_states: int = 4_000_000,
) -> Choice:
    """Return the rows whose `values`, (n,), sum highest while their `weights` fit `capacity`.

    A row worth 0 or less is never taken. Rows are tried by (-value / weight, weight, row), which
    makes the choice one and the same among equals. `max_states` bounds time and memory (8 bytes
    each): where more would be needed, the choice is the best found so far and says so.

    Raises InputError for a weight that is not positive or a value that is not finite.
    """
    if len(weights) and weights.min() < 1:
        raise InputError(f"weights must be at least 1, but the least is {weights.min()}")
    if not np.isfinite(values).all():
        raise InputError("values must be finite numbers, but one is infinite or NaN")
    rows = np.flatnonzero((values > 0) & (weights <= capacity))
    rows = rows[np.lexsort((rows, weights[rows], -(values[rows] / weights[rows])))]
    n_break = int(np.searchsorted(np.cumsum(weights[rows]), capacity, side="right"))
    if n_break == len(rows):
        return Choice(np.sort(rows), exact=True)
    unit = int(np.gcd.reduce(weights[rows]))
    scaled = weights[rows].astype(np.int64) // unit
    sack = _Sack(values[rows].astype(np.float64), scaled, capacity // unit, n_break)
    flips, exact = _expand(sack, max_states)
    taken = np.arange(len(rows)) < n_break
    taken[flips] ^= True
    return Choice(np.sort(rows[taken]), exact)


def _expand(sack: _Sack, max_states: int) -> tuple[list[int], bool]:
    """Return the items in which the best solution found differs from the break solution."""
    densities = np.pad(sack.values / sack.weights, 1, constant_values=(np.inf, 0.0))
    ceilings = _upper_bounds(sack, densities[sack.n_break + 1])
    tolerance, least = TOLERANCE * float(ceilings.max()), float(sack.values.min())
    # A better choice is better by an item if all are worth the same.
    gain = least - tolerance if least == sack.values.max() else tolerance
    flips = _fitting_items(sack)
    best = sack.break_value + float(sack.values[flips].sum())
    room, value = np.array([sack.room]), np.array([sack.break_value])  # of each state
    trail: list[tuple[int, NDArray[np.intp]]] = []
    n_states = 0
    for item, left, right in _walk_outwards(sack.n_break, len(sack.values)):
        if ceilings[item] < best + gain:
            continue
        sign = 1 if item >= sack.n_break else -1
        flipped = sign * sack.weights[item], sign * sack.values[item]
        room, value, origin = _branch(room, value, *flipped)
        fitting = int(np.count_nonzero(room >= 0))  # the last of these is worth most
        if fitting and value[fitting - 1] >= best + gain:
            best = float(value[fitting - 1])
            flips = _trace([*trail, (item, origin)], fitting - 1)
        next_density = np.where(room >= 0, densities[right + 1], densities[left + 1])
        alive = value + room * next_density >= best + gain
        room, value = room[alive], value[alive]
        trail.append((item, origin[alive]))
        n_states += len(room)
        if n_states > max_states:
            return flips, False
        if not len(room):
            break
    return flips, True


def _upper_bounds(sack: _Sack, density: np.float64) -> NDArray[np.float64]:
    """Return (n,) upper bounds of the value of any solution with that item flipped.

    That is the linear relaxation at the break's `density`, less what the flip loses there.
    """
    relaxed = sack.break_value + sack.room * density
    return np.asarray(relaxed - np.abs(sack.values - density * sack.weights))


def _fitting_items(sack: _Sack) -> list[int]:
    """Return the items behind the break that fit beside it, densest first."""
    room, fitting = sack.room, []
    for item, weight in enumerate(sack.weights[sack.n_break :].tolist(), sack.n_break):
        if weight <= room:
            fitting.append(item)
            room -= weight
    return fitting


def _walk_outwards(n_break: int, n: int) -> Iterator[tuple[int, int, int]]:
    """Yield the items outwards from the break, with the next item on either side."""
    left, right = n_break - 1, n_break
    while left >= 0 or right < n:
        if right < n:
            right += 1
            yield right - 1, left, right
        if left >= 0:
            left -= 1
            yield left + 1, left, right


def _branch(
    room: NDArray[np.int64], value: NDArray[np.float64], weight: np.int64, worth: np.float64
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp]]:
    """Return the states with and without one more flip by ascending weight, and their parents.

    States that a lighter or equal one matches in value are dropped. The parent is the row of the
    previous state, or its complement, below 0, if the item was flipped.
    """
    rows = np.arange(len(room))
    room, value = np.concatenate([room, room - weight]), np.concatenate([value, value + worth])
    order = np.lexsort((-value, -room))
    highest = np.maximum.accumulate(value[order])
    best = order[np.append(True, value[order][1:] > highest[:-1])]
    return room[best], value[best], np.concatenate([rows, ~rows])[best]


def _trace(trail: Sequence[tuple[int, NDArray[np.intp]]], state: int) -> list[int]:
    """Return the items flipped on the path to a state of the last step."""
    flips = []
    for item, origin in reversed(trail):
        state = int(origin[state])
        if state < 0:
            flips.append(item)
            state = ~state
    return flips
