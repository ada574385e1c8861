"""Plain text: encodings, and what is no text."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Document
from clew.readers import read


def test_a_text_is_the_whole_file(document):
    """Newlines and white space stay as they stand, and the title is the file name."""
    found = document("my-first_notes.txt", "  one\r\ntwo\rthree\n\n")
    assert found.text == "  one\r\ntwo\rthree\n\n"
    assert (found.title, found.body_start, found.metadata) == ("my first notes", 0, {})


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "md", "html"])
def test_a_byte_order_mark_decides_and_is_dropped(document, mark, encoding, suffix):
    """Files of Windows programs are read as what they say they are, in either order of bytes."""
    assert document(f"a.{suffix}", mark + "Füße".encode(encoding)).text == "Füße"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (codecs.BOM_UTF8, "is empty"),
        (b"PNG\0\1\2", "looks like a binary file"),
        (bytes(range(1, 256)), "looks like a binary file"),
        ("a\0b".encode("utf-16"), "looks like a binary file"),
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "md", "html", "json", "jsonl", "csv"])
def test_what_is_no_text_is_skipped(skipped, content, reason, suffix):
    """Empty and binary files are told apart, in every format of text."""
    (said,) = skipped(f"a.{suffix}", content)
    assert reason in said


@pytest.mark.parametrize("suffix", ["txt", "md", "html", "json", "csv"])
def test_an_encoding_that_cannot_be_guessed_is_skipped(skipped, suffix):
    """No text is better than a wrong one."""
    noise = bytes(128 + place * place * 37 % 127 for place in range(400))
    reason = "is in an encoding that cannot be recognised; save it as UTF-8"
    assert skipped(f"a.{suffix}", noise) == [f"a.{suffix}: {reason}"]


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\n\r\t"),
        min_size=1,
    ).filter(lambda text: text.strip() and not text.startswith("\N{BOM}"))
)
def test_any_text_comes_back(tmp_path_factory, text):
    """A text file in UTF-8 is read to the character."""
    path = tmp_path_factory.mktemp("texts") / "a.txt"
    path.write_bytes(text.encode())
    (item,) = read([path])
    assert isinstance(item, Document)
    assert item.text == text


KNOTS = {
    "wiki": ("ropes.txt", "====== Knots ======\n\nOf ropes.\n\n==== Loops ====\nThe bowline.\n"),
    "underlined": ("ropes.txt", "Knots\n=====\n\nOf ropes.\n\nLoops\n-----\nThe bowline.\n"),
    "info": ("ropes.info", "Node\n\nKnots\n*****\n\nOf ropes.\n\nLoops\n=====\n\nThe bowline.\n"),
    "crlf": ("README", "Knots\r\n=====\r\n\r\nOf ropes.\r\n\r\nLoops\r\n-----\r\nThe bowline.\r\n"),
}


@pytest.mark.parametrize(("name", "text"), KNOTS.values(), ids=KNOTS)
def test_headings_of_plain_text_are_sections(document, name, text):
    """Those that a wiki marks, or that are underlined, from the widest on."""
    headings = document(name, text).headings
    assert [(each.level, each.title) for each in headings] == [(1, "Knots"), (2, "Loops")]


def test_the_links_of_an_info_file_are_left_out(document):
    """Lines keep their numbers, and a list that is no menu stays."""
    text = "\x1f\nFile: a.info,  Node: Top,  Up: (dir)\n\n* Menu:\n\n* Knots::  Of.\n* a loop\n"
    assert document("a.info", text).text == "\n\n\n\n\n\n* a loop\n"


RULES = {
    "much longer": "It is done.\n\nRegards\n----------------\nAn address\n",
    "of a paragraph": "It ends\nin a line.\n----------\nAnother part.\n",
    "columns": "Name    Knot\n----    ----\nAnna    bowline\n",
}


@pytest.mark.parametrize("text", RULES.values(), ids=RULES)
def test_rules_of_plain_text_are_no_headings(document, text):
    """A line below a paragraph, or far longer than what is above it, only parts a text."""
    assert not document("mail.txt", text).headings
