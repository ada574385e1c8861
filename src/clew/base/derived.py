"""Declare values that are computed from a generation of an index.

A declaration is a constant of a module. `snapshot.get(IT)` gives its value, computed once for all
who ask. Nothing else knows what is computed from an index: no store, and no part that builds one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arrays = Mapping[str, "NDArray[Any]"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Derived(Generic[T]):
    """A value computed once per snapshot and kept in memory.

    `compute` gets the snapshot, then the settings that the value is asked for with: other settings,
    another value. What is given by name besides is needed to compute it and changes nothing.
    """

    name: str
    compute: Callable[..., T]


@dataclass(frozen=True, slots=True, eq=False)
class CachedArrays(Derived[Arrays]):
    """Arrays computed once, cached on disk, and renewed at each write.

    They have no settings. `inputs` are the layers whose rows decide them. Where `update` is given
    it computes them from the snapshot and what was cached of an earlier generation; else that is
    taken over where the rows of all inputs are the same, and computed anew where not.

    Where they are `edited` who reads them brings those of an earlier generation up to date, by how
    its rows became those of now, and a write leaves them as they are.

    Where they are `lazy` a write leaves them, too, once they were computed, unless it compacts the
    index: the next who asks computes them by what was cached.

    Those that `remember` earlier generations are not what a fresh index would have. Of some
    documents alone they are computed from nothing but these.

    Those that `embeds` is true of are computed with an `embedder`, a function that gives one. A
    write computes them only for a snapshot where they are `worth` it.
    """

    inputs: tuple[str, ...] = ()
    update: Callable[..., Arrays] | None = None
    edited: bool = False
    lazy: bool = False
    remember: bool = False
    embeds: bool = False
    worth: Callable[..., bool] = lambda _snapshot: True


class EarlierArrays(NamedTuple):
    """The cached arrays of an earlier generation."""

    arrays: Arrays
    # Of each input's rows, (n,), the row that it was then, -1 for one that is new.
    rows: Mapping[str, NDArray[np.int64]]
    unchanged: frozenset[str]  # inputs that have the same rows now, in the same order
