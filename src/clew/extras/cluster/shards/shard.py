"""The replies of one shard to the requests of a coordinator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew import Index, Snapshot, steps
from clew.algo.bm25 import Lengths, bm25_candidates, bm25_chunk_scores
from clew.algo.coding import multiply_rows
from clew.algo.topk import DECIMALS, top_k
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.errors import InputError, StoreError
from clew.extras.cluster.shards import exchange, wire
from clew.extras.cluster.shards.exchange import (
    Counted,
    Counts,
    Hashes,
    Reply,
    Request,
    Rows,
    Seeds,
    count_entities,
)
from clew.extras.cluster.shards.salient_merging import collect_salient_terms
from clew.filters import match, parse
from clew.index.layers.numbers import hash_texts
from clew.models import Embedder


class GenerationChanged(StoreError):
    """The shard, or the copy that was asked, is not at the generation that a request names."""


def reply_to_bytes(index: Index, sent: bytes) -> bytes:
    """Reply to a packed request, packed. Raises as `reply_to_request`."""
    request = wire.unpack(sent)
    if not isinstance(request, Request):
        raise InputError(f"a shard does not accept the request {request!r:.60}")
    return wire.pack(reply_to_request(index, request))


def reply_to_request(index: Index, request: Request) -> Reply:
    """Reply to a request.

    Raises GenerationChanged where it is in another state than the request names, and StoreError,
    InputError, as `Index.snapshot`.
    """
    if isinstance(request, exchange.Describe):
        return _describe_shard(index)
    shared = (
        request.asked
        if isinstance(request, exchange.Near | exchange.Around | exchange.Towards | exchange.Tell)
        else request
    )
    snapshot = index.snapshot()
    if _identify_state(index, snapshot) != shared.state:
        raise GenerationChanged(f"{index.shown} was written to while it was asked: ask again")
    fields: Sequence[str] = ()
    if shared.where:
        fields = match.field_names(snapshot)
        try:
            snapshot = index.snapshot(match.resolve_known_fields(snapshot, parse(shared.where)))
        except InputError:  # nothing here fulfils it, which other shards may have
            return _empty_reply(fields)
    if not len(snapshot.layer("chunk")):
        return _empty_reply(fields)
    if isinstance(request, exchange.Near) and request.asked.exact:
        snapshot = snapshot.exactly()
    if isinstance(request, exchange.Take):
        return _take_chunks(request, snapshot, lambda: index.models.embedder)
    reply = _reply(request, snapshot)
    return replace(reply, fields=fields) if isinstance(reply, Counts) else reply


def _empty_reply(fields: Sequence[str]) -> Counts:
    entities, terms = (
        Counted(hashes=np.zeros(0, dtype=np.uint64), numbers=np.zeros((n, 0), dtype=np.int64))
        for n in (3, len(exchange.TERM_NUMBERS))
    )
    return Counts(n_chunks=0, n_words=0.0, entities=entities, terms=terms, fields=fields)


def _describe_shard(index: Index) -> exchange.ShardDescription:
    snapshot = index.snapshot()
    return exchange.ShardDescription(
        generation=snapshot.generation,
        state=_identify_state(index, snapshot),
        recipe=snapshot.recipe,
        vocabulary=snapshot.vocabulary,
        n_documents=len(snapshot.document_layer),
        of_graphs=not snapshot.are_texts().all(),
    )


def _identify_state(index: Index, snapshot: Snapshot) -> str:
    """Return a digest of what a snapshot has: an index that is made anew counts from one again."""
    return snapshot.get(_STATE, hashes=index.hashes)


def _digest_state(snapshot: Snapshot, hashes: Callable[[], Mapping[str, str]]) -> str:
    parts = hashes(), snapshot.recipe, snapshot.vocabulary
    digest = blake2b(repr([sorted(each.items()) for each in parts]).encode(), digest_size=16)
    chunks = snapshot.layer("chunk").columns
    for array in (chunks["document"], chunks["start"], *snapshot.get(_HASHES).values()):
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()


_STATE = Derived("what a shard has", _digest_state)


@singledispatch
def _reply(request: Any, snapshot: Snapshot) -> Reply:  # noqa: ANN401 -- dispatched by it
    raise TypeError(f"{request!r:.60} is not a request ({snapshot.generation})")


# -- numbers of all that there is -----------------------------------------------------------------


@_reply.register
def _reply_count(request: exchange.Count, snapshot: Snapshot) -> Counts:  # noqa: ARG001 -- of its type
    hashes, numbers = snapshot.get(_HASHES), snapshot.get(_NUMBERS)
    lengths = steps.chunk_lengths(snapshot)
    return Counts(
        n_chunks=len(snapshot.layer("chunk")),
        n_words=float(lengths.of_chunks.sum()),
        entities=Counted(hashes=np.asarray(hashes["entity"]), numbers=numbers["entity"]),
        terms=Counted(hashes=np.asarray(hashes["term"]), numbers=numbers["term"]),
    )


def _hash_layers(snapshot: Snapshot) -> Arrays:
    layers = {name: snapshot.layer(name) for name in ("entity", "term")}
    return {name: hash_texts(each.ids(range(len(each)))) for name, each in layers.items()}


_HASHES = CachedArrays("key-hashes", _hash_layers, inputs=("entity", "term"))


def _count_keys(snapshot: Snapshot) -> Arrays:
    """Return the frequency of each entity and term as `Counted`."""
    assert snapshot.cutter is not None  # noqa: S101 -- an index has one
    n_chunks = snapshot.linked("term", "chunk").counts
    terms = np.stack([np.asarray(n_chunks), snapshot.cutter.count_capitals()])
    return {"entity": count_entities(snapshot), "term": terms.astype(np.int64)}


_NUMBERS = Derived("how often entities and terms are in a shard", _count_keys)


def _sort_hashes(snapshot: Snapshot) -> tuple[NDArray[np.int64], Hashes]:
    hashes = np.asarray(snapshot.get(_HASHES)["entity"])
    order = np.argsort(hashes, kind="stable")
    return order, hashes[order]


_BY_HASH = Derived("entities of a shard by their hashes", _sort_hashes)


def _build_counted(snapshot: Snapshot, layer: str, rows: Rows) -> Counted:
    """Return the hashes and counts of some rows; no counts for -1."""
    numbers = snapshot.get(_NUMBERS)[layer][:, rows]
    numbers[:, rows < 0] = 0
    return Counted(hashes=np.asarray(snapshot.get(_HASHES)[layer])[rows], numbers=numbers)


# -- chunks ---------------------------------------------------------------------------------------


@_reply.register
def _reply_near(request: exchange.Near, snapshot: Snapshot) -> exchange.Nearest:
    question = request.asked
    query = _build_query(question)
    dense = steps.dense_ranking(snapshot, query)
    words = _read_words(snapshot, question)
    lexical = steps.Ranking(*bm25_candidates(*words, request.chunks))
    near = [dense.best(request.chunks), lexical.best(request.chunks), _find_farthest(dense)]
    units_near = steps.units_near(snapshot, query, dense, request.units)
    units, unit_scores = steps.nearest_units(snapshot, query, request.units, units_near)
    link = snapshot.linked("unit", "entity")
    triples, triple_scores = _find_triples(snapshot, query, request.triples)
    unit_chunks = np.asarray(snapshot.layer("unit").columns["chunk"])[units]
    triple_chunks = np.asarray(snapshot.layer("triple").columns["chunk"])[triples]
    rows = np.array(list(dict.fromkeys(np.concatenate(near).tolist())), dtype=np.int64)
    ends = [snapshot.layer("triple").columns[end][triples] for end in ("subject", "object")]
    entities, keys = _find_named(snapshot, request.keys)
    return exchange.Nearest(
        rows=rows,
        dense=steps.cosines_of(snapshot, "chunk", query, rows),
        lexical=bm25_chunk_scores(*words, rows),
        units=_build_seeds(snapshot, unit_scores, [link.row(u).tolist() for u in units.tolist()]),
        triples=_build_seeds(snapshot, triple_scores, np.stack(ends, axis=1).tolist()),
        unit_chunks=unit_chunks.astype(np.int64),
        triple_chunks=triple_chunks.astype(np.int64),
        named=entities,
        named_keys=keys,
    )


def _build_query(question: exchange.SharedQuestion) -> steps.Query:
    return steps.Query(" ".join(question.terms), question.vector, None)


def _find_known(
    snapshot: Snapshot, entities: Hashes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the entities known to this shard, and their indices in the request."""
    order, hashes = snapshot.get(_BY_HASH)
    at = np.minimum(np.searchsorted(hashes, entities), max(len(hashes) - 1, 0))
    places = np.flatnonzero(hashes[at] == entities) if len(hashes) else at[:0]
    return order[at[places]], places


