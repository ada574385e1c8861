"""The functions of an index that are awaited."""

import asyncio
import inspect
import threading

import pytest

import clew
from clew.api import Index
from clew.base.types import Document
from clew.errors import InputError
from clew.testing import models

DOCUMENTS = [
    Document(id=f"{n}.md", text=f"Ship {n} was built by Colin Archer in {1880 + n}.")
    for n in range(20)
]
AWAITED = [name for name, _ in inspect.getmembers(Index, inspect.iscoroutinefunction)]


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        opened.add(DOCUMENTS)
        yield opened


def test_they_are_these():
    assert AWAITED == [
        "aadd", "aanswer", "aask", "abackup", "achanges", "acompact", "aexport",
        "aextract_triples", "aimport_graph", "aimport_triples", "aplan", "aremove", "asearch",
        "athemes",
    ]  # fmt: skip
    for name in AWAITED:
        awaited, call = getattr(Index, name), getattr(Index, name[1:])
        assert inspect.signature(awaited) == inspect.signature(call)
        qualified = call.__qualname__.replace(f".{call.__name__}", f".{name}")
        assert (awaited.__name__, awaited.__qualname__) == (name, qualified)
        assert awaited.__doc__.startswith(f"Do as `{name[1:]}`")


def test_what_is_awaited_is_what_is_called(index):
    question = "Who built ship 7?"
    evidence = asyncio.run(index.asearch(question, chunks=3))
    assert evidence.hits == index.search(question, chunks=3).hits
    answer = asyncio.run(index.aask(question, min_support=0))
    assert answer.citations == index.ask(question, min_support=0).citations
    with pytest.raises(InputError, match="'query' is a text, not 3"):
        asyncio.run(index.asearch(3))


def test_many_at_once_beside_a_writer(index):

    async def run():
        questions = [index.asearch(f"Who built ship {n}?", chunks=1) for n in range(40)]
        more = [Document(id=f"new{n}.md", text=f"Boat {n} sank in the ice.") for n in range(5)]
        *found, _ = await asyncio.gather(*questions, index.aadd(more))
        return found, await index.aremove([each.id for each in more])

    found, gone = asyncio.run(run())
    assert len(found) == 40
    assert all(len(evidence.hits) == 1 for evidence in found)
    assert len(gone) == 5
    assert len(index) == 20


def test_the_event_loop_goes_on(index):
    begun, told = threading.Event(), threading.Event()

    class Slow:
        layers = frozenset({"chunk"})

        def retrieve(self, query, _snapshot, _models):
            begun.set()
            assert told.wait(60)
            return clew.Evidence(query=query, method="slow")

    async def run():
        asked = asyncio.create_task(index.asearch("Who?", method=Slow()))
        while not begun.is_set():  # noqa: ASYNC110 -- a thread sets it
            await asyncio.sleep(0.001)
        told.set()
        return await asked

    assert asyncio.run(run()).method == "slow"


def test_a_write_that_is_cancelled_is_made_whole(index):
    """To cancel ends the waiting; the thread goes on, and nothing is half done."""
    begun, told = threading.Event(), threading.Event()

    def documents():
        begun.set()
        assert told.wait(60)
        yield Document(id="late.md", text="The Maud was built in Vollen.")

    async def run():
        adding = asyncio.create_task(index.aadd(documents()))
        while not begun.is_set():  # noqa: ASYNC110 -- a thread sets it
            await asyncio.sleep(0.001)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        told.set()

    asyncio.run(run())  # which waits for the threads that it has begun
    assert "late.md" in index
