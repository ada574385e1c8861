"""Find mentions of entities in sentences. An entity is a key; its names are mentions' texts."""

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clew.base.types import DATE, LABELS, TERM, Mention
from clew.index.layers.chunks import Chunks, Columns
from clew.models import Tagger
from clew.text.keys import MAX_KEY
from clew.text.names import joins_names, strip_title
from clew.text.normalize import entity_key

_BATCH_SIZE = 4096  # sentences


def mention_columns(chunks: Chunks, tagger: Tagger) -> tuple[Columns, list[str]]:
    """Return the mention and title columns, and the entity keys they count into.

    Each sentence is tagged by itself, so equal sentences have equal mentions. Start and end
    count characters of the document. A lone capitalised word that begins a sentence may be no
    name at all: its term, a position in `chunks.term_places`, lets the index find out how it is
    written elsewhere; it is -1 for every other mention, and where its chunk does not have that one.
    """
    rows: dict[str, int] = {}
    titles = [_title_row(document.title, rows) for document in chunks.documents]
    spans = chunks.sentence_spans()
    places = chunks.term_places
    term_rows = {term: row for row, term in enumerate(places.terms)}
    terms_of = lru_cache(maxsize=1)(lambda c: frozenset(places.term[places.of_chunk(c)].tolist()))
    sentences = chunks.texts_at(spans)
    numbers = array("i")
    for s, mentions in enumerate(_tag_batches(sentences, tagger)):
        c, start, _ = spans[s]
        for mention in mentions:
            key = entity_key(sentences[s][mention.start : mention.end])
            if is_key(key):
                term = term_rows.get(key, -1) if is_doubtful(mention, sentences[s]) else -1
                if term >= 0 and term not in terms_of(c):
                    term = -1
                entity = rows.setdefault(key, len(rows))
                a, b = start + mention.start, start + mention.end
                numbers.extend((s, entity, a, b, find_label(mention, sentences[s]), term))
    table = np.frombuffer(numbers, dtype=np.int32).reshape(-1, 6)
    titled: Columns = {"document.title_entity": np.asarray(titles, dtype=np.int32)}
    return titled | table_columns("mention", "sentence", table), list(rows)


def table_columns(layer: str, owner: str, table: NDArray[np.int32]) -> Columns:
    """Return the columns of a mention layer from an (n, 6) table."""
    names = owner, "entity", "start", "end", "label", "term"
    columns: Columns = {f"{layer}.{name}": table[:, i].copy() for i, name in enumerate(names)}
    columns[f"{layer}.label"] = table[:, 4].astype(np.uint8)
    return columns


def _tag_batches(sentences: Sequence[str], tagger: Tagger) -> Iterator[list[Mention]]:
    """Yield the mentions of each sentence, tagging some thousand at a time."""
    for begin in range(0, len(sentences), _BATCH_SIZE):
        yield from tagger.tag(sentences[begin : begin + _BATCH_SIZE])


def is_key(key: str) -> bool:
    """Check that an entity key is not empty and no heading in capitals."""
    return 0 < len(key) <= MAX_KEY


def is_doubtful(mention: Mention, sentence: str) -> bool:
    """Check whether a mention may be just the capitalized first word of a sentence."""
    return mention.label == "NAME" and not any(map(str.isalnum, sentence[: mention.start]))


def find_label(mention: Mention, sentence: str) -> int:
    """Return the number of a mention's label.

    What may be two names is a term, which the index uses where it stands in several chunks.
    """
    name = sentence[mention.start : mention.end]
    return TERM if mention.label == "NAME" and joins_names(name) else LABELS.index(mention.label)


def _title_row(title: str, rows: dict[str, int]) -> int:
    key = entity_key(strip_title(title))
    return rows.setdefault(key, len(rows)) if is_key(key) else -1


def find_nameable(columns: Columns, n_entities: int) -> Sequence[int]:
    """Return the entities to link queries to: those with a mention that is no date."""
    has_name = np.zeros(n_entities, dtype=bool)
    has_name[columns["mention.entity"][columns["mention.label"] != DATE]] = True
    titles = columns["document.title_entity"].astype(np.int64)
    has_name[titles[titles >= 0]] = True
    return np.flatnonzero(has_name).tolist()
