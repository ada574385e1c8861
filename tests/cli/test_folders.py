"""Folders as a user has them: two of one name, files that go, documents by pattern."""

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder with two of the name `docs`, and an index of both."""
    monkeypatch.chdir(tmp_path)
    for name in ("p1/docs/index.md", "p2/docs/index.md", "p2/docs/more.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.", encoding="utf-8")
    return tmp_path


@pytest.fixture
def both(clew, here):
    assert clew("index", "p1/docs").exit_code == 0
    assert clew("index", "p2/docs").exit_code == 0


def test_documents_are_listed(clew, both):
    listed = clew("list").stdout.splitlines()
    ids = ["docs/index.md", "p2/docs/index.md", "p2/docs/more.md"]
    assert [line.split()[1] for line in listed] == ids
    found = json.loads(clew("list", "p2/*", "--sort", "title", "--json").stdout)
    assert [row["id"] for row in found["documents"]] == ["p2/docs/index.md", "p2/docs/more.md"]
    assert found["documents"][0]["characters"] == len("This is p2/docs/index.md.")
    refused = clew("list", "p3")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "clew: no document 'p3' in my.clew: see 'clew list'\n"
    dry = clew("remove", "p2/docs", "--dry-run")
    assert dry.stdout.splitlines() == ["p2/docs/index.md", "p2/docs/more.md"]
    assert "2 documents would be removed from my.clew." in dry.stderr
    assert clew("remove", "p2/docs").stdout == "Removed 2 documents from my.clew.\n"
    assert len(clew("list").stdout.splitlines()) == 1


def test_files_that_are_gone(clew, both):
    Path("p2/docs/more.md").unlink()
    told = clew("index", "p2/docs").stdout
    assert "1 document no longer there: --prune removes it" in told
    told = clew("index", "p2/docs", "--prune").stdout
    assert "1 document no longer there: removed" in told
    assert len(clew("list").stdout.splitlines()) == 2
    Path("p1/docs/index.md").unlink()
    done = clew("index", "p1/docs", "--prune")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "1 document no longer there: removed" in done.stdout
    assert clew("index", "p1/docs").exit_code == 1


def test_files_that_no_reader_takes(clew, here):
    """They are summed up by suffix and no failure; one that is named itself is."""
    for name in ("a.png", "b.png", "c.gif", "LOGO"):
        Path("p1/docs", name).write_bytes(b"\0")
    done = clew("index", "p1/docs")
    assert done.exit_code == 0
    told = "4 files that no reader takes: 2 .png, 1 .gif, 1 without suffix"
    assert (
        done.stderr.splitlines()[-1]
        == f"clew: skipped {told} (--verbose names them, --ocr reads pictures)"
    )
    Path("p1/docs/empty.md").write_text("", encoding="utf-8")
    assert clew("index", "p1/docs").exit_code == 3
    named = clew("index", "p1/docs/index.md", "p1/docs/a.png")
    assert (named.exit_code, "no reader for .png files" in named.stderr) == (3, True)
    skipped = json.loads(clew("index", "p1/docs", "--json").stdout)["report"]["skipped"]
    assert len(skipped) == 5


def test_what_is_left_out_is_summed_up(clew, here):
    """One line says how many there are and why; --prune takes their documents out."""
    for name in ("a.log", "b.log", "old/c.md", ".gitignore"):
        path = here / "p1/docs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("" if name == ".gitignore" else f"This is {name}.")
    assert "left out" not in clew("index", "p1/docs").stdout
    Path("p1/docs/.gitignore").write_text("*.log\n", encoding="utf-8")
    done = clew("index", "p1/docs", "--exclude", "old")
    assert (done.exit_code, done.stderr) == (0, "")
    counts = "1 by --exclude, 2 by .gitignore, see --no-gitignore"
    assert f"  files and folders left out: {counts}" in done.stdout.splitlines()
    assert "3 documents no longer there or left out: --prune removes them" in done.stdout
    clew("index", "p1/docs", "--exclude", "old", "--exclude", "*.md", "--no-gitignore", "--prune")
    listed = clew("list").stdout.splitlines()
    assert [line.split()[1] for line in listed] == ["docs/a.log", "docs/b.log"]
    refused = clew("index", "p1/docs", "--exclude", "*", "--into", "new.clew")
    assert refused.exit_code == 1
    assert refused.stderr.endswith("in a .gitignore file; see --no-gitignore\n")


def test_files_and_folders_that_moved(clew, both):
    Path("p2/docs/more.md").write_text("# More\n\nThis is more.", encoding="utf-8")
    clew("index", "p2/docs")
    shutil.move("p2/docs/more.md", "p2/docs/most.md")
    told = clew("index", "p2/docs").stdout
    assert "0 added, 0 changed, 0 restored, 1 renamed, 1 unchanged, 0 skipped" in told
    assert "no longer there" not in told
    assert clew("list", "p2/docs/most.md").exit_code == 0
    shutil.move("p1", "p3")
    refused = clew("index", "p3/docs")
    assert refused.exit_code == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "say --as docs if it was moved there" in refused.stderr
    assert "1 unchanged" in clew("index", "p3/docs", "--as", "docs").stdout
    assert "1 unchanged" in clew("index", "p3/docs").stdout


def test_a_plan_leaves_out_what_indexing_does(clew, here):
    Path("p2/.gitignore").write_text("more.md\n", encoding="utf-8")
    planned = [
        json.loads(clew("plan", "p2", "p1", "--json", *options).stdout)["n_documents"]
        for options in (["--no-gitignore"], [], ["--exclude", "p2/*"])
    ]
    assert planned == [3, 2, 1]
    done = clew("index", "p2/docs", "--exclude", "more*", "--no-gitignore")
    assert "1 added" in done.stdout


def test_links_out_of_a_folder(clew, here):
    """They are named with a reason; an option or the configuration reads them, and back."""
    Path("p1/docs/more.md").symlink_to(Path("p2/docs/more.md").resolve())
    done = clew("index", "p1/docs")
    assert "skipped p1/docs/more.md: links to " in done.stderr
    assert "outside the folder: read it with --follow-links" in done.stderr
    assert len(clew("list").stdout.splitlines()) == 1
    assert clew("index", "p1/docs", "--follow-links").exit_code == 0
    assert len(clew("list").stdout.splitlines()) == 2
    assert "1 document no longer there" in clew("index", "p1/docs").stdout
    Path("clew.toml").write_text("[index]\nfollow-links = true\n", encoding="utf-8")
    assert clew("index", "p1/docs", "--prune").exit_code == 0
    assert len(clew("list").stdout.splitlines()) == 2
