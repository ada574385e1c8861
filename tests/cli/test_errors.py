"""Bad input gives one sentence and a status, never a traceback."""

import errno
import logging
import os
import socket
import subprocess
import sys

import pytest

from clew.api import open_index
from clew.errors import EndpointError
from clew.models import OpenAIChat
from clew.testing import models


def check_one_sentence(result, *parts, status=1):
    assert result.exit_code == status
    assert not result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("clew: ")
    for part in parts:
        assert part in line


def test_a_missing_folder(clew, tmp_path):
    """What is not there is named, and no index is made."""
    check_one_sentence(clew("index", "nowhere"), "there is no file or folder 'nowhere'")
    assert not (tmp_path / "my.clew").exists()


def test_an_empty_folder(clew, tmp_path):
    """A folder without files is an error that names it."""
    (tmp_path / "empty").mkdir()
    check_one_sentence(clew("index", "empty"), "no file to index in 'empty'")


def test_a_binary_file(clew, tmp_path):
    """A file that is no text is skipped with the reason, and no question is suggested."""
    (tmp_path / "data.txt").write_bytes(bytes(range(256)) * 10)
    result = clew("index", "data.txt")
    assert result.exit_code == 3
    [line] = result.stderr.splitlines()
    assert line.startswith("clew: skipped data.txt: ")
    assert "clew ask" not in result.stdout


def test_a_folder_that_is_no_index(clew, articles):
    """Another folder is not taken for an index, and nothing is written into it."""
    before = sorted(articles.iterdir())
    check_one_sentence(clew("search", "Fram", "--index", articles), str(articles))
    check_one_sentence(clew("index", articles, "--into", articles), "holds other files")
    assert sorted(articles.iterdir()) == before


def test_no_index_yet(clew):
    """Where there is no index at all the folder is named."""
    check_one_sentence(clew("ask", "Who?"), "my.clew")


@pytest.mark.parametrize("command", [["ask", "Who?"], ["search", "Who?"]])
@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--method", "magic"], "there is no method 'magic': take one of agrag"),
        (["--param", "depth"], "--param takes NAME=VALUE, not 'depth'"),
        (["--param", "=1"], "--param takes NAME=VALUE"),
        (["--param", "nothing=1"], "no parameter 'nothing': take one of chunks"),
        (["--param", "legs=deep"], "not 'deep'"),
        (["--param", "names=maybe"], "names of the method 'walk' is true or false, not 'maybe'"),
        (["--param", "k=1", "--param", "k=2"], "--param sets k twice: take one of the values"),
        (["--param", "chunks=1", "--chunks", "2"], "--chunks and --param both set chunks"),
        (["--method", "clue", "--param", "ranking=alphabet"], "ranking is 'sets' or 'chunks'"),
        (["--method", "pagerank", "--param", "damping=nan"], "not 'nan'"),
    ],
)
def test_a_bad_method_or_parameter(clew, shared_index, command, options, part):
    """What was wrong is said beside what there is."""
    check_one_sentence(clew(*command, "--index", shared_index, *options), part)


@pytest.mark.parametrize("command", ["ask", "search"])
@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question(clew, shared_index, command, question):
    """Nothing is not a question."""
    result = clew(command, question, "--index", shared_index)
    check_one_sentence(result, "the question is empty")


@pytest.mark.parametrize("command", ["show", "remove"])
def test_an_unknown_id(clew, shared_index, command):
    """An id or name that the index lacks is named."""
    check_one_sentence(clew(command, "nobody", "--index", shared_index), "'nobody'")


def test_an_unknown_model(clew, articles):
    """A spec that names no model is refused with those there are."""
    from clew.cli.options import open_index

    result = clew("index", articles, "--embedder", "magic", obj=open_index)
    check_one_sentence(result, "there is no embedder 'magic': take one of minilm")


def test_an_overlap_beyond_the_chunk(clew, articles):
    """Settings that exclude each other are refused."""
    result = clew("index", articles, "--chunk-size", 8, "--chunk-overlap", 8)
    check_one_sentence(result, "cannot overlap by 8")


def test_other_settings_than_the_index_has(clew, articles, own_index):
    """An index keeps the chunk size it was made with."""
    result = clew("index", articles, "--into", own_index, "--chunk-size", 64)
    check_one_sentence(result, "built with the chunk_size 256, not 64")


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask"],
        ["index"],
        ["remove"],
        ["fly"],
        ["ask", "Who?", "--chunks", "0"],
        ["search", "Who?", "--chunks", "many"],
        ["ask", "Who?", "--context-tokens", "0"],
        ["show", "--colour"],
    ],
)
def test_a_command_that_is_written_wrongly(clew, arguments):
    """Usage errors have status 2 and point to the help."""
    result = clew(*arguments)
    assert result.exit_code == 2
    assert "--help" in result.stderr


def raising(error):
    def opener(folder, **_):
        raise error

    return opener


def test_a_message_stays_one_safe_line(clew):
    """Line breaks and escape sequences in a message do not reach the terminal."""
    result = clew("ask", "Who?", obj=raising(EndpointError("it said:\n\x1b[31mno\r\n")))
    check_one_sentence(result, "it said: <U+001B>[31mno")


def test_an_interruption(clew, articles):
    """Ctrl-C ends with status 130, and says that the same command goes on."""
    result = clew("index", articles, obj=raising(KeyboardInterrupt()))
    check_one_sentence(result, "kept", "the same command goes on", status=130)


@pytest.mark.parametrize("command", ["ask", "search"])
def test_an_llm_that_is_not_there_is_done_without(clew, shared_index, monkeypatch, command):
    """A note stands with what is found; where it was looked for is a line on stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    llm = OpenAIChat(base_url=address, model="m")

    def opener(folder, **_):
        return open_index(folder, models=models(llm=llm))

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's, which take all
    given = ("--index", shared_index, "--llm", f"openai:m@{address}")
    result = clew(command, "Who built the Fram?", *given, obj=opener)
    assert result.exit_code == 0
    assert "Colin Archer built the Fram" in result.stdout
    assert "Note: the LLM" in result.stdout
    assert "cannot be reached" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith(f"clew: the LLM is done without: {address}/chat/completions cannot be")


def test_an_error_of_the_system(clew, articles):
    """A disk that is full or a folder that is closed is no traceback."""
    error = PermissionError(errno.EACCES, "Permission denied", "/closed")
    check_one_sentence(clew("index", articles, obj=raising(error)), "/closed: Permission denied")


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_closed_pipe_is_silent():
    """A reader that has seen enough causes no complaint."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "clew", "methods"]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert not result.stderr
