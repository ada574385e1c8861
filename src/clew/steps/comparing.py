"""Find the documents that a question asks to compare, by their titles or ids."""

import numpy as np

from clew.index.snapshot import Snapshot
from clew.steps.linking import name_spans, named_entities
from clew.steps.mentions import titled_chunks
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.questions import asks_to_compare

_MOST = 6  # documents that stand side by side
_MOST_CHUNKS = 1_000  # whose documents are looked at for a code in their titles
_AROUND = "\"'“”‘’«»()[],.;:?!"  # a word


def find_compared(snapshot: Snapshot, query: str) -> list[int]:
    """Return the rows of the documents that a question asks to compare, in its order.

    There are none where it asks for something else, or names fewer than two.
    """
    if not asks_to_compare(query) or not len(snapshot.layer("chunk")):
        return []
    words = [word.strip(_AROUND) for word in query.split()]
    named = [
        (place, row) for place, row in enumerate(snapshot.document_layer.rows(words)) if row >= 0
    ]
    firsts = {key: place for (place, _), key in reversed(name_spans(query).items())}
    owners = snapshot.layer("chunk").columns["document"]
    for entity in named_entities(snapshot, query):
        titled = np.unique(owners[titled_chunks(snapshot, entity.row)]).tolist()
        titles = [name_key(each.title) for each in snapshot.documents(titled)]
        same = [row for row, title in zip(titled, titles, strict=True) if title == entity.mention]
        named += [(firsts[entity.mention], row) for row in (same or titled)[:1]]
    named += [(i, row) for i, word in enumerate(words) for row in _find_by_code(snapshot, word)]
    rows = list(dict.fromkeys(row for _, row in sorted(named)))
    return rows[:_MOST] if len(rows) > 1 else []


def _find_by_code(snapshot: Snapshot, word: str) -> list[int]:
    """Return the row of the only document that has a code, such as "PX-7", in its title."""
    if not (any(map(str.isdigit, word)) and any(map(str.isalpha, word))):
        return []
    found = terms(word)
    row = snapshot.layer("term").rows(found)[0] if len(found) == 1 else -1
    if row < 0:
        return []
    chunks = snapshot.linked("term", "chunk").entries_of(np.array([row])).indices[:_MOST_CHUNKS]
    owners = np.unique(snapshot.layer("chunk").columns["document"][chunks]).tolist()
    titles = [set(terms(each.title)) for each in snapshot.documents(owners)]
    rows = [owner for owner, title in zip(owners, titles, strict=True) if found[0] in title]
    return rows if len(rows) == 1 else []
