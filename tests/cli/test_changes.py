"""`clew changes`: diff between two states of an index, in words and as JSON."""

import json
import shutil

import pytest


@pytest.fixture
def changed(clew, articles, tmp_path):
    articles = shutil.copytree(articles, tmp_path / "polar")
    assert clew("index", articles).exit_code == 0
    path = articles / "fram.md"
    text = path.read_text(encoding="utf-8")
    assert "1892" in text
    path.write_text(text.replace("1892", "1895"), encoding="utf-8")
    assert clew("index", articles).exit_code == 0
    return clew


def test_changes_are_shown_with_both_values(changed):
    result = changed("changes")
    assert result.exit_code == 0
    assert "1892 -> 1895" in result.output
    assert "~ polar/fram.md" in result.output
    found = json.loads(changed("changes", "--json").stdout)
    assert [each["change"] for each in found["documents"]] == ["changed"]
    assert found["values"][0]["was"] == "1892"
    assert "Nothing changed." in changed("changes", "2999-01-01..").output


def test_what_cannot_be_compared_is_a_sentence(changed):
    result = changed("changes", "yesterday..")
    assert result.exit_code == 1
    assert "is not a generation, date or index" in result.output
    assert "the newest is" in changed("changes", "1..99").output


def test_dots_of_a_path_part_no_states(changed):
    for states in ("../none.clew", "../none.clew.."):
        result = changed("changes", states)
        assert result.exit_code != 0
        assert "../none.clew" in result.output
