"""Chunks, sentences and terms as columns."""

from clew.base.types import Document
from clew.index.layers import chunks
from clew.text import tokens
from clew.text.chunking import Chunking

DOCUMENTS = [
    Document(id="a", title="Ice  age", text="Ice came. Ice\nstayed. It went."),
    Document(id="b", title="", text="Ice stayed."),
    Document(id="c", title="Ice", text="Ice came."),
]


def cut(size=256, subchunk_depth=0):
    return chunks.cut_chunks(
        DOCUMENTS, Chunking(size=size, overlap=0, subchunk_depth=subchunk_depth)
    )


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
    """Terms are counted per chunk with the title; a title's capital counts, a sentence's not."""
    columns, found = chunks.count_columns(cut())
    names = ("chunk", "term", "n", "capitals")
    rows = zip(*(columns[f"count.{n}"].tolist() for n in names), strict=True)
    counted = {(chunk, found[term]): (n, capitals) for chunk, term, n, capitals in rows}
    assert counted == {
        (0, "ice"): (3, 1),
        (0, "age"): (1, -1),
        (0, "stayed"): (1, -1),
        (0, "went"): (1, -1),
        (1, "ice"): (1, 0),
        (1, "stayed"): (1, -1),
        (2, "ice"): (1, 0),
    }


def test_counts_of_a_word_that_is_written_in_two_ways():
    """Capitals inside sentences speak for a name, those of a first word for nothing."""
    document = Document(id="a", title="", text="Gauss met gauss and Gauss's Fram. Nine met.")
    columns, found = chunks.count_columns(chunks.cut_chunks([document], Chunking()))
    counted = zip(columns["count.n"].tolist(), columns["count.capitals"].tolist(), strict=True)
    assert dict(zip(found, counted, strict=True)) == {
        "gauss": (3, 0),
        "met": (2, -2),
        "fram": (1, 1),
        "nine": (1, 0),
    }


def test_postings():
    """Each place of a term in a chunk's own text is a row, by the characters of its document."""
    names = ("chunk", "term", "start")
    columns, found = chunks.count_columns(cut())
    rows = zip(*(columns[f"posting.{n}"].tolist() for n in names), strict=True)
    assert [(chunk, found[term], start) for chunk, term, start in rows] == [
        (0, "ice", 0),
        (0, "ice", 10),
        (0, "stayed", 14),
        (0, "went", 25),
        (1, "ice", 0),
        (1, "stayed", 4),
        (2, "ice", 0),
    ]
    pieces = cut(size=5)
    columns, found = chunks.count_columns(pieces)
    assert len(pieces.windows) > 3
    rows = zip(*(columns[f"posting.{n}"].tolist() for n in names), strict=True)
    for chunk, term, start in rows:
        text = DOCUMENTS[pieces.owners[chunk]].text
        assert text[start:].lower().startswith(found[term])
    assert len(columns["posting.term"]) == 7


def test_nothing_has_no_rows():
    """No documents give columns without rows; without subchunk_depth there are none of parts."""
    columns, found = chunks.count_columns(chunks.cut_chunks([], Chunking()))
    assert found == []
    assert [len(column) for column in columns.values()] == [0] * 7
    assert chunks.subchunk_columns(cut()) == {}
    assert cut().part_spans() == []
    nothing = chunks.subchunk_columns(chunks.cut_chunks([], Chunking(subchunk_depth=2)))
    assert [len(column) for column in nothing.values()] == [0] * 4


def test_subchunk_columns():
    """The parts of a chunk tile it, and are read behind its title, unless they begin with it."""
    columns = chunks.subchunk_columns(cut(size=16, subchunk_depth=1))
    assert columns["subchunk.chunk"].tolist() == [0, 0, 1, 2]
    assert columns["subchunk.start"].tolist() == [0, 16, 0, 0]
    assert columns["subchunk.end"].tolist() == [16, 30, 11, 9]
    texts = ["Ice came. Ice\nst", "ayed. It went.", "Ice stayed.", "Ice came."]
    parts = cut(size=16, subchunk_depth=1)
    assert parts.texts_at(parts.part_spans()) == texts
    assert columns["subchunk.n_tokens"].tolist() == [tokens.count(text) for text in texts]
    assert cut(size=16, subchunk_depth=1).titled_parts() == [
        "Ice age\nIce came. Ice\nst",
        "Ice age\nayed. It went.",
        "Ice stayed.",
        "Ice came.",
    ]
