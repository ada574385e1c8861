"""Collect the salient terms of chunks, and combine those of several indexes.

Which terms of a chunk are salient depends on all chunks of its index. So they are not computed
again from what was put together, but are those of the indexes that the chunks come from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import expand_ranges
from clew.index.layers.extractions import encode_texts
from clew.index.layers.numbers import Numbers
from clew.index.layers.salient_chunks import keys_of, names_of
from clew.index.layers.statistical import STATISTICAL, arrays_of_terms
from clew.index.snapshot import Snapshot
from clew.models import Embedder

Rows = NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class SalientTerms:
    """The salient terms of some chunks: keys, names, vectors and rates."""

    keys: Sequence[str]
    names: Sequence[str]  # (n,) as the index spells them first
    vectors: NDArray[np.float32]  # (n, d), of their keys
    begins: NDArray[np.int64]  # (n_chunks + 1,) where the terms of each chunk begin
    terms: NDArray[np.int32]  # places in `keys`
    rates: NDArray[np.float32]


def collect_salient_terms(
    snapshot: Snapshot, chunks: NDArray[np.int64], embedder: Callable[[], Embedder]
) -> SalientTerms:
    """Return the salient terms of some chunks; unknown ones are embedded."""
    arrays = snapshot.get(STATISTICAL, embedder=embedder)
    starts, stops = (np.asarray(arrays["indptr"])[chunks + i].astype(np.int64) for i in (0, 1))
    owners, places = expand_ranges(starts, stops)
    used, terms = np.unique(np.asarray(arrays["indices"])[places], return_inverse=True)
    entity = np.asarray(arrays["entities"])
    own = np.cumsum(entity < 0) - 1  # the row of each key's vector, where no entity has it
    layer, keys, names = snapshot.layer("entity"), keys_of(arrays), names_of(arrays)
    vectors = np.empty((len(used), layer.vectors.shape[1]), dtype=np.float32)
    is_entity = entity[used] >= 0
    vectors[is_entity] = layer.vectors[entity[used[is_entity]]]
    vectors[~is_entity] = np.asarray(arrays["vectors"])[own[used[~is_entity]]]
    return SalientTerms(
        keys=[keys[i] for i in used.tolist()],
        names=[names[i] for i in used.tolist()],
        vectors=vectors,
        begins=np.searchsorted(owners, np.arange(len(chunks) + 1)).astype(np.int64),
        terms=terms.astype(np.int32),
        rates=np.asarray(arrays["rates"])[places].astype(np.float32),
    )


def combine_salient_terms(
    snapshot: Snapshot, parts: Sequence[SalientTerms], places: Rows
) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of `STATISTICAL` for chunks from several indexes.

    (n_chunks,) `places` says which chunk of all `parts`, one behind the other, each of its chunks
    is.
    """
    firsts = np.cumsum([0, *(len(part.begins) - 1 for part in parts)])
    numbers = Numbers()
    names: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    lengths, terms, rates = [], [], []
    for place in np.asarray(places).tolist():
        at = int(np.searchsorted(firsts, place, side="right")) - 1
        part, chunk = parts[at], place - int(firsts[at])
        some = slice(int(part.begins[chunk]), int(part.begins[chunk + 1]))
        rows = []
        for term in part.terms[some].tolist():
            rows.append(numbers[part.keys[term]])
            if len(names) < len(numbers):
                names.append(part.names[term])
                vectors.append(part.vectors[term])
        order = np.argsort(rows, kind="stable")
        lengths.append(len(rows))
        terms += [rows[i] for i in order.tolist()]
        rates.append(part.rates[some][order])
    letters, n_bytes = encode_texts(names)
    key_letters, key_bytes = encode_texts(list(numbers))
    salient: dict[str, NDArray[Any]] = {
        "spellings": letters,
        "spelling.bytes": n_bytes,
        "spelling.key": np.arange(len(names), dtype=np.int32),
        "keys": key_letters,
        "key.bytes": key_bytes,
        "indptr": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "indices": np.array(terms, dtype=np.int32),
        "rates": np.concatenate([np.zeros(0, dtype=np.float32), *rates]),
    }
    return arrays_of_terms(
        snapshot, salient, lambda keys: np.stack([vectors[numbers[key]] for key in keys])
    )
