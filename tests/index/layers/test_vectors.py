"""Vectors of chunks, sentences and names, by one pass or one text each."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.base.types import Document
from clew.index.layers import chunks, vectors
from clew.models import TokenVectors
from clew.text.analyze import term_spans
from clew.text.chunking import Chunking

EMBEDDER = testing.HashTokenEmbedder(32)
DOCUMENTS = [
    Document(id="a", title="Ada", text="Ada Quist drew maps. The ice went. And so she was."),
    Document(id="b", text="Bo Dahl sailed north. Nothing is known of him."),
]


@pytest.fixture
def pieces():
    return chunks.cut_chunks(DOCUMENTS, Chunking(size=10, overlap=0))


@pytest.fixture
def halved():
    return chunks.cut_chunks(DOCUMENTS, Chunking(size=10, overlap=0, subchunk_depth=1))


def test_late_chunk_vectors_are_of_titled_texts(pieces):
    """A chunk's vector is that of its text behind its document's title."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    texts = [text for text, _ in pieces.titled_texts()]
    np.testing.assert_array_equal(columns["chunk.vectors"], EMBEDDER.embed(texts, kind="document"))
    assert texts[0].startswith("Ada Quist")  # a text that begins with its title has it already
    assert len(texts) > 2


def of_terms(text):
    """Return the tokens of a text, which are words between spaces, that have a term in them."""
    spans = [(word.start(), word.end()) for word in re.finditer(r"\S+", text)]
    found = [(start, end) for _, start, end in term_spans(text)]
    return [any(a < end and start < b for start, end in found) for a, b in spans]


def test_late_sentence_vectors_are_means_of_their_tokens(pieces):
    """A sentence's vector is the unit mean of all of its tokens in the chunk."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    titled = pieces.titled_texts()
    passes = EMBEDDER.embed_tokens([text for text, _ in titled])
    row = 0
    for window, (_, offset), tokens in zip(pieces.windows, titled, passes, strict=True):
        for start, end in window.sentences:
            begins, ends = tokens.spans.T - offset + window.start
            mean = tokens.vectors[(ends > start) & (begins < end)].mean(axis=0)
            expected = mean / np.linalg.norm(mean)
            np.testing.assert_allclose(columns["sentence.vectors"][row], expected, atol=1e-6)
            row += 1
    assert row == len(columns["sentence.vectors"])


def test_tokens_of_terms_are_stored(pieces):
    """Stored tokens are those of all chunks' terms, end to end, of length 127."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    texts = [text for text, _ in pieces.titled_texts()]
    kept = [of_terms(text) for text in texts]
    assert columns["chunk.n_stored"].tolist() == [sum(each) for each in kept]
    assert 0 < sum(map(sum, kept)) < sum(map(len, kept))
    passes = EMBEDDER.embed_tokens(texts)
    wanted = np.concatenate([t.vectors[each] for t, each in zip(passes, kept, strict=True)])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(columns["token.vectors"], 127 * wanted, atol=0.51)


def test_a_sentence_says_which_stored_tokens_are_its(pieces):
    """They are those of its terms among those of its chunk, none where it has no term."""
    columns = vectors.late_columns(pieces, EMBEDDER)
    firsts, lasts = columns["sentence.first_token"], columns["sentence.last_token"]
    stored = np.split(columns["token.vectors"], np.cumsum(columns["chunk.n_stored"])[:-1])
    sentences = [(c, place) for c, w in enumerate(pieces.windows) for place in w.sentences]
    lengths = []
    for (c, (start, end)), first, last in zip(sentences, firsts, lasts, strict=True):
        text = DOCUMENTS[pieces.owners[c]].text[start:end]
        [alone] = EMBEDDER.embed_tokens([text])
        assert last - first == sum(of_terms(text))
        cosines = stored[c][first:last].astype(float) @ alone.vectors[of_terms(text)].T
        assert np.all(np.diag(cosines) > 0.7 * 127)  # nearly what a word has by itself
        lengths.append(last - first)
    assert min(lengths) == 0 < max(lengths)


@given(st.text(alphabet="a of.-'水木", max_size=30), st.integers(1, 4))
def test_a_token_with_a_character_of_a_term_is_kept(text, size):
    """In any script, and however a tokenizer cuts."""
    spans = [(i, min(i + size, len(text))) for i in range(0, len(text), size)]
    tokens = TokenVectors(
        np.ones((len(spans), 2), np.float32),
        np.zeros(len(spans), np.int32),
        np.array(spans, np.int32).reshape(-1, 2),
        np.ones(2, np.float32),
    )
    read = SimpleNamespace(dimension=2, embed_tokens=lambda texts: [tokens for _ in texts])
    stored, counts, _ = vectors.ragged_tokens([text], read)
    of = {i for _, start, end in term_spans(text) for i in range(start, end)}
    kept = sum(not of.isdisjoint(range(a, b)) for a, b in spans)
    assert counts.tolist() == [kept] == [len(stored)]


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
    unhalved = vectors.late_columns(
        chunks.cut_chunks(DOCUMENTS, Chunking(size=10, overlap=0)), EMBEDDER
    )
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


def test_names_and_nothing():
    """A name's vector is its key's; no documents give no rows of the right width."""
    columns = vectors.name_columns([4, 2], vectors.embed_names(["bo dahl", "ada quist"], EMBEDDER))
    assert columns["name.entity"].tolist() == [4, 2]
    np.testing.assert_array_equal(
        columns["name.vectors"], EMBEDDER.embed(["bo dahl", "ada quist"], kind="document")
    )
    nothing = chunks.cut_chunks([], Chunking(subchunk_depth=1))
    for columns in (
        vectors.late_columns(nothing, EMBEDDER),
        vectors.separate_columns(nothing, EMBEDDER),
        vectors.name_columns([], vectors.embed_names([], EMBEDDER)),
    ):
        assert any(name.endswith("vectors") for name in columns)
        for name, column in columns.items():
            assert len(column) == 0
            if name.endswith("vectors"):
                assert column.shape == (0, 32)


def test_rows_are_coded_some_hundred_at_once():
    """Documents of one word take no call of the code each, and none is left behind."""
    sizes = []

    def code(name, rows):
        sizes.append((name, len(rows)))
        return rows

    words = [Document(id=str(i), text=f"word{i}") for i in range(1_300)]
    cut = chunks.cut_chunks(words, Chunking())
    columns = vectors.late_columns(cut, EMBEDDER, code)
    of_chunks = [n for name, n in sizes if name == "chunk.vectors"]
    assert sum(of_chunks) == len(words)
    assert len(of_chunks) <= 4
    for name, rows in vectors.late_columns(cut, EMBEDDER).items():
        np.testing.assert_array_equal(columns[name], rows)
    alone = [EMBEDDER.embed([word.text], kind="document") for word in words]
    np.testing.assert_array_equal(columns["chunk.vectors"], np.concatenate(alone))
