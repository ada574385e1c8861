"""A small index with a graph by hand: who built the Comet, and where its builder came from."""

from contextlib import contextmanager
from dataclasses import dataclass

from clew import steps
from clew.base.types import Described, Extraction, Triple
from clew.index import adding
from clew.index.generation import open_snapshot
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.store.embedded import EmbeddedStore
from clew.methods.bubble.view import BubbleView, open_view
from clew.testing import models
from tests.index.build import RECIPE, add, document, scratch

QUESTION = "In which land was the builder of the Comet born?"


ALL = {"early": True, "latent": True, "specialise": True}  # what an analysis may be asked for

TEXTS = {
    "bakken": "Bakken is a town. It lies in Osterland, a land of farms.",
    "comet": "Ola Eriksen built the ship Comet. The Comet sank off Cape Lund in a storm.",
    "eriksen": "Ola Eriksen was born in Bakken. He died poor.",
    "fog": "In spring, Fog hides the coast. Nobody sails then.",
    "gulls": "Gulls nest on every cliff. Ola Eriksen painted them.",
    "lund": "Cape Lund has a lighthouse. Its keeper saw nothing.",
    "salt": "Salt was dug in Osterland. It was carried by boat.",
    "verle": "Verle is the capital of Osterland. It is a port.",
}
TRIPLES = {
    "bakken": [("Bakken", "lies in", "Osterland")],
    "comet": [("Ola Eriksen", "built", "Comet"), ("Comet", "sank off", "Cape Lund")],
    "eriksen": [("Ola Eriksen", "born in", "Bakken")],
    "lund": [("Cape Lund", "has", "lighthouse")],
    "salt": [("salt", "dug in", "Osterland")],
    "verle": [("Verle", "capital of", "Osterland")],
}


# Vectors of hashes are mostly zero, which few bits are not made for.
_EXACT = {**RECIPE, "unit_bits": 8, "token_bits": 8}


def concept(text, kind="explicit", specialised="", relaxed=()):
    return {"text": text, "kind": kind, "specialised": specialised, "relaxed": list(relaxed)}


def analysed(*concepts, query_type="default", **answered):
    """Return the reply of an LLM to an analysis."""
    nothing = {"sufficient": False, "answer": "", "passage": 0, "quote": ""}
    return nothing | answered | {"query_type": query_type, "concepts": list(concepts)}


@contextmanager
def indexed(texts=TEXTS, triples=TRIPLES, source="llm"):
    """Give the snapshot of a new index of one chunk a document, with these triples."""
    with scratch() as folder, EmbeddedStore.create(folder / "index", _EXACT) as store:
        add(store, [document(name, text) for name, text in texts.items()])
        snapshot = open_snapshot(store)
        chunks = dict(
            zip(
                snapshot.layer("document").ids(range(len(texts))),
                snapshot.layer("chunk").columns["number"].tolist(),
                strict=True,
            )
        )
        snapshot.close()
        made = [
            ChunkExtraction(
                chunks[name],
                source,
                Extraction(
                    entities=tuple(
                        Described(name=end)
                        for end in dict.fromkeys(e for s, _, o in rows for e in (s, o))
                    ),
                    triples=tuple(Triple(subject=s, relation=r, object=o) for s, r, o in rows),
                ),
            )
            for name, rows in triples.items()
        ]
        store.commit(build_graph_batch(made, models(), store.unnamed), ())
        adding.finish_index(store, lambda: models().embedder)
        snapshot = open_snapshot(store)
        yield snapshot
        snapshot.close()


@dataclass(frozen=True)
class Graph:
    """A view, with nodes by name."""

    view: BubbleView

    def entity(self, key):
        [row] = self.view.snapshot.layer("entity").rows([key])
        assert row >= 0
        return row

    def triple(self, name):
        """Return the row of a triple by its id."""
        [row] = self.view.snapshot.layer("triple").rows([name])
        assert row >= 0
        return row

    def nodes(self, *names):
        """Return nodes, ascending; those of triples are named with bars."""
        n = self.view.graph.n_entities
        found = [n + self.triple(name) if "|" in name else self.entity(name) for name in names]
        return tuple(sorted(found))

    def chunk(self, document_id):
        [row] = self.view.snapshot.layer("document").rows([document_id])
        return row


def look(snapshot, question=QUESTION):
    return Graph(open_view(snapshot, steps.read_query(models(), question)))
