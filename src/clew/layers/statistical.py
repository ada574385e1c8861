"""Chunks to statistical entities: their salient terms, as AGRAG's graph has them for nodes.

Wang et al. (2025), "AGRAG", arXiv:2511.05549, Eqs. 2 to 6. A term is named as its chunk writes it,
and one of the index's entities where the keys of both are one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.algo.coding import digest
from clew.algo.salience import entries
from clew.algo.synonyms import near_pairs
from clew.derived import CachedArrays, Derived
from clew.layers.entities import is_key
from clew.layers.extractions import encoded
from clew.layers.numbers import Numbers
from clew.layers.relations import Terms
from clew.layers.salient import as_written, salient_rates
from clew.text.keys import has_key, name_key
from clew.text.normalize import entity_key
from clew.types import LLM_MADE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.algo.salience import Score
    from clew.derived import Earlier
    from clew.models import Embedder
    from clew.types import Snapshot

    Arrays = Mapping[str, NDArray[Any]]
    Rows = NDArray[np.integer]
    Rate = Callable[[Sequence[str]], tuple[csr_array, list[str]]]

SYNONYM = 0.8  # cosine of two names above which they are joined [φ]
_SHORTEST = 3  # letters and digits of a name that may have synonyms


@dataclass(frozen=True, slots=True)
class Statistical:
    """The statistical entities of a snapshot, and how its graph's nodes and facts hang on them.

    Some are entities of the index; the others are `names`. The nodes of `synonyms` are the
    entities of the index and then these.
    """

    names: Sequence[str]  # (n_terms,), as the text first spells them, by first occurrence
    vectors: NDArray[np.float32]  # (n_terms, d), of their keys
    entities: csr_array  # (n_entities, n_chunks), rates of entities of the index
    terms: csr_array  # (n_terms, n_chunks), rates of the others
    synonyms: csr_array  # (n_entities + n_terms) squared, symmetric, cosines of names
    # Of each triple-chunk pair, whether both ends stand in the chunk or are salient there.
    grounded: NDArray[np.bool_]
    empty: float  # the share of chunks of texts that have no salient term


def statistical(
    snapshot: Snapshot,
    embedder: Embedder,
    *,
    score: Score = "normalised",
    threshold: float | None = None,
    longest: int | None = None,
    nested: bool = False,
    synonym: float = SYNONYM,
) -> Statistical:
    """Return the statistical entities of a snapshot, computed once.

    Those of the defaults are cached. `salient_rates` has what decides which terms are salient; its
    `threshold` and `longest` are those of the recipe unless given. Names whose cosine is above
    `synonym` are synonyms. An imported chunk has no salient terms.
    """
    own = terms_of(snapshot)
    threshold = own.threshold if threshold is None else threshold
    longest = own.longest if longest is None else longest
    settings = score, threshold, longest, nested, synonym
    return snapshot.get(_STATISTICAL, *settings, embedder=embedder)


def _statistical(
    snapshot: Snapshot,
    score: Score,
    threshold: float,
    longest: int,
    nested: bool,  # noqa: FBT001 -- a setting
    synonym: float,
    *,
    embedder: Embedder,
) -> Statistical:
    arrays = snapshot.get(STATISTICAL, embedder=lambda: embedder)
    if (score, threshold, longest, nested) != _settings(arrays) or synonym < SYNONYM:
        rate = partial(
            salient_rates, score=score, threshold=threshold, longest=longest, nested=nested
        )
        arrays = _arrays(snapshot, lambda: embedder, arrays, rate=rate, synonym=synonym)
    return _opened(snapshot, arrays, synonym)


def terms_of(snapshot: Snapshot) -> Terms:
    """Return what makes a term salient in an index: as triples were asked for, else the default."""
    return Terms.of_recipe(snapshot.recipe) or Terms()


def _settings(arrays: Arrays) -> tuple[Score, float, int, bool]:
    """Return what makes those terms salient that arrays hold."""
    terms = Terms()
    if "settings" in arrays:
        threshold, longest = arrays["settings"].tolist()
        terms = Terms(threshold, int(longest))
    return "normalised", terms.threshold, terms.longest, False


def _computed(snapshot: Snapshot, *, embedder: Callable[[], Embedder]) -> Arrays:
    return _arrays(snapshot, embedder)


def _updated(snapshot: Snapshot, earlier: Earlier, *, embedder: Callable[[], Embedder]) -> Arrays:
    """The text of a chunk stays what it is, so equal chunks have equal salient terms."""
    last = earlier.arrays
    same = "chunk" in earlier.unchanged and np.array_equal(last["is_text"], snapshot.are_texts())
    return _arrays(snapshot, embedder, last, same_texts=same)


def _arrays(
    snapshot: Snapshot,
    embedder: Callable[[], Embedder],
    last: Arrays | None = None,
    *,
    same_texts: bool = False,
    rate: Rate | None = None,
    synonym: float = SYNONYM,
) -> dict[str, NDArray[Any]]:
    """Return what `statistical` is made from; docs/format.md has the names.

    From `last`, the arrays of an earlier generation, come the vectors of names that it has, so the
    `embedder` is called where there are others only; and the synonyms, where these are of the same
    vectors. `same_texts` says that the salient terms are its own, too, if what makes them is.
    Without a `rate` that is what the recipe has.
    """
    terms = terms_of(snapshot)
    made_by = terms.threshold, terms.longest
    if rate is None:
        rate = partial(salient_rates, threshold=terms.threshold, longest=terms.longest)
    if last is not None and same_texts and _settings(last)[1:3] == made_by:
        salient = {name: last[name] for name in ("names", "n_bytes", "indptr", "indices", "rates")}
    else:
        salient = _salient_arrays(snapshot, rate)
    keys = list(map(name_key, _names(salient)))
    entity = np.asarray(snapshot.layer("entity").rows(keys), dtype=np.int32)
    others = [key for key, row in zip(keys, entity.tolist(), strict=True) if row < 0]
    vectors = _vectors(snapshot, others, embedder, last)
    return {
        **salient,
        "is_text": snapshot.are_texts(),
        "settings": np.array(made_by, dtype=np.float64),
        "entities": entity,
        "vectors": vectors,
        **_synonym_arrays(snapshot, entity, others, vectors, last, synonym),
        "grounded": _grounded(snapshot, _rates(salient, entity, len(snapshot.layer("entity")))),
    }


# -- salient terms ---------------------------------------------------------------------------------


def _salient_arrays(snapshot: Snapshot, rate: Rate) -> dict[str, NDArray[Any]]:
    """Return the names of the salient terms of all chunks, and their rates there."""
    chunks = np.flatnonzero(snapshot.are_texts())
    texts = snapshot.titled_texts(chunks.tolist())
    rates, terms = rate(texts)
    ends = rates.indptr.tolist()
    keys, names = Numbers(), list[str]()
    numbers: dict[str, int] = {}  # of spellings; -1 where one is too long for a name
    found = np.empty(rates.nnz, dtype=np.int64)
    for text, start, end in zip(texts, ends, ends[1:], strict=False):
        said = as_written([terms[term] for term in rates.indices[start:end].tolist()], text)
        for place, name in enumerate(said, start):
            if name not in numbers:
                key = name_key(name)
                numbers[name] = keys[key] if is_key(key) else -1
                if len(keys) > len(names):
                    names.append(name)
            found[place] = numbers[name]
    owners, named = np.repeat(chunks, np.diff(rates.indptr)), found >= 0
    shape = len(snapshot.layer("chunk")), len(names)
    by_chunk = _greatest(owners[named], found[named], rates.data[named], shape)
    letters, n_bytes = encoded(names)
    return {
        "names": letters,
        "n_bytes": n_bytes,
        "indptr": by_chunk.indptr,
        "indices": by_chunk.indices,
        "rates": by_chunk.data,
    }


def _names(arrays: Arrays) -> list[str]:
    """Return the names that arrays hold."""
    letters, ends = arrays["names"].tobytes(), np.cumsum(arrays["n_bytes"]).tolist()
    return [letters[start:end].decode() for start, end in pairwise([0, *ends])]


def _greatest(rows: Rows, columns: Rows, values: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Return the matrix of some entries, float32; of several in one place the greatest."""
    keys = rows.astype(np.int64) * shape[1] + columns
    order = np.lexsort((-values, keys))
    places, first = np.unique(keys[order], return_index=True)
    ends = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1])
    found = values[order[first]].astype(np.float32)
    return csr_array((found, places % max(1, shape[1]), ends), shape=shape)


