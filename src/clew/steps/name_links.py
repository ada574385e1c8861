"""Entities whose names begin or end each other: "West Moss" and "West Moss Harbour".

What is kept of a name is a hash of 64 bits of it, and of each of its beginnings and ends in whole
words, so that the names that are alike are found by looking numbers up.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from clew.algo.links import expanded
from clew.algo.row_edits import RowEdits
from clew.derived import CachedArrays, Derived

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.derived import Arrays, Earlier
    from clew.types import Snapshot

_MOST_LONGER = 5  # names that a shorter one may begin or end; one in more is a common word
_NO_NAME = 0  # the hash of an entity that no name is linked to


@dataclass(frozen=True, slots=True)
class NameLinks:
    """The names of the entities, and what begins and ends them, to be looked up."""

    names: NDArray[np.uint64]  # (n_entities,) hashes, 0 for one that is not linkable
    begins: NDArray[np.int64]  # (n_entities + 1,) where the parts of each name begin
    parts: NDArray[np.uint64]  # hashes
    shares: NDArray[np.float32]  # of the name's words
    sorted_names: NDArray[np.uint64]
    named: NDArray[np.int32]  # the entity of each of these
    sorted_parts: NDArray[np.uint64]
    part_places: NDArray[np.int64]  # the place in `parts` of each of these
    owners: NDArray[np.int32]  # the entity of each part

    def of(
        self, entities: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """Return the places of some entities, the others each is linked to, and shares.

        A share is that of the longer name's words, divided by how many names the shorter one begins
        or ends. Where these are more than five it is linked to none of them.
        """
        groups, places = expanded(self.begins[entities], self.begins[entities + 1])
        parts = self.parts[places]
        at = np.searchsorted(self.sorted_names, parts)
        at = np.minimum(at, max(len(self.sorted_names) - 1, 0))
        known = np.flatnonzero(self.sorted_names[at] == parts) if len(parts) else at
        first, last = self._with(parts[known])
        few = last - first <= _MOST_LONGER
        known, n_longer = known[few], (last - first)[few]
        shorter = (
            groups[known],
            self.named[at[known]].astype(np.int64),
            self.shares[places[known]] / n_longer,
        )
        first, last = self._with(self.names[entities])
        last = np.where((last - first <= _MOST_LONGER) & (self.names[entities] > 0), last, first)
        owner, there = expanded(first, last)
        at = self.part_places[there]
        longer = owner, self.owners[at].astype(np.int64), self.shares[at] / (last - first)[owner]
        rows, others, shares = (np.concatenate(both) for both in zip(shorter, longer, strict=True))
        return rows, others, shares.astype(np.float64)

    def _with(self, names: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return from where to where the sorted parts are these names."""
        first = np.searchsorted(self.sorted_parts, names)
        return first, np.searchsorted(self.sorted_parts, names, side="right")


def name_links(snapshot: Snapshot) -> NameLinks:
    """Return the names of a snapshot's entities, to be looked up."""
    return snapshot.get(_NAME_LINKS)


def _name_links(snapshot: Snapshot) -> NameLinks:
    found = _found(snapshot)
    names, parts = found["names"], found["parts"]
    begins = np.concatenate([[0], np.cumsum(found["n_parts"], dtype=np.int64)])
    named = np.argsort(names, kind="stable").astype(np.int32)
    named = named[names[named] != _NO_NAME]
    order = np.argsort(parts, kind="stable")
    owners = np.repeat(np.arange(len(names), dtype=np.int32), found["n_parts"])
    return NameLinks(
        names=names,
        begins=begins,
        parts=parts,
        shares=found["shares"],
        sorted_names=names[named],
        named=named,
        sorted_parts=parts[order],
        part_places=order,
        owners=owners,
    )


