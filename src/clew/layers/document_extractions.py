"""Split a document's extraction over its chunks: a triple goes where its ends occur."""

from collections.abc import Iterable, Sequence
from typing import Any

from clew.errors import InputError
from clew.text.normalize import entity_key
from clew.types import Described, Extraction, Triple

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
