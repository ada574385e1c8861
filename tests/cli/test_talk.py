"""`--quiet`, `--verbose` and `--log`: how much a command says beside its result."""

import logging
import re

import pytest


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Ada Lund wound the rope.", encoding="utf-8")
    (folder / "b.png").write_bytes(b"x")
    (folder / "c.xyz").write_bytes(b"x")
    (folder / "empty.md").write_bytes(b"")
    return folder


@pytest.fixture(autouse=True)
def no_handler_is_left():
    """What a command added to the logger goes with it."""
    yield
    assert logging.getLogger("clew").handlers == []


def test_files_without_a_reader_are_summed_up(clew, files):
    result = clew("index", "docs")
    assert result.exit_code == 3
    summed = "clew: skipped 2 files that no reader takes: 1 .png, 1 .xyz (--verbose names them, "
    assert summed in result.stderr
    named = clew("index", "docs", "--verbose").stderr
    assert "clew: skipped docs/b.png: no reader for .png files" in named
    assert "files that no reader takes" not in named


@pytest.mark.parametrize("arguments", [("-q", "index", "docs"), ("index", "docs", "--quiet")])
def test_quiet(clew, files, arguments):
    result = clew(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (3, "", "")
    asked = clew("-q", "ask", "Who wound the rope?")
    assert "Ada Lund" in asked.stdout
    for command in ("ask", "search"):
        spoken, quiet = clew(command, "Who wound the rope?"), clew(command, "Who wound it?", "-q")
        assert "tokens" in spoken.stdout
        assert "tokens" not in quiet.stdout
    assert "tokens" not in clew("-q", "ask", "How do I bake bread?", "--threshold", "1").stdout
    assert clew("-q", "remove", "--dry-run", "docs/a.md").stderr == ""
    assert clew("-q", "backup", "copy.tar.gz").stdout == ""
    wrong = clew("-q", "index", "nowhere")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("clew: there is no file")
    assert clew("remove", "docs/a.md", "-q").stdout == ""


@pytest.mark.parametrize("arguments", [("-v", "index", "docs"), ("index", "docs", "-v")])
def test_verbose(clew, files, arguments):
    told = clew(*arguments).stderr
    assert "clew: 1 documents committed, the last of them docs/a.md\n" in told
    assert "reading docs/a.md" not in told
    assert "clew: reading docs/a.md\n" in clew("index", "docs", "-vv").stderr


def test_log(clew, files, tmp_path):
    for _ in range(2):
        assert clew("index", "docs", "--log", "clew.log").exit_code == 3
    assert clew("--log", "clew.log", "ask", "Who wound the rope?").exit_code == 0
    lines = (tmp_path / "clew.log").read_text(encoding="utf-8").splitlines()
    assert all(
        re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ clew\.\S+ ", x) for x in lines
    )
    assert sum("reading docs/a.md" in line for line in lines) == 2
    assert any("walk found 1 chunks in" in line for line in lines)
    assert not any("rope" in line or "Ada" in line for line in lines)
    result = clew("index", "docs", "--log", "no/such/clew.log")
    assert result.exit_code == 1
    assert result.stderr == "clew: no/such/clew.log cannot be written: No such file or directory\n"


def test_names_of_files_cannot_write_lines(clew, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a\nclew: 2 documents.md").write_text("One.", encoding="utf-8")
    clew("index", "docs", "--log", "clew.log")
    lines = (tmp_path / "clew.log").read_text(encoding="utf-8").splitlines()
    assert not any(line.startswith("clew:") for line in lines)
