"""A small index to run the documentation's examples on, without a model."""

import shutil
from pathlib import Path

import pytest

import clew
from clew.testing import HashTokenEmbedder
from tests.docs.pages import ROOT

ARTICLES = (
    "bay-of-whales colin-archer endurance fox fram framheim frank-worsley fridtjof-nansen "
    "roald-amundsen tom-crean"
).split()


@pytest.fixture
def index_folder(tmp_path, monkeypatch):
    """Make a folder with `examples/` and an index of them in `my.clew` the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("clew.models.loading.load_embedder", lambda *_, **__: HashTokenEmbedder())
    polar = Path("examples/polar")
    polar.mkdir(parents=True)
    for article in ARTICLES:
        shutil.copy(ROOT / polar / f"{article}.md", polar)
    shutil.copy(ROOT / "examples" / "questions.jsonl", "examples")
    with clew.open("my.clew") as index:
        index.add(polar)
    return tmp_path / "my.clew"
