"""The salient terms of all chunks of an index, and their incremental update.

Which terms of a chunk are salient depends on all chunks, since the rarity of each does. So n-grams
are kept as hashes with how often each stands in its chunk. From these the rates of all chunks are
computed again whenever one came or went, and no text is read but those of chunks that are new or
whose salient terms are others now.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import expand_ranges
from clew.algo.salience import entity_rates, mark_salient
from clew.index.layers.entities import is_key
from clew.index.layers.extractions import encode_texts
from clew.index.layers.numbers import Numbers, number_values
from clew.index.layers.salient import TermSettings, TextNgrams, spell_rates, spell_terms
from clew.index.snapshot import Snapshot
from clew.text.keys import name_key
from clew.text.ngrams import number_parts

Arrays = Mapping[str, NDArray[Any]]
Rows = NDArray[np.integer]

_TOO_LONG = -1  # in place of the number of a key
_GRAMS = ("gram.begins", "gram.hashes", "gram.counts", "gram.inside", "gram.salient")


def salient_arrays(
    snapshot: Snapshot, terms: TermSettings, last: Arrays | None, earlier: Rows
) -> dict[str, NDArray[Any]]:
    """Return the salient terms of all chunks as arrays; docs/format.md has the names.

    (n_chunks,) `earlier` is the row that a chunk has in `last`, what this returned before with the
    same `terms`, -1 for one that is new. Whatever is taken from there, the arrays are the same.
    """
    chunks = np.flatnonzero(snapshot.are_texts())
    then = np.full(len(earlier), -1, dtype=np.int64)
    then[chunks] = earlier[chunks]
    new = _ReadChunks.from_snapshot(snapshot, chunks[then[chunks] < 0], terms.longest)
    former = _Grams.empty() if last is None else _Grams.from_arrays(last)
    grams = former.merge(_Grams.from_texts(new.counted), then, new.rows)
    rates, salient = _rate_ngrams(grams, chunks, terms)
    sizes = np.diff(grams.begins)
    is_changed = (_sums(salient != grams.was_salient, sizes) > 0) & (then >= 0)
    changed = _ReadChunks.from_snapshot(snapshot, np.flatnonzero(is_changed), terms.longest)
    spellings, keys = ([], {}) if last is None else _known_names(last)
    numbers = {spelling: number for number, spelling in enumerate(spellings)}
    n_said = _sums(salient, sizes)
    begins = np.append(0, np.cumsum(n_said))
    rows = np.empty(begins[-1], dtype=np.int64)
    if last is not None:
        stays = np.flatnonzero((then >= 0) & ~is_changed)
        n_before = _sums(former.was_salient, np.diff(former.begins))
        began = np.append(0, np.cumsum(n_before))
        rows[_places(begins, stays)] = last["said"][_places(began, then[stays])]
    for read in (new, changed):
        names = read.names(salient[_places(grams.begins, read.rows)], n_said[read.rows])
        places = _places(begins, read.rows)
        rows[places] = [numbers.setdefault(name, len(numbers)) for name in names]
    owners = np.repeat(np.arange(len(then)), n_said)
    arrays = _arrays_from_spellings(list(numbers), keys, rows, owners, rates[salient], len(then))
    counted = grams.begins, grams.hashes, grams.counts, grams.inside, salient
    return {**arrays, **dict(zip(_GRAMS, counted, strict=True))}


def arrays_from_rates(
    rates: csr_array, terms: Sequence[str], texts: Sequence[str], chunks: Rows, n_chunks: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of names and rates of given salient terms; see `salient_rates`."""
    places, _, names = number_parts(spell_rates(rates, terms, texts))
    owners = np.repeat(chunks, np.diff(rates.indptr))
    return _arrays_from_spellings(names, {}, places, owners, rates.data, n_chunks)


def _arrays_from_spellings(
    spellings: Sequence[str],
    keys: Mapping[str, str],
    spelling_rows: Rows,
    owners: Rows,
    rates: NDArray[np.floating],
    n_chunks: int,
) -> dict[str, NDArray[Any]]:
    """Return the names of salient terms, by first occurrence, and the rate of each in each chunk.

    (m,) `spelling_rows` are the numbers of the spellings, `owners` the chunks, ascending, and
    `rates` what they have there. `keys` are those of spellings that are known.
    """
    first, places = number_values(spelling_rows)
    own = [spellings[number] for number in spelling_rows[first].tolist()]
    numbers = Numbers()
    of_key = np.empty(len(own), dtype=np.int32)
    for i, spelling in enumerate(own):
        key = keys.get(spelling) or name_key(spelling)
        of_key[i] = numbers[key] if is_key(key) else _TOO_LONG
    names = of_key[places]
    has = names >= 0
    by_chunk = max_matrix(owners[has], names[has], rates[has], (n_chunks, len(numbers)))
    letters, n_bytes = encode_texts(own)
    key_letters, key_bytes = encode_texts(list(numbers))
    return {
        "spellings": letters,
        "spelling.bytes": n_bytes,
        "spelling.key": of_key,
        "keys": key_letters,
        "key.bytes": key_bytes,
        "said": places,
        "indptr": by_chunk.indptr,
        "indices": by_chunk.indices,
        "rates": by_chunk.data,
    }


