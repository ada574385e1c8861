"""Small made-up corpora by seed, indexed at 32-bit floats, and snapshots as plain values."""

import random
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from clew.base.types import Described, Extraction, Triple
from clew.index import adding
from clew.index.generation import open_snapshot
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.recipe import PAPERS
from clew.index.store.embedded import EmbeddedStore
from clew.testing import HashEmbedder, models
from clew.text.chunking import Chunking
from tests.index.build import add, document, scratch

PEOPLE = ("Ann Veld", "Bo Karr", "Cid Moss", "Dora Lenn", "Egil Stav", "Fay Orm")
PLACES = ("Port Lund", "Osterby", "Verle", "Cape Horst", "Mount Arda")
SHIPS = ("Comet", "Petrel", "Aurora", "Zephyr")
SAID = (
    ("{p} built the {s} at {l}.", "p", "built", "s"),
    ("{p} was born in {l} and drew charts of the coast.", "p", "born in", "l"),
    ("The {s} sank off {l} in a storm of January 1911.", "s", "sank off", "l"),
    ("{l} is the capital of the island, and its harbour is deep.", "l", "capital of", "Osterby"),
    ("{p} sailed the {s} to {l} with seven men.", "p", "sailed", "s"),
    ("In 1904 {p} taught {q} how to read the stars.", "p", "taught", "q"),
    ("The {s} carried salt and timber from {l}.", "s", "carried salt from", "l"),
)
QUESTIONS = (
    "Where was the builder of the Comet born?",
    "Who sailed the Petrel to Verle?",
    "Where did the ship of Ann Veld sink?",
    "Which ship carried salt from Port Lund?",
    "Who taught Dora Lenn to read the stars?",
)
TOKENLESS = models(HashEmbedder())  # rerankers then read texts, as the papers' do


def drawing(seed):
    """Return the source of a case: the same one in every run."""
    return random.Random(seed)  # noqa: S311 -- examples, no secrets


def write_world(seed, n=12):
    """Return documents, each a name, a text and its triples with descriptions and strengths."""
    draw = drawing(seed)
    world = []
    for i in range(n):
        sentences, triples = [], []
        for _ in range(draw.randint(1, 4)):
            text, subject, relation, target = draw.choice(SAID)
            p, q = draw.sample(PEOPLE, 2)
            names = {"p": p, "q": q, "s": draw.choice(SHIPS), "l": draw.choice(PLACES)}
            ends = names[subject], names.get(target, target)
            sentences.append(text.format(**names))
            if ends[0] != ends[1]:
                triples.append((ends[0], relation, ends[1], draw.randint(1, 9)))
        world.append((f"d{i:02}", " ".join(sentences), triples))
    return world


def _extract(triples):
    names = dict.fromkeys(end for s, _, o, _ in triples for end in (s, o))
    return Extraction(
        entities=tuple(
            Described(name=n, description=f"{n}, which {len(triples)} notes name") for n in names
        ),
        triples=tuple(
            Triple(subject=s, relation=r, object=o, description=f"{s} {r} {o}.", strength=w)
            for s, r, o, w in dict.fromkeys(triples)
        ),
    )


@contextmanager
def indexed(world, given=TOKENLESS, chunking=None):
    """Give the snapshot of an index of a world, with each text embedded by itself."""
    settings = replace(PAPERS, chunking=chunking or Chunking())
    with (
        scratch() as folder,
        EmbeddedStore.create(folder / "index", settings.build_recipe(given)) as store,
    ):
        add(store, [document(name, text) for name, text, _ in world], given)
        snapshot = open_snapshot(store)
        numbers = snapshot.layer("chunk").columns["number"].tolist()
        owners = snapshot.layer("chunk").columns["document"].tolist()
        snapshot.close()
        made = [
            ChunkExtraction(number, "llm", _extract(world[owner][2]))
            for number, owner in zip(numbers, owners, strict=True)
            if world[owner][2]
        ]
        if made:
            store.commit(build_graph_batch(made, given, store.unnamed), ())
            adding.finish_index(store, lambda: given.embedder)
        snapshot = open_snapshot(store)
        yield snapshot
        snapshot.close()


def vectors(snapshot, layer):
    """Return a layer's vectors as a list of float64 arrays."""
    return list(np.asarray(snapshot.layer(layer).vectors[:], dtype=np.float64))


def linked(snapshot, a, b):
    """Return the rows of `b` for each row of `a`, ascending."""
    link = snapshot.link(a, b)
    return [sorted(map(int, link[[row]].indices)) for row in range(link.shape[0])]


def ranked(scores, k=None):
    """Return keys by descending score to six decimals, ties by key: the rule of every top-k."""
    return sorted(scores, key=lambda key: (-round(float(scores[key]), 6), key))[:k]