def _found(snapshot: Snapshot) -> Arrays:
    """Return the arrays of `NAME_PARTS`, as they were cached or by the edits since."""
    found = snapshot.former_arrays(NAME_PARTS)
    if found is None or snapshot.former is None:
        return snapshot.get(NAME_PARTS)
    edits = snapshot.former.rows("entity")
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])[edits.at]
    new = _arrays(len(edits.at), np.flatnonzero(linkable), *_hashed(snapshot, edits.at[linkable]))
    begins = np.concatenate([[0], np.cumsum(found["n_parts"], dtype=np.int64)])
    _, gone = expanded(begins[edits.gone], begins[edits.gone + 1])
    before = np.repeat(begins[edits.before], new["n_parts"])
    parts = RowEdits.of(len(found["parts"]), gone, before)
    return {
        **{name: edits.edited(found[name], new[name]) for name in ("names", "n_parts")},
        **{name: parts.edited(found[name], new[name]) for name in ("parts", "shares")},
    }


_NAME_LINKS = Derived("names that begin or end others", _name_links)


def _parts(snapshot: Snapshot) -> Arrays:
    linkable = np.flatnonzero(snapshot.layer("entity").columns["linkable"])
    return _arrays(len(snapshot.layer("entity")), linkable, *_hashed(snapshot, linkable))


def _updated(snapshot: Snapshot, earlier: Earlier) -> Arrays:
    """Return what `_parts` does; only names that are new are read."""
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])
    before, then = earlier.rows["entity"], earlier.arrays
    known = linkable & (before >= 0)
    known[known] = then["names"][before[known]] != _NO_NAME
    new, old = np.flatnonzero(linkable & ~known), np.flatnonzero(known)
    names, n_parts, parts, shares = _hashed(snapshot, new)
    begins = np.concatenate([[0], np.cumsum(then["n_parts"], dtype=np.int64)])
    rows = before[old]
    owners, places = expanded(begins[rows], begins[rows + 1])
    together = np.concatenate([old, new])
    order = np.argsort(together)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    by_name = np.concatenate([owners, len(old) + np.repeat(np.arange(len(new)), n_parts)])
    by_row = np.argsort(ranks[by_name], kind="stable")
    return _arrays(
        len(linkable),
        together[order],
        np.concatenate([then["names"][rows], names])[order],
        np.concatenate([then["n_parts"][rows], n_parts])[order],
        np.concatenate([then["parts"][places], parts])[by_row],
        np.concatenate([then["shares"][places], shares])[by_row],
    )


NAME_PARTS = CachedArrays("name-parts", _parts, inputs=("entity",), update=_updated, edited=True)


def _arrays(
    n_entities: int,
    rows: NDArray[np.integer],
    names: NDArray[np.uint64],
    n_parts: NDArray[np.int32],
    parts: NDArray[np.uint64],
    shares: NDArray[np.float32],
) -> Arrays:
    """Return the arrays of all entities, by those of the ones in `rows`, ascending."""
    all_names = np.full(n_entities, _NO_NAME, dtype=np.uint64)
    all_names[rows] = names
    counts = np.zeros(n_entities, dtype=np.int32)
    counts[rows] = n_parts
    return {"names": all_names, "n_parts": counts, "parts": parts, "shares": shares}


def _hashed(
    snapshot: Snapshot, rows: NDArray[np.integer]
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64], NDArray[np.float32]]:
    """Return the hashes of the names in some rows, how many parts each has, these, and shares."""
    names: list[int] = []
    n_parts: list[int] = []
    parts: list[int] = []
    shares: list[float] = []
    for key in snapshot.layer("entity").ids(rows.tolist()):
        words = key.split()
        names.append(_hash(key))
        found = dict(_ends(words))
        n_parts.append(len(found))
        parts += map(_hash, found)
        shares += [n / len(words) for n in found.values()]
    return (
        np.array(names, dtype=np.uint64),
        np.array(n_parts, dtype=np.int32),
        np.array(parts, dtype=np.uint64),
        np.array(shares, dtype=np.float32),
    )


def _ends(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the beginnings and ends of a name in whole words, with how many these are."""
    for i in range(1, len(words)):
        yield " ".join(words[:i]), i
        yield " ".join(words[i:]), len(words) - i


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()) or 1
