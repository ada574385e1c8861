"""Documents that a question asks to compare, by their titles or ids."""

import numpy as np

from clew.snapshot import Snapshot
from clew.steps.linking import name_spans, named_entities
from clew.steps.mentions import titled_chunks
from clew.text.keys import name_key
from clew.text.questions import asks_to_compare

_MOST = 6  # documents that stand side by side
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
    rows = list(dict.fromkeys(row for _, row in sorted(named)))
    return rows[:_MOST] if len(rows) > 1 else []
