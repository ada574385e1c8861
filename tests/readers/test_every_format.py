"""Two small corpora in every format: equal words, equal answers, and no file that stops a run."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew import testing
from clew.readers import plain, read
from clew.readers.formats import READERS
from clew.types import Document, Skipped
from tests.readers.writers import LIGHTHOUSES, LOOMS, QUESTIONS, RECORDS, WRITERS, files

SUFFIXES = sorted(READERS)
ONE_EACH = sorted(  # a suffix of each reader
    {reader: suffix for suffix, reader in READERS.items() if reader is not plain.read}.values()
)
MARKUP = frozenset(
    "title from a example org documentclass begin end document maketitle".split()
)  # of formats whose text is the whole file, and of mail


def words(text):
    return re.findall(r"\w+", text.casefold())


def is_inside(part, whole):
    return any(whole[n : n + len(part)] == part for n in range(len(whole)))


@pytest.mark.parametrize("articles", [LIGHTHOUSES, LOOMS], ids=["lighthouses", "looms"])
@pytest.mark.parametrize("suffix", SUFFIXES)
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


def test_no_format_is_without_a_writer():
    """A new reader needs one here; what is read as plain text does not."""
    assert {suffix for suffix, reader in READERS.items() if reader is not plain.read} <= {
        *RECORDS,
        *WRITERS,
    }


@pytest.mark.parametrize(("articles", "question", "needed"), QUESTIONS, ids=["born", "sold"])
@pytest.mark.parametrize("suffix", [*ONE_EACH, ".txt", ".tex"])
def test_a_question_that_needs_two_articles_finds_both(
    write, tmp_path, suffix, articles, question, needed
):
    """The same two are first in every format."""
    names = [write(name, content) for name, content in files(suffix, articles).items()]
    with clew.open(tmp_path / "my.clew", models=testing.models()) as index:
        index.add(names)
        hits = index.search(question).hits
    assert {hit.title for hit in hits[:2]} == needed


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_said_to_be_empty(skipped, suffix):
    """Nothing else is said of it, whatever its format."""
    assert skipped(f"a{suffix}", b"") == [f"a{suffix}: is empty"]


DAMAGES = st.tuples(  # how much of a file is kept, and the bits that change
    st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), max_size=4),
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=3, derandomize=True)
@given(damages=st.lists(DAMAGES, min_size=4, max_size=4))
def test_a_damaged_file_gives_a_document_or_a_reason(tmp_path_factory, suffix, damages):
    """However it was cut and whatever bits changed, nothing but one of the two comes of it."""
    name, content = next(iter(files(suffix, LIGHTHOUSES).items()))
    folder = tmp_path_factory.mktemp("damaged")
    paths = [folder / f"{number}-{name}" for number in range(len(damages))]
    for path, (keep, flips) in zip(paths, damages, strict=True):
        data = bytearray(content)
        for place, bit in flips:
            data[int(place * len(data))] ^= 1 << bit
        path.write_bytes(data[: int(keep * len(data))])
    items = list(read(paths))  # in one run, as a process that reads is started for each
    assert all(any(item.source.startswith(str(path)) for item in items) for path in paths)
    for item in items:
        assert isinstance(item, Document) or (isinstance(item, Skipped) and item.reason)
