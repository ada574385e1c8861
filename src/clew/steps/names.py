"""Link entities whose names begin or end with each other: "West Moss", "West Moss Harbour".

Names, and their beginnings and ends in whole words, are kept as 64-bit hashes, so that similar
names are found by looking up numbers.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from clew.algo.edited_links import EditedLink, FreshRows
from clew.algo.links import (
    Column,
    Entries,
    Link,
    StoredLink,
    expand_ranges,
    link_from_arrays,
    link_to_arrays,
    open_column,
)
from clew.algo.row_edits import RowEdits
from clew.base.derived import Arrays, CachedArrays, Derived, EarlierArrays
from clew.index.snapshot import Snapshot

_MOST_LONGER = 5  # names that a shorter one may begin or end; one in more is a common word
_AT_ONCE = 2**16  # names that are read
_FEW = 20_000  # entities, whose links are not cached
_NO_NAME = 0  # the hash of an entity that no name is linked to


@dataclass(frozen=True, slots=True)
class SortedHashes:
    """Sorted hashes for lookup: the positions in ascending order, and the upper halves."""

    hashes: Column  # of uint64, as they are stored
    order: Column
    heads: NDArray[np.uint32]

    @classmethod
    def from_hashes(cls, hashes: NDArray[np.uint64], some: NDArray[np.integer]) -> "SortedHashes":
        """Return the `hashes` at some ascending positions."""
        order = some[np.argsort(hashes[some], kind="stable")]
        heads = _upper_halves(hashes[order])
        small = order.astype(np.int32) if len(hashes) < 2**31 else order
        return cls(Column.from_array(hashes), Column.from_array(small), heads)

    def find(
        self, wanted: NDArray[np.uint64], most: int
    ) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
        """Find hashes; return which were found and where, but none found over `most` times."""
        heads = _upper_halves(wanted)
        first, last = (np.searchsorted(self.heads, heads, side=s) for s in ("left", "right"))
        few = np.flatnonzero(last - first <= 2 * most)  # others may have the same upper half
        group, at = expand_ranges(first[few], last[few])
        group, place = few[group], self.order[at]
        same = self.hashes[place] == wanted[group]
        group, place = group[same], place[same]
        rare = np.bincount(group, minlength=len(wanted))[group] <= most
        return group[rare], place[rare]

    def apply_edits(
        self, hashes: NDArray[np.uint64], edits: RowEdits, came: NDArray[np.int64]
    ) -> "SortedHashes":
        """Return the lookup after edits of the positions, with the added hashes `came`."""
        former = self.order.whole
        order = edits.to_present(former, followed=False)
        is_left = order >= 0
        heads, order = self.heads[is_left], order[is_left].astype(former.dtype)
        came = came[np.lexsort((came, _upper_halves(hashes[came])))]
        new = _upper_halves(hashes[came])
        at = np.searchsorted(heads, new)
        places = Column.from_array(np.insert(order, at, came))
        return SortedHashes(Column.from_array(hashes), places, np.insert(heads, at, new))


def _upper_halves(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return (hashes >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class NameParts:
    """Lookup of entity names, and of their beginnings and ends."""

    names: SortedHashes  # (n_entities,) hashes, 0 for one that is not linkable
    begins: NDArray[np.integer]  # (n_entities + 1,) where the parts of each name begin
    parts: SortedHashes
    shares: Column  # of float32, of the name's words

    def hashes_of_parts(self, entities: NDArray[np.integer]) -> NDArray[np.uint64]:
        """Return the hashes of the beginnings and ends of some entities' names."""
        _, places = expand_ranges(self.begins[entities], self.begins[entities + 1])
        return self.parts.hashes[places]

    def find_linked(
        self, entities: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """Return the positions of some entities, the entities linked to each, and the shares.

        A share is the fraction of the longer name's words, divided by the number of names that the
        shorter one begins or ends. If these are more than five, it is linked to none.
        """
        groups, places = expand_ranges(self.begins[entities], self.begins[entities + 1])
        parts, shorter = self.names.find(self.parts.hashes[places], 1)
        hashes, group = np.unique(self.parts.hashes[places[parts]], return_inverse=True)
        groups_of, _ = self.parts.find(hashes, _MOST_LONGER)
        n_longer = np.bincount(groups_of, minlength=len(hashes))[group]
        few = n_longer > 0
        parts, shorter, n_longer = parts[few], shorter[few], n_longer[few]
        shares = self.shares[places[parts]] / n_longer
        owner, at = self.parts.find(self.names.hashes[entities], _MOST_LONGER)
        is_named = self.names.hashes[entities[owner]] != _NO_NAME
        owner, at = owner[is_named], at[is_named]
        longer = np.searchsorted(self.begins, at.astype(self.begins.dtype), side="right") - 1
        n_own = np.bincount(owner, minlength=len(entities))[owner]
        return (
            np.concatenate([groups[parts], owner]),
            np.concatenate([shorter, longer]).astype(np.int64),
            np.concatenate([shares, self.shares[at] / n_own]).astype(np.float64),
        )


def name_links(snapshot: Snapshot) -> Link:
    """Return the (n_entities, n_entities) word shares of names that begin or end others."""
    return snapshot.get(_NAME_LINKS)


def name_parts(snapshot: Snapshot) -> NameParts:
    """Return the lookup of a snapshot's entity names."""
    return snapshot.get(_NAME_PARTS)


def _read_name_parts(snapshot: Snapshot) -> NameParts:
    arrays = snapshot.base_arrays(_PARTS)
    if arrays is None or snapshot.base is None:
        return _open_names(snapshot.get(_PARTS))
    return _update_names(snapshot, _open_names(arrays), snapshot.base.rows("entity"))


def _read_name_links(snapshot: Snapshot) -> Link:
    if not _are_many(snapshot):  # whose links are made in less time than a file
        return StoredLink.from_matrix(_link_all(snapshot))
    arrays = snapshot.base_arrays(_LINKS)
    if arrays is None or snapshot.base is None:
        return link_from_arrays(snapshot.get(_LINKS))
    stored, edits = link_from_arrays(arrays), snapshot.base.rows("entity")
    names = name_parts(snapshot)
    former = _open_names(snapshot.base.arrays(_PARTS))
    changed = [former.hashes_of_parts(edits.gone), names.hashes_of_parts(edits.at)]
    some = np.concatenate([names.names.find(np.concatenate(changed), 1)[1], edits.at])
    touched = stored.entries_of(np.concatenate([edits.gone, _drop_negative(edits.to_former(some))]))
    some = np.union1d(some, _drop_negative(edits.to_present(touched.indices, followed=False)))
    fresh = np.union1d(some, names.find_linked(some)[1])
    entries = _link_names(names, fresh, len(snapshot.layer("entity")))
    return EditedLink(stored, edits, edits, FreshRows(fresh, entries))


def _drop_negative(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[rows >= 0]


def _link_names(names: NameParts, rows: NDArray[np.integer], n_entities: int) -> Entries:
    """Return the entities whose names begin or end each of some names, row by row."""
    places, others, shares = names.find_linked(rows)
    keys, which = np.unique(places * n_entities + others, return_inverse=True)
    indptr = np.searchsorted(keys, np.arange(len(rows) + 1) * n_entities)
    columns = (keys % max(n_entities, 1)).astype(np.int32)
    data = np.bincount(which, weights=shares).astype(float, copy=False)
    return Entries((len(rows), n_entities), indptr, columns, data)


def _link_all(snapshot: Snapshot) -> Entries:
    n = len(snapshot.layer("entity"))
    return _link_names(name_parts(snapshot), np.arange(n), n)


def _link_all_names(snapshot: Snapshot) -> Arrays:
    return link_to_arrays(_link_all(snapshot))


def _are_many(snapshot: Snapshot) -> bool:
    return len(snapshot.layer("entity")) > _FEW


def _open_names(arrays: Arrays) -> NameParts:
    names, parts = (
        SortedHashes(
            open_column(arrays, each), open_column(arrays, f"{each}.order"), arrays[f"{each}.heads"]
        )
        for each in ("names", "parts")
    )
    return NameParts(names, arrays["begins"], parts, open_column(arrays, "shares"))


def _update_names(snapshot: Snapshot, former: NameParts, entities: RowEdits) -> NameParts:
    """Update the lookup after edits of the entities, reading only added names."""
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])[entities.at]
    names = np.full(len(entities.at), _NO_NAME, dtype=np.uint64)
    n_parts = np.zeros(len(entities.at), dtype=np.int64)
    names[linkable], n_parts[linkable], parts, shares = _hash_names(snapshot, entities.at[linkable])
    begins = former.begins
    went = (begins[entities.gone + i].astype(np.int64) for i in (0, 1))
    before = np.repeat(begins[entities.before].astype(np.int64), n_parts)
    places = RowEdits.from_changes(len(former.parts.hashes), expand_ranges(*went)[1], before)
    all_names = entities.apply(former.names.hashes.whole, names)
    all_parts = places.apply(former.parts.hashes.whole, parts)
    return NameParts(
        names=former.names.apply_edits(all_names, entities, entities.at[linkable]),
        begins=_count_starts(entities.apply(np.diff(begins), n_parts)),
        parts=former.parts.apply_edits(all_parts, places, places.at),
        shares=Column.from_array(places.apply(former.shares.whole, shares)),
    )


