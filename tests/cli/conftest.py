"""An index of six short articles, made and opened with a model that needs no download."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from clew.api import open_index
from clew.base.types import Evidence
from clew.cli import main
from clew.index.recipe import Settings
from clew.index.store.opening import exists
from clew.testing import models
from tests.answers.evidence import answer

ARTICLES = {
    "fram.md": "# Fram\n\nColin Archer built the Fram for Nansen. She was launched in 1892.",
    "archer.md": "# Colin Archer\n\nColin Archer was a naval architect. He was born in Larvik.",
    "nansen.md": "# Fridtjof Nansen\n\nNansen crossed Greenland in 1888. He was born in Oslo.",
    "belgica.md": "# Belgica\n\nThe Belgica wintered in the pack ice. Adrien de Gerlache led her.",
    "larvik.md": "# Larvik\n\nLarvik is a town in Norway. Ships were built in Larvik early.",
    "quest.md": "# Quest\n\nErnest Shackleton died aboard the Quest. She sank in 1962.",
}
QUESTIONS = [
    {
        "id": "q1", "question": "Where was the builder of the Fram born?", "answers": ["Larvik"],
        "type": "bridge", "supporting_ids": ["fram.md", "archer.md"], "hop_count": 2,
        "split": "dev",
    },
    {
        "id": "q2", "question": "Who died aboard the Quest?", "answers": ["Ernest Shackleton"],
        "type": "single", "supporting_ids": ["quest.md"], "split": "test",
    },
]  # fmt: skip


# Vectors of hashes are mostly zero, which few bits are not made for.
EXACT = Settings(unit_bits=8, token_bits=8)


def open_with_doubles(folder, *, settings=None, **named):
    if settings is None and not exists(Path(folder)):
        settings = EXACT
    return open_index(folder, models=models(), settings=settings, **named)


def with_llm(llm):
    """Return an opener of an index that has an LLM."""
    return lambda folder, **named: open_index(folder, models=models(llm=llm), **named)


@dataclass
class Found:
    """An index that finds the same whatever it is asked."""

    evidence: Evidence

    def search(self, _text, **_parameters):
        return self.evidence

    def ask(self, question, **_parameters):
        return answer(question.text, self.evidence, models())


def finding(evidence):
    """Return an opener of an index that finds `evidence`."""
    return lambda _folder, **_: nullcontext(Found(evidence))


@pytest.fixture(scope="session")
def articles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("articles") / "polar"
    folder.mkdir()
    for name, text in ARTICLES.items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def _indexed(tmp_path_factory, articles):
    """Return an index that a question was asked of, so that what questions need is there."""
    folder = tmp_path_factory.mktemp("indexed") / "index"
    with open_with_doubles(folder) as index:
        index.add(articles)
        index.search("Who built the Fram?")
    return folder


@pytest.fixture
def own_index(tmp_path, _indexed):
    """Return an index of the articles that is the test's own."""
    return shutil.copytree(_indexed, tmp_path / "own.clew")


@pytest.fixture
def clew(tmp_path, monkeypatch):
    """Return a function that runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, obj=open_with_doubles, **options):
        return CliRunner().invoke(main, [str(a) for a in arguments], obj=obj, **options)

    return run


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    records = []
    for name, text in ARTICLES.items():
        title, _, body = text.removeprefix("# ").partition("\n\n")
        records.append({"id": name, "title": title, "text": body})
    for file, lines in (("corpus.jsonl", records), ("questions.jsonl", QUESTIONS)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / file).write_text(text, encoding="utf-8")
    return folder
