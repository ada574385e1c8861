"""Mentions stand where they say, and depend on their own document only."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import DATE, LABELS, Document, Mention
from clew.index.layers import chunks, entities
from clew.models.rules import RuleTagger
from clew.text.chunking import Chunking
from clew.text.normalize import entity_key

WORDS = st.sampled_from(
    ["Bo", "Dahl", "the", "Ice", "ice", "went.", "1912.", "“Rød”", "南极洲。", "Foo_", "foo",
     "Cafe\u0301", "\U0001f600", "\n\n", "Of", "of", "May", "x" * 130, "القطب"]
)  # fmt: skip
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=40).map(" ".join), min_size=1, max_size=4)


def cut(texts, size=20, overlap=5):
    documents = [Document(id=str(i), text=t, title=t[:12]) for i, t in enumerate(texts)]
    return chunks.cut_chunks(documents, Chunking(size=size, overlap=overlap))


def mentions(pieces, tagger=None):
    columns, keys = entities.mention_columns(pieces, tagger or RuleTagger())
    return columns, keys, pieces.term_places.terms


def sentences(pieces):
    """Return each sentence's document and range, in row order."""
    pairs = zip(pieces.owners, pieces.windows, strict=True)
    return [(owner, start, end) for owner, w in pairs for start, end in w.sentences]


@given(TEXTS)
def test_mentions_slice_their_sentence(texts):
    """A mention lies in its sentence, its text has its entity's key, and no key is unused."""
    pieces = cut(texts)
    columns, keys, found = mentions(pieces)
    spans = sentences(pieces)
    rows = zip(
        *(columns[f"mention.{n}"] for n in ("sentence", "entity", "start", "end", "term")),
        strict=True,
    )
    for sentence, entity, start, end, term in rows:
        owner, first, last = spans[sentence]
        assert first <= start < end <= last
        assert entity_key(texts[owner][start:end]) == keys[entity]
        assert term == -1 or found[term] == keys[entity]
    used = {*columns["mention.entity"].tolist(), *columns["document.title_entity"].tolist()}
    assert used - {-1} == set(range(len(keys)))
    assert len(set(keys)) == len(keys)


@given(TEXTS)
def test_neighbours_do_not_matter(texts):
    """A document's mentions are the same whatever else is in its batch."""

    def told(pieces, document):
        columns, keys, found = mentions(pieces)
        spans = sentences(pieces)
        names = ("sentence", "entity", "start", "end", "label", "term")
        rows = zip(*(columns[f"mention.{n}"].tolist() for n in names), strict=True)
        return [
            (keys[entity], start, end, label, found[term] if term >= 0 else None)
            for sentence, entity, start, end, label, term in rows
            if spans[sentence][0] == document
        ]

    together = cut(texts)
    for i, text in enumerate(texts):
        assert told(together, i) == told(cut([text]), 0)


def test_doubtful_and_nameable_names():
    """Only a lone capitalised word may be a common one."""
    columns, keys, found = mentions(cut(["Boats left Norrvik. Bo Dahl left."]))
    doubtful = {
        keys[entity]: found[term]
        for entity, term in zip(columns["mention.entity"], columns["mention.term"], strict=True)
        if term >= 0
    }
    assert doubtful == {"boats": "boats"}
    columns, keys, _ = mentions(cut(["Ola came in 1912. He met Bo Dahl."]))
    named = [keys[i] for i in entities.find_nameable(columns, len(keys))]
    assert "1912" in keys
    assert "1912" not in named
    assert "bo dahl" in named


class OddTagger:
    """Names nothing but marks, and something far too long."""

    name = "odd"

    def tag(self, texts):
        return [[Mention(0, len(text), "NAME"), Mention(0, 1, "ORG")] for text in texts]


def test_what_cannot_be_a_name():
    """Mentions without a letter, and headings longer than a name, are left out."""
    columns, keys, _ = mentions(cut(["«" + "x" * 200 + " y"], size=200, overlap=0), OddTagger())
    assert columns["mention.entity"].tolist() == []
    assert len(keys) <= 1
    assert columns["mention.label"].dtype == np.uint8
    assert LABELS[DATE] == "DATE"
