"""An answer on a terminal while an LLM writes it, and conversations in a file."""

import io
import json
import re
import sys
from functools import partial
from itertools import pairwise

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.api import open_index
from clew.base.types import Answer, Context, Evidence
from clew.cli import main
from clew.cli.plain import wrap_text
from clew.cli.render import AnswerWriter, lay_out_prose
from clew.models import Turn
from clew.testing import ScriptedChat, models

QUESTION = "Where was Colin Archer born?"
REPLY = "Colin Archer was born in Larvik [1]"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def answered(text, kind="generated"):
    context = Context(passages=(), text="", n_tokens=0, budget_tokens=9)
    evidence = Evidence(query="?", method="walk")
    return Answer(
        question="?", text=text, kind=kind, citations=(), context=context, evidence=evidence
    )


def written(pieces, answer):
    """What a terminal shows of pieces and the end of an answer, and whether it is all there."""
    out = io.StringIO()
    with click.Context(click.Command("ask")).scope(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        writing = AnswerWriter()
        for piece in pieces:
            writing(piece)
        is_written = writing.finish(answer)
    return out.getvalue(), is_written


@given(
    st.lists(
        st.sampled_from(["ice", "Larvik-on-Sea", "x" * 130, "e\u0301\u200b", "北極" * 30, "."])
    ),
    st.data(),
)
def test_what_is_written_is_what_would_be_printed(words, data):
    """The same lines as of the whole text, however it came; what obeys no terminal is shown."""
    text = " ".join(words)
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=9).map(sorted))
    edges = [0, *places, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges) if a < b]
    out, is_written = written(pieces, answered(text))
    assert is_written == bool(text)
    assert out == (f"{wrap_text(text)}\n\n" if text else "")


MARKDOWN = """Two ships:

- the **Fram**, which was built in Larvik, launched in 1892, which went north with Nansen and west
  with Sverdrup before Amundsen took her south
  1. a nested item
- the Maud

## Steps

| Ship | Year |
|---|---|
| Fram | 1892 |

```sh
ls   -l   argv[1]
```
Done."""


@given(st.data())
def test_lists_tables_and_code_stay(data):
    """Nothing collapses, and what is streamed is what is printed whole."""
    places = data.draw(st.lists(st.integers(0, len(MARKDOWN)), max_size=30).map(sorted))
    edges = [0, *places, len(MARKDOWN)]
    out, _ = written([MARKDOWN[a:b] for a, b in pairwise(edges) if a < b], answered(MARKDOWN))
    lines = out.splitlines()
    assert out == f"{lay_out_prose(MARKDOWN)}\n\n"
    assert lines[0] == "Two ships:"
    assert lines[2].startswith("- the Fram, which")
    assert lines[3].startswith("  ")
    assert {"  1. a nested item", "- the Maud", "Steps", "| Fram | 1892 |", "ls   -l   argv[1]"} < {
        *lines
    }


def test_quotes_are_not_written():
    """They come in one piece, and are shown with their heading; what came before is taken back."""
    assert written(["Archer built her."], answered("Archer built her.", "quoted")) == ("", False)
    out, is_written = written(["Lar", "vik is ", None, "A quote."], answered("A quote.", "quoted"))
    assert not is_written
    assert "A quote" not in out
    assert re.search(r"that reply cannot be used", out) is None  # no whole word was written yet
    out, _ = written(["Larvik ", "is ", None, "A quote."], answered("A quote.", "quoted"))
    assert out.startswith("Larvik\n")
    assert "that reply cannot be used" in out
    out, is_written = written(["Oslo ", "is ", None, "Lar", "vik"], answered("Larvik"))
    assert is_written
    assert out.endswith("\nLarvik\n\n")


@pytest.fixture
def ask(own_index, monkeypatch):
    """Ask on a terminal, or not, what an LLM answers with `reply`."""

    def run(*options, reply=REPLY, terminal=True, llm=True):
        def say(prompt, _turns):
            if prompt.version.startswith("query_entities"):
                return {"named_entities": ["Colin Archer"]}
            return reply

        def opener(folder, **_):
            return open_index(folder, models=models(llm=ScriptedChat(say) if llm else None))

        out = Terminal() if terminal else io.StringIO()
        arguments = ["ask", QUESTION, "--index", str(own_index), "--anyway", *options]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            with pytest.raises(SystemExit) as ended:
                main.main([*arguments, *(["--llm", "any"] if llm else [])], obj=opener)
        assert ended.value.code == 0
        return re.sub(r"\d+\.\d\d s", "0 s", click.unstyle(out.getvalue()))

    return run


def without_cost(text):
    return text.rpartition("\n\n")[0]


@pytest.mark.parametrize("reply", [REPLY, "ANSWER: Larvik", Turn("", "the reply is empty")])
def test_a_terminal_shows_the_same(ask, reply):
    assert without_cost(ask(reply=reply)) == without_cost(ask(reply=reply, terminal=False))
    assert without_cost(ask(llm=False)) == without_cost(ask(llm=False, terminal=False))


def test_json_is_json_on_a_terminal(ask):
    assert json.loads(ask("--json"))["text"] == "Colin Archer was born in Larvik"


@pytest.fixture
def talk(clew, own_index, tmp_path):
    """Give a file of a conversation, and what asks with it."""
    file = tmp_path / "talk.jsonl"
    return file, partial(clew, "ask", "--index", own_index, "--history", file)


def test_a_conversation_goes_on_in_a_file(talk):
    """A refusal is a turn, too: the next question may lean on what it asked."""
    file, ask = talk
    assert ask("--threshold", "1", "Who led the Belgica?").exit_code == 5
    assert ask("--anyway", "Who built the Fram?").exit_code == 0
    answer = json.loads(ask("--anyway", "--json", "Where was he born?").stdout)
    refused, first, second = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    assert refused == {"question": "Who led the Belgica?", "answer": ""}
    assert first["question"] == "Who built the Fram?"
    assert "Colin Archer" in first["answer"]
    assert second["question"] == answer["question"] == "Where was he born?"
    assert answer["evidence"]["query"].startswith("Where was he born? (")
    assert second["answer"] == answer["text"]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"question": "Who?"}', '{"question": 3, "answer": ""}']
)
def test_a_file_that_is_no_conversation(talk, line):
    file, ask = talk
    file.write_text(f'{{"question": "Who?", "answer": "He."}}\n\n{line}\n')
    found = ask("Who?")
    assert found.exit_code == 1
    assert "line 3, is not a turn of a conversation" in found.stderr
    assert file.read_text().endswith(f"{line}\n")


def test_a_file_that_cannot_be_used(talk, tmp_path):
    file, ask = talk
    file.write_bytes(b"\xff\xfe\xfd")
    assert "cannot be read as a conversation" in ask("Who?").stderr
    found = ask("Who built the Fram?", "--anyway", "--history", tmp_path / "none" / "talk.jsonl")
    assert "cannot be written: there is no folder" in found.stderr
