"""The part of a hit's text that is shown, and the words of the query in it."""

import re

import click
import pytest
from rich.cells import cell_len

from clew.cli.plain import terminal_width
from clew.cli.render import cut_preview, weigh_terms

INDENT = "    "
FILLER = "Nothing of note was seen by anybody on the long way over the ice that day. " * 4
SHIP = "Colin Archer built the Fram in Larvik."


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def seen(text, query, others=()):
    """Return the preview of a text, as it is without marks, and the words that are marked."""
    drawn = cut_preview(text, weigh_terms(query, [text, *others]), indent=INDENT)
    return click.unstyle(drawn), re.findall(r"\x1b\[1m(.*?)\x1b\[0m", drawn)


WHITE = "A \t\n tale.\n\n---\n\n" + FILLER.replace(" ", "  \n") + f"\n\n{SHIP}\n{FILLER}"


@pytest.mark.parametrize(
    ("text", "query", "others", "begins", "marked"),
    [
        (SHIP, "Who built the FRAM?", [], SHIP, ["built", "Fram"]),
        (f"{FILLER}\n\n{SHIP} {FILLER}", "Who built the Fram?", [], f"… {SHIP} Nothing of",
         ["built", "Fram"]),
        # What stands in the other hits as well says less.
        (f"The Fram was seen. {FILLER}Kit Vane left the ship. {FILLER}",
         "When did Vane see the Fram?", ["The Fram.", "A Fram."], "… Kit Vane left the ship.",
         ["Vane"]),
        # What stands before a sentence often says what it is about.
        (f"The Fram was a ship. She was launched at Larvik. {FILLER}", "launched", [],
         "The Fram was a ship. She was launched", ["launched"]),
        # A match at the end of the second line would not say much.
        (f"{FILLER[:76]}And the wind was of no help to them. {SHIP} {FILLER}", "Larvik", [],
         f"… {SHIP} Nothing", ["Larvik"]),
        # The same words later in the text are not nearer to the query.
        (f"{FILLER}It was Larvik at first. {FILLER}It was Larvik at last.", "Larvik", [],
         "… It was Larvik at first.", ["Larvik"]),
        ("昨日は雨だった。" * 30 + "東京大学は有名だ。", "東京大学", [], "… ", ["東京大学"]),
        (WHITE, "Colin Archer Larvik", [], f"… {SHIP} ", ["Colin", "Archer", "Larvik"]),
        (FILLER + SHIP, "", [], "Nothing of note", []),
        (FILLER + SHIP, "the of?", [], "Nothing of note", []),
        (FILLER + SHIP, "xyzzy", [], "Nothing of note", []),
        ("", "Fram", [], "", []),
        (" \n ", "Fram", [], "", []),
        ("--- *** ---" * 40, "Fram", [], "---", []),
    ],
)  # fmt: skip
def test_the_part_that_matters_is_shown(text, query, others, begins, marked):
    """Two lines at most, with an ellipsis where something is left out."""
    shown, found = seen(text, query, others)
    assert shown.startswith(f"{INDENT}{begins}")
    assert found == marked
    assert len(shown.splitlines()) <= 2
    assert ("…" in shown) == (len(text) > 200)


def test_the_words_of_the_query_are_marked():
    shown, marked = seen("NANSEN's ship, Nansen’s ｎａｎｓｅｎ, Nansenism.", "nansen")
    assert marked == ["NANSEN's", "Nansen’s", "ｎａｎｓｅｎ"]
    assert shown == INDENT + "NANSEN's ship, Nansen’s ｎａｎｓｅｎ, Nansenism."
    weights = weigh_terms("Who built the Fram, xyzzy?", [SHIP, "She was built in Oslo.", "Ice."])
    assert list(weights) == ["built", "fram"]
    assert 0 < weights["built"] < weights["fram"]
    text = "It lists " + ", ".join(f"name{n:02}" for n in range(60)) + " and Larvik, then no more."
    shown, marked = seen(text, "Larvik")
    assert re.match(rf"{INDENT}… name\d\d, .*Larvik, then no more\.$", shown)
    assert marked == ["Larvik"]


def test_what_a_terminal_shows_keeps_its_width(monkeypatch):
    """Marks take no columns, whatever the width and wherever a line ends."""
    text = f"{FILLER}{SHIP} {FILLER}"
    for width in (20, 30, 60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        shown, marked = seen(text, "Colin Archer built the Fram in Larvik nothing note ice")
        assert max(map(len, shown.splitlines())) <= max(terminal_width(), 24)
        assert marked
    monkeypatch.setenv("COLUMNS", "80")
    filler = "这一天在冰上的漫长路途中没有人看到任何值得注意的事情。" * 6
    shown, marked = seen(f"{filler}弗拉姆号由科林·阿彻建造。{filler}", "弗拉姆")
    lines = shown.split("\n")
    assert len(lines) == 2
    assert all(70 < cell_len(line) <= 80 for line in lines)
    assert "弗拉姆号由科林·阿彻建造" in shown
    assert marked
