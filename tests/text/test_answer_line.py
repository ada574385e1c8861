"""The line that answers, of a reply that comes in pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.answer_line import AnswerText, extract_answer, find_marks, is_word, parse_numbers

PARTS = [
    "ANSWER:", "answer:", "AN", "SWER:", "xanswer:", "**", "*", "\n", " ", "  ", ",", ";", ".", "!",
    "[2]", "[2, 3]", "[", "]", "2", "1911", " and ", " or ", "&", "an", "Larvik", "Colin Archer",
    "unknown", "Un", "\u2028", "\u00e9", "\u5317\u6975", "ſ", "(", ")", "(1)", "【1†source】",
    "[^1]", "[Source 1]", "[1-3]", "【", "†", "([1])", "(Source 2)", "^", "see ",
]  # fmt: skip
replies = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


class Listener(list):
    """What somebody has who heard all pieces."""

    def text(self):
        heard = ""
        for piece in self:
            heard = "" if piece is None else heard + piece
        return heard


def heard(pieces, text, unknown="", n_passages=0):
    """What is told of a reply in pieces whose answer is `text`."""
    listener = Listener()
    told = AnswerText(listener.append, unknown, n_passages=n_passages)
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
    n_passages = data.draw(st.sampled_from([0, 3]))
    text = extract_answer(reply, n_passages)
    _, listener = heard(cut(reply, places), text, n_passages=n_passages)
    assert listener.text() == text
    assert "" not in listener


@given(st.data())
def test_what_was_heard_need_not_be_taken_back(data):
    """A reply with one marker and whole citations is never begun anew, cut it as you like."""
    words = st.lists(
        st.sampled_from(
            [
                "Larvik",
                "in",
                "1911",
                "[2]",
                "[2, 3]",
                "and",
                "or",
                ",",
                "**A**",
                "no.",
                "[1-3]",
                "[Source 2]",
                "【3†source】",
                "([1], [2])",
                "[^1]",
                "(2).",
                "(1892)",
                "[sic]",
                "(so)",
            ]
        ),
        max_size=8,
    )
    before = data.draw(words.map(" ".join))
    reply = f"{before}\nANSWER: {data.draw(words.map(' '.join))}\nThat is it, [4]."
    pieces = cut(reply, data.draw(st.lists(st.integers(0, len(reply)), max_size=20)))
    text = extract_answer(reply, 3)
    before_end, listener = heard(pieces, text, n_passages=3)
    assert None not in listener
    assert before_end == text  # the line has ended, so all of it is known


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


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("Archer [1]", [1]),
        ("Archer [1][2]", [1, 2]),
        ("Archer [1] [3] and [2].", [1, 3, 2]),
        ("Archer [1, 2]", [1, 2]),
        ("Archer [1; 3]", [1, 3]),
        ("Archer [1-3]", [1, 2, 3]),
        ("Archer [2–3].", [2, 3]),
        ("Archer [^1]", [1]),
        ("Archer [^1^][2]", [1, 2]),
        ("Archer [[3]].", [3]),
        ("Archer [Source 1]", [1]),
        ("Archer [Sources: 1, 3].", [1, 3]),
        ("Archer [Source 1, Source 3]", [1, 3]),
        ("Archer [passage 2 and passage 3]", [2, 3]),
        ("Archer (Source 2) built", [2]),
        ("Archer [citation:1]", [1]),
        ("Archer【1】", [1]),
        ("Archer【1†source】.", [1]),
        ("Archer【2†L3-L5】", [2]),
        ("Archer 【1†source】【3†source】", [1, 3]),
        ("Archer ［2］", [2]),
        ("Archer ([1], [2]).", [1, 2]),
        ("Archer (see [3]).", [3]),
        ("Archer (1).", [1]),
        ("Archer (1), who", [1]),
        ("Archer (1)(3).", [1, 3]),
    ],
)
def test_how_models_cite(said, numbers):
    """Their marks are left off, and their numbers read, whole and character by character."""
    rest = {"Archer (Source 2) built": " built", "Archer (1), who": ", who"}
    answer = "Archer" + rest.get(said, "." if said.endswith(".") else "")
    marks = find_marks(3).findall(said)
    assert [n for mark in marks for n in parse_numbers(mark)] == numbers
    assert extract_answer(said, 3) == answer
    before_end, listener = heard(f"ANSWER: {said}\n", answer, n_passages=3)
    assert before_end == answer
    assert None not in listener


@pytest.mark.parametrize(
    "said",
    [
        "It was built in 1892 (1892).",
        "There are two: (1) Fram and (2) Maud",
        "Passage 9 is not there (9).",
        "f(1).",
        "group (1) of them",
        "at [10:30] he came",
        "in [2024] it was",
        "as [Figure 1] shows",
        "so [sic] it is",
        "[1-1000]",
    ],
)
def test_what_is_no_citation(said):
    """Years, lists, times, names of figures and numbers of no passage stay in the answer."""
    assert extract_answer(said, 3) == said
    assert heard(f"ANSWER: {said}\n", said, n_passages=3)[0] == said
