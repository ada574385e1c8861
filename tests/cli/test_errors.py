"""Bad input gives one sentence and a status, never a traceback."""

import errno
import logging
import os
import socket
import subprocess
import sys
from functools import partial

import pytest

from clew.api import open_index
from clew.errors import EndpointError
from clew.testing import models


def check_one_sentence(result, *parts, status=1):
    assert result.exit_code == status
    assert not result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("clew: ")
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["index", "nowhere"], "there is no file or folder 'nowhere'"),
        (["index", "empty"], "no file to index in 'empty'"),
        (["index", "text.md", "--chunk-size", 8, "--chunk-overlap", 8], "cannot overlap by 8"),
        (["ask", "Who?"], "my.clew"),
        (["search", "Fram", "--index", "empty"], "empty"),
    ],
)
def test_where_there_is_no_index(clew, tmp_path, arguments, part):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.md").write_text("Ice.", encoding="utf-8")
    check_one_sentence(clew(*arguments), part)
    assert not (tmp_path / "my.clew").exists()


def test_an_unreadable_file_and_an_unknown_model(clew, tmp_path, articles):
    (tmp_path / "data.txt").write_bytes(bytes(range(256)) * 10)
    result = clew("index", "data.txt")
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert "nothing could be read: data.txt: " in line
    assert not (tmp_path / "my.clew").exists()
    assert "clew ask" not in result.stdout
    from clew.cli.options import open_index

    result = clew("index", articles, "--embedder", "magic", obj=open_index)
    check_one_sentence(result, "there is no embedder 'magic': choose one of minilm")


def test_a_folder_that_is_no_index(clew, articles):
    before = sorted(articles.iterdir())
    check_one_sentence(clew("search", "Fram", "--index", articles), str(articles))
    check_one_sentence(clew("index", articles, "--into", articles), "contains other files")
    assert sorted(articles.iterdir()) == before


@pytest.mark.parametrize("command", ["ask", "search"])
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["Who?", "--method", "magic"], "there is no method 'magic': choose one of agrag"),
        (["Who?", "--param", "depth"], "--param takes NAME=VALUE, not 'depth'"),
        (["Who?", "--param", "=1"], "--param takes NAME=VALUE"),
        (["Who?", "--param", "nothing=1"], "no parameter 'nothing': choose one of chunks"),
        (["Who?", "--param", "legs=deep"], "not 'deep'"),
        (
            ["Who?", "--method=clue", "--param", "as_set=maybe"],
            "'clue' is true or false, not 'maybe'",
        ),
        (
            ["Who?", "--param", "k=1", "--param", "k=2"],
            "--param sets k twice: choose one of the val",
        ),
        (["Who?", "--param", "chunks=1", "--chunks", "2"], "--chunks and --param both set chunks"),
        (["Who?", "--method=clue", "--param", "ranking=alphabet"], "ranking is 'sets' or 'chunks'"),
        (["Who?", "--method=pagerank", "--param", "damping=nan"], "not 'nan'"),
        ([""], "the question is empty"),
        (["  \n"], "the question is empty"),
    ],
)
def test_a_bad_question_method_or_parameter(clew, own_index, command, arguments, part):
    check_one_sentence(clew(command, *arguments, "--index", own_index), part)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "nobody", "--index"], "'nobody'"),
        (["remove", "nobody", "--index"], "'nobody'"),
        (["index", "text.md", "--chunk-size", 64, "--into"], "the chunk_size 256, not 64"),
    ],
)
def test_what_does_not_fit_the_index(clew, own_index, tmp_path, arguments, part):
    (tmp_path / "text.md").write_text("Ice.", encoding="utf-8")
    check_one_sentence(clew(*arguments, own_index), part)


@pytest.mark.parametrize(
    "command",
    ["ask", "index", "remove", "fly", "ask Who? --chunks 0", "search Who? --chunks many",
     "ask Who? --context-tokens 0", "show --colour"],
)  # fmt: skip
def test_a_command_that_is_written_wrongly(clew, command):
    result = clew(*command.split())
    assert result.exit_code == 2
    assert "--help" in result.stderr


@pytest.mark.parametrize(
    ("error", "parts", "status"),
    [
        (EndpointError("it said:\n\x1b[31mno\r\n"), ["it said: <U+001B>[31mno"], 1),
        (PermissionError(errno.EACCES, "Permission denied", "/c"), ["/c: Permission denied"], 1),
        (KeyboardInterrupt(), ["kept", "run the same command again to continue"], 130),
    ],
    ids=["unsafe", "system", "Ctrl-C"],
)
def test_an_error_is_one_safe_line(clew, articles, error, parts, status):
    def opener(_folder, **_):
        raise error

    check_one_sentence(clew("index", articles, obj=opener), *parts, status=status)


@pytest.mark.satellite
@pytest.mark.parametrize("command", ["ask", "search"])
def test_an_llm_that_is_not_there_is_done_without(clew, own_index, monkeypatch, command):
    """A note stands with what is found; where it was looked for is a line on stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    from clew.models import OpenAIChat

    llm = OpenAIChat(base_url=address, model="m")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's, which take all
    given = ("--index", own_index, "--llm", f"openai:m@{address}")
    opened = partial(open_index, models=models(llm=llm))
    result = clew(command, "Who built the Fram?", *given, obj=lambda folder, **_: opened(folder))
    assert result.exit_code == 0
    assert "Colin Archer built the Fram" in result.stdout
    assert "Note: the LLM" in result.stdout
    assert "cannot be reached" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith(
        f"clew: continuing without the LLM: {address}/chat/completions cannot be"
    )


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_closed_pipe_is_silent():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "clew", "methods"]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert not result.stderr
