"""Vectors of chunks, sentences and names, by one pass or one text each."""

import numpy as np
import pytest

from clew import testing
from clew.layers import chunks, vectors
from clew.text.chunking import Chunking
from clew.types import Document

EMBEDDER = testing.HashTokenEmbedder(32)
DOCUMENTS = [
    Document(id="a", title="Ada", text="Ada Quist drew maps. The ice went. Then she left."),
    Document(id="b", text="Bo Dahl sailed north. Nothing is known of him."),
]


@pytest.fixture
def pieces():
    return chunks.cut(DOCUMENTS, Chunking(size=10, overlap=0))


@pytest.fixture
def halved():
    return chunks.cut(DOCUMENTS, Chunking(size=10, overlap=0, subchunk_depth=1))


def test_late_chunk_vectors_are_of_titled_texts(pieces):
    """A chunk's vector is that of its text behind its document's title."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    texts = [text for text, _ in pieces.titled_texts()]
    np.testing.assert_array_equal(columns["chunk.vectors"], EMBEDDER.embed(texts, kind="document"))
    assert texts[0].startswith("Ada Quist")  # a text that begins with its title has it already
    assert len(texts) > 2


def test_late_sentence_vectors_are_means_of_their_tokens(pieces):
    """A sentence's vector is the unit mean of its tokens in the chunk; it says which they are."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    firsts, lasts = columns["sentence.first_token"], columns["sentence.last_token"]
    passes = EMBEDDER.embed_tokens([text for text, _ in pieces.titled_texts()])
    row = 0
    for owner, window, tokens in zip(pieces.owners, pieces.windows, passes, strict=True):
        for start, end in window.sentences:
            words = DOCUMENTS[owner].text[start:end].split()
            assert lasts[row] - firsts[row] == len(words)
            mean = tokens.vectors[firsts[row] : lasts[row]].mean(axis=0)
            expected = mean / np.linalg.norm(mean)
            np.testing.assert_allclose(columns["sentence.vectors"][row], expected, atol=1e-6)
            row += 1
    assert row == len(columns["sentence.vectors"])


def test_stored_tokens(pieces):
    """Stored tokens are those of all chunks, end to end, of length 127."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    counts = [len(text.split()) for text, _ in pieces.titled_texts()]
    assert columns["chunk.n_stored"].tolist() == counts
    assert columns["token.vectors"].shape == (sum(counts), 32)
    lengths = np.linalg.norm(columns["token.vectors"].astype(float), axis=1)
    np.testing.assert_allclose(lengths, 127, atol=3)


def test_separate(pieces):
    """Separately, each sentence's vector is that of its text alone."""
    columns = vectors.separate_columns(pieces, EMBEDDER)
    assert sorted(columns) == ["chunk.vectors", "sentence.vectors"]
    texts = [
        DOCUMENTS[owner].text[a:b]
        for owner, window in zip(pieces.owners, pieces.windows, strict=True)
        for a, b in window.sentences
    ]
    np.testing.assert_array_equal(
        columns["sentence.vectors"], EMBEDDER.embed(texts, kind="document")
    )


def test_late_parts_are_means_of_their_tokens(halved):
    """A sub-chunk's vector is the unit mean of the tokens that touch its range, in the chunk."""
    columns = vectors.late_columns(halved, EMBEDDER)
    found = iter(columns["subchunk.vectors"])
    titled = halved.titled_texts()
    passes = EMBEDDER.embed_tokens([text for text, _ in titled])
    for c, (window, tokens) in enumerate(zip(halved.windows, passes, strict=True)):
        shift = titled[c][1] - window.start
        for start, end in halved.parts[c]:
            firsts, lasts = tokens.spans.T
            mine = tokens.vectors[(lasts > start + shift) & (firsts < end + shift)]
            mean = mine.mean(axis=0)
            np.testing.assert_allclose(next(found), mean / np.linalg.norm(mean), atol=1e-6)
    assert next(found, None) is None
    whole = {name: columns[name] for name in columns if name != "subchunk.vectors"}
    unhalved = vectors.late_columns(chunks.cut(DOCUMENTS, Chunking(size=10, overlap=0)), EMBEDDER)
    assert whole.keys() == unhalved.keys()
    for name, column in whole.items():
        np.testing.assert_array_equal(column, unhalved[name])


def test_separate_parts(halved):
    """Separately, a sub-chunk's vector is that of its text behind the document's title."""
    columns = vectors.separate_columns(halved, EMBEDDER)
    texts = [
        part if part.startswith("Ada") or owner else f"Ada\n{part}"
        for owner, parts in zip(halved.owners, halved.parts, strict=True)
        for part in (halved.documents[owner].text[start:end] for start, end in parts)
    ]
    assert len(texts) > len(halved.windows)
    np.testing.assert_array_equal(
        columns["subchunk.vectors"], EMBEDDER.embed(texts, kind="document")
    )


def test_nothing():
    """No documents give no rows of the right width."""
    nothing = chunks.cut([], Chunking(subchunk_depth=1))
    for columns in (
        vectors.late_columns(nothing, EMBEDDER),
        vectors.separate_columns(nothing, EMBEDDER),
        vectors.name_columns([], [], EMBEDDER),
    ):
        assert any(name.endswith("vectors") for name in columns)
        for name, column in columns.items():
            assert len(column) == 0
            if name.endswith("vectors"):
                assert column.shape == (0, 32)


def test_names():
    """A name's vector is its key's, and belongs to the entity it is given for."""
    columns = vectors.name_columns([4, 2], ["bo dahl", "ada quist"], EMBEDDER)
    assert columns["name.entity"].tolist() == [4, 2]
    np.testing.assert_array_equal(
        columns["name.vectors"], EMBEDDER.embed(["bo dahl", "ada quist"], kind="document")
    )
