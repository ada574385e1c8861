"""Sentences to mentions of entities. An entity is a key; its names are the mentions' texts."""

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clew.layers.chunks import Chunks, Columns, split_table
from clew.models import Tagger
from clew.text.analyze import count_terms
from clew.text.keys import MAX_KEY
from clew.text.names import strip_title
from clew.text.normalize import entity_key
from clew.types import DATE, LABELS, Mention

_AT_ONCE = 4096  # sentences


def mention_columns(
    chunks: Chunks, tagger: Tagger, terms: Sequence[str]
) -> tuple[Columns, list[str]]:
    """Return the mention and title columns, and the entity keys they count into.

    Each sentence is tagged by itself, so equal sentences have equal mentions. Start and end
    count characters of the document. A lone capitalised word that begins a sentence may be no
    name at all: its term, a position in `terms`, lets the index find out how it is written
    elsewhere; it is -1 for every other mention, and where its chunk does not have that term.
    """
    rows: dict[str, int] = {}
    titles = []
    for document in chunks.documents:
        key = entity_key(strip_title(document.title))
        titles.append(rows.setdefault(key, len(rows)) if is_key(key) else -1)
    spans = [
        (chunks.documents[d].text, start, end)
        for d, window in zip(chunks.owners, chunks.windows, strict=True)
        for start, end in window.sentences
    ]
    term_rows = {term: row for row, term in enumerate(terms)}
    texts = chunks.titled_texts()
    terms_of = lru_cache(maxsize=1)(lambda c: frozenset(count_terms(texts[c][0])))
    owners = [c for c, window in enumerate(chunks.windows) for _ in window.sentences]
    numbers = array("i")
    tagged = zip(spans, _tag_batches(spans, tagger), strict=True)
    for s, ((text, start, _), mentions) in enumerate(tagged):
        for mention in mentions:
            a, b = start + mention.start, start + mention.end
            key = entity_key(text[a:b])
            if is_key(key):
                doubtful = is_doubtful(mention, text[start:a]) and key in terms_of(owners[s])
                entity = rows.setdefault(key, len(rows))
                term = term_rows[key] if doubtful else -1
                numbers.extend((s, entity, a, b, LABELS.index(mention.label), term))
    table = np.frombuffer(numbers, dtype=np.int32).reshape(-1, 6)
    columns = split_mentions("mention", "sentence", table)
    return columns | {"document.title_entity": np.asarray(titles, dtype=np.int32)}, list(rows)


def split_mentions(layer: str, owner: str, table: NDArray[np.int32]) -> Columns:
    """Return the columns of a layer of mentions from (n, 6) rows of numbers."""
    columns = split_table(layer, (owner, "entity", "start", "end", "label", "term"), table)
    return columns | {f"{layer}.label": table[:, 4].astype(np.uint8)}


def _tag_batches(spans: Sequence[tuple[str, int, int]], tagger: Tagger) -> Iterator[list[Mention]]:
    """Yield the mentions of each sentence, tagged some thousand at a time."""
    for begin in range(0, len(spans), _AT_ONCE):
        block = spans[begin : begin + _AT_ONCE]
        yield from tagger.tag([text[start:end] for text, start, end in block])


def is_key(key: str) -> bool:
    """Say whether an entity key can be one: not empty, and no heading in capitals."""
    return 0 < len(key) <= MAX_KEY


def is_doubtful(mention: Mention, before: str) -> bool:
    """Say whether a mention may only be the capitalised word that begins a sentence."""
    return mention.label == "NAME" and not any(map(str.isalnum, before))


def find_nameable(columns: Columns, n_entities: int) -> Sequence[int]:
    """Return the entities that queries can be linked to: some mention is not a date."""
    named = np.zeros(n_entities, dtype=bool)
    named[columns["mention.entity"][columns["mention.label"] != DATE]] = True
    titles = columns["document.title_entity"].astype(np.int64)
    named[titles[titles >= 0]] = True
    return np.flatnonzero(named).tolist()
