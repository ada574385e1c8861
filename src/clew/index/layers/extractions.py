"""Convert extractions to rows: statements with mentions, triples, descriptions.

Both builders give a batch without documents: its rows belong to chunks that the index has.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew.base.types import (
    DATE,
    ENTITY_TYPES,
    GRAPH,
    KINDS,
    SOURCES,
    UNITS,
    Described,
    Extraction,
    Triple,
    Validity,
)
from clew.errors import InputError
from clew.index.layers.chunks import Columns, text_key
from clew.index.layers.entities import find_label, is_doubtful, is_key, table_columns
from clew.index.layers.numbers import Numbers
from clew.index.layers.vectors import embed_names, name_columns, ragged_tokens
from clew.index.snapshot.batch import Batch
from clew.index.store.schema import number_columns
from clew.models import Embedder, Models, gives_tokens
from clew.text.analyze import term_set
from clew.text.normalize import collapse, entity_key

Made_co = TypeVar("Made_co", covariant=True)
Unnamed = Callable[[Sequence[str]], list[int]]  # which of these entity keys need a name vector


@dataclass(frozen=True, slots=True)
class ChunkExtraction(Generic[Made_co]):
    """One chunk's extraction; `chunk` is its stored row."""

    chunk: int
    source: str  # one of SOURCES
    content: Made_co


def build_statement_batch(
    extracted: Sequence[ChunkExtraction[Sequence[str]]],
    models: Models,
    unnamed: Unnamed,
    *,
    late: bool,
    tokens: type[np.generic] = np.int8,
) -> Batch:
    """Return the rows of LLM-made units; a chunk without any keeps its sentences.

    Where `late`, their tokens are stored as `tokens`.
    """
    texts = [text for each in extracted for text in each.content]
    owners = [row for row, each in enumerate(extracted) for _ in each.content]
    entities, terms = Numbers(), Numbers()
    mentions = []
    for row, (text, text_mentions) in enumerate(zip(texts, models.tagger.tag(texts), strict=True)):
        words = term_set(text)
        for mention in text_mentions:
            key = entity_key(text[mention.start : mention.end])
            if is_key(key):
                term = terms[key] if is_doubtful(mention, text) and key in words else -1
                label = find_label(mention, text)
                mentions.append((row, entities[key], mention.start, mention.end, label, term))
    table = np.asarray(mentions, dtype=np.int32).reshape(-1, 6)
    bytes_column, n_bytes = encode_texts(texts)
    columns: Columns = {
        **_extraction_columns(extracted, UNITS),
        "statement.extraction": np.asarray(owners, dtype=np.int32),
        "statement.key": np.asarray([text_key(text) for text in texts], dtype=np.uint64),
        "statement.n_bytes": n_bytes,
        "statement_text.bytes": bytes_column,
        **_statement_vectors(texts, models.embedder, tokens if late else None),
        **table_columns("statement_mention", "statement", table),
    }
    undated = {int(entity) for entity in table[table[:, 4] != DATE, 1]}
    return _build_batch(columns, entities, terms, undated, unnamed, models.embedder)


def build_graph_batch(
    extracted: Sequence[ChunkExtraction[Extraction]],
    models: Models,
    unnamed: Unnamed,
    types: Sequence[str] = ENTITY_TYPES,
) -> Batch:
    """Return the rows of entities and triples; every end of a triple has a description row.

    `types` are those of the index, by their stored numbers.
    """
    entities = Numbers()
    descriptions = [
        (row, entities[entity_key(each.name)], each)
        for row, item in enumerate(extracted)
        for each in _collect_described(item.content)
    ]
    triples = [
        (row, entities[entity_key(t.subject)], entities[entity_key(t.object)], t)
        for row, item in enumerate(extracted)
        for t in item.content.triples
        if _has_keys(t)
    ]
    about = [collapse(each.description) for *_, each in descriptions]
    names = [collapse(each.name) for *_, each in descriptions]
    statements = [collapse(f"{t.subject} {t.relation} {t.object}") for *_, t in triples]
    profiled = [row for row, text in enumerate(about) if text]
    profiles = [f"{names[row]}: {about[row]}" for row in profiled]
    columns: Columns = {
        **_extraction_columns(extracted, GRAPH),
        "triple.extraction": _to_int32(row for row, *_ in triples),
        "triple.subject": _to_int32(subject for _, subject, _, _ in triples),
        "triple.object": _to_int32(target for _, _, target, _ in triples),
        "triple.relation_key": np.asarray(
            [text_key(entity_key(t.relation)) for *_, t in triples], dtype=np.uint64
        ),
        "triple.strength": np.asarray([t.strength for *_, t in triples], dtype=np.uint8),
        **text_columns("triple", "relation", [collapse(t.relation) for *_, t in triples]),
        **text_columns("triple", "description", [collapse(t.description) for *_, t in triples]),
        "triple.vectors": models.embedder.embed(statements, kind="document"),
        **validity_columns([t.validity for *_, t in triples]),
        "description.extraction": _to_int32(row for row, *_ in descriptions),
        "description.entity": _to_int32(entity for _, entity, _ in descriptions),
        "description.type": np.asarray(
            [types.index(each.type) for *_, each in descriptions], dtype=np.uint8
        ),
        **text_columns("description", "name", names),
        **text_columns("description", "text", about),
        "profile.description": _to_int32(profiled),
        "profile.vectors": models.embedder.embed(profiles, kind="document"),
    }
    all_of_them = set(range(len(entities)))
    return _build_batch(columns, entities, Numbers(), all_of_them, unnamed, models.embedder)


