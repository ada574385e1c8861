"""One index, many threads: readers beside a writer, generations that outlive a write, forks."""

import asyncio
import gc
import multiprocessing
import os
import random
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import clew
from clew import methods
from clew.base.types import Document
from clew.testing import QUESTIONS, models, small_documents

METHODS = ("walk", "clue", "ket", "bubble", "agrag", "pagerank", "hybrid", "auto")


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        opened.add(small_documents(), triples="cooccurrence")
        yield opened


def found(index, method, question):
    return [hit.chunk_id for hit in index.search(question, method=method).hits]


def shared(index, seconds, readers):
    """Read by some threads while this one writes; return how often each did.

    On a busy machine it takes longer: every thread reads, and this one writes, at least once.
    """
    until = time.monotonic() + seconds
    first = {(m, q): found(index, m, q) for m in METHODS for q in QUESTIONS}
    extra = Document(id="zz", text="A village far from every ship keeps goats and bees.")

    def read(seed):
        chosen, asked = random.Random(seed), 0  # noqa: S311 -- which question comes next
        while time.monotonic() < until or not asked:
            method, question = chosen.choice(METHODS), chosen.choice(QUESTIONS)
            answer = index.ask(question, method=method, min_support=0)
            known = {citation.document_id for citation in answer.citations}
            assert known <= {document.id for document in (*small_documents(), extra)}
            asked += 1
        return asked

    with ThreadPoolExecutor(readers) as pool:
        reading = [pool.submit(read, seed) for seed in range(readers)]
        written = 0
        while time.monotonic() < until or not written:
            index.add(extra)
            index.remove("zz")
            index.compact()
            written += 3
        asked = [each.result() for each in reading]
    assert {(m, q): found(index, m, q) for m in METHODS for q in QUESTIONS} == first
    return min(asked), written


def test_readers_beside_a_writer(index):
    asked, written = shared(index, 1.0, 8)
    assert asked
    assert written

    async def both():
        reads = (asyncio.to_thread(index.search, question) for question in QUESTIONS)
        return await asyncio.gather(*reads)

    assert [each.query for each in asyncio.run(both())] == list(QUESTIONS)


@pytest.mark.slow
def test_readers_beside_a_writer_for_minutes(index):
    asked, written = shared(index, 180.0, 8)
    assert min(asked, written) > 50


def test_a_generation_outlives_a_write(index):
    before = index.snapshot()
    n, texts = len(before.layer("chunk")), before.layer("chunk").texts([0])
    index.remove(before.layer("document").ids([0])[0])
    index.compact()
    assert len(index.snapshot().layer("chunk")) < n
    assert before.layer("chunk").texts([0]) == texts
    assert methods.load("walk")().retrieve(QUESTIONS[0], before, models()).hits


@pytest.mark.parametrize("method", METHODS)
def test_a_generation_closes_behind_its_last_reader(index, method):
    """Nothing that a method computes from a snapshot keeps it, and its files, open."""
    index.search(QUESTIONS[0], method=method)
    before = weakref.ref(index.snapshot())
    gc.disable()
    try:
        index.add(Document(id="zz", text="A village far from every ship."))
        index.search(QUESTIONS[0], method=method)
        assert before() is None
    finally:
        gc.enable()


def test_threads_open_one_generation_and_wait_for_each_other(index):
    with clew.open(index.folder, models=models()) as other:
        begun = threading.Barrier(8)

        def ask(_):
            begun.wait(timeout=60)
            return other.snapshot(), other.models

        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(ask, range(8)))
    assert len({id(each) for pair in opened for each in pair}) == 2

    def add(i):
        return index.add(Document(id=f"new-{i}", text=f"Village {i} keeps goats."))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    ids = index.snapshot().layer("document").ids(range(len(index.snapshot().layer("document"))))
    assert {f"new-{i}" for i in range(4)} <= set(ids)


def _ask_in_child(index, answers):
    answers.put((os.getpid(), found(index, "walk", QUESTIONS[0])))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_opens_anew(index):
    context = multiprocessing.get_context("fork")
    here, answers = found(index, "walk", QUESTIONS[0]), context.Queue()
    child = context.Process(target=_ask_in_child, args=(index, answers))
    child.start()
    pid, there = answers.get(timeout=120)
    child.join(timeout=120)
    assert (pid != os.getpid(), there, child.exitcode) == (True, here, 0)
    assert found(index, "walk", QUESTIONS[0]) == here
