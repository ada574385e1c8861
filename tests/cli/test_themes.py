"""`clew themes`: what the documents of an index are about, in words and as JSON."""

import json

import pytest


@pytest.fixture
def indexed(clew, articles):
    assert clew("index", articles).exit_code == 0
    return clew


def test_themes_are_shown_with_quotes_and_coverage(indexed):
    result = indexed("themes")
    assert result.exit_code == 0
    found = json.loads(indexed("themes", "--json").stdout)
    assert sum(theme["n_documents"] for theme in found) == 6
    for theme in found:
        assert f"{theme['name']}  {theme['id']}" in result.output
        assert theme["sentences"][0]["text"][:30] in result.output
    one = json.loads(indexed("show", found[0]["id"], "--json").stdout)
    assert one == {"kind": "theme", **found[0]}


def test_themes_of_a_level_and_a_filter(indexed):
    where = ("--where", "title = 'Fram'")
    [theme] = json.loads(indexed("themes", "--level", "1", *where, "--json").stdout)
    assert theme["documents"] == ["polar/fram.md"]
    assert indexed("themes", "--where", "title = 'none'").exit_code == 1


def test_a_question_about_the_whole_is_answered_by_themes(indexed):
    answer = json.loads(indexed("ask", "What are the main themes?", "--json").stdout)
    assert answer["kind"] == "themes"
    result = indexed("ask", "What are the main themes?")
    assert result.exit_code == 0
    assert "Themes that answer" in result.output
    for line in answer["text"].splitlines():
        assert line.partition(" (")[0] in result.output