def names_of(arrays: Arrays) -> list[str]:
    """Return the names in the arrays: the first spelling of each key."""
    spellings = _texts(arrays, "spellings", "spelling.bytes")
    keys, first = np.unique(arrays["spelling.key"], return_index=True)
    return [spellings[i] for i in first[keys >= 0].tolist()]


def keys_of(arrays: Arrays) -> list[str]:
    """Return the key of each name."""
    return _texts(arrays, "keys", "key.bytes")


def max_matrix(
    rows: Rows, columns: Rows, values: NDArray[Any], shape: tuple[int, int]
) -> csr_array:
    """Return a float32 matrix of entries; duplicates keep the maximum."""
    keys = rows.astype(np.int64) * shape[1] + columns
    order = np.lexsort((-values, keys))
    places, first = np.unique(keys[order], return_index=True)
    ends = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1])
    greatest = values[order[first]].astype(np.float32)
    return csr_array((greatest, places % max(1, shape[1]), ends), shape=shape)


def _known_names(arrays: Arrays) -> tuple[list[str], dict[str, str]]:
    """Return the spellings in the arrays, and the keys of those that have one."""
    spellings, keys = _texts(arrays, "spellings", "spelling.bytes"), keys_of(arrays)
    pairs = zip(spellings, arrays["spelling.key"].tolist(), strict=True)
    return spellings, {spelling: keys[key] for spelling, key in pairs if key >= 0}


def _texts(arrays: Arrays, letters: str, n_bytes: str) -> list[str]:
    content, ends = arrays[letters].tobytes(), np.cumsum(arrays[n_bytes]).tolist()
    return [content[start:end].decode() for start, end in pairwise([0, *ends])]


def _places(begins: Rows, rows: Rows) -> NDArray[np.int64]:
    """Return the positions of all entries of some rows."""
    return np.asarray(expand_ranges(begins[rows], begins[rows + 1])[1], dtype=np.int64)


def _sums(values: NDArray[np.bool_], lengths: Rows) -> NDArray[np.int64]:
    """Count the true values of each row, for rows of the given lengths."""
    ends = np.cumsum(lengths)
    before = np.append(0, np.cumsum(values))
    return np.asarray(before[ends] - before[ends - lengths])


@dataclass(frozen=True, slots=True)
class _ReadChunks:
    """Chunks with n-grams read from their texts."""

    rows: Rows
    texts: Sequence[str]
    counted: TextNgrams

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, rows: Rows, longest: int) -> Self:
        texts = snapshot.titled_texts(rows.tolist())
        return cls(rows, texts, TextNgrams.from_texts(texts, longest))

    def names(self, salient: NDArray[np.bool_], n_salient: Rows) -> Iterator[str]:
        """Yield the salient n-grams, so many in each chunk."""
        spellings = self.counted.spell(np.flatnonzero(salient))
        ends = pairwise(np.cumsum([0, *n_salient.tolist()]).tolist())
        for text, (start, end) in zip(self.texts, ends, strict=True):
            yield from spell_terms(spellings[start:end], text)


@dataclass(frozen=True, slots=True)
class _Grams:
    """The n-grams of chunks in text order; imported chunks have none."""

    begins: NDArray[np.int64]  # (n_chunks + 1,)
    hashes: NDArray[np.uint64]  # (m,)
    counts: NDArray[np.int32]  # (m,)
    inside: NDArray[np.bool_]  # (m,), part of a longer one that stands there as often
    was_salient: NDArray[np.bool_]  # (m,), when these were cached

    @classmethod
    def empty(cls) -> Self:
        hashes, counts, truths = (np.zeros(0, dtype=kind) for kind in ("u8", "i4", "?"))
        return cls(np.zeros(1, dtype=np.int64), hashes, counts, truths, truths)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        return cls(*(arrays[name] for name in _GRAMS))

    @classmethod
    def from_texts(cls, counted: TextNgrams) -> Self:
        ngrams = counted.ngrams
        begins, counts = ngrams.counts.indptr.astype(np.int64), ngrams.counts.data.astype(np.int32)
        return cls(begins, counted.hashes(), counts, ngrams.inside, np.zeros(len(counts), bool))

    def merge(self, more: Self, then: Rows, new: Rows) -> Self:
        """Merge the n-grams of kept chunks, `then` or -1, with those of `new` chunks."""
        starts, stops = np.zeros((2, len(then)), dtype=np.int64)
        stays, n_own = np.flatnonzero(then >= 0), len(self.hashes)
        starts[stays], stops[stays] = self.begins[then[stays]], self.begins[then[stays] + 1]
        starts[new], stops[new] = more.begins[:-1] + n_own, more.begins[1:] + n_own
        _, places = expand_ranges(starts, stops)
        begins = np.append(0, np.cumsum(stops - starts))
        names = "hashes", "counts", "inside", "was_salient"
        both = ((getattr(self, name), getattr(more, name)) for name in names)
        return type(self)(begins, *(np.concatenate(each)[places] for each in both))


def _rate_ngrams(
    grams: _Grams, chunks: Rows, terms: TermSettings
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the rate of each n-gram, and whether it is salient."""
    hashes, number = np.unique(grams.hashes, return_inverse=True)
    begins = np.append(grams.begins[chunks], len(grams.hashes))
    counts = csr_array((grams.counts, number, begins), shape=(len(chunks), len(hashes)))
    rates = entity_rates(counts, np.ones(len(chunks), dtype=np.int64))
    return rates.data, mark_salient(rates, terms.threshold) & ~grams.inside