def validity_columns(times: Sequence[Sequence[Validity]]) -> Columns:
    """Return the validity periods of triples as rows, without columns if no text states one."""
    rows = [(row, *each) for row, own in enumerate(times) for each in own]
    names = number_columns("validity")
    return dict(zip(names, np.asarray(rows, np.int32).T, strict=True)) if rows else {}


def _collect_described(extraction: Extraction) -> list[Described]:
    """Return the distinct entities of an extraction, including the ends of its triples."""
    by_key: dict[str, Described] = {}
    triples = filter(_has_keys, extraction.triples)
    ends = (Described(name=end) for t in triples for end in (t.subject, t.object))
    for each in (*extraction.entities, *ends):
        if _is_key(each.name):
            by_key.setdefault(entity_key(each.name), each)
    return list(by_key.values())


def _has_keys(triple: Triple) -> bool:
    return _is_key(triple.subject) and _is_key(triple.object)


def _is_key(name: str) -> bool:
    return is_key(entity_key(name))


def _extraction_columns(extracted: Sequence[ChunkExtraction[Made_co]], kind: str) -> Columns:
    sources = [SOURCES.index(each.source) for each in extracted]
    return {
        "extraction.chunk": _to_int32(each.chunk for each in extracted),
        "extraction.kind": np.full(len(extracted), KINDS.index(kind), dtype=np.uint8),
        "extraction.source": np.asarray(sources, dtype=np.uint8),
    }


def _statement_vectors(
    texts: Sequence[str], embedder: Embedder, dtype: type[np.generic] | None
) -> Columns:
    if dtype is None or not gives_tokens(embedder):
        return {"statement.vectors": embedder.embed(texts, kind="document")}
    tokens, counts, pooled = ragged_tokens(texts, embedder, dtype)
    return {
        "statement.vectors": pooled,
        "statement.n_stored": counts,
        "statement_token.vectors": tokens,
    }


def _build_batch(
    columns: Columns,
    entities: Numbers,
    terms: Numbers,
    nameable: set[int],
    unnamed: Unnamed,
    embedder: Embedder,
) -> Batch:
    """Return the batch, with the vectors of names that the index lacks."""
    keys = list(entities)
    new = [i for i in unnamed(keys) if i in nameable]
    names = name_columns(new, embed_names([keys[i] for i in new], embedder))
    return Batch(entities=keys, terms=list(terms), columns=columns | names)


def _to_int32(values: Iterable[int]) -> NDArray[np.int32]:
    return np.asarray(list(values), dtype=np.int32)


def encode_texts(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return texts concatenated in UTF-8, and their lengths in bytes."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.asarray([len(each) for each in encoded], dtype=np.int32)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), lengths


def text_columns(layer: str, name: str, texts: Sequence[str]) -> Columns:
    """Return the two columns that store a text for each row of a layer."""
    letters, n_bytes = encode_texts(texts)
    return {f"{layer}.n_{name}": n_bytes, f"{layer}_{name}.bytes": letters}


_END = ""  # no word is empty: under it a node holds the key that ends there


def split_extraction(extraction: Extraction, texts: Sequence[str]) -> list[Extraction]:
    """Return the part of a document's extraction for each of its chunks.

    `texts` are the chunks', in order. A triple goes to the first chunk where most of its two ends
    occur, an entity to the first where its name occurs, and both to the first chunk where none
    does. A name occurs where the words of its key follow each other. O(words of the texts) for
    names of bounded length, then O(chunks) at worst for each triple.

    Raises InputError if there is something to place, and no chunk.
    """
    if not texts and (extraction.triples or extraction.entities):
        raise InputError("an extraction cannot be placed on a document without chunks")
    names = [entity.name for entity in extraction.entities]
    names += [end for triple in extraction.triples for end in (triple.subject, triple.object)]
    keys = {name: entity_key(name) for name in names}
    chunks = _occurrences(set(keys.values()), texts)
    entities: list[list[Described]] = [[] for _ in texts]
    for entity in extraction.entities:
        entities[min(chunks[keys[entity.name]], default=0)].append(entity)
    triples: list[list[Triple]] = [[] for _ in texts]
    for triple in extraction.triples:
        subject, object_ = chunks[keys[triple.subject]], chunks[keys[triple.object]]
        triples[min(subject & object_ or subject | object_, default=0)].append(triple)
    return [
        Extraction(entities=tuple(described), triples=tuple(stated))
        for described, stated in zip(entities, triples, strict=True)
    ]


def _occurrences(keys: Iterable[str], texts: Sequence[str]) -> dict[str, set[int]]:
    """Return the chunks that contain each key's words in sequence."""
    root: dict[str, Any] = {}  # a trie: a node leads from a word to the node of those behind it
    chunks_by_key: dict[str, set[int]] = {key: set() for key in keys}
    for key in chunks_by_key:
        node = root
        for word in key.split():
            node = node.setdefault(word, {})
        node[_END] = key
    root.pop(_END, None)  # a name without a letter occurs nowhere
    for chunk, text in enumerate(texts):
        words = entity_key(text).split()
        for start in range(len(words)):
            node, place = root, start
            while place < len(words) and words[place] in node:
                node = node[words[place]]
                place += 1
                if _END in node:
                    chunks_by_key[node[_END]].add(chunk)
    return chunks_by_key
