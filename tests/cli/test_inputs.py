"""What `clew index` takes beside files and folders: columns, standard input, addresses."""

import json

import pytest


def listed(clew):
    return {each["id"]: each for each in json.loads(clew("list", "--json").stdout)["documents"]}


def test_columns(clew, tmp_path):
    """A table whose columns have other names is refused with their names, and read with them."""
    (tmp_path / "t.csv").write_text("key,abstract,summary\nk1,Ice.,Cold.\n", encoding="utf-8")
    result = clew("index", "t.csv")
    assert result.exit_code == 1
    assert "only: key, abstract, summary (see --text-column)" in result.stderr
    said = ("--text-column", "summary", "--title-column", "abstract", "--id-column", "key")
    assert clew("index", "t.csv", *said).exit_code == 0
    assert {i: each["title"] for i, each in listed(clew).items()} == {"k1": "Ice."}
    wrong = clew("index", "t.csv", "--text-column", "nothing")
    assert "t.csv: has no column 'nothing', only: key, abstract, summary" in wrong.stderr


def test_standard_input(clew):
    """It is one document, called by --as, and replaced when it comes again."""
    assert clew("index", "-", input="# Ice\n\nCold.", catch_exceptions=False).exit_code == 0
    assert clew("index", "-", "--as", "day.md", input="# Ice\n\nCold.").exit_code == 0
    assert clew("index", "-", "--as", "day.md", input="# Ice\n\nWarm.").exit_code == 0
    found = listed(clew)
    assert sorted(found) == ["day.md", "stdin"]
    assert (found["stdin"]["title"], found["day.md"]["title"]) == ("stdin", "Ice")
    assert clew("index", "-", "--suffix", "md", input="# Ice\n\nCold.").exit_code == 0
    assert listed(clew)["stdin"]["title"] == "Ice"
    result = clew("index", "-", input="")
    assert result.exit_code == 1
    assert "stdin: is empty" in result.stderr


def test_records_on_standard_input_and_addresses_of_files(clew, tmp_path):
    lines = '{"id": "a", "text": "Ice."}\n{"id": "b", "text": "Snow."}\n'
    assert clew("index", "-", input=lines).exit_code == 0
    assert sorted(listed(clew)) == ["a", "b"]
    (tmp_path / "my note.md").write_text("Ice.", encoding="utf-8")
    assert clew("index", (tmp_path / "my note.md").as_uri()).exit_code == 0
    assert "0 added, 0 changed" in clew("index", "my note.md").stdout
    assert sorted(listed(clew)) == ["a", "b", "my note.md"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["https://a.example/x"], "'https://a.example/x' is only fetched with --web"),
        (["file://other/x"], "is a file on another machine"),
        (["http://127.0.0.1:9/x", "--web", "--as", "x"], "is not for a remote source"),
    ],
)
def test_what_is_refused(clew, arguments, reason):
    result = clew("index", *arguments)
    assert result.exit_code == 1
    assert reason in result.stderr


@pytest.mark.satellite
def test_a_page_that_cannot_be_had(clew, tmp_path):
    (tmp_path / "a.md").write_text("Ice.", encoding="utf-8")
    result = clew("index", "a.md", "http://127.0.0.1:9/x", "--web")
    assert result.exit_code == 3
    assert "clew: skipped http://127.0.0.1:9/x: cannot be reached" in result.stderr
    assert sorted(listed(clew)) == ["a.md"]