@_reply.register
def _reply_around(request: exchange.Around, snapshot: Snapshot) -> exchange.FoundAround:
    query = _build_query(request.asked)
    rows, places = _find_known(snapshot, request.entities)
    link = steps.entity_chunks(snapshot).entries_of(rows)
    distinct, place = np.unique(link.indices, return_inverse=True)
    cosines = steps.cosines_of(snapshot, "chunk", query, distinct)
    worth = cosines[place] + _UNDER_TITLE * ((link.data & steps.TITLED) > 0)
    owners = link.owners
    best = np.lexsort((link.indices, -np.round(worth, DECIMALS), owners))
    best = best[np.arange(len(best)) - link.indptr[owners[best]] < request.most]
    return exchange.FoundAround(
        owners=places[owners[best]].astype(np.int32),
        rows=link.indices[best].astype(np.int64),
        worth=worth[best],
    )


@_reply.register
def _reply_towards(request: exchange.Towards, snapshot: Snapshot) -> exchange.FoundAround:
    layer = snapshot.layer("unit")
    near = steps.units_near(snapshot, _build_query(request.asked))
    hashes, firsts = np.unique(request.entities, return_index=True)
    places = np.split(np.arange(len(request.entities)), firsts[1:])
    parts = []
    entities, of_hashes = _find_known(snapshot, hashes)
    pools = steps.entity_units(snapshot, np.asarray(entities), titles=request.titles, near=near)
    for units, of_hash in zip(pools, of_hashes, strict=True):
        owners = places[of_hash]
        cosines = multiply_rows(layer.vectors, units, request.directions[owners].T)
        for owner, scores in zip(owners.tolist(), cosines.T, strict=True):
            best = top_k(scores, request.most)
            parts.append((np.full(len(best), owner), units[best], scores[best]))
    parts.append((np.zeros(0, int), np.zeros(0, int), np.zeros(0)))
    numbers, units, worth = map(np.concatenate, zip(*parts, strict=True))
    chunks = np.asarray(layer.columns["chunk"])[units]
    order = np.argsort(numbers, kind="stable")
    return exchange.FoundAround(
        owners=numbers[order].astype(np.int32),
        rows=chunks[order].astype(np.int64),
        worth=worth[order].astype(np.float64),
    )


