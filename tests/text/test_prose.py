"""An answer in prose: its text, its citations, and what is told of it while it is written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.prose import ProseStream, is_unknown, read_prose

PARTS = [
    "ANSWER:", "Answer", ":", "**", "*", "\n", "\n\n", " ", "  ", ",", ";", ".", "!", "- ", "1. ",
    "[2]", "[2, 3]", "[", "]", "2", "1911", " and ", " or ", "&", "an", "Larvik", "Colin Archer",
    "unknown", "Un", "\u2028", "\u00e9", "\u5317\u6975", "(", ")", "(1)", "【1†source】",
    "| a | b |", "[^1]", "[Source 1]", "[1-3]", "【", "†", "([1])", "(Source 2)", "^", "see ",
    "`", "```", "```\n",
]  # fmt: skip
replies = st.lists(st.sampled_from(PARTS), max_size=16).map("".join)


class Listener(list):
    """What somebody has who heard all pieces."""

    def text(self):
        heard = ""
        for piece in self:
            heard = "" if piece is None else heard + piece
        return heard


def text_of(reply, n_passages=3):
    return "".join(claim for claim, _ in read_prose(reply, n_passages)).rstrip()


def heard(pieces, text, *, refuses=False, on_marks=lambda *_: None):
    """What is told of a reply in pieces whose answer is `text`, before its end and in all."""
    listener = Listener()
    stream = ProseStream(listener.append, lambda: on_marks, 3, refuses=refuses)
    for piece in pieces:
        stream.feed(piece)
    before_end = listener.text()
    stream.end(text)
    return before_end, listener


def cut(text, places):
    edges = [0, *sorted(places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@given(st.data())
def test_whatever_the_pieces_the_answer_is_heard(data):
    """And nothing of it is taken back, however the reply is cut; no piece is empty."""
    reply = data.draw(replies)
    pieces = cut(reply, data.draw(st.lists(st.integers(0, len(reply)), max_size=20)))
    text = text_of(reply)
    _, listener = heard(pieces, text)
    assert "".join(listener) == text
    assert "" not in listener


@given(st.data())
def test_whatever_the_pieces_the_citations_are_told_where_they_stand(data):
    """They are those of the whole reply, behind the same claims."""
    reply = data.draw(replies)
    pieces = cut(reply, data.draw(st.lists(st.integers(0, len(reply)), max_size=20)))
    told = []
    heard(pieces, text_of(reply), on_marks=lambda *each: told.append(each))
    assert told == read_prose(reply, 3)[:-1]


def test_the_first_token_is_told_at_once():
    """Whatever the reply looks like, and long before its end."""
    for reply in ("Colin Archer built", "- Colin Archer", "| Ship | Year |", "## Fram\n", "北极 "):
        told = []
        stream = ProseStream(told.append, lambda: lambda *_: None, 3, refuses=True)
        for piece in reply:
            stream.feed(piece)
        assert told, reply
        assert reply.startswith("".join(told))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Colin Archer [1].", "Colin Archer."),
        ("**ANSWER:** In **Larvik** [1].\n", "In **Larvik**."),
        ("Answer: Larvik", "Larvik"),
        ("Two:\n\n- Fram [1]\n- Maud [2], [3]\n\nNo more.", "Two:\n\n- Fram\n- Maud\n\nNo more."),
        ("| Ship | In |\n|--|--|\n| Fram | 1892 [1] |", "| Ship | In |\n|--|--|\n| Fram | 1892 |"),
        ("Run `v[1]` [1]:\n```sh\n$x[2]\n```\nOn [2].", "Run `v[1]`:\n```sh\n$x[2]\n```\nOn."),
        ("- One [1].\n[2] says so.", "- One.\nsays so."),
        ("[1] Archer built it. [2]", "Archer built it."),
        ("[1], [2]", ""),
        ("* a\n* b", "* a\n* b"),
    ],
)  # fmt: skip
def test_markdown_stays(reply, text):
    """Lists, tables and code keep their lines; citations and a label in front are left out."""
    assert text_of(reply) == text


@pytest.mark.parametrize(
    "reply",
    ["unknown", "Unknown.", "UNKNOWN! It is not there.", "**unknown**", "answer: unknown [1]",
     "unknown\n\nThe passages are about ships."],
)  # fmt: skip
def test_nobody_hears_that_nothing_is_known(reply):
    """Where the word for no answer refuses, nothing of such a reply is told."""
    assert is_unknown(reply)
    assert heard(list(reply), "", refuses=True)[1] == []


@pytest.mark.parametrize(
    "reply", ["Unknown to most, Archer built it.", "unknowns", "The price is unknown."]
)
def test_what_begins_like_a_refusal(reply):
    assert not is_unknown(reply)
    assert heard(list(reply), reply, refuses=True)[1].text() == reply


def test_what_turns_out_otherwise_is_put_right():
    """An answer of another source is told anew, one that was not told whole, a retry again."""
    assert heard(["Oslo "], "Larvik")[1] == ["Oslo", None, "Larvik"]
    assert heard(["Oslo"], "")[1] == ["Oslo", None]
    assert heard([], "Larvik")[1] == ["Larvik"]
    assert heard([], "")[1] == []
    assert heard(["Lar", None, "Lar", "vik"], "Larvik")[1] == ["Lar", None, "Lar", "vik"]
    assert heard(["unk", None, "Oslo"], "Oslo", refuses=True)[1] == ["Oslo"]
