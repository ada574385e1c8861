"""Methods, readers and models of other packages work as Clew's own, by their entry points."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import clew
from clew import methods, plugins, readers
from clew.errors import InputError, UnknownMethod
from clew.methods.dense import Dense
from clew.methods.ket import Ket
from clew.models import loading
from clew.testing import QUESTIONS, models, small_documents
from tests.installed import install

MODULE = '''
"""First and last: the chunks in the order of the index."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew import steps
from clew.testing import HashEmbedder
from clew.base.types import Document, Limits


@dataclass(frozen=True, kw_only=True)
class InOrder:
    """The chunks in the order of the index."""

    layers: ClassVar = frozenset({"chunk"})
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 3  # chunks returned

    def retrieve(self, query, snapshot, models):
        scores = np.arange(len(snapshot.layer("chunk")), 0, -1) / 10.0
        return steps.ranked(snapshot, query, "in_order", scores, self.chunks)


def read_shouts(file):
    text = file.path.read_text(encoding="utf-8")
    yield Document(id=file.id, text=text.upper(), source=file.source)


def embedder(name):
    return HashEmbedder(int(name))
'''

ENTRY_POINTS = """
[clew.methods]
in_order = scratch_clew:InOrder
broken = scratch_clew:Missing
walk = scratch_clew:InOrder

[clew.readers]
.shout = scratch_clew:read_shouts

[clew.embedders]
scratch = scratch_clew:embedder
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put a package on the path, as an installation does."""
    folder = tmp_path / "site"
    install(folder, "scratch_clew", MODULE, ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(folder))
    plugins.read_registered.cache_clear()
    yield folder
    plugins.read_registered.cache_clear()
    sys.modules.pop("scratch_clew", None)


def test_a_method_of_another_package(package, tmp_path):
    assert "in_order" in methods.names()
    assert methods.group_names()["package"] == ["in_order"]  # one is broken
    assert methods.load("walk").__module__ == "clew.methods.walk"
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(small_documents())
        found = index.search(QUESTIONS[0], method="in_order", chunks=2)
        assert [hit.chunk_id for hit in found.hits] == index.snapshot().layer("chunk").ids([0, 1])
        assert index.ask(QUESTIONS[0], method="in_order", min_support=0).context.passages
        with pytest.raises(InputError, match="'in_order' has no parameter 'depth'"):
            index.search(QUESTIONS[0], method="in_order", depth=2)


def test_readers_and_models_of_another_package(package, tmp_path):
    (tmp_path / "a.shout").write_text("The Fram sailed.", encoding="utf-8")
    [document] = readers.read([tmp_path / "a.shout"])
    assert document.text == "THE FRAM SAILED."
    assert loading.load_embedder("scratch:32").dimension == 32
    with pytest.raises(InputError, match="no embedder 'scratches:32'"):
        loading.load_embedder("scratches:32")
    with pytest.raises(InputError, match="'broken' of the package scratch-clew cannot be loaded"):
        methods.load("broken")
    with pytest.raises(UnknownMethod, match="in_order"):
        methods.load("cleu")


def test_the_command_line_knows_them(package, tmp_path):
    script = "import sys; from clew.cli import main; sys.exit(main())"
    asked = [sys.executable, "-c", script, "methods", "in_order", "--json"]
    paths = os.pathsep.join([str(package), str(Path(clew.__file__).parents[1])])
    done = subprocess.run(
        asked, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["group"], told["summary"]) == ("package", "The chunks in the order of the index.")
    assert told["parameters"][0]["description"] == "chunks returned"


@pytest.mark.satellite
def test_a_method_may_be_given_as_such(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(small_documents())
        found = index.search(QUESTIONS[0], method=Dense(chunks=2))
        assert found.hits == index.search(QUESTIONS[0], method="dense", chunks=2).hits
        with pytest.raises(InputError, match="chunks is a parameter: pass it to the method"):
            index.search(QUESTIONS[0], method=Dense(), chunks=2)
        with pytest.raises(InputError, match="'method' is a method's name, or has `layers`"):
            index.search(QUESTIONS[0], method=textwrap)
        for given, size in (
            ({"method": Ket(tokens=300)}, 300),
            ({"method": "ket", "tokens": 300}, 300),
            ({"method": "ket", "context_tokens": 500}, 500),
        ):
            context = index.ask(QUESTIONS[0], min_support=0, **given).context
            assert context.budget_tokens == size
    (tmp_path / "ships.tsv").write_text("Fram\tbuilt by\tColin Archer\n", encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(small_documents())
        for method in ("walk", "auto"):
            assert index.search(QUESTIONS[0]).method == method
            assert index.ask(QUESTIONS[0]).evidence.method == method
            index.import_graph(tmp_path / "ships.tsv")
