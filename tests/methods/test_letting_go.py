"""A snapshot goes when nobody uses it: its files are open as long as it is there."""

import gc
import mmap
import shutil
import weakref
from contextlib import contextmanager
from itertools import count

import pytest

import clew
from clew import methods
from clew.base.types import Document
from clew.index import generation
from clew.testing import models

NUMBERS = count()
QUESTIONS = ("What are the main themes?", "Who built the hull of the Fram?", "How many ships?")
TEXTS = {
    "Fram": "The ship Fram was built by Colin Archer in Larvik. Her hull is round.",
    "Gauss": "The ship Gauss was built in Kiel by Georg Howaldt. Her hull is long.",
    "Larvik": "Larvik is a town in Norway. Colin Archer was born there in 1832.",
} | {f"Boat {n}": f"The boat number {n} was built in Larvik by Colin Archer." for n in range(60)}


@pytest.fixture(scope="module", params=["put together", "edited"])
def index(request, tmp_path_factory):
    """An index whose generations are put together, or edits of the one before."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "edited":
            patch.setattr(generation, "EDITED_FROM", 1)
        folder = tmp_path_factory.mktemp("going") / "my.clew"
        with clew.open(folder, models=models()) as index:
            documents = [Document(id=name, title=name, text=text) for name, text in TEXTS.items()]
            index.add(documents, triples="cooccurrence")
            index.add(Document(id="new", text="It is new."))
            assert (index.snapshot().base is not None) == (request.param == "edited")
            yield index


@contextmanager
def goes(index):
    """Hold that the snapshot of now is gone after the next write, without a collection."""
    snapshot = weakref.ref(index.snapshot())
    gc.collect()
    gc.disable()
    try:
        yield
        index.add(Document(id="new", text=f"It is number {next(NUMBERS)}."))
        index.snapshot()
        assert snapshot() is None
    finally:
        gc.enable()


NEED_AN_LLM = {"graphrag_global", "ircot", "raptor"}


@pytest.mark.parametrize("name", sorted({*methods.names()} - NEED_AN_LLM))
def test_no_method_keeps_a_snapshot(index, name):
    with goes(index):
        for question in QUESTIONS:
            index.search(question, method=name)


@pytest.mark.satellite
def test_nothing_else_keeps_one(index):
    from clew.extras.graphs import browse, index_graph

    with goes(index):
        for question in QUESTIONS:
            index.ask(question)
        index.themes()
        index.hop("Fram")
        index.plan(Document(id="other", text="It drifted."))
        index_graph.draw_index(index.snapshot(), 10)
        browse.find_entities(index.snapshot(), "archer", "person")


def test_former_generations_leave_no_file_open(index, tmp_path):
    """Neither those that were read and asked, nor those of whoever wrote."""
    folder = shutil.copytree(index.folder, tmp_path / "copied.clew")

    def count_files():
        return sum(isinstance(each, mmap.mmap) for each in gc.get_objects())

    with clew.open(folder, models=models()) as reader:
        reader.search(QUESTIONS[1])
        gc.collect()
        gc.disable()
        try:
            for _ in range(4):
                with clew.open(folder, models=models()) as writer:
                    writer.add(Document(id="new", text=f"It is number {next(NUMBERS)}."))
                reader.catch_up()
                reader.search(QUESTIONS[1])
            before = count_files()
            gc.collect()
            assert before == count_files()
        finally:
            gc.enable()
