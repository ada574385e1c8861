"""Two small corpora in every format: equal words, equal answers, and no file that stops a run."""

import re
from pathlib import Path

import pytest

import clew
from clew import testing
from clew.readers import read
from clew.readers.formats import READERS
from clew.readers.pictures import PICTURES
from tests.readers.writers import LIGHTHOUSES, LOOMS, QUESTIONS, RECORDS, WRITERS, files

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "documents.md"
SUFFIXES, PLAIN = sorted(READERS.keys() - {*PICTURES}), READERS[".txt"]
ONE_EACH = sorted(  # a suffix of each reader
    {READERS[suffix]: suffix for suffix in SUFFIXES if READERS[suffix] != PLAIN}.values()
)
MARKUP = frozenset(
    "title from a example org documentclass begin end document maketitle".split()
)  # of formats whose text is the whole file, and of mail


def words(text):
    return re.findall(r"\w+", text.casefold())


def is_inside(part, whole):
    return any(whole[n : n + len(part)] == part for n in range(len(whole)))


def one_of(suffixes, values, ids):
    """Pair suffixes with values: each has one of them in turn, and the others in the slow suite."""
    return [
        pytest.param(
            suffix, value, id=f"{suffix}-{name}", marks=[pytest.mark.slow] * ((i + j) % len(ids))
        )
        for i, suffix in enumerate(suffixes)
        for j, (value, name) in enumerate(zip(values, ids, strict=True))
    ]


@pytest.mark.parametrize(
    ("suffix", "articles"), one_of(SUFFIXES, [LIGHTHOUSES, LOOMS], ["lighthouses", "looms"])
)
def test_every_format_has_the_words_of_its_articles(write, suffix, articles):
    """The words come in order, with nothing before or behind them but the title and markup."""
    names = [write(name, content) for name, content in files(suffix, articles).items()]
    found = {item.title: item for item in read(names)}
    assert found.keys() == articles.keys()
    for title, paragraphs in articles.items():
        body = [word for paragraph in paragraphs for word in words(paragraph)]
        text = words(found[title].text)
        assert is_inside(body, text)
        assert {*text} - {*body} <= {*words(title)} | MARKUP


@pytest.mark.parametrize("suffix", [each for each in READERS if READERS[each] != PLAIN])
def test_every_format_is_tested_and_documented(suffix):
    """What is read as plain text needs neither, and `test_ocr` reads pictures."""
    assert suffix in {*RECORDS, *WRITERS, *PICTURES}, (
        f"{suffix} has no test: add what writes such a file to WRITERS, or to RECORDS if it holds "
        "many documents, in tests/readers/writers.py"
    )
    table = GUIDE.read_text(encoding="utf-8").partition("## Formats")[2].partition("\n### ")[0]
    assert f"`{suffix}`" in table, f"{suffix} is in no line of docs/guides/documents.md, Formats"


@pytest.mark.parametrize(
    ("suffix", "asked"), one_of([*ONE_EACH, ".txt", ".tex"], QUESTIONS, ["born", "sold"])
)
def test_a_question_that_needs_two_articles_finds_both(write, tmp_path, suffix, asked):
    """The same two are first in every format."""
    articles, question, needed = asked
    names = [write(name, content) for name, content in files(suffix, articles).items()]
    with clew.open(tmp_path / "my.clew", models=testing.models()) as index:
        index.add(names)
        hits = index.search(question).hits
    assert {hit.title for hit in hits[:2]} == needed


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_said_to_be_empty(skipped, suffix):
    """Nothing else is said of it, whatever its format."""
    assert skipped(f"a{suffix}", b"") == [f"a{suffix}: is empty"]
