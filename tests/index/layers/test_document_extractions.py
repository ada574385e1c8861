"""A recorded extraction is cut into its chunks' parts, and nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Described, Extraction, Triple
from clew.errors import InputError
from clew.index.layers.extractions import split_extraction
from clew.text.normalize import entity_key

TEXTS = [
    "The Fram was built for Fridtjof Nansen.",
    "Roald Amundsen took the ship south. Nansen had hoped for the North Pole.",
    "In December 1911 Amundsen's men stood at the South Pole; the Fram waited.",
]


def triple(subject, object_, relation="knew"):
    return Triple(subject=subject, relation=relation, object=object_)


def places(triples=(), entities=(), texts=TEXTS):
    """Return the chunk of each triple and of each entity."""
    extraction = Extraction(
        triples=tuple(triples), entities=tuple(Described(name=name) for name in entities)
    )
    parts = split_extraction(extraction, texts)
    assert len(parts) == len(texts)
    at = {item: i for i, part in enumerate(parts) for item in (*part.triples, *part.entities)}
    return [at[item] for item in (*extraction.triples, *extraction.entities)]


@pytest.mark.parametrize(
    ("ends", "chunk"),
    [
        (("Fram", "Fridtjof Nansen"), 0),  # both at once
        (("Roald Amundsen", "North Pole"), 1),
        (("Amundsen", "Fram"), 2),  # each stands earlier, alone
        (("Nansen", "Hjalmar Johansen"), 0),  # one of them
        (("Hjalmar Johansen", "South Pole"), 2),
        (("Hjalmar Johansen", "Siberia"), 0),  # none
        (("FRAM", "amundsen’s"), 2),  # as keys
        (("Pole", "Pole"), 1),
    ],
)
def test_a_triple_goes_where_most_of_its_ends_are(ends, chunk):
    """The first such chunk takes it; without any, the document's first."""
    assert places([triple(*ends)]) == [chunk]


def test_words_are_whole():
    """Part of a word is not the name, nor are its words apart."""
    texts = ["A framework. Pole, south of it. Roald, says Amundsen.", "Fram, Roald Amundsen"]
    assert places(entities=["Fram", "South Pole", "Roald Amundsen"], texts=texts) == [1, 0, 1]
    texts = ["Nothing.", "The Ross Ice Shelf.", "The Ross Ice Shelf Edge."]
    names = ["Ross", "Ross Ice", "Ross Ice Shelf", "Ross Ice Shelf Edge", "Ice Shelf", "Shelf Edge"]
    assert places(entities=names, texts=texts) == [1, 1, 1, 2, 1, 2]


def test_order_and_details_are_kept():
    """A chunk's part is in the order of the whole, with descriptions and strengths."""
    described = Described(name="Fram", type="product", description="A ship.")
    first = Triple(subject="Fram", relation="of", object="Nansen", description="d", strength=7)
    extraction = Extraction(
        entities=(described,),
        triples=(first, triple("Amundsen", "North Pole"), triple("Nansen", "Fram")),
    )
    parts = split_extraction(extraction, TEXTS)
    assert parts[0] == Extraction(entities=(described,), triples=(first, triple("Nansen", "Fram")))
    assert parts[1] == Extraction(triples=(triple("Amundsen", "North Pole"),))
    assert parts[2] == Extraction()


def test_no_chunks():
    """There is no place to lose anything in."""
    assert split_extraction(Extraction(), []) == []
    with pytest.raises(InputError, match="cannot be placed on a document without chunks"):
        split_extraction(Extraction(triples=(triple("Fram", "Nansen"),)), [])


NAMES = st.lists(st.sampled_from(["a", "b", "c", "B", "-"]), min_size=1, max_size=3).map(" ".join)
CHUNKS = st.lists(st.sampled_from(["a", "b", "c", "A", "."]), max_size=12).map(" ".join)


@given(
    st.lists(st.builds(triple, NAMES, NAMES), max_size=6),
    st.lists(st.builds(Described, name=NAMES), max_size=6),
    st.lists(CHUNKS, min_size=1, max_size=4),
)
def test_as_searched_one_by_one(triples, entities, texts):
    """Every item is placed once, and where a plain search of every chunk would place it."""

    def occurs(name, text):
        key = entity_key(name)
        return bool(key) and f" {key} " in f" {entity_key(text)} "

    parts = split_extraction(Extraction(triples=tuple(triples), entities=tuple(entities)), texts)
    expected = [([], []) for _ in texts]
    for item in triples:
        counts = [occurs(item.subject, text) + occurs(item.object, text) for text in texts]
        expected[counts.index(max(counts))][0].append(item)
    for item in entities:
        counts = [occurs(item.name, text) for text in texts]
        expected[counts.index(max(counts))][1].append(item)
    assert [(list(part.triples), list(part.entities)) for part in parts] == expected
