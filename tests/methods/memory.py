"""An index by hand, without a store: every unit, entity and vector is what a test says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from clew.algo.links import StoredLink
from clew.base.types import GRAPH, Document, Mention
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.testing import HashEmbedder
from clew.text.analyze import terms
from clew.text.normalize import entity_key


@dataclass
class Rows:
    """A layer."""

    keys: Sequence[str]
    words: Sequence[str]
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    vectors: np.ndarray | None = None
    sources: Sequence[Document] = ()

    def __len__(self):
        return len(self.keys)

    def ids(self, rows):
        return [self.keys[row] for row in rows]

    def texts(self, rows):
        return [self.words[row] for row in rows]

    def rows(self, ids):
        places = {key: row for row, key in enumerate(self.keys)}
        return [places.get(i, -1) for i in ids]

    def documents(self, rows):
        return [self.sources[row] for row in rows]


def snapshot(texts, mentions, vectors, *, dates=(), titles=None, unit_order=None):
    """Return an index of documents of one chunk each.

    `texts` gives each document's units, `mentions` the entities of each unit, by its text, and
    `vectors` those of units and of entities that are no `dates`. Rows are in the given order,
    entities in the order of their keys, units in `unit_order` where that is given.
    """
    titles = titles or {}
    units = unit_order or [text for group in texts.values() for text in group]
    owner = {text: row for row, group in enumerate(texts.values()) for text in group}
    documents = [
        Document(id=name, text=" ".join(group), title=titles.get(name, ""), source=f"{name}.txt")
        for name, group in texts.items()
    ]
    title_keys = [entity_key(document.title) for document in documents]
    entities = sorted({e for group in mentions.values() for e in group} | set(title_keys) - {""})
    starts = np.array([documents[owner[u]].text.index(u) for u in units], dtype=int)
    unit_vectors = np.array([vectors[u] for u in units], dtype=np.float32)
    chunk_of = np.array([owner[u] for u in units], dtype=int)
    sums = np.stack([unit_vectors[chunk_of == c].sum(axis=0) for c in range(len(documents))])
    zero = np.zeros(unit_vectors.shape[1])
    counts = [terms(document.text) for document in documents]
    words = sorted({term for group in counts for term in group})
    ends = starts + [len(u) for u in units]
    layers = {
        "document": Rows(list(texts), [d.text for d in documents], sources=documents),
        "chunk": Rows(
            [f"{d.id}:0-{len(d.text)}" for d in documents],
            [d.text for d in documents],
            {
                "document": np.arange(len(documents)),
                "start": np.zeros(len(documents), dtype=int),
                "end": np.array([len(d.text) for d in documents]),
                GRAPH: np.zeros(len(documents), dtype=int),
            },
            sums / np.linalg.norm(sums, axis=1, keepdims=True),
        ),
        "unit": Rows(
            [
                f"{documents[owner[u]].id}:{a}-{b}"
                for u, a, b in zip(units, starts, ends, strict=True)
            ],
            units,
            {"chunk": chunk_of, "start": starts, "end": ends},
            unit_vectors,
        ),
        "entity": Rows(
            entities,
            entities,
            {"linkable": np.array([e not in dates for e in entities])},
            np.array([vectors.get(e, zero) for e in entities], dtype=np.float32),
        ),
        "term": Rows(words, words, {"common": np.zeros(len(words), dtype=bool)}),
    }
    links = {
        ("chunk", "unit"): _link(
            [(c, u) for u, c in enumerate(chunk_of)], len(documents), len(units)
        ),
        ("unit", "entity"): _link(
            [(u, entities.index(e)) for u, text in enumerate(units) for e in mentions[text]],
            len(units),
            len(entities),
        ),
        ("document", "entity"): _link(
            [(d, entities.index(key)) for d, key in enumerate(title_keys) if key],
            len(documents),
            len(entities),
        ),
        ("chunk", "term"): _link(
            [(c, words.index(term)) for c, group in enumerate(counts) for term in group],
            len(documents),
            len(words),
        ),
    }
    return Snapshot(
        layers["document"],
        layers,
        {pair: StoredLink.from_matrix(link) for pair, link in links.items()},
    )


def _link(pairs, n_a, n_b):
    a, b = np.array(pairs, dtype=int).reshape(-1, 2).T
    link = csr_array((np.ones(len(a), dtype=np.float32), (a, b)), shape=(n_a, n_b))
    link.sum_duplicates()
    return link


@dataclass(frozen=True)
class Pinned:
    """An embedder that knows the vectors of some texts and is asked for no others."""

    vectors: Mapping[str, Sequence[float]]
    name: str = "pinned"

    @property
    def dimension(self):
        return len(next(iter(self.vectors.values())))

    def embed(self, texts, *, kind):  # noqa: ARG002 -- one vector for both
        rows = [self.vectors[text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, self.dimension)


@dataclass(frozen=True)
class Finds:
    """A tagger that finds the given names wherever they stand."""

    names: Mapping[str, str]  # with their labels
    name: str = "finds"

    def tag(self, texts):
        return [
            sorted(
                (
                    Mention(text.index(n), text.index(n) + len(n), label)
                    for n, label in self.names.items()
                    if n in text
                ),
                key=lambda mention: mention.start,
            )
            for text in texts
        ]


@dataclass(frozen=True)
class SharedWords:
    """Scores a text by the share of the query's different words in it; keeps what it read."""

    read: list[str] = field(default_factory=list)
    name: str = "shared-words"

    def score(self, query, texts):
        self.read.extend(texts)
        wanted = _words(query)
        return np.array([len(wanted & _words(text)) / len(wanted) for text in texts])


def _words(text):
    return set("".join(c if c.isalnum() else " " for c in text.lower()).split())


def models(vectors=None, names=(), *, llm=None, reranker=None):
    """Return models that know `vectors` and find `names`."""
    return Models(
        embedder=Pinned(vectors) if vectors else HashEmbedder(),
        tagger=Finds(dict.fromkeys(names, "NAME") if not isinstance(names, dict) else names),
        reranker=reranker or SharedWords(),
        llm=llm,
    )
