"""Chunks, sentences and terms as columns."""

from clew.layers import chunks, terms
from clew.text.chunking import Chunking
from clew.types import Document

DOCUMENTS = [
    Document(id="a", title="Ice  age", text="Ice came. Ice\nstayed. It went."),
    Document(id="b", title="", text="Ice stayed."),
    Document(id="c", title="Ice", text="Ice came."),
]


def cut(size=256):
    return chunks.cut(DOCUMENTS, Chunking(size=size, overlap=0))


def test_chunk_columns():
    """Every chunk has its document, its range and its number of tokens."""
    columns = chunks.chunk_columns(cut())
    assert columns["chunk.document"].tolist() == [0, 1, 2]
    assert columns["chunk.start"].tolist() == [0, 0, 0]
    assert columns["chunk.end"].tolist() == [30, 11, 9]
    assert columns["chunk.n_tokens"].min() > 0
    assert chunks.chunk_columns(cut(3))["chunk.document"].tolist()[-2:] == [1, 2]


def test_sentences_of_equal_text_have_equal_keys():
    """White space does not tell sentences apart, anything else does."""
    columns = chunks.sentence_columns(cut())
    assert columns["sentence.chunk"].tolist() == [0, 0, 0, 1, 2]
    came, stayed, went, stayed_b, came_c = columns["sentence.key"].tolist()
    assert (came, stayed) == (came_c, stayed_b)
    assert len({came, stayed, went}) == 3


def test_titled_texts():
    """A model reads the title above the text, unless the text begins with it."""
    assert cut().titled_texts() == [
        ("Ice age\nIce came. Ice\nstayed. It went.", 8),
        ("Ice stayed.", 0),
        ("Ice came.", 0),
    ]


def test_counts():
    """Terms are counted per chunk with the title, and how often in lower case."""
    columns, found = terms.count_columns(cut())
    names = ("chunk", "term", "n", "n_lower")
    rows = zip(*(columns[f"count.{n}"].tolist() for n in names), strict=True)
    counted = {(chunk, found[term]): (n, lower) for chunk, term, n, lower in rows}
    assert counted == {
        (0, "ice"): (3, 0),
        (0, "age"): (1, 1),
        (0, "stayed"): (1, 1),
        (0, "went"): (1, 1),
        (1, "ice"): (1, 0),
        (1, "stayed"): (1, 1),
        (2, "ice"): (1, 0),
    }