def _count_starts(counts: NDArray[np.integer]) -> NDArray[np.integer]:
    begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return begins.astype(np.int32) if begins[-1] < 2**31 else begins


_NAME_PARTS = Derived("what begins and ends names", _read_name_parts)
_NAME_LINKS = Derived("names that begin or end others", _read_name_links)


def _compute_parts(snapshot: Snapshot) -> Arrays:
    linkable = np.flatnonzero(snapshot.layer("entity").columns["linkable"])
    return _build_arrays(len(snapshot.layer("entity")), linkable, *_hash_names(snapshot, linkable))


def _update_parts(snapshot: Snapshot, earlier: EarlierArrays) -> Arrays:
    """Update the arrays of `_compute_parts`, reading only new names."""
    linkable = np.asarray(snapshot.layer("entity").columns["linkable"])
    before, then = earlier.rows["entity"], _open_names(earlier.arrays)
    is_known = linkable & (before >= 0)
    is_known[is_known] = then.names.hashes[before[is_known]] != _NO_NAME
    new, old = np.flatnonzero(linkable & ~is_known), np.flatnonzero(is_known)
    names, n_parts, parts, shares = _hash_names(snapshot, new)
    rows = before[old]
    owners, places = expand_ranges(then.begins[rows], then.begins[rows + 1])
    together = np.concatenate([old, new])
    order = np.argsort(together)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    by_name = np.concatenate([owners, len(old) + np.repeat(np.arange(len(new)), n_parts)])
    by_row = np.argsort(ranks[by_name], kind="stable")
    return _build_arrays(
        len(linkable),
        together[order],
        np.concatenate([then.names.hashes[rows], names])[order],
        np.concatenate([np.diff(then.begins)[rows], n_parts])[order],
        np.concatenate([then.parts.hashes[places], parts])[by_row],
        np.concatenate([then.shares[places], shares])[by_row],
    )


