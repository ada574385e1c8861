"""A small index for tests."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.base.types import Document
from clew.index import adding, choose
from clew.index import recipe as recipes
from clew.index.extract import run_extractions
from clew.index.generation import open_snapshot
from clew.index.snapshot import Snapshot
from clew.index.store.embedded import EmbeddedStore
from clew.models import Models
from clew.models.cooccurrence import Cooccurrence
from clew.testing.doubles import models
from clew.text.chunking import Chunking

_TEXTS = {
    "analog": "The Analog Sea lies north of Verle. Mira Toll crossed it in 1911.",
    "bakken": "Bakken is a town in Osterland. Mira Toll was born in Bakken.",
    "comet": "The Comet was a ship. The Comet sank off Cape Lund in 1911.",
    "dorn": "Professor Dorn taught at Verle. He wrote about tides and salt.",
    "eriksen": "Ola Eriksen built the Comet in Bakken. Ola Eriksen died poor.",
    "fjord": "The fjord freezes every winter. Boats wait until the ice has gone.",
    "grain": "Grain prices fell that year. Farmers in Osterland left for Verle.",
    "harbour": "The harbour of Verle was dug by hand. Professor Dorn measured its depth.",
    "island": "An island without trees. Birds nest there and nobody else does.",
    "lund": "Cape Lund has a lighthouse. Its keeper saw the Comet sink.",
    "osterland": "Osterland is a land of farms. Its capital is Verle.",
    "verle": "Verle is the capital of Osterland. It lies on the Analog Sea.",
}


def small_documents() -> list[Document]:
    """Return a dozen short documents about a fictional country."""
    return [
        Document(id=name, title=name.capitalize(), text=text, source=f"{name}.txt")
        for name, text in _TEXTS.items()
    ]


QUESTIONS = (
    "Where was the builder of the Comet at home?",
    "What is the capital of the land in which Mira Toll was born?",
    "who measured the depth of the harbour",
    "???",
    "zzz",
)


@contextmanager
def built(
    documents: Sequence[Document],
    given: Models | None = None,
    *,
    triples: bool = False,
    chunking: Chunking | None = None,
) -> Iterator[Snapshot]:
    """Index `documents` in a temporary folder and yield the snapshot.

    `triples` are those of names in one sentence.
    """
    given = given or models()
    # Vectors of hashes are mostly zero, which few bits are not made for.
    settings = recipes.Settings(chunking=chunking or Chunking(), unit_bits=8, token_bits=8)
    with tempfile.TemporaryDirectory() as folder:
        recipe = settings.build_recipe(given)
        with EmbeddedStore.create(Path(folder) / "index", recipe) as store:
            adding.add_documents(store, documents, given)
            if triples:
                rules = Cooccurrence(given.tagger)
                run_extractions(store, given, choose.Wanted(triples="cooccurrence"), rules=rules)
            snapshot = open_snapshot(store)
        try:
            yield snapshot
        finally:
            snapshot.close()
