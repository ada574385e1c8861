"""What an LLM reads and writes by default: a filled context, and an answer in prose."""

from dataclasses import replace

import pytest

import clew
from clew.base.types import Document
from clew.cli import render
from clew.errors import InputError
from clew.models import Turn
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedChat, models
from tests.answers.evidence import answer, evidence, hit, says
from tests.answers.evidence import models as evidence_models

QUESTION = "Who built the Fram?"
BUILT = "The Fram was built by Colin Archer at Larvik."
OTHERS = [
    f"The ship of voyage {n} sailed north with a crew of {n + 10} men, and came back." * 2
    for n in range(40)
]
LISTED = "Colin Archer built two [1]:\n\n- the **Fram** [1]\n- the Maud [2], [9]\n\nNo third one."
FRAM = hit("fram", "Colin Archer built two, the Fram and others.", title="Ships")
MAUD = hit("maud", "The Maud is one of the two that he built.")


@pytest.fixture
def ask(tmp_path):
    """Ask an index of many short texts, with an LLM that replies or without one."""
    documents = [Document(id=f"v{n}", text=text) for n, text in enumerate(OTHERS)]
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([*documents, Document(id="fram", title="Fram", text=BUILT)])

    def run(reply=None, **options):
        llm = None if reply is None else ScriptedChat(lambda *_: reply)
        with clew.open(tmp_path / "my.clew", models=models(llm=llm)) as index:
            return index.ask(QUESTION, min_support=0, **options)

    return run


def test_an_llm_s_context_is_filled_and_begins_with_what_would_be_quoted(ask):
    """Without an LLM it has ten chunks; a parameter, or a paper's method, says how many."""
    quoted = ask()
    assert len(quoted.context.passages) == 10
    for style in ("prose", "short"):
        filled = ask("Archer [1].", style=style).context
        assert len(filled.passages) > 30
        assert filled.passages[0].chunk_id == quoted.citations[0].chunk_id
        assert {p.chunk_id for p in quoted.context.passages} < {p.chunk_id for p in filled.passages}
    small = ask("Archer [1].", context_tokens=600).context
    assert 10 < len(small.passages) < 30
    assert small.n_tokens <= 600
    assert len(ask("Archer [1].", method="walk", chunks=3).context.passages) == 3
    assert len(ask("Archer [1].", method="clue").context.passages) <= 10


def test_quotes_instead_of_an_llm_s_answer_are_those_without_one(ask):
    failed, quoted = ask(Turn("", "the reply is empty")), ask()
    assert (failed.kind, failed.text) == ("quoted", quoted.text)
    assert failed.context.passages == quoted.context.passages


def test_a_style_is_one_of_two(ask):
    with pytest.raises(InputError, match="'style' is one of prose, short, not 'long'"):
        ask("Archer", style="long")


def test_markdown_and_its_citations():
    """Lists keep their lines; a number that no passage has is left out."""
    found = answer(QUESTION, evidence(FRAM, MAUD), says(LISTED), style="prose")
    text = "Colin Archer built two:\n\n- the **Fram**\n- the Maud\n\nNo third one."
    assert (found.kind, found.text) == ("generated", text)
    places = {
        each.number: [text[:at].splitlines()[-1] for at in each.at] for each in found.citations
    }
    assert places == {1: ["Colin Archer built two", "- the **Fram**"], 2: ["- the Maud"]}


def test_a_refusal_in_prose():
    """The word for no answer refuses, if the LLM was told that it may."""
    likely = replace(evidence(FRAM), support=0.4)
    for reply in ("unknown", "Unknown. The passages are about ships."):
        told = answer(QUESTION, likely, says(reply), style="prose")
        assert told.kind == "generated"
        refused = answer(QUESTION, likely, says(reply), style="prose", min_support=0.2)
        assert (refused.kind, refused.text) == ("refused", "")
    partly = "He built her [1]. The sources do not say when."
    found = answer(QUESTION, likely, says(partly), style="prose", min_support=0.2)
    assert found.text == "He built her. The sources do not say when."


def test_citations_are_told_behind_their_claims():
    told = []
    given = evidence_models(llm=recorded(ScriptedChat(lambda *_: LISTED)))
    found = answer(
        QUESTION, evidence(FRAM, MAUD), given, style="prose", on_text=told.append,
        on_citation=lambda each: told.append(f" [{each.number}]"),
    )  # fmt: skip
    marked = "Colin Archer built two [1]:\n\n- the **Fram** [1]\n- the Maud [2]\n\nNo third one."
    assert "".join(told) == marked == render.mark_citations(found)
