"""`clew ask` and `clew search`."""

import json
import re
from pathlib import Path

import pytest

from clew.api import open_index
from clew.models import Reply
from clew.testing import ScriptedLLM, models

QUESTION = "Where was Colin Archer born?"


def open_with_llm(llm):
    return lambda folder, **_: open_index(folder, models=models(llm=llm))


def test_ask_quotes_cites_and_draws_the_thread(clew, shared_index):
    """Without an LLM there are sentences with their places, the thread, and what it cost."""
    result = clew("ask", QUESTION, "--index", shared_index)
    assert result.exit_code == 0
    assert "The sentences that support an answer best" in result.stdout
    assert re.search(r"\[\d\] \S+/archer\.md:\d+-\d+\n +\"", result.stdout)
    assert "┌ question  Where was Colin Archer born?" in result.stdout
    assert "(the question names it: Colin Archer)" in result.stdout
    assert re.search(r"└ chunk +polar/\w+\.md:\d+-\d+ \(holds it\)", result.stdout)
    assert re.search(r"\n0 tokens, 0 LLM calls; .+\n$", result.stdout)
    assert "\x1b" not in result.stdout


def test_a_citation_is_what_stands_there(clew, shared_index):
    """The range of a citation, cut out of the file, is its quote."""
    answer = json.loads(clew("ask", QUESTION, "--index", shared_index, "--json").stdout)
    assert answer["kind"] == "quoted"
    for cited in answer["citations"]:
        text = Path(cited["source"]).read_text(encoding="utf-8")
        assert text[cited["start"] : cited["end"]] == cited["quote"]


def test_an_llm_answers_in_its_words(clew, shared_index):
    """A generated answer comes first, its numbers as citations, its cost in the ledger."""
    names = Reply(text="", data={"named_entities": []}, prompt_tokens=10, cost_usd=0.001)
    text = "It says so [1]. ANSWER: in Larvik [1]"
    said = Reply(text=text, prompt_tokens=10, completion_tokens=5, cost_usd=0.002)
    opener = open_with_llm(ScriptedLLM(names, said))
    result = clew("ask", QUESTION, "--index", shared_index, obj=opener)
    assert result.stdout.startswith("in Larvik\n\n  [1] ")
    assert "25 tokens, 2 LLM calls, $0.0030;" in result.stdout


def test_a_method_without_retrieval_says_what_it_needs(clew, shared_index):
    """Where nothing was found the output says so, and the note says why."""
    result = clew("ask", QUESTION, "--index", shared_index, "--method", "zero_shot")
    assert result.stdout.startswith("No answer: ")
    assert "Note: zero_shot answers by an LLM only" in result.stdout


def test_search_ranks_chunks(clew, shared_index):
    """Each hit has its place, score, title, range and first words."""
    result = clew("search", "Shackleton died aboard", "--index", shared_index, "--method", "bm25")
    assert re.match(r"  1  \d\.\d{3}  Quest\n +\S+quest\.md:\d+-\d+\n +Ernest Sh", result.stdout)


def test_search_that_finds_nothing_says_so(clew, shared_index):
    """A lexical search for unknown words has no hit, which is no error."""
    result = clew("search", "xyzzy", "--index", shared_index, "--method", "bm25")
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing in the index fits")


def test_search_json_and_number_of_chunks(clew, shared_index):
    """--chunks bounds the hits; JSON has the evidence with plain values."""
    result = clew("search", "Fram", "--index", shared_index, "--chunks", 2, "--json")
    evidence = json.loads(result.stdout)
    assert evidence["method"] == "clue"
    assert [set(hit) >= {"chunk_id", "score", "start"} for hit in evidence["hits"]] == [True] * 2


def test_parameters_reach_the_method(clew, shared_index):
    """--param sets numbers, truth values and words by the parameter's own type."""
    given = ["--param", "depth=1", "--param", "fill=no", "--param", "ranking=chunks"]
    result = clew("search", "Fram", "--index", shared_index, *given, "--json")
    assert result.exit_code == 0
    assert max(len(path["steps"]) for path in json.loads(result.stdout)["paths"]) <= 4


def test_a_budget_holds(clew, shared_index):
    """The context has no more tokens than --context-tokens."""
    result = clew("ask", "Fram", "--index", shared_index, "--context-tokens", 30, "--json")
    assert json.loads(result.stdout)["context"]["n_tokens"] <= 30


@pytest.mark.parametrize("command", ["ask", "search", "show"])
def test_documents_cannot_command_the_terminal(clew, tmp_path, command):
    """Escape sequences and markup in a document are shown and not obeyed."""
    text = "# \x1b[31mRed\n\n[bold]Evil Bob[/bold] said \x1b]0;owned\x07 and \u202eback \x9b2J."
    (tmp_path / "evil.md").write_text(text, encoding="utf-8")
    clew("index", tmp_path / "evil.md")
    arguments = ["evil.md"] if command == "show" else ["Evil Bob"]
    result = clew(command, *arguments, color=True)
    assert result.exit_code == 0
    assert "Red" in result.stdout
    own = re.compile(r"\x1b\[(0|1|2|36)m")  # what the command line itself sets
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", own.sub("", result.stdout))
    if command != "show":
        assert "[bold]Evil Bob[/bold]" in result.stdout


def test_json_has_no_control_characters(clew, tmp_path):
    """JSON escapes what a terminal would obey, and gives it back when read."""
    (tmp_path / "evil.md").write_text("Evil Bob said \x9b2J and é.", encoding="utf-8")
    clew("index", tmp_path / "evil.md")
    result = clew("search", "Evil Bob", "--json")
    assert result.stdout.isascii()
    assert "\x9b2J" in json.loads(result.stdout)["hits"][0]["text"]


def test_colour_is_off_where_it_is_not_wanted(clew, shared_index):
    """NO_COLOR wins over a terminal that could."""
    result = clew("search", "Fram", "--index", shared_index, env={"NO_COLOR": "1"}, color=True)
    assert "\x1b" not in result.stdout


def test_lines_fit_the_terminal(clew, shared_index):
    """No line is longer than a hundred columns, or than the terminal."""
    for columns, most in ((200, 100), (60, 60)):
        env = {"COLUMNS": str(columns)}
        text = clew("methods", "clue", env=env).stdout
        text += clew("methods", env=env).stdout
        assert max(map(len, text.splitlines())) <= most