# -- names and their synonyms ----------------------------------------------------------------------


def _vectors(
    snapshot: Snapshot, keys: Sequence[str], embedder: Callable[[], Embedder], last: Arrays | None
) -> NDArray[np.float32]:
    """Return the (n, d) vectors of keys: the `last` ones where they are known, else new ones."""
    known: dict[str, int] = {}
    if last is not None:
        pairs = zip(_names(last), last["entities"].tolist(), strict=True)
        known = {name_key(name): row for row, name in enumerate(n for n, e in pairs if e < 0)}
    rows = np.array([known.get(key, -1) for key in keys], dtype=np.intp)
    new = [key for key, row in zip(keys, rows.tolist(), strict=True) if row < 0]
    layer = snapshot.layer("entity")
    made = layer.vectors[:0]
    if new:
        made = embedder().embed(new, kind="document")
    vectors = np.empty((len(keys), made.shape[1]), dtype=np.float32)
    vectors[rows < 0] = made
    if last is not None:
        vectors[rows >= 0] = last["vectors"][rows[rows >= 0]]
    return vectors


def _synonym_arrays(
    snapshot: Snapshot,
    entity: Rows,
    terms: Sequence[str],
    vectors: NDArray[np.float32],
    last: Arrays | None,
    synonym: float,
) -> dict[str, NDArray[Any]]:
    """Return the nodes that may have synonyms, in order, and the cosines of those that are."""
    layer = snapshot.layer("entity")
    takes_part = np.array(layer.columns["extracted"], dtype=bool)
    takes_part[entity[entity >= 0]] = True
    rows = np.flatnonzero(takes_part)
    nodes = np.concatenate([rows, len(layer) + np.arange(len(terms))])
    of_nodes = np.concatenate([layer.vectors[rows], vectors])
    letters = (sum(map(str.isalnum, key)) for key in (*layer.ids(rows.tolist()), *terms))
    named = np.fromiter(letters, np.intp, len(nodes)) >= _SHORTEST
    named &= of_nodes.any(axis=1)  # a date that no extraction has is zero
    of_nodes = of_nodes[named]
    found = {"members": nodes[named], "digest": digest(of_nodes)}
    if last is not None and synonym >= SYNONYM and np.array_equal(last["digest"], found["digest"]):
        return found | {name: last[name] for name in ("starts", "others", "cosines")}
    near = near_pairs(of_nodes, synonym)
    return found | {"starts": near.indptr, "others": near.indices, "cosines": near.data}


