"""Tables in a text: which lines are rows, and what names their columns."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.statements import statement_spans
from clew.text.tables import find_tables, names_of_columns

BODY = "SH-1 | Ada Lund | 1,200\n\nSH-2 | | 3,849"


def described(text):
    return [(table.columns, len(table.rows), table.n_head) for table in find_tables(text)]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("Some.\n\n| A | B |\n|---|---|\n| 1 | 2 |\n| 3 |\n\nMore.", [("A | B", 3, 1)]),
        ("A|B\n:--|--:\n1|2", [("A | B", 2, 1)]),
        ("| a \\| b | c |\n| --- | --- |\n| x | y |", [("a \\| b | c", 2, 1)]),
        ("+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+", [("A | B", 2, 1)]),
        (" id | name\n----+------\n  1 | Ada", [("id | name", 2, 1)]),
        ("Code | Holder | Shares\r\n\r\nSH-1 | Ada | 7", [("Code | Holder | Shares", 2, 1)]),
        ("| A | B |\n\n| 1 | 2 |", [("A | B", 2, 1)]),
        (f"Code | Holder | Shares\n\n{BODY}", [("Code | Holder | Shares", 3, 1)]),
        (BODY, [("", 2, 0)]),  # its first row has a number: no header
        ("Town | 2023 | 2024\n\nMoss | 7 | 8", [("Town | 2023 | 2024", 2, 1)]),
        ("Sales | Sales\n\nTown | Sum\n\nMoss | 8\n\nAlta | 9", [("Town | Sum", 4, 2)]),
        (
            "Town | 2023 | 2023 | 2024\n\nTown | Boats | Nets | Boats\n\nMoss | 1 | 2 | 3",
            [("Town | 2023 Boats | 2023 Nets | 2024 Boats", 3, 2)],
        ),
        ("A | B\n\na | b\n\nc | d\n\n\nC | D\n\na |\n\nb |", [("A | B", 3, 1), ("C | D", 3, 1)]),
        ("A | B | C\n\na | b |\n\nC | D\n\nc | d\n\n| d", [("A | B | C", 2, 1), ("C | D", 3, 1)]),
        ("Run `cat a | sort`. Then look.\n\nRun `cat b | sort`. It is old.", []),
        ("cat a | sort\ncat b | grep c", []),  # lines of a program
        ("x || y\n\nz || w", []),
        ("|x| is at most |y|.\n\n|z| is more than |x|.", []),
        ("A | B", []),
        ("", []),
    ],
)
def test_tables_of_a_text(text, tables):
    """By a rule, as Markdown has it, or by rows of as many cells; prose with a bar is none."""
    assert described(text) == tables


def test_a_place_below_the_header_has_the_names_of_its_columns():
    text = f"Words.\n\nCode | Holder | Shares\n\n{BODY}\n\nWords."
    places = [text.index(words) for words in ("Words", "Code", "SH-1", "SH-2", "3,849")]
    assert names_of_columns(text, places) == ["", "", *["Code | Holder | Shares"] * 3]
    assert names_of_columns(text, [len(text) - 1]) == [""]


def test_a_row_is_one_sentence():
    """Whatever full stops its cells have; around the table sentences are cut as ever."""
    rows = [
        "Shop | Street | Open",
        "Ole's | St. Olav. At the quay. | Mo. to Fr.",
        "Ada's | | daily.",
    ]
    text = "These are shops. They are few.\n\n" + "\n\n".join(rows) + "\n\nThat is all. Go."
    found = [text[a:b] for a, b in statement_spans(text)]
    assert found == ["These are shops.", "They are few.", *rows, "That is all.", "Go."]
    start = text.index("Ada's")
    assert next(text[a:b] for a, b in statement_spans(text, start)) == rows[2]


@given(st.text(alphabet="ab1|-+= \n", max_size=80))
def test_rows_stand_in_the_text_in_order(text):
    """No row has a line break, and none overlaps another one, of whatever table."""
    rows = [row for table in find_tables(text) for row in table.rows]
    assert rows == sorted(rows)
    assert all(end <= start for (_, end), (start, _) in pairwise(rows))
    assert all("\n" not in text[start:end] for start, end in rows)
    assert all(0 <= table.n_head <= len(table.rows) for table in find_tables(text))
