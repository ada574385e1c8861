"""Statistical entities: the salient terms of chunks, which are nodes of AGRAG's graph.

Wang et al. (2025), "AGRAG", arXiv:2511.05549, Eqs. 2 to 6. A term is named as its chunk writes it,
and one of the index's entities where the keys of both are one. They change everywhere with every
document, so they are cached arrays and not entity rows.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.ascending import match_sorted
from clew.algo.coding import digest
from clew.algo.salience import Score, keep_entries
from clew.algo.synonyms import find_near_pairs, update_pairs
from clew.base.derived import CachedArrays, Derived, EarlierArrays
from clew.base.types import LLM_MADE
from clew.index.layers.salient import TermSettings, salient_rates
from clew.index.layers.salient_chunks import (
    arrays_from_rates,
    keys_of,
    max_matrix,
    names_of,
    salient_arrays,
)
from clew.index.snapshot import Snapshot
from clew.models import Embedder
from clew.text.keys import has_key
from clew.text.normalize import entity_key

Arrays = Mapping[str, NDArray[Any]]
Rows = NDArray[np.integer]
Then = tuple[Arrays, Rows]  # what was cached, and the place that each member had among its own
Embed = Callable[[list[str]], NDArray[np.float32]]

SYNONYM = 0.8  # cosine of two names above which they are joined [φ]
_SHORTEST = 3  # letters and digits of a name that may have synonyms


class StatisticalEntities(NamedTuple):
    """The statistical entities of a snapshot, and their links to nodes and facts.

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


def statistical_entities(
    snapshot: Snapshot,
    embedder: Embedder,
    *,
    score: Score = "normalised",
    threshold: float | None = None,
    longest: int | None = None,
    nested: bool = False,
    synonym: float = SYNONYM,
) -> StatisticalEntities:
    """Return the statistical entities of a snapshot, cached.

    Those of the defaults are cached. `salient_rates` has what decides which terms are salient; its
    `threshold` and `longest` are those of the recipe unless given. Names whose cosine is above
    `synonym` are synonyms. An imported chunk has no salient terms.
    """
    own = terms_of(snapshot)
    threshold = own.threshold if threshold is None else threshold
    longest = own.longest if longest is None else longest
    settings = score, threshold, longest, nested, synonym
    return snapshot.get(_STATISTICAL, *settings, embedder=embedder)


def _compute_entities(
    snapshot: Snapshot,
    score: Score,
    threshold: float,
    longest: int,
    nested: bool,  # noqa: FBT001 -- a setting
    synonym: float,
    *,
    embedder: Embedder,
) -> StatisticalEntities:
    arrays = snapshot.get(STATISTICAL, embedder=lambda: embedder)
    if (score, threshold, longest, nested) != _settings(arrays) or synonym < SYNONYM:
        chunks = np.flatnonzero(snapshot.are_texts())
        texts = snapshot.titled_texts(chunks.tolist())
        rates, terms = salient_rates(
            texts, score=score, threshold=threshold, longest=longest, nested=nested
        )
        salient = arrays_from_rates(rates, terms, texts, chunks, len(snapshot.layer("chunk")))
        same = np.arange(len(snapshot.layer("entity")))
        embed = partial(embedder.embed, kind="document")
        arrays = _name_terms(snapshot, salient, embed, arrays, same, synonym)
    return _open_entities(snapshot, arrays, synonym)


def terms_of(snapshot: Snapshot) -> TermSettings:
    """Return the salience settings of an index's triples, or the defaults."""
    return TermSettings.from_recipe(snapshot.recipe) or TermSettings()


def _settings(arrays: Arrays) -> tuple[Score, float, int, bool]:
    """Return the settings of the salient terms in the arrays."""
    threshold, longest = arrays["settings"].tolist()
    return "normalised", threshold, int(longest), False


def _build_arrays(
    snapshot: Snapshot, earlier: EarlierArrays | None = None, *, embedder: Callable[[], Embedder]
) -> dict[str, NDArray[Any]]:
    """Return the arrays to cache; docs/format.md has their names.

    From `earlier` come salient terms, vectors of names and synonyms, as far as they are the same.
    The `embedder` is called where there are names without a vector.
    """
    terms, is_text = terms_of(snapshot), snapshot.are_texts()
    then = np.full(len(is_text), -1)
    if earlier is None or _settings(earlier.arrays)[1:3] != (terms.threshold, terms.longest):
        salient = salient_arrays(snapshot, terms, None, then)
    else:
        then = earlier.rows["chunk"].copy()
        stays = np.flatnonzero(then >= 0)
        then[stays[earlier.arrays["is_text"][then[stays]] != is_text[stays]]] = -1
        salient = salient_arrays(snapshot, terms, earlier.arrays, then)
    return arrays_of_terms(
        snapshot, salient, lambda texts: embedder().embed(texts, kind="document"), earlier
    )