# -- which facts their chunks say ------------------------------------------------------------------


def _grounded(snapshot: Snapshot, salient: csr_array) -> NDArray[np.bool_]:
    """Say of each triple-chunk pair whether both ends stand in the chunk or are salient there.

    `salient` are the (n_entities, n_chunks) rates. An imported chunk has all ends of its triples.
    """
    columns, link = snapshot.layer("triple").columns, snapshot.link("triple", "chunk")
    n_entities = salient.shape[0]
    triple = np.repeat(np.arange(link.shape[0]), np.diff(link.indptr))
    ends = np.stack([columns["subject"][triple], columns["object"][triple]])
    keys, place = np.unique(link.indices * np.int64(n_entities) + ends, return_inverse=True)
    chunk, entity = np.divmod(keys, max(1, n_entities))
    stands = ~snapshot.are_texts()[chunk] | _has(salient, entity, chunk)
    for says in (_mentioned, _written):  # the latter reads texts
        left = np.flatnonzero(~stands)
        stands[left] = says(snapshot, chunk[left], entity[left])
    return np.asarray(stands[place.reshape(ends.shape)].all(axis=0))


def _written(snapshot: Snapshot, chunks: Rows, entities: Rows) -> NDArray[np.bool_]:
    """Say of pairs, in the order of their chunks, whether the chunk has the entity's key."""
    distinct, begins = np.unique(chunks, return_index=True)
    rows, place = np.unique(entities, return_inverse=True)
    keys = snapshot.layer("entity").ids(rows.tolist())
    stands = np.zeros(len(chunks), dtype=bool)
    bounds = pairwise([*begins.tolist(), len(chunks)])
    for text, (start, end) in zip(snapshot.titled_texts(distinct.tolist()), bounds, strict=True):
        words = f" {entity_key(text)} "
        for i in range(start, end):
            key = keys[place[i]]
            stands[i] = has_key(words, key)
    return stands


