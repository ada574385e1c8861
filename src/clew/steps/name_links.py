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
    named: NDArray[np.integer]  # the linkable entities in the order of their names
    begins: NDArray[np.integer]  # (n_entities + 1,) where the parts of each name begin
    parts: NDArray[np.uint64]  # hashes
    order: NDArray[np.integer]  # the places of the parts in the order of these
    shares: NDArray[np.float32]  # of the name's words

    def of(
        self, entities: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """Return the places of some entities, the others each is linked to, and shares.

        A share is that of the longer name's words, divided by how many names the shorter one begins
        or ends. Where these are more than five it is linked to none of them.
        """
        groups, places = expanded(self.begins[entities], self.begins[entities + 1])
        parts = self.parts[places]
        at, behind = _found(self.names, self.named, parts)
        known = np.flatnonzero(at < behind)
        first, last = _found(self.parts, self.order, parts[known])
        few = last - first <= _MOST_LONGER
        known, n_longer = known[few], (last - first)[few]
        shorter = (
            groups[known],
            self.named[at[known]].astype(np.int64),
            self.shares[places[known]] / n_longer,
        )
        first, last = _found(self.parts, self.order, self.names[entities])
        last = np.where((last - first <= _MOST_LONGER) & (self.names[entities] > 0), last, first)
        owner, there = expanded(first, last)
        at = self.order[there]
        others = np.searchsorted(self.begins, at.astype(self.begins.dtype), side="right") - 1
        longer = owner, others.astype(np.int64), self.shares[at] / (last - first)[owner]
        rows, others, shares = (np.concatenate(both) for both in zip(shorter, longer, strict=True))
        return rows, others, shares.astype(np.float64)


def _found(
    values: NDArray[np.uint64], order: NDArray[np.integer], wanted: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return from where to where in the order of some values each of the `wanted` ones stands."""
    last = np.full(len(wanted), np.iinfo(np.int64).max)
    return _stands(values, order, wanted, -np.ones_like(last)), _stands(values, order, wanted, last)


def _stands(
    values: NDArray[np.uint64],
    order: NDArray[np.integer],
    wanted: NDArray[np.uint64],
    places: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return where values would stand in an order; of equal values the lower place is first."""
    first = np.zeros(len(wanted), dtype=np.int64)
    behind = np.full(len(wanted), len(order), dtype=np.int64)
    while np.any(first < behind):
        some = np.flatnonzero(first < behind)
        middle = (first[some] + behind[some]) // 2
        place = order[middle]
        value = values[place]
        is_less = (value < wanted[some]) | ((value == wanted[some]) & (place < places[some]))
        first[some[is_less]] = middle[is_less] + 1
        behind[some[~is_less]] = middle[~is_less]
    return first


def name_links(snapshot: Snapshot) -> NameLinks:
    """Return the names of a snapshot's entities, to be looked up."""
    return snapshot.get(_NAME_LINKS)


def _name_links(snapshot: Snapshot) -> NameLinks:
    found = snapshot.former_arrays(NAME_PARTS)
    if found is None or snapshot.former is None:
        return _opened(snapshot.get(NAME_PARTS))
    return _edited(snapshot, _opened(found), snapshot.former.rows("entity"))


def _opened(found: Arrays) -> NameLinks:
    names = ("names", "named", "begins", "parts", "order", "shares")
    return NameLinks(*(found[name] for name in names))


def _edited(snapshot: Snapshot, former: NameLinks, entities: RowEdits) -> NameLinks:
    """Return the names after edits of the entities; only those that came are read."""
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])[entities.at]
    names = np.full(len(entities.at), _NO_NAME, dtype=np.uint64)
    n_parts = np.zeros(len(entities.at), dtype=np.int64)
    hashed = _hashed(snapshot, entities.at[linkable])
    names[linkable], n_parts[linkable] = hashed[0], hashed[1]
    _, gone = expanded(
        former.begins[entities.gone].astype(np.int64),
        former.begins[entities.gone + 1].astype(np.int64),
    )
    before = np.repeat(former.begins[entities.before].astype(np.int64), n_parts)
    places = RowEdits.of(len(former.parts), gone, before)
    all_names = entities.edited(former.names, names)
    parts = places.edited(former.parts, hashed[2])
    counts = entities.edited(np.diff(former.begins), n_parts)
    return NameLinks(
        names=all_names,
        named=_edited_order(all_names, former.named, entities, entities.at[linkable]),
        begins=_begins(counts),
        parts=parts,
        order=_edited_order(parts, former.order, places, places.at),
        shares=places.edited(former.shares, hashed[3]),
    )


def _edited_order(
    values: NDArray[np.uint64],
    former: NDArray[np.integer],
    edits: RowEdits,
    came: NDArray[np.int64],
) -> NDArray[np.integer]:
    """Return the order of values, from a former one and the places of those that `came`."""
    order = edits.now(former, followed=False)
    order = order[order >= 0].astype(former.dtype)
    came = came[np.argsort(values[came], kind="stable")]
    return np.insert(order, _stands(values, order, values[came], came), came)


def _begins(counts: NDArray[np.integer]) -> NDArray[np.integer]:
    begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return begins.astype(np.int32) if begins[-1] < 2**31 else begins


_NAME_LINKS = Derived("names that begin or end others", _name_links)


def _parts(snapshot: Snapshot) -> Arrays:
    linkable = np.flatnonzero(snapshot.layer("entity").columns["linkable"])
    return _arrays(len(snapshot.layer("entity")), linkable, *_hashed(snapshot, linkable))


def _updated(snapshot: Snapshot, earlier: Earlier) -> Arrays:
    """Return what `_parts` does; only names that are new are read."""
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])
    before, then = earlier.rows["entity"], _opened(earlier.arrays)
    known = linkable & (before >= 0)
    known[known] = then.names[before[known]] != _NO_NAME
    new, old = np.flatnonzero(linkable & ~known), np.flatnonzero(known)
    names, n_parts, parts, shares = _hashed(snapshot, new)
    rows = before[old]
    owners, places = expanded(then.begins[rows], then.begins[rows + 1])
    together = np.concatenate([old, new])
    order = np.argsort(together)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    by_name = np.concatenate([owners, len(old) + np.repeat(np.arange(len(new)), n_parts)])
    by_row = np.argsort(ranks[by_name], kind="stable")
    return _arrays(
        len(linkable),
        together[order],
        np.concatenate([then.names[rows], names])[order],
        np.concatenate([np.diff(then.begins)[rows], n_parts])[order],
        np.concatenate([then.parts[places], parts])[by_row],
        np.concatenate([then.shares[places], shares])[by_row],
    )


def _arrays(
    n_entities: int,
    rows: NDArray[np.integer],
    names: NDArray[np.uint64],
    n_parts: NDArray[np.integer],
    parts: NDArray[np.uint64],
    shares: NDArray[np.float32],
) -> Arrays:
    """Return the arrays of all entities, by those of the ones in `rows`, ascending."""
    all_names = np.full(n_entities, _NO_NAME, dtype=np.uint64)
    all_names[rows] = names
    counts = np.zeros(n_entities, dtype=np.int64)
    counts[rows] = n_parts
    order = np.argsort(parts, kind="stable")
    return {
        "names": all_names,
        "named": rows[np.argsort(names, kind="stable")].astype(np.int32),
        "begins": _begins(counts),
        "parts": parts,
        "order": order.astype(np.int32) if len(order) < 2**31 else order,
        "shares": shares,
    }


NAME_PARTS = CachedArrays("name-parts", _parts, inputs=("entity",), update=_updated, edited=True)


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
