"""Sentences: where they end, and that no word is lost or doubled."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.text.sentences import MAX_CHARACTERS
from clew.text.statements import statement_spans

PIECES = [
    "A", "the", "Mr. ", "e.g. ", "U.S. ", "3.14 ", "... ", ". ", "! ", "? ", "\n", "\n\n",
    "\r\n", " \r\n\r\n", "# Head\n", "## ", "- item\n", "1. ", "| a | b |\n", "> quoted\n",
    "。", "؟ ", "। ", "॥", "\t", "  ", '"', "”", "(", ")", "___", "中文", "\x85", "\u2028",
    "\x1c", "\u3000", "😀",
]  # fmt: skip
TEXT = st.lists(st.text(max_size=10) | st.sampled_from(PIECES), max_size=25).map("".join)


def sentences(text):
    return [text[a:b] for a, b in statement_spans(text)]


@given(TEXT, st.integers(0, 4))
@example("a" * (3 * MAX_CHARACTERS), 0)
def test_spans_are_ordered_disjoint_and_trimmed(text, start):
    """Every span lies behind the one before it and has no white space at its ends."""
    previous = start
    for a, b in statement_spans(text, start):
        assert previous <= a < b <= len(text)
        assert text[a:b] == text[a:b].strip()
        previous = b


@given(TEXT, st.integers(0, 4))
def test_every_word_is_in_exactly_one_sentence(text, start):
    """Splitting loses no word, cuts none in two, and repeats none."""
    spans = statement_spans(text, start)
    for word in re.compile(r"[^\W_]+").finditer(text, start):
        assert sum(a <= word.start() and word.end() <= b for a, b in spans) == 1


@given(TEXT)
def test_every_sentence_has_a_word(text):
    """Rules, lone marks and blanks are no sentences."""
    assert all(any(c.isalnum() for c in sentence) for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One fell. Two rose.", ["One fell.", "Two rose."]),
        ("Is it? It is! So.", ["Is it?", "It is!", "So."]),
        ("Dr. Smith met Mr. Jones.", ["Dr. Smith met Mr. Jones."]),
        ("It cost 3.14 dollars. She paid.", ["It cost 3.14 dollars.", "She paid."]),
        ("The U.S. Navy came. It left.", ["The U.S. Navy came.", "It left."]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
        ("A line\nthat wraps. Next.", ["A line\nthat wraps.", "Next."]),
        ("No stop\n\nNew paragraph", ["No stop", "New paragraph"]),
        ("No stop \r\n \r\nNew paragraph", ["No stop", "New paragraph"]),
        ("# Title\nThe text.", ["# Title", "The text."]),
        ("The text\n## Title\nMore", ["The text", "## Title", "More"]),
        ("Ships:\n- Fram\n- Gauss\n* Terra Nova", ["Ships:", "- Fram", "- Gauss", "* Terra Nova"]),
        ("1. Fram\n2) Gauss", ["1. Fram", "2) Gauss"]),
        ("| a | b |\n|---|---|\n| c | d |", ["| a | b |", "| c | d |"]),
        ("> said he\n> and she", ["> said he\n> and she"]),
        ("他来了。她走了！真的？", ["他来了。", "她走了！", "真的？"]),
        ("「来た。」と言った。行く。", ["「来た。」と言った。", "行く。"]),
        ("هل جاء؟ نعم جاء.", ["هل جاء؟", "نعم جاء."]),
        ("वह आया। वह गया॥ बस", ["वह आया।", "वह गया॥", "बस"]),
        ("One.\n\n---\n\n___\n\n...\n\nTwo.", ["One.", "Two."]),
        ("", []),
        (" \n\t ", []),
        ("?!", []),
    ],
)
def test_where_sentences_end(text, expected):
    """Stops of every script end a sentence, and so do blocks; abbreviations do not."""
    assert sentences(text) == expected


def test_what_stands_before_the_start_is_not_split():
    """Spans count characters of the whole text all the same."""
    text = "Front. Matter. One came. Two went."
    spans = statement_spans(text, text.index("One"))
    assert [text[a:b] for a, b in spans] == ["One came.", "Two went."]


def test_long_lines_are_cut():
    """At white space where there is some, and pieces are no longer than the limit."""
    words = [f"cell{i}" for i in range(6000)]
    text = " ".join(words)
    pieces = sentences(text)
    assert len(text) > 50_000
    assert max(map(len, pieces)) <= MAX_CHARACTERS
    assert min(map(len, pieces[:-1])) > MAX_CHARACTERS / 2
    assert " ".join(pieces).split() == words
    pieces = sentences("x" * (2 * MAX_CHARACTERS + 5))
    assert [len(piece) for piece in pieces] == [MAX_CHARACTERS, MAX_CHARACTERS, 5]


@pytest.mark.parametrize("filler", [" ", "\n", " \n", "\t\n", "\r\n", "# \n", "|\n", "。", "- "])
def test_hostile_text_takes_linear_time(filler):
    """No run of blanks, stops or marks takes more than a moment (it was minutes once)."""
    assert sentences("One. " + filler * 100_000 + "Two.")[-1].endswith("Two.")
