"""Sentences of two documents that say different values of the same thing."""

import json
from pathlib import Path

import pytest

import clew
from clew.answers.differences import find_difference
from clew.base.types import Document
from clew.testing import models

PAIRS = json.loads((Path(__file__).parent / "differences.json").read_text(encoding="utf-8"))
# "first" and "own" are words that the analyser leaves out.
KNOWN = {"How long did the first voyage take?", "How many goals did Berg score?"}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["question"])
def test_pairs_that_differ_are_told_from_those_that_look_like_it(pair):
    one, other = tuple(pair["a"]), tuple(pair["b"])
    found = find_difference(pair["question"], one, other)
    is_known = not pair["differ"] and pair["question"] in KNOWN
    assert bool(found) == (pair["differ"] or is_known)
    turned = find_difference(pair["question"], other, one)
    assert turned == (found and found[::-1])
    assert find_difference(pair["question"], one, one) is None


def test_the_pairs_are_as_many_of_each_kind():
    assert sum(pair["differ"] for pair in PAIRS) == len(PAIRS) / 2 == 40


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        ("It opened on 4 May 1931.", "It opened on 10 June 1932.", ("4 May 1931", "10 June 1932")),
        ("It weighs 3 tons.", "It weighs three tons.", ("3", "three")),
        ("The keeper is Ola Berg.", "Now the keeper is Una Lie.", ("Ola Berg", "Una Lie")),
        ("The keeper is Ola Berg.", "The keeper is 40.", None),
        ("The keeper is Berg.", "The keeper is Ola Berg.", None),
        ("", "The keeper is 40.", None),
        ("今年は30人です。", "今年は40人です。", ("30", "40")),
    ],
)
def test_values_are_of_one_kind(one, other, values):
    assert find_difference("?", ("", one), ("", other)) == values


def test_headings_say_of_what_a_value_is():
    """Two defaults are of two options, whatever stands between them."""
    question = "What is the default chunk size?"
    one = ("Manual 1", "The default is 512.", "-c, --chunk= SIZE")
    assert find_difference(question, one, ("Manual 2", "The default is 1000.", "speed")) is None
    other = ("Manual 2", "The default is 64.", "chunk size")
    assert find_difference("What is the default chunk?", one, other) == ("512", "64")


@pytest.mark.parametrize("said", ["Default: Reuse the settings.", "See: Reuse of the settings."])
def test_a_capital_behind_a_colon_is_no_name(said):
    assert find_difference("Which settings?", ("", said), ("", "See Path Settings.")) is None


DATED = {
    "new": ({"date": "2024-01-01"}, "A season ticket costs 135 euros."),
    "old": ({"date": "2023-01-01"}, "A season ticket costs 120 euros."),
    "dogs": ({}, "Dogs need a ticket of their own."),
}
QUESTION = "How much does a season ticket cost?"


def asked(folder, texts, **options):
    with clew.open(folder, models=models()) as index:
        index.add(
            [Document(id=name, text=text, metadata=meta) for name, (meta, text) in texts.items()]
        )
        return index.ask(QUESTION, min_support=0, **options)


@pytest.mark.parametrize("names", [("new", "old"), ("old", "new")])
def test_both_are_quoted_the_newer_first(tmp_path, names):
    answer = asked(tmp_path, {name: DATED[name] for name in (*names, "dogs")})
    assert [each.document_id for each in answer.citations][:2] == ["new", "old"]
    assert (
        "two documents differ: “135” (new, 2024-01-01) supersedes “120” (old, 2023-01-01)"
        in answer.evidence.notes
    )
    assert answer.short is None


def test_one_quote_becomes_two_where_documents_differ(tmp_path):
    answer = asked(tmp_path, DATED, quotes=1)
    assert [each.document_id for each in answer.citations] == ["new", "old"]


def test_nothing_is_said_where_they_agree(tmp_path):
    same = {"new": DATED["new"], "copy": ({}, DATED["new"][1]), "dogs": DATED["dogs"]}
    answer = asked(tmp_path, same)
    assert not any("differ" in note for note in answer.evidence.notes)


def test_what_held_then_is_all_that_is_seen(tmp_path):
    answer = asked(tmp_path, DATED, where="valid on 2023-06")
    assert answer.citations[0].document_id == "old"
    assert not any("differ" in note for note in answer.evidence.notes)
