"""Blocks of a context: how they read, and that their tokens add up."""

from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.text import blocks, tokens

# What breaks token arithmetic: marks that merge with line breaks and with one another, white space
# of every kind, several tokens per character, scripts without spaces, the tokenizer's own markers.
NASTY = st.one_of(
    st.sampled_from(" \n\r\t\x00\x0b\x1c\x85\u00a0\u200b\u2028\u3000\u0301"),
    st.sampled_from(["  ", "\n\n", "\r\n", "\n ", ".\n", " |", "| ", "\n---\n"]),
    st.sampled_from(
        """| || |- --- ... …  ' 's 'll ( ) ()); }));\\ */ **/ # ## [ ] [2] :: " “ 1 12 1893
        12345 Fram ship. Nansen's the 南極 北京 القاهرة é ẍ̧ 👩‍🚀 😀 𓀀
        <|endoftext|> a|b""".split()
    ),
)
TEXTS = st.lists(NASTY | st.text(max_size=4), max_size=12).map("".join)
NUMBERS = st.integers(1, 999)
ROWS = st.lists(TEXTS, max_size=4)
PASSAGES = st.builds(blocks.format_passage, NUMBERS, TEXTS, TEXTS)
TABLES = st.builds(blocks.format_table, TEXTS, ROWS, st.lists(ROWS, max_size=4))


@given(st.lists(PASSAGES | TABLES, max_size=5))
@example([blocks.format_passage(1, "", "x}));"), blocks.format_passage(2, "", "'s")])
@example([blocks.format_table("", [], [[]]), blocks.format_table("", [""], [["", ""]])])
def test_tokens_of_blocks_add_up(written):
    """A context of any blocks, and every beginning of it, has the tokens of its blocks."""
    costs = map(tokens.count, written)
    assert list(map(tokens.count, accumulate(written))) == list(accumulate(costs))


@given(TEXTS, ROWS, st.lists(ROWS, max_size=4))
@example("Marks", ["mark"], [["====="]])  # one token with one line break, two with two
def test_tokens_of_rows_add_up(name, columns, rows):
    """A table has the tokens of an empty one and of its rows."""
    whole = tokens.count(blocks.format_table(name, columns, rows))
    assert whole == blocks.count_table_tokens(name, columns) + sum(
        map(blocks.count_row_tokens, rows)
    )


@given(PASSAGES | TABLES)
def test_a_block_begins_with_a_mark_and_ends_with_a_blank_line(written):
    """This is what makes tokens add up."""
    assert not written[0].isspace()
    assert written.endswith("\n\n")


@given(NUMBERS, TEXTS, TEXTS)
def test_any_number_costs_the_same(number, title, text):
    """So a method need not know at which place a passage will stand."""
    assert tokens.count(blocks.format_passage(number, title, text)) == blocks.count_passage_tokens(
        title, text
    )


@given(TEXTS, ROWS, st.lists(ROWS, max_size=4))
def test_a_row_is_a_line_and_a_column_a_cell(name, columns, rows):
    """Whatever stands in cells, it makes no further line, column or table."""
    head, *lines = blocks.format_table(name, columns, rows).removesuffix("\n---\n\n").split("\n")
    assert head.startswith("Table:")
    assert len(lines) == 1 + len(rows)
    for cells, line in zip([columns, *rows], lines, strict=True):
        if any(cell.strip() for cell in cells):
            assert line.count("|") == len(cells) - 1


@given(TEXTS, TEXTS, st.integers(-1, 60))
def test_a_cut_passage_fits(title, text, limit):
    """It is a beginning of the text, whole where that fits, and never only white space."""
    kept, cut = blocks.truncate_passage(title, text, limit)
    assert text.startswith(cut)
    assert kept in {title, ""}
    if cut:
        assert cut.strip()
        assert blocks.count_passage_tokens(kept, cut) <= limit
    if blocks.count_passage_tokens(title, text) <= limit and text.strip():
        assert (kept, cut) == (title, text)


def test_a_cut_passage_uses_its_limit():
    """Of plain words as many stay as there is room for; a title of more than half is dropped."""
    text = "the ship left the port " * 20
    room = 30 - blocks.count_passage_tokens("Fram", "")
    title, cut = blocks.truncate_passage("Fram", text, 30)
    assert title == "Fram"
    assert blocks.count_passage_tokens("Fram", cut) == 30
    assert tokens.count(cut) in {room, room - 1}  # the break behind a word is a token of its own
    title = "The ship that left the port of Larvik for the ice in the north"
    kept, cut = blocks.truncate_passage(
        title, "She was built for the ice, and for nothing else.", 16
    )
    assert kept == ""
    assert cut.startswith("She was built")
    assert blocks.truncate_passage(title, "She sank.", 40) == (title, "She sank.")


def test_blocks_as_they_read():
    """Number and title are one line; a table ends with a rule, where the passages begin."""
    written = blocks.format_passage(12, " The\n Fram ", "\n Fram left Oslo.\n  She sank.\r\n ")
    assert written == "[12] The Fram\nFram left Oslo.\n  She sank.\n\n"
    assert blocks.format_passage(1, "\t", "Ice.") == "[1]\nIce.\n\n"
    rows = [("1", "Fram", "polar\nship | sank"), ("2", "Oslo", "")]
    written = blocks.format_table("Entities", ("id", "entity", "description"), rows)
    assert written == (
        "Table: Entities\nid|entity|description\n1|Fram|polar ship / sank\n2|Oslo|\n---\n\n"
    )


@pytest.mark.parametrize("cells", [(), ("",), (" \n",)])
def test_a_row_without_a_word_is_a_bar(cells):
    """An empty line would be no block."""
    assert "\n|\n---" in blocks.format_table("Empty", ("a",), [cells])
