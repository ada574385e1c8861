"""What a question may be: not too long, and valid Unicode, by every function that takes one."""

import inspect
import time

import pytest

import clew
from clew import Document, Exchange
from clew.answers.pipeline import check_length, shorten_question
from clew.answers.question import MOST_CHARACTERS, MOST_TOKENS, OPTIONS
from clew.errors import InputError
from clew.testing import models, small_documents

LONG = {
    "a sentence, again and again": "Who built the Comet in Bakken? " * 700,
    "one word": "x" * 19_000,
    "Japanese": "船長は何処で生まれましたか" * 1_500,
    "names": "Ab Cd, " * 2_800,
    "punctuation": "?! " * 6_500,
}
ODD = ("Who built the \ud800Comet?", "Comet\udce9", "\udfff", "Who? \U0001f6a2 \ud83d")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("asked") / "i.clew", models=models()) as opened:
        opened.add([*small_documents(), Document(id="l", text="Ice.", metadata={"label": "cold"})])
        yield opened


ASKED = {
    "ask": lambda index, text: index.ask(text),
    "search": lambda index, text: index.search(text),
    "bm25": lambda index, text: index.search(text, method="bm25"),
    "follow-up": lambda index, text: index.ask(text, history=[Exchange("Who?", "Ada.")]),
    "hop": lambda index, text: index.hop("Comet", query=text),
}


@pytest.mark.parametrize("call", ["ask", "search"])
def test_every_option_of_a_question_is_a_keyword(call):
    """One that is not would be taken for a parameter of the method."""
    door = "search" if call == "search" else "answer"
    wanted = {name for name, each in OPTIONS.items() if door in each.doors}
    assert wanted
    missing = sorted(wanted - set(inspect.signature(getattr(clew.Index, call)).parameters))
    assert not missing, f"add {missing} to the arguments of `{call}` in src/clew/answers/askable.py"


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("name", ASKED)
def test_a_long_question_is_refused_at_once(index, name, text):
    began = time.process_time()
    with pytest.raises(InputError, match=r"at most 1,000 tokens and 5,000 characters: shorten"):
        ASKED[name](index, text)
    assert time.process_time() - began < 1


def test_a_question_at_the_bound_is_answered():
    for text in LONG.values():
        shorter = shorten_question(text)
        check_length(shorter)
        assert 0 < len(shorter) <= MOST_CHARACTERS
    check_length("a " * (MOST_TOKENS - 1))
    with pytest.raises(InputError):
        check_length("a " * MOST_TOKENS * 2)


@pytest.mark.parametrize("text", ODD)
def test_half_a_character_is_named(index, text):
    for name, ask in ASKED.items():
        with pytest.raises(InputError, match=r"valid Unicode.*\\ud"):
            ask(index, text)
        assert name
    for call in (index.show, lambda t: index.edit(t, type="ship"), lambda t: index.merge(t, "x")):
        with pytest.raises(InputError, match="a text in valid Unicode, not '"):
            call(text)
