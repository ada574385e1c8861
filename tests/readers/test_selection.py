"""What is left out of folders: by name, by `.gitignore` files as git has them, by patterns."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.base.types import Document
from clew.errors import InputError
from clew.readers import read
from clew.readers.selection import Selection
from tests.index.build import scratch

GIT = shutil.which("git")


def ids(paths, **chosen):
    selection = Selection(**chosen)
    return [item.id for item in read(paths, None, selection) if isinstance(item, Document)]


def test_what_programs_leave_is_left_out(write):
    """Hidden files, packages, caches and environments; unless they are named."""
    names = (
        ".obsidian/a.md node_modules/x/a.md in/__pycache__/a.md a.egg-info/a.txt ~$a.md "
        "html/_sources/a.rst.txt desktop.ini cache/CACHEDIR.TAG cache/a.md "
        "venv/pyvenv.cfg venv/a.md b.md"
    )
    for name in names.split():
        write(f"docs/{name}", "text")
    assert ids(["docs"], gitignore=False) == ["docs/b.md"]
    assert ids(["docs/node_modules"]) == ["node_modules/x/a.md"]
    assert ids(["docs/venv", "docs/~$a.md"]) == ["venv/a.md", "venv/pyvenv.cfg", "~$a.md"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*.log", ["a.md", "old/a.md", "x/old/b.md"]),
        ("old", ["a.md", "b.log"]),
        ("docs/old", ["a.md", "b.log", "x/old/b.md"]),
        ("old/*", ["a.md", "b.log", "x/old/b.md"]),
        ("*/old/", ["a.md", "b.log"]),
        ("x/old/", ["a.md", "b.log", "old/a.md", "old/c.log"]),
        ("./old", ["a.md", "b.log"]),
        ("a.[mn]d", ["b.log", "old/c.log", "x/old/b.md"]),
    ],
)
def test_patterns_name_what_is_left_out(write, pattern, left):
    """By id, by the path below the folder, or by name; a folder goes with all that is in it."""
    for name in ("a.md", "b.log", "old/a.md", "old/c.log", "x/old/b.md"):
        write(f"docs/{name}", "text")
    assert ids(["docs"], exclude=[pattern]) == [f"docs/{name}" for name in left]


def test_a_pattern_may_be_a_path_as_it_was_given(write, tmp_path):
    """What a shell completes names the file; those that changed are the only ones."""
    write("docs/old/a.md", "text")
    write("docs/b.md", "text")
    folder = tmp_path / "docs"
    assert ids([folder], exclude=[f"{folder}/old/"]) == ["docs/b.md"]
    for name in ("in/b.md", "in/c.md", "x/d.md"):
        write(f"docs/{name}", "text")
    changed = ["docs/in/c.md", "docs/x", "docs/gone.md"]  # and folders that hold some
    assert ids(["docs"], changed=changed) == ["docs/in/c.md", "docs/x/d.md"]
    assert ids(["docs"], changed=[]) == []


def test_a_named_file_is_taken_whatever_is_excluded(write):
    """Also where a folder above it is read; one pattern in place of a list is an error."""
    write("docs/a.log", "text")
    write("docs/.gitignore", "*.log")
    assert ids(["docs"]) == []
    assert ids(["docs", "docs/a.log"], exclude=["a.log"]) == ["docs/a.log"]
    with pytest.raises(InputError, match=r"exclude=\['\*\.log'\]"):
        Selection("*.log")


def test_ignored_files_count_up_to_the_repository(write):
    """Beyond it, and where a folder is no repository, those above the folder say nothing."""
    write(".gitignore", "*.md")
    write("repo/.gitignore", "*.log\nbuilt/\n")
    write("repo/docs/.gitignore", "!b.log\n")
    for name in ("a.md", "a.log", "b.log", "c.txt"):
        write(f"repo/docs/{name}", "text")
    write("repo/built/a.log", "text")
    assert ids(["repo/docs"]) == ["docs/a.log", "docs/a.md", "docs/b.log", "docs/c.txt"]
    Path("repo/.git").mkdir()
    assert ids(["repo/docs"]) == ["docs/a.md", "docs/b.log", "docs/c.txt"]
    assert ids(["repo"]) == ["repo/docs/a.md", "repo/docs/b.log", "repo/docs/c.txt"]
    assert ids(["repo/built"]) == ["built/a.log"]
    assert "docs/a.log" in ids(["repo/docs"], gitignore=False)


def test_a_repository_inside_of_one_has_its_own(write):
    """What the outer one ignores is read in the inner one; files may be as Windows writes them."""
    write("repo/.gitignore", b"\xef\xbb\xbf*.log\r\n# none\r\n\r\n*.tmp \r\n")
    write("repo/.git/info/exclude", "*.txt\n")
    write("repo/inner/.git/info/exclude", "*.md\n")
    for name in ("a.log", "a.md", "a.txt", "a.yaml"):
        write(f"repo/{name}", "text")
        write(f"repo/inner/{name}", "text")
    inner = ["inner/a.log", "inner/a.txt", "inner/a.yaml"]
    assert ids(["repo"]) == ["repo/a.md", "repo/a.yaml", *(f"repo/{each}" for each in inner)]
    assert ids(["repo/inner"]) == inner


def test_ids_of_what_is_left_out_are_known(write):
    """So that an update can tell what is excluded now; they are counted by what names them."""
    for name in ("a.log", "old/b.md", "c.md", ".hidden/d.md"):
        write(f"docs/{name}", "text")
    write("docs/.gitignore", "*.log")
    selection = Selection(["old"])
    list(read(["docs"], None, selection))
    assert selection.counts() == {"exclude": 1, "gitignore": 1}
    assert [selection.excludes(f"docs/{name}") for name in ("a.log", "old/b.md", "c.md")] == [
        True,
        True,
        False,
    ]
    assert selection.excludes("docs/.hidden/d.md")


PARTS = st.sampled_from("a b ab a.txt b.txt * ? *.txt ** [ab] [!a] a[.]txt a*".split())
LINE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PARTS, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/"]),
)
FOLDERS = ("", "a", "b", "a/b", "a/b/ab", "ab")
NAMES = ("a.txt", "b.txt", "c.txt")
FILES = [f"{folder}/{name}".strip("/") for folder in FOLDERS for name in NAMES]


@pytest.mark.skipif(GIT is None, reason="git says what is right")
@settings(max_examples=25)
@given(
    files=st.dictionaries(st.sampled_from(FOLDERS), st.lists(LINE, max_size=4), max_size=4),
    own=st.lists(LINE, max_size=1),
)
def test_ignored_files_are_those_of_git(files, own):
    """Whatever the patterns say, what is left is what git would offer to add."""
    with scratch() as folder:
        for name in FILES:
            path = folder / "repo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text")
        for name, lines in files.items():
            (folder / "repo" / name / ".gitignore").write_text("\n".join(lines))
        git(folder / "repo", "init", "-q")
        (folder / "repo/.git/info/exclude").write_text("\n".join(own))
        listed = git(folder / "repo", "ls-files", "-o", "--exclude-standard").split()
        expected = [f"repo/{each}" for each in listed if each.endswith(".txt")]
        assert sorted(ids([folder / "repo"])) == sorted(expected)


def git(folder, *words):
    """Run git without the settings of this machine, and return what it prints."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        [GIT, *words],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
