"""A split that is killed begins anew, and nothing is paid for twice."""

import os
import shutil
import signal
import stat
from contextlib import closing

import pytest

from clew import testing
from clew.api import open_index
from clew.base.runtime import sqlite
from clew.errors import InputError
from clew.index.store.opening import open_store
from clew.shards import Neighbourhood, open_shards, split
from clew.testing import small_documents
from tests.index.build import scratch
from tests.index.store.deadly import killed_at_file
from tests.index.store.test_paid import QUESTION, Counting, opened, reply_to, texts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def place():
    with scratch() as folder:
        yield folder


@pytest.fixture(scope="module")
def made():
    """An index with units and triples of an LLM, and vectors that were paid for."""
    with scratch() as folder:
        with opened(folder / "whole", chat=testing.ScriptedChat(reply_to)) as index:
            index.add(texts(0, 6), triples="llm", units=1.0)
            index.add([*index_documents()])
            index.search(QUESTION, method="agrag")
        yield folder / "whole"


@pytest.fixture
def whole(place, made):
    """A copy of it, which a test may change."""
    return shutil.copytree(made, place / "whole")


def index_documents():
    """Return a document that each shard has an equal one of, by another name."""
    return [each for each in small_documents() if each.id in ("lund", "verle")]


def keys(folder, name, table):
    with closing(sqlite.connect(folder / name, wait=1)) as database:
        return {key for (key,) in sqlite.rows(database, f"SELECT key FROM {table}")}  # noqa: S608 -- names of ours


def contents(home):
    """Return the documents of each shard, with their hashes, and which texts are paid for."""
    found = []
    for shard in sorted(home.glob("shard-*")):
        with open_index(shard) as index:
            assert index.check() == []
            vectors = keys(shard, "embeddings.sqlite", "vectors")
            found.append((dict(index.hashes()), vectors, keys(shard, "calls.sqlite", "piece")))
    return found


def test_each_shard_has_its_part_of_what_was_paid_for(whole, place):
    """Neither texts nor chunks are paid for again, and no shard has what is another one's."""
    places = split(whole, place / "parts", 3)
    for name, table in (("embeddings.sqlite", "vectors"), ("calls.sqlite", "piece")):
        all_ = keys(whole, name, table)
        parts = [keys(each, name, table) for each in places]
        assert set().union(*parts) == all_
        assert all(len(part) < len(all_) for part in parts)
    for each in places:
        chat, embedder = testing.ScriptedChat(reply_to), Counting()
        with opened(each, embedder=embedder) as shard:
            shard.search(QUESTION, method="agrag")
            documents = shard.snapshot().documents(range(len(shard)))
            assert shard.check() == []
        again = place / f"again-{each.name}"  # all is made anew, with what this shard has
        again.mkdir()
        for name in ("embeddings.sqlite", "calls.sqlite"):
            shutil.copy(each / name, again / name)
        with opened(again, chat=chat, embedder=embedder) as index:
            index.add(documents, triples="llm", units=1.0)
        assert (embedder.n_texts, chat.asked) == (0, [])


def test_the_shards_are_their_owners(whole, place):
    for each in (place / "parts", *split(whole, place / "parts", 2)):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700


@pytest.mark.parametrize("step", [19, pytest.param(1, marks=pytest.mark.slow)])
def test_a_split_that_was_killed_begins_anew(whole, place, step):
    """Whenever that was: the folder is not there until it is whole."""
    split(whole, place / "expected", 2)
    expected = contents(place / "expected")
    home, ends = place / "parts", []
    for left in range(0, 2_000, step):
        shutil.rmtree(home, ignore_errors=True)
        ends.append(killed_at_file(lambda: split(whole, home, 2), home, left))
        if not home.exists():
            split(whole, home, 2)
        assert contents(home) == expected
        assert {each.name for each in place.iterdir()} == {"whole", "expected", "parts"}
        if ends[-1] == 0:
            break
    assert len(ends) >= 5
    assert {*ends[:-1]} == {-signal.SIGKILL}


@pytest.mark.parametrize("what", ["a file", "shards"])
def test_a_folder_that_is_not_empty_stays(whole, place, what):
    home = place / "parts"
    if what == "a file":
        home.mkdir()
        (home / "notes.txt").write_text("mine")
    else:
        split(whole, home, 2)
    before = sorted(home.rglob("*"))
    with pytest.raises(InputError, match="is not empty"):
        split(whole, home, 2)
    assert sorted(home.rglob("*")) == before


def test_the_vocabulary_is_in_every_shard(whole, place):
    """Aliases, names, types, what stays apart and what a list says, as in the index, and joined."""
    (place / "list.csv").write_text(
        "name,aliases,type,apart\nMira Toll,M. Toll,person,\nVerle,,place,yes\n", encoding="utf-8"
    )
    with opened(whole) as index:
        index.take_vocabulary(place / "list.csv")
        index.merge("Bo Dahl", "Ola Eriksen")
        index.edit("Bakken", rename="Old Bakken", type="farm")
        index.edit("Norrvik", apart=True)
        said = dict(index.vocabulary())
        shown = names_of(index.snapshot())
    assert {entry.type for entry in said.values()} >= {"person", "farm"}
    assert "Old Bakken" in shown
    for shard in split(whole, place / "shards", 2):
        with opened(shard) as index:
            assert dict(index.vocabulary()) == said
    whole_of_it = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
    with open_shards(
        place / "shards", models=testing.models(Counting()), size=whole_of_it
    ) as shards:
        snapshot = shards.gathered(QUESTION).snapshot
        assert dict(snapshot.vocabulary) == said
        assert {*names_of(snapshot)} == {*shown}


def test_the_next_add_to_a_shard_goes_by_the_choices_of_the_index(whole, place):
    """What is extracted, which methods it is made for, what an import looks after."""
    chosen = {
        "wanted": {"units": 0.5, "seed": 7},
        "methods": {"methods": ["clue", "walk"]},
        "figures": {"model": "an LLM"},
        "imported": {"mail": {}},
    }
    with closing(open_store(whole)) as store:
        for name, values in chosen.items():
            store.set_note(name, values)
        store.set_note("fetched", {"somewhere": {}})
    for shard in split(whole, place / "shards", 2):
        with closing(open_store(shard)) as store:
            assert {name: store.note(name) for name in chosen} == chosen
            assert not store.note("fetched")


def names_of(snapshot):
    """Return the names of entities as they are shown."""
    layer = snapshot.layer("entity")
    return dict(
        zip(layer.ids(range(len(layer))), layer.texts(range(len(layer))), strict=True)
    ).values()