def _mentioned(snapshot: Snapshot, chunks: Rows, entities: Rows) -> NDArray[np.bool_]:
    """Say of pairs whether a sentence of the chunk mentions the entity, by any of its names."""
    rows, place = np.unique(chunks, return_inverse=True)
    units = csr_array(snapshot.link("chunk", "unit")[rows])
    is_sentence = snapshot.layer("unit").columns["source"] != LLM_MADE
    sentences = entries(units, is_sentence[units.indices])
    return _has(csr_array(sentences @ snapshot.link("unit", "entity")), place, entities)


def _has(matrix: csr_array, rows: Rows, columns: Rows) -> NDArray[np.bool_]:
    """Say of places of a matrix whether it has an entry there."""
    stored = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    size = np.int64(matrix.shape[1])
    return np.isin(rows * size + columns, stored * size + matrix.indices)


# -- the arrays, opened --------------------------------------------------------------------------


def _opened(snapshot: Snapshot, arrays: Arrays, synonym: float) -> Statistical:
    """Return the statistical entities that arrays hold, with the synonyms above a cosine."""
    names, entity = _names(arrays), arrays["entities"]
    is_term = entity < 0
    n_terms, n_entities = int(is_term.sum()), len(snapshot.layer("entity"))
    salient = np.diff(arrays["indptr"])[snapshot.are_texts()] > 0
    return Statistical(
        names=[names[i] for i in np.flatnonzero(is_term).tolist()],
        vectors=arrays["vectors"],
        entities=_rates(arrays, entity, n_entities),
        terms=_rates(arrays, np.where(is_term, np.cumsum(is_term) - 1, -1), n_terms),
        synonyms=_synonyms(arrays, n_entities + n_terms, synonym),
        grounded=arrays["grounded"],
        empty=1 - float(salient.mean()) if len(salient) else 0.0,
    )


def _rates(arrays: Arrays, rows: Rows, n_rows: int) -> csr_array:
    """Return the (n_rows, n_chunks) rates of names, of which (n,) `rows` has each one's, or -1."""
    n_chunks = len(arrays["indptr"]) - 1
    chunk = np.repeat(np.arange(n_chunks), np.diff(arrays["indptr"]))
    row = rows[arrays["indices"]]
    kept = row >= 0
    return _greatest(row[kept], chunk[kept], arrays["rates"][kept], (n_rows, n_chunks))


def _synonyms(arrays: Arrays, n_nodes: int, synonym: float) -> csr_array:
    """Return the (n_nodes, n_nodes) cosines of names above `synonym`."""
    members, kept = arrays["members"], arrays["cosines"] > synonym
    row = np.repeat(members, np.diff(arrays["starts"]))[kept]
    begins = np.searchsorted(row, np.arange(n_nodes + 1))
    others = members[arrays["others"][kept]]
    return csr_array((arrays["cosines"][kept], others, begins), shape=(n_nodes, n_nodes))


_STATISTICAL = Derived("statistical entities", _statistical)
STATISTICAL = CachedArrays(
    "statistical",
    _computed,
    inputs=("chunk",),
    update=_updated,
    embeds=True,
    worth=lambda snapshot: len(snapshot.layer("triple")) > 0,
)
