"""`--quiet` and `--verbose`: how much a command says beside its result."""

import logging

import pytest


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Ada Lund wound the rope.", encoding="utf-8")
    (folder / "b.png").write_bytes(b"x")
    (folder / "c.pem").write_bytes(b"x")
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
    summed = "clew: skipped 2 files that no reader takes: 1 .pem, 1 .png (--verbose names them, "
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


def test_what_is_told_has_no_text(clew, files):
    lines = clew("index", "docs", "-vv").stderr.splitlines()
    assert sum("reading docs/a.md" in line for line in lines) == 1
    lines += clew("-vv", "ask", "Who wound the rope?").stderr.splitlines()
    assert any("walk found 1 chunks in" in line for line in lines)
    assert all(line.startswith("clew: ") for line in lines)
    assert not any("rope" in line or "Ada" in line for line in lines)


def test_names_of_files_cannot_write_lines(clew, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a\nclew: 2 documents.md").write_text("One.", encoding="utf-8")
    lines = clew("index", "docs", "-vv").stderr.splitlines()
    assert not any(line.startswith("clew: 2") for line in lines)