def arrays_of_terms(
    snapshot: Snapshot, salient: Arrays, embed: Embed, earlier: EarlierArrays | None = None
) -> dict[str, NDArray[Any]]:
    """Return the arrays to cache for given salient terms: names, keys and rates."""
    terms = terms_of(snapshot)
    last, rows = (earlier.arrays, earlier.rows["entity"]) if earlier else (None, np.empty(0, int))
    return {
        **_name_terms(snapshot, salient, embed, last, rows),
        "is_text": snapshot.are_texts(),
        "settings": np.array((terms.threshold, terms.longest), dtype=np.float64),
    }


def _name_terms(
    snapshot: Snapshot,
    salient: Arrays,
    embed: Embed,
    last: Arrays | None,
    entities: Rows,
    synonym: float = SYNONYM,
) -> dict[str, NDArray[Any]]:
    """Return salient terms with the values derived from their names; see `_build_arrays`.

    (n_entities,) `entities` are the rows that entities had in the generation of `last`, -1 for new
    ones.
    """
    layer, keys = snapshot.layer("entity"), keys_of(salient)
    entity = np.asarray(layer.rows(keys), dtype=np.int32)
    others = [key for key, row in zip(keys, entity.tolist(), strict=True) if row < 0]
    rows = _find_known(others, last)
    vectors = _vectors(snapshot, others, rows, embed, last)
    members, of_members = _members(snapshot, entity, others, vectors)
    then: Then | None = None
    if last is not None and synonym >= SYNONYM:
        began = int(last["n_entities"][0])
        nodes = np.concatenate([entities, np.where(rows >= 0, rows + began, -1)])[members]
        known, places = match_sorted(last["members"], nodes)
        then = last, np.full(len(nodes), -1)
        then[1][known] = places
    return {
        **salient,
        "entities": entity,
        "n_entities": np.array([len(layer)]),
        "vectors": vectors,
        "members": members,
        **_synonym_arrays(of_members, then, synonym),
        "grounded": _mark_grounded(snapshot, _rates(salient, entity, len(layer))),
    }


# -- names and their synonyms ----------------------------------------------------------------------


def _find_known(keys: Sequence[str], last: Arrays | None) -> NDArray[np.int64]:
    """Return which earlier name in `last`, of no entity, has each key, or -1."""
    if last is None:
        return np.full(len(keys), -1, dtype=np.int64)
    pairs = zip(keys_of(last), last["entities"].tolist(), strict=True)
    rows = {key: row for row, key in enumerate(key for key, entity in pairs if entity < 0)}
    return np.array([rows.get(key, -1) for key in keys], dtype=np.int64)


def _vectors(
    snapshot: Snapshot, keys: Sequence[str], rows: Rows, embed: Embed, last: Arrays | None
) -> NDArray[np.float32]:
    """Return (n, d) vectors of keys, reusing the `last` ones."""
    new = [key for key, row in zip(keys, rows.tolist(), strict=True) if row < 0]
    new_vectors = embed(new) if new else snapshot.layer("entity").vectors[:0]
    vectors = np.empty((len(keys), new_vectors.shape[1]), dtype=np.float32)
    vectors[rows < 0] = new_vectors
    if last is not None:
        vectors[rows >= 0] = last["vectors"][rows[rows >= 0]]
    return vectors


