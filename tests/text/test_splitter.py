"""Sentences as NLTK cuts them, where an index is to have these."""

import sys
from types import ModuleType

import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError, MissingExtra, RecipeMismatch
from clew.index.recipe import Settings
from clew.testing import models
from clew.text.chunking import Chunking
from clew.text.sentences import load_punkt
from clew.text.statements import statement_spans

TEXT = "Dr. Nansen left. He met Mr. Sverdrup.\n\n- One item\n- Another. And more\n\n"
TEXT += "| a | b |\n|---|---|\n| 1. | 2. |"


class Dots:
    """A stand-in for NLTK's class: a sentence ends behind each dot."""

    def __init__(self, language):
        assert language == "english"

    def span_tokenize(self, text):
        start = 0
        for part in text.split(". "):
            yield start, min(start + len(part) + 1, len(text))
            start += len(part) + 2


class NoData:
    def __init__(self, _language):
        raise LookupError("Resource punkt_tab not found.")


@pytest.fixture
def nltk(monkeypatch):
    """Let NLTK be a stand-in, or missing."""

    def take(punkt):
        for name in ("nltk", "nltk.tokenize", "nltk.tokenize.punkt"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name) if punkt else None)
        if punkt:
            sys.modules["nltk.tokenize.punkt"].PunktTokenizer = punkt
        load_punkt.cache_clear()

    yield take
    load_punkt.cache_clear()


def test_a_paragraph_is_cut_as_nltk_does(nltk):
    """No rule of ours joins what it parts; blocks and rows of tables stay what they are."""
    nltk(Dots)
    found = [TEXT[a:b] for a, b in statement_spans(TEXT, 0, "nltk")]
    assert found[:4] == ["Dr.", "Nansen left.", "He met Mr.", "Sverdrup."]
    assert found[4:7] == ["- One item", "- Another.", "And more"]
    ours = [TEXT[a:b] for a, b in statement_spans(TEXT)]
    assert ours[:2] == ["Dr. Nansen left.", "He met Mr. Sverdrup."]
    assert found[7:] == ours[-len(found[7:]) :]  # the table


def test_an_index_remembers_its_splitter(nltk, tmp_path):
    """What is added later is cut alike, whoever adds it; another splitter is refused."""
    nltk(Dots)
    by_nltk, ours = (Settings(chunking=Chunking(splitter=each)) for each in ("nltk", "nupunkt"))
    place = tmp_path / "i"
    text = "Dr. Nansen left. He met Mr. Sverdrup."
    with clew.open(place, models=models(), settings=by_nltk) as index:
        index.add([Document(id="a", text=text)])
    with clew.open(place, models=models()) as index:
        index.add([Document(id="b", text=text.replace("left", "came"))])
        assert index.snapshot().recipe["splitter"] == "nltk"
        assert len(index.snapshot().layer("sentence")) == 5  # equal ones are one
    plain = tmp_path / "plain"
    with clew.open(plain, models=models(), settings=ours) as index:
        index.add([Document(id="a", text=text)])
        assert "splitter" not in index.snapshot().recipe
        assert len(index.snapshot().layer("sentence")) == 2
    with (
        clew.open(plain, models=models(), settings=by_nltk) as index,
        pytest.raises(RecipeMismatch, match="built with the splitter 'nupunkt', not 'nltk'"),
    ):
        index.add([Document(id="b", text=text)])


def test_what_is_missing_is_said_before_a_document_is_read(nltk):
    nltk(None)
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[nltk\]'"):
        Chunking(splitter="nltk")
    nltk(NoData)
    with pytest.raises(InputError, match=r"nltk.downloader punkt_tab.*NLTK_DATA"):
        Chunking(splitter="nltk")
    with pytest.raises(InputError, match="must be nupunkt or nltk, not 'spacy'"):
        Chunking(splitter="spacy")
