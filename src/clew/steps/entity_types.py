"""Find the types of entities: by hand, by extractions, or from tagger and texts.

Types are read when asked for: at indexing they would cost time for every name, and a view shows a
few hundred.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import neighbours
from clew.base.derived import Derived
from clew.base.runtime.cached_values import Lazily
from clew.base.types import ENTITY_TYPES, GRAPH, SOURCES, Mention, VocabularyEntry
from clew.index.snapshot import Snapshot
from clew.index.store.schema import read_types
from clew.text.entity_types import (
    TYPE_OF_LABEL,
    is_joined,
    type_in_text,
    type_in_title,
    type_of_name,
)
from clew.text.keys import name_key

OTHER = ENTITY_TYPES[0]  # the type of an entity of which none is sure
_READ = 8  # texts of each entity
_READ_BY = [SOURCES.index(name) for name in ("llm", "recorded", "imported")]
_SURE = 0.75  # of the votes, those of one type


def find_types(snapshot: Snapshot, rows: Sequence[int]) -> list[str]:
    """Return the type of each entity, "other" if uncertain.

    A type set by hand or by a list comes first, then the most frequent extracted one, then the
    votes of the name, document titles and first sentences, if three in four agree.
    """
    types = snapshot.get(_FOUND)
    missing = [row for row in dict.fromkeys(rows) if row not in types]
    names = read_types(snapshot.recipe)
    extracted = snapshot.get(_EXTRACTED)[np.asarray(missing, dtype=np.int64)].tolist()
    keys = snapshot.layer("entity").ids(missing)
    for row, key, number in zip(missing, keys, extracted, strict=True):
        own = find_entry(snapshot.vocabulary, key).type
        types[row] = own or (names[number] if number else _vote(snapshot, row, key))
    return [types[row] for row in rows]


def find_types_in(
    sentences: Iterable[tuple[str, Sequence[Mention]]], snapshot: Snapshot | None
) -> Mapping[str, str]:
    """Return the types of the names in some sentences by key, "other" if uncertain.

    Besides these sentences, only the vocabulary and extractions are used.
    """
    places: dict[str, list[tuple[str, Mention]]] = {}
    for text, mentions in sentences:
        for each in mentions:
            places.setdefault(name_key(text[each.start : each.end]), []).append((text, each))
    told = {} if snapshot is None else _read_stated_types(snapshot, list(places))

    def find_type(key: str) -> str:
        if key in told:
            return told[key]
        votes = [type_of_name(key)]
        for text, each in places[key]:
            votes += TYPE_OF_LABEL.get(each.label, ""), type_in_text(text, each.start, each.end)
        return decide_type(votes)

    return Lazily({key: partial(find_type, key) for key in places})


def _read_stated_types(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, str]:
    """Return the types of those keys that have one by hand, by a list or by an extraction."""
    vocabulary = snapshot.vocabulary
    if not (vocabulary or len(snapshot.layer("description"))):
        return {}
    extracted, rows = snapshot.get(_EXTRACTED), snapshot.layer("entity").rows(keys)
    names = read_types(snapshot.recipe)
    told = {
        key: names[extracted[row]]
        for key, row in zip(keys, rows, strict=True)
        if row >= 0 and extracted[row]
    }
    own = {key: find_entry(vocabulary, key).type for key in vocabulary.keys() & keys}
    return told | {key: type_ for key, type_ in own.items() if type_}


def was_read(snapshot: Snapshot, chunk_ids: Sequence[str]) -> bool:
    """Check whether an LLM or a file gave the extraction of a chunk, not only rules."""
    chunks = snapshot.layer("chunk")
    rows = [row for row in chunks.rows(chunk_ids) if row >= 0]
    return bool(np.isin(chunks.columns[GRAPH][rows], _READ_BY).any())


def find_entry(vocabulary: Mapping[str, VocabularyEntry], key: str) -> VocabularyEntry:
    """Return the vocabulary entry of a key, or else of the key that it is an alias of."""
    own = vocabulary.get(key, VocabularyEntry())
    other = vocabulary.get(own.target, own)
    return replace(own, name=own.name or other.name, type=own.type or other.type)


def _read_extracted(snapshot: Snapshot) -> NDArray[np.uint8]:
    """Return (n_entities,) the most frequent extracted type of each entity.

    What rules extracted has its types of the tagger's labels, which are looked at as such.
    """
    described = snapshot.layer("description").columns
    made_by = snapshot.layer("chunk").columns[GRAPH][described["chunk"]]
    is_read = np.isin(made_by, _READ_BY)
    n_types = len(read_types(snapshot.recipe))
    votes = np.zeros((len(snapshot.layer("entity")), n_types), dtype=np.int32)
    np.add.at(votes, (described["entity"][is_read], described["type"][is_read]), 1)
    votes[:, 0] = 0
    types: NDArray[np.uint8] = votes.argmax(axis=1).astype(np.uint8)
    return types


# Types that were looked for, by rows; a thread may find one that another finds, too.
_FOUND: Derived[dict[int, str]] = Derived("types of entities", lambda _: {})
_EXTRACTED = Derived("types of entities by what was read of them", _read_extracted)


def _vote(snapshot: Snapshot, row: int, key: str) -> str:
    columns = snapshot.layer("entity").columns
    if not (columns["linkable"][row] or columns["extracted"][row]):
        return "date"  # only dates are mentioned and are no names
    titled = neighbours(snapshot.linked("entity", "document"), row)[:_READ].tolist()
    titles = [each.title for each in snapshot.documents(titled)]
    votes = [type_of_name(key), *map(type_in_title, titles), *_read_texts(snapshot, row, key)]
    type_ = decide_type(votes)
    return OTHER if type_ in {"person", "place"} and is_joined(key) else type_


def decide_type(votes: Iterable[str]) -> str:
    """Return the type with most votes, "other" if they do not agree."""
    if not (sure := [*filter(None, votes)]):
        return OTHER
    counts = Counter(sure)
    if counts["date"]:
        del counts["number"]  # a year is both by its name
    [(best, n)] = counts.most_common(1)
    return best if n >= _SURE * counts.total() else OTHER


def _read_texts(snapshot: Snapshot, row: int, key: str) -> list[str]:
    """Return the votes of an entity's first sentences and of the tagger on its type."""
    if snapshot.cutter is None:
        return []
    units = snapshot.layer("unit")
    rows = neighbours(snapshot.linked("entity", "unit"), row)[:_READ].tolist()
    chunks = units.columns["chunk"][rows].tolist()
    owners = snapshot.layer("chunk").columns["document"][chunks].tolist()
    starts = set(units.columns["start"][rows].tolist())
    votes = []
    documents = snapshot.documents(owners)
    for sentences, document in zip(snapshot.cutter.sentences(chunks), documents, strict=True):
        for sentence in sentences:
            if sentence.start not in starts:
                continue
            text = document.text[sentence.start : sentence.end]
            for mention in sentence.mentions:
                if name_key(text[mention.start : mention.end]) == key:
                    votes.append(TYPE_OF_LABEL.get(mention.label, ""))
                    votes.append(type_in_text(text, mention.start, mention.end))
    return votes
