"""Windows: what they hold, where they end, and that nothing is lost between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Heading
from clew.errors import InputError
from clew.text import tokens
from clew.text.chunking import Chunking, cut_windows
from clew.text.statements import find_statements, statement_spans

WORDS = ["Fram", "ice", "Drygalski", "expedition", "1920", "xqzt", "supercalifragilistic", "a"]
ENDS = ["", "", "", " ", ",", ".", ".", "?", "\n", "\n\n", "。"]
WORD = st.tuples(st.sampled_from(WORDS), st.sampled_from(ENDS)).map("".join)
ODD = st.sampled_from(
    ["北京大学在北京。", "她走了", "😀", "𓀀𓀀", "x" * 90, "# Head\n", "| a | b |\n", "é"]
)
TEXT = st.lists(WORD | WORD | WORD | ODD | st.text(max_size=5), max_size=60).map(" ".join)
PLAIN = st.lists(WORD, min_size=1, max_size=120).map(" ".join)


@st.composite
def chunkings(draw, least=1):
    size = draw(st.integers(least, 40))
    return Chunking(size=size, overlap=draw(st.integers(0, size - 1)))


@given(TEXT, chunkings(), st.integers(0, 10))
def test_windows_cover_the_text_in_order(text, chunking, start):
    """Every letter is in some window, none lies inside another, the last ends the document."""
    windows = cut_windows(text, start, chunking)
    covered = set()
    for window in windows:
        assert start <= window.start < window.end <= len(text)
        assert text[window.start : window.end] == text[window.start : window.end].strip()
        covered.update(range(window.start, window.end))
    for one, other in pairwise(windows):
        assert one.start < other.start
        assert one.end < other.end
    for a, b in statement_spans(text, start):
        assert all(i in covered for i in range(a, b) if not text[i].isspace())
    if windows:
        assert windows[-1].end == statement_spans(text, start)[-1][1]


@given(TEXT, chunkings())
def test_windows_are_what_they_say(text, chunking):
    """Their tokens and sentences; what two of them share has at most `overlap` tokens."""
    for window in cut_windows(text, 0, chunking):
        piece = text[window.start : window.end]
        assert window.n_tokens == tokens.count(piece)
        assert window.n_tokens <= chunking.size or len(piece) == 1
    whole = [(each.start, each.end) for each in find_statements(text, headings=())]
    for window in cut_windows(text, 0, chunking):
        clipped = [(max(a, window.start), min(b, window.end)) for a, b in whole]
        assert list(window.sentences) == [(a, b) for a, b in clipped if a < b]
    windows = cut_windows(text, 0, chunking)
    if not windows:
        return
    base = windows[0].start
    starts = tokens.token_starts(text[base : windows[-1].end]) + base
    for one, other in pairwise(windows):
        shared = ((starts >= other.start) & (starts < one.end)).sum()
        assert shared <= chunking.overlap


@given(PLAIN, chunkings(least=24))
def test_no_word_is_cut(text, chunking):
    """Where words are shorter than half a window, each is whole in one."""
    windows = cut_windows(text, 0, chunking)
    place = 0
    for word in text.split():
        place = text.index(word, place)
        assert any(w.start <= place and place + len(word) <= w.end for w in windows) or not any(
            c.isalnum() for c in word
        )
        place += len(word)


@given(PLAIN, st.integers(16, 60), st.integers(0, 4))
def test_short_sentences_stay_whole(text, size, share):
    """A sentence of less than half a window lies wholly in some window."""
    windows = cut_windows(text, 0, Chunking(size=size, overlap=size * share // 10))
    for a, b in statement_spans(text):
        if tokens.count(text[a:b]) <= size // 2 - 4:
            assert any(w.start <= a and b <= w.end for w in windows)


def test_windows_by_hand():
    """They end at the last sentence that fits and begin with whole ones, or with whole words."""
    text = "One went out. Two went out. Six went out. Ten went out. Nil went out."
    assert tokens.count("One went out.") == 4
    windows = cut_windows(text, 0, Chunking(size=10, overlap=0))
    assert [text[w.start : w.end] for w in windows] == [
        "One went out. Two went out.",
        "Six went out. Ten went out.",
        "Nil went out.",
    ]
    assert [w.n_tokens for w in windows] == [8, 8, 4]
    text = "One went out. Two went out. Six went out."
    windows = cut_windows(text, 0, Chunking(size=10, overlap=5))
    assert [text[w.start : w.end] for w in windows] == [
        "One went out. Two went out.",
        "Two went out. Six went out.",
    ]
    text = " ".join(["ice"] * 50)
    one, other, *_ = cut_windows(text, 0, Chunking(size=20, overlap=6))
    assert text[one.start : one.end] == " ".join(["ice"] * 20)
    assert (one.end - other.start + 1) // 4 == 6


def test_texts_without_spaces_are_cut():
    """Chinese gives full windows with full overlap; of a giant word nothing is lost."""
    text = "冰" * 100
    windows = cut_windows(text, 0, Chunking(size=20, overlap=5))
    assert tokens.count(text) == 200
    assert [(w.start, w.end) for w in windows[:2]] == [(0, 10), (8, 18)]
    assert windows[-1].end == 100
    windows = cut_windows("x" * 3000, 0, Chunking(size=16, overlap=0))
    assert "".join("x" * (w.end - w.start) for w in windows) == "x" * 3000
    assert [w.start for w in windows[1:]] == [w.end for w in windows[:-1]]


def test_windows_go_on():
    """From behind `start`, also where the overlap holds no white space or fills a window."""
    text = "one two three " + "supercalifragilistic" * 40 + " four five."
    windows = cut_windows(text, 0, Chunking(size=20, overlap=5))
    assert windows[-1].end == len(text)
    text = "One. Two. Six. " + "ice " * 30
    windows = cut_windows(text, 0, Chunking(size=8, overlap=7))
    assert len(windows) > 1
    assert all(a.end < b.end for a, b in pairwise(windows))
    text = "---\ntitle: Fram\n---\n\n# Fram\nThe Fram sailed. It sank."
    start = text.index("The")
    [window] = cut_windows(text, start)
    assert text[window.start : window.end] == "The Fram sailed. It sank."
    assert [text[a:b] for a, b in window.sentences] == ["The Fram sailed.", "It sank."]


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (2, 1), (3, 0)])
def test_a_character_of_many_tokens_is_a_window(size, overlap):
    """The smallest windows hold one character, even if it has more tokens than they may."""
    windows = cut_windows("𓀀𓀁", 0, Chunking(size=size, overlap=overlap))
    assert [(w.start, w.end) for w in windows] == [(0, 1), (1, 2)]


@pytest.mark.parametrize("text", ["", "  \n", "...", "---\n***"])
def test_a_text_without_a_word_has_no_window(text):
    """Nothing to find, nothing to store."""
    assert cut_windows(text) == []


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, -2), (10, 10), (10, 11), (10, -1)])
def test_impossible_sizes_are_refused(size, overlap):
    """The numbers are named, and what is allowed."""
    with pytest.raises(InputError, match=f"chunks of {size} tokens cannot overlap by {overlap}"):
        Chunking(size=size, overlap=overlap)


@st.composite
def headed_texts(draw):
    """Draw paragraphs, some of which are headings, and where those are."""
    pieces = draw(st.lists(st.tuples(st.integers(-6, 5), WORD | PLAIN), max_size=20))
    text, headings = "", []
    for level, words in pieces:
        line = " ".join(words.split()) if level > 0 else words.strip()
        if level > 0 and any(c.isalnum() for c in line):
            headings.append(Heading(len(text), level, line))
        text += f"{line}\n\n"
    return text, headings


@given(headed_texts(), chunkings())
def test_windows_with_headings_cover_the_text_in_order(given_text, chunking):
    """All that holds without headings, and each sentence of a window is in one section."""
    text, headings = given_text
    windows = cut_windows(text, 0, chunking, headings)
    covered = {i for window in windows for i in range(window.start, window.end)}
    assert all(i in covered for i, c in enumerate(text) if c.isalnum())
    for one, other in pairwise(windows):
        assert one.start < other.start
        assert one.end < other.end
    for window in windows:
        piece = text[window.start : window.end]
        assert window.n_tokens == tokens.count(piece)
        assert window.n_tokens <= chunking.size or len(piece) == 1
        for a, b in window.sentences:
            assert not any(a < heading.start < b for heading in headings)


@given(headed_texts(), st.integers(24, 60))
def test_no_window_ends_with_a_heading(given_text, size):
    """Unless the heading fills it, or ends the document."""
    text, headings = given_text
    *windows, _ = cut_windows(text, 0, Chunking(size=size, overlap=4), headings) or [None]
    for window in windows:
        for heading in headings:
            if window.start < heading.start < window.end:
                line = text.find("\n", heading.start)
                assert any(c.isalnum() for c in text[line : window.end])


@given(headed_texts(), chunkings())
def test_the_window_behind_one_that_ends_before_a_heading_begins_with_it(given_text, chunking):
    """There is no overlap with another section."""
    text, headings = given_text
    starts = {heading.start for heading in headings}
    for one, other in pairwise(cut_windows(text, 0, chunking, headings)):
        behind = one.end + len(text[one.end :]) - len(text[one.end :].lstrip())
        if behind in starts:
            assert other.start == behind


def test_a_window_rather_ends_before_a_heading():
    """By hand: without headings the second section's own would go with the first."""
    text = "One went out. Two went out.\n\nShips\n\nSix went out. Ten went out."
    whole = [text[w.start : w.end] for w in cut_windows(text, 0, Chunking(size=14, overlap=4))]
    assert whole[0] == "One went out. Two went out.\n\nShips"
    headings = [Heading(text.index("Ships"), 2, "Ships")]
    windows = cut_windows(text, 0, Chunking(size=14, overlap=4), headings)
    assert [text[w.start : w.end] for w in windows] == [
        "One went out. Two went out.",
        "Ships\n\nSix went out. Ten went out.",
    ]