@_reply.register
def _reply_tell(request: exchange.Tell, snapshot: Snapshot) -> exchange.ToldChunks:
    question, rows = request.asked, request.chunks
    link = steps.chunk_entities(snapshot).entries_of(rows)
    distinct, place = np.unique(link.indices, return_inverse=True)
    return exchange.ToldChunks(
        rows=rows,
        dense=steps.cosines_of(snapshot, "chunk", _build_query(question), rows),
        lexical=bm25_chunk_scores(*_read_words(snapshot, question), rows),
        begins=link.indptr.astype(np.int64),
        entities=place.astype(np.int32),
        ways=link.data.astype(np.uint8),
        counted=_build_counted(snapshot, "entity", distinct.astype(np.int64)),
    )


_UNDER_TITLE = 0.5  # what a chunk is worth more, beside its cosine, under the title of an entity


def _take_chunks(
    request: exchange.Take, snapshot: Snapshot, embedder: Callable[[], Embedder]
) -> exchange.Taken:
    """Return all rows of some chunks."""
    assert snapshot.cutter is not None  # noqa: S101 -- an index has one
    cut = snapshot.cutter.cut(request.chunks)
    salient = collect_salient_terms(snapshot, cut.chunks, embedder) if request.salient else None
    return exchange.Taken(
        batch=cut.batch,
        entities=_build_counted(snapshot, "entity", cut.entities),
        terms=_build_counted(snapshot, "term", cut.terms),
        salient=salient,
    )


