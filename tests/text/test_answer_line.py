"""The line that answers, of a reply that comes in pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.answer_line import AnswerText, extract_answer, is_word

PARTS = [
    "ANSWER:", "answer:", "AN", "SWER:", "xanswer:", "**", "*", "\n", " ", "  ", ",", ";", ".", "!",
    "[2]", "[2, 3]", "[", "]", "2", "1911", " and ", " or ", "&", "an", "Larvik", "Colin Archer",
    "unknown", "Un", "\u2028", "\u00e9", "\u5317\u6975", "ſ",
]  # fmt: skip
replies = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


class Listener(list):
    """What somebody has who heard all pieces."""

    def text(self):
        heard = ""
        for piece in self:
            heard = "" if piece is None else heard + piece
        return heard


def heard(pieces, text, unknown=""):
    """What is told of a reply in pieces whose answer is `text`."""
    listener = Listener()
    told = AnswerText(listener.append, unknown)
    for piece in pieces:
        told.feed(piece)
    before_end = listener.text()
    told.end(text)
    return before_end, listener


def cut(text, places):
    edges = [0, *sorted(places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@given(st.data())
def test_whatever_the_pieces_the_answer_is_heard(data):
    """The pieces since the last None are the answer, nothing empty, however the reply is cut."""
    reply = data.draw(replies)
    places = data.draw(st.lists(st.integers(0, len(reply)), max_size=8))
    text = extract_answer(reply)
    _, listener = heard(cut(reply, places), text)
    assert listener.text() == text
    assert "" not in listener


@given(st.data())
def test_what_was_heard_need_not_be_taken_back(data):
    """A reply with one marker and whole citations is never begun anew, cut it as you like."""
    words = st.lists(
        st.sampled_from(
            ["Larvik", "in", "1911", "[2]", "[2, 3]", "and", "or", ",", "**A**", "no."]
        ),
        max_size=8,
    )
    before = data.draw(words.map(" ".join))
    reply = f"{before}\nANSWER: {data.draw(words.map(' '.join))}\nThat is it, [4]."
    pieces = cut(reply, data.draw(st.lists(st.integers(0, len(reply)), max_size=20)))
    before_end, listener = heard(pieces, extract_answer(reply))
    assert None not in listener
    assert before_end == extract_answer(reply)  # the line has ended, so all of it is known


def test_nobody_hears_what_stands_before_the_marker_or_behind_the_line():
    """Reasoning is not shown, and the answer is heard word by word."""
    reply = "Archer built her. The answer is clear.\n**ANSWER:** born in **Larvik** [2], [3]\nBye"
    before_end, listener = heard(list(reply), "born in Larvik")
    assert before_end == listener.text() == "born in Larvik"
    assert len(listener) > 5


def test_markers():
    """One counts as soon as its last character came; the last one counts, and the last reply."""
    before_end, _ = heard(["So A", "N", "SWE", "R", ":", " Oslo", " it", " is"], "Oslo it is")
    assert before_end == "Oslo it is"
    assert heard(["the xAN", "SWER: no", "ne"], "the xANSWER: none")[0] == ""
    _, listener = heard(["ANSWER: Oslo, I th", "ink. ANSWER: Larvik"], "Larvik")
    assert listener == ["Oslo, I th", None, "Larvik"]
    _, listener = heard(["ANSWER: Lar", None, "ANSWER: Lar", "vik"], "Larvik")
    assert listener == ["Lar", None, "Lar", "vik"]
    _, listener = heard(["ANSWER: unk", None, "ANSWER: Oslo"], "Oslo", "unknown")
    assert listener == ["Oslo"]


@pytest.mark.parametrize("reply", ["ANSWER: unknown", "ANSWER: Unknown.", "answer: UNKNOWN!\nx"])
def test_nobody_hears_that_nothing_is_known(reply):
    """Where the word for no answer refuses, it is kept back as long as nothing else follows."""
    assert heard(list(reply), "", "unknown")[1] == []
    assert is_word(extract_answer(reply), "unknown")
    assert heard([*reply, "s"], "unknowns", "unknown")[1].text() == "unknowns"


def test_what_turns_out_otherwise_is_put_right():
    """An answer of another source is told anew, and one that was not told, whole."""
    assert heard(["ANSWER: Oslo"], "Larvik")[1] == ["Oslo", None, "Larvik"]
    assert heard(["ANSWER: Oslo"], "")[1] == ["Oslo", None]
    assert heard([], "Larvik")[1] == ["Larvik"]
    assert heard([], "")[1] == []