def _build_arrays(
    n_entities: int,
    rows: NDArray[np.integer],
    names: NDArray[np.uint64],
    n_parts: NDArray[np.integer],
    parts: NDArray[np.uint64],
    shares: NDArray[np.float32],
) -> Arrays:
    """Build the arrays of all entities from those of the ascending `rows`."""
    all_names = np.full(n_entities, _NO_NAME, dtype=np.uint64)
    all_names[rows] = names
    counts = np.zeros(n_entities, dtype=np.int64)
    counts[rows] = n_parts
    sorted_names = SortedHashes.from_hashes(all_names, rows)
    sorted_parts = SortedHashes.from_hashes(parts, np.arange(len(parts)))
    return {
        "names": all_names,
        "names.order": sorted_names.order.whole,
        "names.heads": sorted_names.heads,
        "begins": _count_starts(counts),
        "parts": parts,
        "parts.order": sorted_parts.order.whole,
        "parts.heads": sorted_parts.heads,
        "shares": shares,
    }


_PARTS = CachedArrays(
    "names", _compute_parts, inputs=("entity",), update=_update_parts, edited=True
)
_LINKS = CachedArrays(
    "name-links",
    _link_all_names,
    update=lambda now, _earlier: _link_all_names(now),
    edited=True,
    worth=_are_many,
)
NAMES = (_PARTS, _LINKS)


def _hash_names(
    snapshot: Snapshot, rows: NDArray[np.integer]
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64], NDArray[np.float32]]:
    """Return the names' hashes in some rows, their numbers of parts, the parts, and shares."""
    names, n_parts, parts, shares = array("Q"), array("i"), array("Q"), array("f")
    layer = snapshot.layer("entity")
    for start in range(0, len(rows), _AT_ONCE):
        for key in layer.ids(rows[start : start + _AT_ONCE].tolist()):
            words = key.split()
            names.append(_hash(key))
            ends = dict(_name_ends(words))
            n_parts.append(len(ends))
            parts.extend(map(_hash, ends))
            shares.extend(n / len(words) for n in ends.values())
    return np.array(names), np.array(n_parts), np.array(parts), np.array(shares)


def _name_ends(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the beginnings and ends of a name in whole words, with their numbers of words."""
    for i in range(1, len(words)):
        yield " ".join(words[:i]), i
        yield " ".join(words[i:]), len(words) - i


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()) or 1