def _read_words(
    snapshot: Snapshot, question: exchange.SharedQuestion
) -> tuple[Any, Lengths, NDArray[np.intp], NDArray[np.int64]]:
    """Return the BM25 statistics of a shard, and of a question's words over all shards."""
    rows = np.array(snapshot.layer("term").rows(list(question.terms)), dtype=np.intp)
    places = np.flatnonzero(rows >= 0)
    link = snapshot.linked("term", "chunk")
    df = np.where(question.df[places] >= 0, question.df[places], link.counts_of(rows[places]))
    of_chunks = steps.chunk_lengths(snapshot).of_chunks
    return link, Lengths(of_chunks, question.mean_length, question.n_chunks), rows[places], df


def _find_farthest(dense: steps.Ranking) -> Rows:
    """Return the chunk farthest from the question, the zero of the score scale."""
    if not len(dense.scores):
        return np.zeros(0, dtype=np.int64)
    least = int(np.argmin(np.round(dense.scores, DECIMALS)))
    return np.array([least if dense.rows is None else dense.rows[least]], dtype=np.int64)


# -- entities -------------------------------------------------------------------------------------


def _find_triples(
    snapshot: Snapshot, query: steps.Query, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest facts with their cosines."""
    if not len(snapshot.layer("triple")) or not k:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    rows, cosines = steps.nearest(snapshot, "triple", query, k)
    return rows.astype(np.int64), cosines


def _build_seeds(
    snapshot: Snapshot, scores: NDArray[np.float64], entities: list[list[int]]
) -> Seeds:
    hashes = np.asarray(snapshot.get(_HASHES)["entity"])
    ends = np.cumsum([0, *map(len, entities)]).astype(np.int64)
    flat = np.array([row for rows in entities for row in rows], dtype=np.int64)
    return Seeds(scores=np.asarray(scores, dtype=np.float64), begins=ends, entities=hashes[flat])


@_reply.register
def _reply_alike(request: exchange.Alike, snapshot: Snapshot) -> Seeds:
    layer = snapshot.layer("entity")
    if not len(layer):
        return _build_seeds(snapshot, np.zeros(0), [])
    linkable = np.asarray(layer.columns["linkable"])
    nearest = steps.near_rows(snapshot, "entity", request.names, request.most, only=linkable)
    pairs = [pair for near in nearest for pair in near]
    scores = np.array([cosine for _, cosine in pairs])
    return _build_seeds(snapshot, scores, [[row] for row, _ in pairs])


def _find_named(snapshot: Snapshot, keys: Sequence[str]) -> tuple[Hashes, NDArray[np.int64]]:
    """Return the entities with some of the keys, and which keys these are."""
    layer = snapshot.layer("entity")
    rows = np.array(layer.rows(list(keys)), dtype=np.int64)
    places = np.flatnonzero(rows >= 0)
    places = places[np.asarray(layer.columns["linkable"])[rows[places]]]
    return np.asarray(snapshot.get(_HASHES)["entity"])[rows[places]], places
