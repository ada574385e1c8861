"""Markdown: where the title is, and where the body begins."""

from time import process_time

import pytest

from clew.base.types import Skipped
from clew.readers import read
from clew.readers.markdown import read_front_matter

TITLES = {
    "# Threads #\n\nBody": ("Threads", "Body"),
    "\n\n## Threads\r\n\r\n\r\nBody": ("Threads", "Body"),
    "Threads\nof Ariadne\n===\nBody": ("Threads of Ariadne", "Body"),
    "Threads\n---\n\n    code": ("Threads", "    code"),
    "# The `clew` **of** [Ariadne](a.md)\nBody": ("The clew of Ariadne", "Body"),
    "# C# and F#\nBody": ("C# and F#", "Body"),
    "### `immediate[Symbol.dispose]()`\nBody": ("immediate[Symbol.dispose]()", "Body"),
    "# `*.h` and _all_ of a\\_b &amp; c\nBody": ("*.h and all of a_b & c", "Body"),
    "# Clew [![built][b]][c] <a id=x></a>\n\n[b]: b.svg\n[c]: c.md\n": (
        "Clew built",
        "[b]: b.svg\n[c]: c.md\n",
    ),
    "# a\rBody": ("a", "Body"),
    "---\ntitle: Threads\n---\n\nBody": ("Threads", "Body"),
    "---\r\ntitle: Threads\r\n---\r\nBody": ("Threads", "Body"),
    "---\ntags: [a]\ntitle: 'It''s'  \n...\nBody": (
        "It's",
        "tags: [a]\ntitle: 'It''s'  \n...\nBody",
    ),
    '---\ntitle: "A \\"b\\": c # d"\n---\nBody': ('A "b": c # d', "Body"),
    "---\ntitle: Threads # not this\n---\nBody": ("Threads", "Body"),
    "---\ntitle: >-\n  Threads\n  of Ariadne\nauthor: x\n---\nBody": (
        "Threads of Ariadne",
        "title: >-\n  Threads\n  of Ariadne\nauthor: x\n---\nBody",
    ),
    "---\nauthor: x\n---\n# Threads\nBody": ("Threads", "author: x\n---\n# Threads\nBody"),
    "---\ntitle: Threads\n---\n# Threads\n\nBody": ("Threads", "Body"),
    "---\ntitle: Threads\n---\n# Other\n\nBody": ("Threads", "# Other\n\nBody"),
    "---\n---\nBody": ("a file", "Body"),
}

LATER_OR_NONE = {
    "Words first.\n\n# Threads\n\nBody": "Threads",
    "```\n# comment\n```\n\n## Threads\n": "Threads",
    "~~~~ sh\n# comment\n~~~\n# comment\n~~~~\nThreads\n---\n": "Threads",
    "```\n# never closed\n": "a file",
    "    # code\n\n#tag\n\n####### seven\n": "a file",
    "- item\nlazy\n---\n\n> quote\n---\n": "a file",
    "***\n\nwords\n": "a file",
    "1. one\n\n| a |\n---\n": "a file",
    "<!--\n# no\n\n# no\n-->\n\n# Threads\n": "Threads",
    "<pre>\n\nno\n==\n</pre>\n\n# Threads\n": "Threads",
    "- item\n\n  # no\n\n# Threads\n": "Threads",
    "# <img src=a.svg>\n\n# Threads\n": "Threads",
    "#\n\n# Threads\n": "Threads",
    "no front matter\n---\ntitle: x\n---\n": "no front matter",
    "---\nnot keys\n---\nBody": "not keys",
    "---\ntitle: never closed\n": "a file",
}


@pytest.mark.parametrize(("text", "expected"), TITLES.items(), ids=range(len(TITLES)))
def test_the_body_begins_behind_the_title(document, text, expected):
    """Or with front matter that says more; the text is the whole file all the same."""
    found = document("a-file.md", text)
    assert (found.title, found.text[found.body_start :]) == expected
    assert found.text == text


@pytest.mark.parametrize(("text", "title"), LATER_OR_NONE.items(), ids=range(len(LATER_OR_NONE)))
def test_a_heading_further_down_gives_a_title_only(document, text, title):
    """What stands before the first heading belongs to the body; code and lists have no headings."""
    found = document("a-file.markdown", text)
    assert found.title == title
    assert found.body_start == 0 or title == "no front matter"


def test_the_summary_of_details_is_a_heading(document):
    """It stands above the text that a page folds."""
    summary = "<summary><b>Is it <i>locked</i>?</b></summary>"
    text = f"# Gate\n\n<details>\n{summary}\n\nAt nine.\n\n</details>\n"
    assert [h.title for h in document("a.md", text).headings] == ["Is it locked?"]
    page = "<h1>Gate</h1><details><summary>Is it locked?</summary><p>At nine.</p></details>"
    assert [h.title for h in document("a.html", page).headings][-1] == "Is it locked?"


def test_what_stands_alone(document, skipped):
    """A file with nothing but a heading can still be found; in front matter is nothing to find."""
    found = document("a.md", "---\nauthor: x\n---\n# Threads\n")
    assert found.text[found.body_start :] == "author: x\n---\n# Threads\n"
    assert skipped("a.md", "---\ntitle: x\n---\n\n") == ["a.md: is empty after its front matter"]


@pytest.mark.parametrize("mark", ["#", "# ", "*", "`", "[", "- ", "-", "=", "> ", "---\n", "a:\n"])
def test_long_rows_of_marks_are_read_quickly(write, mark):
    """No pattern needs time that grows with the square of a line."""
    begun = process_time()
    for start in (f"# {mark * 20_000} x\n", "---\n"):
        (item,) = read([write("a.md", f"{start}{mark * 20_000}\nbody")])
        again = isinstance(item, Skipped) and "the same few lines" in item.reason
        assert again if "\n" in mark else item.text.endswith(f"{mark}\nbody")
    assert process_time() - begun < 2  # 0.05 s here; a step for each pair of marks takes minutes


@pytest.mark.parametrize(
    ("matter", "is_toml"),
    [
        ("a: " + "[" * 60_000, False),
        ("a: " + "{b: " * 15_000, False),
        ("- " * 30_000, False),
        ("\n".join(" " * i + "a:" for i in range(300)), False),
        ("a = " + "[" * 60_000, True),
        ("a" + ".a" * 2_000 + " = 1", True),
        ("a = {a" + ".a" * 30_000 + " = 1}", True),
    ],
)
def test_front_matter_that_nests_too_deeply_gives_no_metadata_and_takes_no_time(matter, is_toml):
    started = process_time()
    assert read_front_matter(matter, is_toml=is_toml) == ("", {})
    assert process_time() - started < 1
