"""Split a document's extraction by its chunks: each triple goes where its ends stand."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from clew.errors import InputError
from clew.text.normalize import entity_key
from clew.types import Extraction

T = TypeVar("T")

_END = ""  # no word is empty: under it a node holds the key that ends there


def split_extraction(extraction: Extraction, texts: Sequence[str]) -> list[Extraction]:
    """Return the part of a document's extraction that belongs to each of its chunks.

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
    entities = [_first_chunk(chunks[keys[entity.name]]) for entity in extraction.entities]
    triples = [
        _best_chunk(chunks[keys[triple.subject]], chunks[keys[triple.object]])
        for triple in extraction.triples
    ]
    grouped_entities = _group_by_chunk(extraction.entities, entities, len(texts))
    grouped_triples = _group_by_chunk(extraction.triples, triples, len(texts))
    return [
        Extraction(entities=described, triples=stated)
        for described, stated in zip(grouped_entities, grouped_triples, strict=True)
    ]


def _occurrences(keys: Iterable[str], texts: Sequence[str]) -> dict[str, set[int]]:
    """Return the chunks in which each key's words follow each other."""
    root: dict[str, Any] = {}  # a trie: a node leads from a word to the node of those behind it
    chunks_by_key: dict[str, set[int]] = {}
    for key in keys:
        chunks_by_key[key] = set()
        node = root
        for word in key.split():
            node = node.setdefault(word, {})
        node[_END] = key
    root.pop(_END, None)  # a name without a letter occurs nowhere
    for chunk, text in enumerate(texts):
        words = entity_key(text).split()
        for start in range(len(words)):
            for key in _match_keys(words, start, root):
                chunks_by_key[key].add(chunk)
    return chunks_by_key


def _match_keys(words: list[str], start: int, root: dict[str, Any]) -> Iterable[str]:
    """Yield the keys that begin at a word."""
    node = root
    for place in range(start, len(words)):
        if words[place] not in node:
            return
        node = node[words[place]]
        if _END in node:
            yield node[_END]


def _first_chunk(chunks: set[int]) -> int:
    return min(chunks, default=0)


def _best_chunk(subject: set[int], object_: set[int]) -> int:
    return _first_chunk(subject & object_ or subject | object_)


def _group_by_chunk(
    items: Sequence[T], chunks: Sequence[int], n_chunks: int
) -> list[tuple[T, ...]]:
    groups: list[list[T]] = [[] for _ in range(n_chunks)]
    for item, chunk in zip(items, chunks, strict=True):
        groups[chunk].append(item)
    return [tuple(group) for group in groups]
