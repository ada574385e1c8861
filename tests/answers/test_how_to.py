"""How-to questions are answered by all steps of a list."""

import pytest

import clew
from clew.base.types import Document
from clew.testing import models

STEPS = (
    "1. Empty the drip tray of the machine.\n"
    "2. Fill the tank with one litre of water and the acid for descaling.\n"
    "3. Hold both buttons for five seconds."
)
TEXT = f"# Machine\n\nIt is by the sink.\n\nDescale the machine in spring:\n\n{STEPS}\n\nIt is old."


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("how") / "my.clew", models=models()) as opened:
        opened.add([Document(id="machine.md", title="Machine", text=TEXT)])
        yield opened


@pytest.mark.parametrize(
    "question", ["How do I descale the machine?", "What are the steps for descaling the machine?"]
)
def test_the_steps_are_one_quote(index, question):
    told = []
    answer = index.ask(question, on_text=told.append)
    cited = answer.citations[0]
    assert cited.quote.endswith(STEPS)
    assert TEXT[cited.start : cited.end] == cited.quote
    assert not any(cited.start <= each.start < cited.end for each in answer.citations[1:])
    assert "".join(told) == answer.text


@pytest.mark.parametrize(
    "question",
    ["What is the third step of descaling?", "How long are both buttons of the machine held?"],
)
def test_a_question_for_one_step_gets_that(index, question):
    quotes = [each.quote for each in index.ask(question).citations]
    assert quotes[0] == "3. Hold both buttons for five seconds."
    assert STEPS not in quotes


def test_a_list_goes_on_behind_its_chunk(tmp_path):
    """The quote is whole although the passage ends in the middle of the list."""
    lines = "\n".join(f"{i}. Turn the crank of pump {i} until it stops." for i in range(1, 13))
    filler = "The harbour has a crane and a slip. " * 30
    text = f"{filler}\n\nStart the pumps in this order:\n\n{lines}\n\n{filler}"
    settings = clew.Settings(chunking=clew.Chunking(size=64, overlap=0))
    with clew.open(tmp_path / "my.clew", models=models(), settings=settings) as index:
        index.add([Document(id="pumps.txt", text=text)])
        cited = index.ask("How do I start the pumps with the crank?").citations[0]
    assert "1. Turn" in cited.quote
    assert "12. Turn" in cited.quote
    assert text[cited.start : cited.end] == cited.quote
