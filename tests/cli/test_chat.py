"""`clew chat`: questions line by line, each a follow-up of those before."""

import json
import os
import pty
import subprocess
import sys

import pytest

from clew.testing import ScriptedLLM
from tests.cli.conftest import with_llm

TALK = "Who built the Fram?\nWhere was he born?\nAnd Nansen?\nthanks\n"


def test_questions_are_answered_in_turn(clew, own_index):
    result = clew("chat", own_index, "-q", input=TALK)
    assert (result.exit_code, result.stderr) == (0, "")
    *_, built, born, nansen, thanks = result.stdout.split("> ")
    assert built.startswith("Who built the Fram?\n")
    assert "Colin Archer built the Fram for Nansen." in built
    assert "read as “Where was he born? (Colin Archer)”" in born
    assert "read as “Where was Nansen born?”" in nansen
    assert "No answer" in thanks
    assert "this asks nothing" in thanks


def test_it_prints_what_ask_does(clew, own_index):
    asked = clew("ask", "Who built the Fram?", "--index", own_index, "-q").stdout
    talked = clew("chat", own_index, "-q", input="Who built the Fram?\n\nNever read\n")
    assert talked.stdout == f"> Who built the Fram?\n{asked}\n"


def test_options_and_history(clew, own_index, tmp_path):
    kept = tmp_path / "talk.jsonl"
    for line in ("Who built the Fram?", "Where was he born?"):
        result = clew("chat", own_index, "--history", kept, "--quotes", 1, "-q", input=line)
        assert result.stdout.count("[1]") == 1
    turns = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    assert [turn["question"] for turn in turns] == ["Who built the Fram?", "Where was he born?"]
    refused = clew("chat", own_index, "--history", kept, "--threshold", 1, input="And Nansen?\n")
    assert refused.exit_code == 0
    assert "Nothing in this index answers this." in refused.stdout
    assert json.loads(kept.read_text("utf-8").splitlines()[-1])["answer"] == ""


def test_a_wrong_question_does_not_end_it(clew, own_index):
    result = clew("chat", own_index, "-q", input=f"{'long ' * 2_000}\nWho built the Fram?\n")
    assert result.exit_code == 1
    assert result.stderr.startswith("clew: a question has at most ")
    assert result.stderr.count("\n") == 1
    assert "Colin Archer built the Fram" in result.stdout


def test_wrong_options_end_it(clew, own_index, tmp_path):
    assert clew("chat", own_index, input="").stdout == ""
    assert clew("chat", own_index, "--method", "none", input=TALK).exit_code == 1
    missing = clew("chat", "--index", tmp_path / "none.clew", input=TALK)
    assert (missing.exit_code, missing.stderr[:5]) == (1, "clew:")
    kept = tmp_path / "none" / "talk.jsonl"
    assert "cannot be written" in clew("chat", own_index, "--history", kept, input=TALK).stderr


def test_an_llm_answers_and_is_told_of_the_turns(clew, own_index):
    replies = ["Colin Archer [1].", {"question": "Where was Colin Archer born?"}, "In Larvik [1]."]
    llm, said = ScriptedLLM(*replies), TALK.partition("And")[0]
    result = clew("chat", own_index, "--method", "bm25", input=said, obj=with_llm(llm))
    assert "In Larvik" in result.stdout
    assert "Answer: Colin Archer." in llm.prompts[1].user


@pytest.mark.skipif(os.name == "nt", reason="there is no pty")
def test_a_terminal_has_a_prompt(own_index):
    leader, follower = pty.openpty()
    script = "from clew.cli import main; main(prog_name='clew')"
    command = [sys.executable, "-c", script, "chat", str(own_index), "-q"]
    with subprocess.Popen(command, stdin=follower, stdout=subprocess.PIPE, text=True) as process:
        os.write(leader, b"\n")
        shown, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert shown.startswith("> ")


def test_a_remark_needs_an_index_too(clew):
    """What asks nothing fails where a question would."""
    result = clew("ask", "thanks", "--index", "nowhere.clew")
    assert result.exit_code == 1
    assert "nowhere.clew is not a Clew index" in result.stderr


def test_a_conversation_with_no_index_ends_before_it_begins(clew, tmp_path):
    result = clew("chat", "--index", tmp_path / "none", input="")
    assert result.exit_code == 1
    assert "is not a Clew index" in result.stderr
