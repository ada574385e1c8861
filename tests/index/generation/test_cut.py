"""Chunks are cut out of documents whose places and lines stay."""

from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Document
from clew.index.generation.cut import mask_outside
from clew.models.rules import RuleTagger
from clew.testing import built
from clew.text.chunking import Chunking, cut_windows


@given(
    st.text(alphabet="ab \n\r", max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3),
)
def test_places_and_lines_stay(text, pairs):
    """What is in a range stays as it is; of all else only the line breaks do."""
    ranges = sorted([min(each), min(max(each), len(text))] for each in pairs)
    ranges = [[start, end] for start, end in ranges if start <= end]
    masked = mask_outside(text, ranges)
    for start, end in ranges:
        assert masked[start:end] == text[start:end]
    inside = {place for start, end in ranges for place in range(start, end)}
    for place, (kept, was) in enumerate(zip(masked, text, strict=False)):
        assert kept == (was if place in inside or was in "\r\n" else " ")


def test_sentences_of_chunks_are_what_was_cut_and_tagged():
    """Each chunk has its own range of a sentence that several have, and its names."""
    said = "The Fram left Bergen in 1893. Ada Lund was aboard.\n\n"
    documents = [
        Document(id="a", text=said + "# Moss\n\n| Ship | Port |\n|---|---|\n| Gjøa | Oslo |\n" * 9),
        Document(id="b", text=said * 9 + "they sail from Oslo past Moss and " * 60),
        Document(id="c", text="- Nansen came back.\n- Amundsen did not."),
    ]
    chunking = Chunking(size=48, overlap=16)
    wanted = [
        [(d, *span) for span in window.sentences]
        for d in documents
        for window in cut_windows(d.text, d.body_start, chunking, d.headings)
    ]
    with built(documents, chunking=chunking) as snapshot:
        rows = [*range(len(snapshot.layer("chunk")))]
        found = snapshot.cutter.sentences(rows[::-1])[::-1]
        assert snapshot.cutter.sentences(rows[:1]) == found[:1]
    assert len(found) == len(wanted) > 9
    for sentences, spans in zip(found, wanted, strict=True):
        assert [(s.start, s.end) for s in sentences] == [(a, b) for _, a, b in spans]
        tagged = RuleTagger().tag([d.text[a:b] for d, a, b in spans])
        assert [list(s.mentions) for s in sentences] == tagged
    assert any(s.mentions for s in found[-1])
