"""The part of a hit's text that is shown, and the words of the query in it."""

import re

import click
import pytest
from rich.cells import cell_len

from clew.cli.plain import terminal_width
from clew.cli.preview import cut_preview, weigh_terms

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


def test_rarer_terms_weigh_more():
    """A term that no text has is left out, and so is a stop word."""
    weights = weigh_terms("Who built the Fram, xyzzy?", [SHIP, "She was built in Oslo.", "Ice."])
    assert list(weights) == ["built", "fram"]
    assert 0 < weights["built"] < weights["fram"]


def test_a_short_text_is_shown_whole():
    """Nothing is left out, so there is no ellipsis; the query's words are marked."""
    assert seen(SHIP, "Who built the FRAM?") == (INDENT + SHIP, ["built", "Fram"])


def test_the_sentence_that_matters_is_shown():
    """Behind an ellipsis, from its start, with what comes behind it."""
    shown, marked = seen(f"{FILLER}\n\n{SHIP} {FILLER}", "Who built the Fram?")
    assert shown.startswith(f"{INDENT}… {SHIP} Nothing of")
    assert shown.endswith(" …")
    assert shown.count("\n") == 1
    assert marked == ["built", "Fram"]


def test_the_rarest_word_decides():
    """What stands in the other hits as well says less."""
    text = f"The Fram was seen. {FILLER}Kit Vane left the ship. {FILLER}"
    shown, marked = seen(text, "When did Vane see the Fram?", ["The Fram.", "A Fram."])
    assert shown.startswith(f"{INDENT}… Kit Vane left the ship.")
    assert marked == ["Vane"]


def test_the_beginning_is_shown_where_that_leaves_nothing_out():
    """What stands before a sentence often says what it is about."""
    text = f"The Fram was a ship. She was launched at Larvik. {FILLER}"
    assert seen(text, "launched")[0].startswith(f"{INDENT}The Fram was a ship. She was launched")


def test_a_sentence_that_would_be_cut_is_begun_with():
    """A match at the end of the second line would not say much."""
    text = f"{FILLER[:76]}And the wind was of no help to them. {SHIP} {FILLER}"
    assert seen(text, "Larvik")[0].startswith(f"{INDENT}… {SHIP} Nothing")


def test_the_first_of_equals_is_shown():
    """The same words later in the text are not nearer to the query."""
    text = f"{FILLER}It was Larvik at first. {FILLER}It was Larvik at last."
    assert seen(text, "Larvik")[0].startswith(f"{INDENT}… It was Larvik at first.")


def test_a_long_sentence_is_entered_shortly_before_the_match():
    """At the start of a word, so the match is in the first line."""
    text = "It lists " + ", ".join(f"name{n:02}" for n in range(60)) + " and Larvik, then no more."
    shown, marked = seen(text, "Larvik")
    assert re.match(rf"{INDENT}… name\d\d, .*Larvik, then no more\.$", shown)
    assert marked == ["Larvik"]


@pytest.mark.parametrize("query", ["", "the of?", "xyzzy"])
def test_without_a_match_the_beginning_is_shown(query):
    """Two lines of it, unmarked."""
    shown, marked = seen(FILLER + SHIP, query)
    assert shown.startswith(f"{INDENT}Nothing of note")
    assert shown.count("\n") == 1
    assert not marked


def test_forms_that_the_analyser_takes_for_one_are_marked():
    """Case, width and a possessive ending make no difference, and a part of a word is no match."""
    shown, marked = seen("NANSEN's ship, Nansen’s ｎａｎｓｅｎ, Nansenism.", "nansen")
    assert marked == ["NANSEN's", "Nansen’s", "ｎａｎｓｅｎ"]
    assert shown == INDENT + "NANSEN's ship, Nansen’s ｎａｎｓｅｎ, Nansenism."


def test_scripts_without_spaces_are_marked():
    """Pairs of characters that overlap are one mark."""
    text = "昨日は雨だった。" * 30 + "東京大学は有名だ。"
    shown, marked = seen(text, "東京大学")
    assert shown.startswith(f"{INDENT}… ")
    assert marked == ["東京大学"]


def test_lines_keep_their_width(monkeypatch):
    """Marks take no columns, whatever the width and wherever a line ends."""
    text = f"{FILLER}{SHIP} {FILLER}"
    for width in (20, 30, 60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        shown, marked = seen(text, "Colin Archer built the Fram in Larvik nothing note ice")
        assert max(map(len, shown.splitlines())) <= max(terminal_width(), 24)
        assert marked


def test_what_a_terminal_would_obey_is_gone():
    """A document's escape sequences are replaced before anything is marked."""
    drawn = cut_preview("\x1b[31mFram\x1b[0m and \u202eback", {"fram": 1.0}, indent="")
    assert "\x1b[31m" not in drawn
    assert "\u202e" not in drawn
    assert click.unstyle(drawn).count("<U+") == 3


@pytest.mark.parametrize("text", ["", " \n ", "--- *** ---" * 40])
def test_texts_without_a_word(text):
    """They are shown as they are, and nothing fails."""
    assert seen(text, "Fram")[0].startswith(INDENT)


def test_the_place_of_a_sentence_survives_white_space():
    """Line breaks, tabs and runs of spaces before it are one space each in the line."""
    text = "A \t\n tale.\n\n---\n\n" + FILLER.replace(" ", "  \n") + f"\n\n{SHIP}\n{FILLER}"
    assert seen(text, "Colin Archer Larvik")[0].startswith(f"{INDENT}… {SHIP} ")


def test_chinese_is_shown_as_wide_as_it_is():
    """Two lines of at most 80 columns, with the sentence that matters."""
    filler = "这一天在冰上的漫长路途中没有人看到任何值得注意的事情。" * 6
    shown, marked = seen(f"{filler}弗拉姆号由科林·阿彻建造。{filler}", "弗拉姆")
    lines = shown.split("\n")
    assert len(lines) == 2
    assert all(70 < cell_len(line) <= 80 for line in lines)
    assert "弗拉姆号由科林·阿彻建造" in shown
    assert marked
