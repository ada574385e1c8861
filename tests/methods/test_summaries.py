"""Questions that ask for a summary of one document or section."""

import pytest

import clew
from clew.base.types import Document, Heading
from clew.steps.comparing import find_part
from clew.testing import models

INTRO = "The winch lifts boats out of the water. It was delivered in 2019 by the yard in Horten."
CARE = "Grease the bearings of the winch every month. Never use oil on the brake of the winch."
STORE = "Cover the winch with canvas before the winter. Take the battery indoors in October."
TEXT = f"# Winch manual\n\n{INTRO}\n\n## 1. Care\n\n{CARE}\n\n## 2. Winter storage\n\n{STORE}\n"
ROPE = "# Ropes\n\nRopes of hemp rot. Ropes of nylon stretch under load.\n\n## Care\n\nDry them."


def _write(id_, title, text):
    headings = tuple(
        Heading(text.index(line), line.count("#"), line.lstrip("# "))
        for line in text.splitlines()
        if line.startswith("#")
    )
    return Document(id=id_, title=title, text=text, headings=headings)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("sums") / "my.clew", models=models()) as opened:
        documents = [
            _write("manuals/winch-manual.md", "Winch manual", TEXT),
            _write("ropes.md", "Ropes", ROPE),
        ]
        opened.add(documents)
        yield opened


@pytest.mark.parametrize(
    ("question", "name", "said"),
    [
        ("Summarise the winch manual", "Winch manual", TEXT),
        ("Summarize the document winch-manual.md", "Winch manual", TEXT),
        ("What is manuals/winch-manual.md about?", "Winch manual", TEXT),
        ("Give me a short overview of Ropes.", "Ropes", ROPE),
        ("Fasse ropes.md zusammen", "Ropes", ROPE),
        ("What is section 2 about?", "2. Winter storage", STORE),
        ("What does the section “Winter storage” say?", "2. Winter storage", STORE),
        ("Summarise the section Care of the winch manual", "1. Care", CARE),
        ("Summarise the section Care in ropes.md", "Care", "Dry them."),
    ],
)
def test_one_document_or_section(index, question, name, said):
    """Its statements are quoted, and nothing of another document or section."""
    assert find_part(index.snapshot(), question).name == name
    answer = index.ask(question)
    assert answer.kind == "quoted"
    assert answer.evidence.method == "themes"
    assert 0 < len(answer.citations) <= 5
    assert all(each.quote in said for each in answer.citations)
    assert answer.text == "\n".join(f'"{each.quote}"' for each in answer.citations)
    assert len({each.quote for each in answer.citations}) == len(answer.citations)


@pytest.mark.parametrize(
    "question",
    [
        "Summarise the section Care",  # there are two
        "Summarise the sails",
        "What is the rope about?",
        "Summarise all documents",
        "What do the documents say about ropes?",
        "Who delivered the winch?",
    ],
)
def test_anything_else_is_answered_as_before(index, question):
    assert find_part(index.snapshot(), question) is None


def test_more_statements_where_more_quotes_are_asked_for(tmp_path):
    things = "crane slip pier shed office workshop harbour fence".split()
    said = [f"The {each} of the yard was painted green by Jonas in {2010 + n}."
            for n, each in enumerate(things)]  # fmt: skip
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([Document(id="yard.txt", title="Yard", text="\n\n".join(said))])
        few, more = (
            [each.quote for each in index.ask("Summarise yard.txt", **options).citations]
            for options in ({}, {"quotes": 8})
        )
    assert (len(few), len(more)) == (5, 8)
    assert set(few) < set(more) == set(said)