def _members(
    snapshot: Snapshot, entity: Rows, terms: Sequence[str], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nodes that may have synonyms, ascending, with their vectors."""
    layer = snapshot.layer("entity")
    takes_part = np.array(layer.columns["extracted"], dtype=bool)
    takes_part[entity[entity >= 0]] = True
    rows = np.flatnonzero(takes_part)
    nodes = np.concatenate([rows, len(layer) + np.arange(len(terms))])
    of_nodes = np.concatenate([layer.vectors[rows], vectors])
    keys = (*layer.ids(rows.tolist()), *terms)
    mask = np.array([sum(map(str.isalnum, key)) >= _SHORTEST for key in keys], dtype=bool)
    mask &= of_nodes.any(axis=1)  # a date that no extraction has is zero
    return nodes[mask], of_nodes[mask]


def _synonym_arrays(
    vectors: NDArray[np.float32], then: Then | None, synonym: float
) -> dict[str, NDArray[Any]]:
    """Return the cosines of synonyms, updated from the earlier ones in `then`."""
    arrays = {"digest": digest(vectors)}
    near: csr_array | None = None
    if then is not None:
        last, rows = then
        if np.array_equal(last["digest"], arrays["digest"]):
            return arrays | {name: last[name] for name in ("starts", "others", "cosines")}
        n = len(last["members"])
        pairs = csr_array((last["cosines"], last["others"], last["starts"]), shape=(n, n))
        near = update_pairs(pairs, rows, vectors, synonym)
    if near is None:
        near = find_near_pairs(vectors, synonym)
    return arrays | {"starts": near.indptr, "others": near.indices, "cosines": near.data}


# -- which facts their chunks say ------------------------------------------------------------------


def _mark_grounded(snapshot: Snapshot, salient: csr_array) -> NDArray[np.bool_]:
    """Mark the triple-chunk pairs whose chunk has both ends, in its text or as salient terms.

    `salient` are the (n_entities, n_chunks) rates. An imported chunk has all ends of its triples.
    """
    columns, link = snapshot.layer("triple").columns, snapshot.link("triple", "chunk")
    n_entities = salient.shape[0]
    triple = np.repeat(np.arange(link.shape[0]), np.diff(link.indptr))
    ends = np.stack([columns["subject"][triple], columns["object"][triple]])
    keys, place = np.unique(link.indices * np.int64(n_entities) + ends, return_inverse=True)
    chunk, entity = np.divmod(keys, max(1, n_entities))
    stands = ~snapshot.are_texts()[chunk] | _has_entries(salient, entity, chunk)
    for says in (_mark_mentioned, _mark_written):  # the latter reads texts
        left = np.flatnonzero(~stands)
        stands[left] = says(snapshot, chunk[left], entity[left])
    return np.asarray(stands[place.reshape(ends.shape)].all(axis=0))


def _mark_written(snapshot: Snapshot, chunks: Rows, entities: Rows) -> NDArray[np.bool_]:
    """Mark the pairs, in chunk order, whose chunk contains the entity's key."""
    distinct, begins = np.unique(chunks, return_index=True)
    rows, place = np.unique(entities, return_inverse=True)
    keys = snapshot.layer("entity").ids(rows.tolist())
    stands = np.zeros(len(chunks), dtype=bool)
    bounds = pairwise([*begins.tolist(), len(chunks)])
    for text, (start, end) in zip(snapshot.titled_texts(distinct.tolist()), bounds, strict=True):
        words = f" {entity_key(text)} "
        stands[start:end] = [has_key(words, keys[i]) for i in place[start:end].tolist()]
    return stands


def _mark_mentioned(snapshot: Snapshot, chunks: Rows, entities: Rows) -> NDArray[np.bool_]:
    """Mark the pairs whose chunk mentions the entity by any name."""
    rows, place = np.unique(chunks, return_inverse=True)
    units = csr_array(snapshot.link("chunk", "unit")[rows])
    is_sentence = snapshot.layer("unit").columns["source"] != LLM_MADE
    sentences = keep_entries(units, is_sentence[units.indices])
    return _has_entries(csr_array(sentences @ snapshot.link("unit", "entity")), place, entities)


def _has_entries(matrix: csr_array, rows: Rows, columns: Rows) -> NDArray[np.bool_]:
    """Mark the positions at which a matrix has an entry."""
    return np.ravel(matrix[rows, columns] > 0) if len(rows) else np.zeros(0, dtype=bool)


# -- the arrays, opened --------------------------------------------------------------------------


def _open_entities(snapshot: Snapshot, arrays: Arrays, synonym: float) -> StatisticalEntities:
    """Read the statistical entities from arrays, with the synonyms above a cosine."""
    names, entity = names_of(arrays), arrays["entities"]
    is_term = entity < 0
    n_terms, n_entities = int(is_term.sum()), len(snapshot.layer("entity"))
    salient = np.diff(arrays["indptr"])[snapshot.are_texts()] > 0
    return StatisticalEntities(
        names=[names[i] for i in np.flatnonzero(is_term).tolist()],
        vectors=arrays["vectors"],
        entities=_rates(arrays, entity, n_entities),
        terms=_rates(arrays, np.where(is_term, np.cumsum(is_term) - 1, -1), n_terms),
        synonyms=_synonyms(arrays, n_entities + n_terms, synonym),
        grounded=arrays["grounded"],
        empty=1 - float(salient.mean()) if len(salient) else 0.0,
    )


def _rates(arrays: Arrays, rows: Rows, n_rows: int) -> csr_array:
    """Return the (n_rows, n_chunks) rates of names; (n,) `rows` maps names to rows, or -1."""
    n_chunks = len(arrays["indptr"]) - 1
    chunk = np.repeat(np.arange(n_chunks), np.diff(arrays["indptr"]))
    row = rows[arrays["indices"]]
    stays = row >= 0
    return max_matrix(row[stays], chunk[stays], arrays["rates"][stays], (n_rows, n_chunks))


def _synonyms(arrays: Arrays, n_nodes: int, synonym: float) -> csr_array:
    """Return the (n_nodes, n_nodes) cosines of names above `synonym`."""
    members, near = arrays["members"], arrays["cosines"] > synonym
    row = np.repeat(members, np.diff(arrays["starts"]))[near]
    begins = np.searchsorted(row, np.arange(n_nodes + 1))
    others = members[arrays["others"][near]]
    return csr_array((arrays["cosines"][near], others, begins), shape=(n_nodes, n_nodes))


_STATISTICAL = Derived("statistical entities", _compute_entities)
STATISTICAL = CachedArrays(
    "statistical-entities",
    _build_arrays,
    inputs=("chunk", "entity"),
    update=_build_arrays,
    lazy=True,
    embeds=True,
    worth=lambda snapshot: len(snapshot.layer("triple")) > 0,
)
