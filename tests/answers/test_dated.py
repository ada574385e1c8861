"""Statements that a question asks for by their dates."""

import pytest

import clew
from clew.base.types import Document

LOG = """# Ferry diary

## 14.01.26
The ramp was greased by Ebbe Norrby.

## 05.03.26
The bow thruster lost oil, and a diver closed the valve.

## 27.03.26
The ramp was greased by Tilde Aasen.

## 2 May 2026
New lifejackets came aboard.
"""
PLAN = """- 3/14/2026: The Salt Road, with the translator
- 4/25/2026: Poems by Ansgar Lie
- 12/5/2026: ghost stories by candlelight
- 1/16/2027: The Ice Clock
"""
OLD = "Note of 11 February 2026\n\nThe Kestrel bicycle goes on sale on 20 May 2026."
NEW = """Note of 2 April 2026

The sale of the Kestrel bicycle on 20 May 2026 is moved to 17 June 2026.
"""
TITLES = {"diary": "Ferry", "plan": "Evenings of the reading circle", "old": "Note", "new": "Note"}
TEXTS = {"diary": LOG, "plan": PLAN, "old": OLD, "new": NEW}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("dated") / "i.clew") as index:
        index.add(
            [Document(id=name, title=TITLES[name], text=text) for name, text in TEXTS.items()]
        )
        yield index


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("What happened on the ferry on 5 March 2026?", "thruster"),
        ("What happened on the ferry on 2026-03-05?", "thruster"),
        ("Who greased the ramp in January?", "Norrby"),
        ("Who greased the ramp in March 2026?", "Aasen"),
        ("Who was the last to grease the ramp?", "Aasen"),
        ("Who greased the ramp before February 2026?", "Norrby"),
        ("What does the reading circle do on 14 March?", "Salt Road"),
        ("What is the last evening of the reading circle in 2026?", "ghost stories"),
        ("What does the reading circle read after 2026?", "Ice Clock"),
        ("What does the reading circle read first?", "Salt Road"),
    ],
)
def test_the_statement_of_the_time_comes_first(index, question, right):
    answer = index.ask(question)
    assert answer.kind == "quoted"
    assert right in answer.citations[0].quote


def test_when_something_was_is_quoted_with_its_date(index):
    assert "2 May 2026" in index.ask("When did new lifejackets come aboard?").citations[0].quote


@pytest.mark.parametrize(
    "question",
    ["Who greased the ramp in October 2026?", "What does the reading circle read in August 2026?"],
)
def test_another_time_is_no_answer(index, question):
    assert index.ask(question).kind == "refused"


def test_what_holds_since_a_time_is_no_other_time(tmp_path):
    text = "Prices\n\nSince 1 March 2025 a day pass costs 14 euros."
    with clew.open(tmp_path / "i.clew") as index:
        index.add([Document(id="prices", text=text), Document(id="diary", text=LOG)])
        assert index.ask("What does a day pass cost in May 2025?").kind == "quoted"


def test_the_newer_of_two_dates_of_one_thing_supersedes_the_older(index):
    answer = index.ask("When does the Kestrel bicycle go on sale?")
    assert [each.document_id for each in answer.citations][:2] == ["new", "old"]
    assert any(
        "“17 June 2026” (new, 2026-04-02) supersedes “20 May 2026” (old, 2026-02-11)" in note
        for note in answer.evidence.notes
    )
