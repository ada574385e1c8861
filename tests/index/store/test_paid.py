"""What was paid for is part of what `check` looks at, and of what a repair restores."""

import json
import os
import random
import stat
from contextlib import closing

import pytest

from clew import testing
from clew.api import open_index
from clew.base.runtime import sqlite
from clew.base.types import GRAPH, KINDS, LLM_MADE, UNITS, Document
from clew.index.repair import Repaired
from clew.index.store import segments
from clew.models import Prompt, Turn
from clew.models.cache import CachedEmbedder
from clew.models.ledger import Ledger, Request
from tests import snapshots
from tests.index.store.test_random_damage import damage

QUESTION = "Who crossed the Analog Sea?"
PAID = ("calls.sqlite", "embeddings.sqlite")


def reply_to(prompt, _turns):
    """Return a reply that fits the prompt's schema, with words of the texts."""
    return of_schema(prompt.schema)


def of_schema(schema):
    match schema.get("type"):
        case "object":
            return {name: of_schema(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [of_schema(schema["items"])]
        case "integer":
            return 5
    return schema["enum"][0] if "enum" in schema else "Mira Toll crossed Verle"


class Counting:
    """An embedder that counts the texts it is asked for."""

    def __init__(self):
        self._embedder = testing.HashEmbedder()
        self.n_texts = 0
        self.name, self.dimension = self._embedder.name, self._embedder.dimension

    def embed(self, texts, *, kind):
        self.n_texts += len(texts)
        return self._embedder.embed(texts, kind=kind)


def opened(folder, *, chat=None, embedder=None):
    """Open an index whose embedder's vectors are kept beside it, as those of an endpoint are."""
    kept = CachedEmbedder(embedder or Counting(), folder / "embeddings.sqlite")
    return open_index(folder, models=testing.models(kept, llm=chat))


def texts(first, behind):
    people, places = ("Mira Toll", "Bo Dahl", "Ola Eriksen"), ("Verle", "Bakken", "Norrvik")
    return [
        Document(
            id=f"d{n}",
            title=f"Note {n}",
            source=f"d{n}.txt",
            text=" ".join(
                f"{people[(n + i) % 3]} crossed {places[i * n % 3]} in {1900 + n * i % 17}."
                for i in range(60)
            ),
        )
        for n in range(first, behind)
    ]


def build(folder):
    """Index some documents in several commits, of which an LLM reads a part."""
    with opened(folder, chat=testing.ScriptedChat(reply_to)) as index:
        for i in range(0, 9, 3):
            index.add(texts(i, i + 3), triples="llm", units=0.5, core=0.6)
        index.search(QUESTION)
    return folder


@pytest.fixture(autouse=True, scope="module")
def segments_stay():
    """Let no commit compact the index, as none does of a large one."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("clew.index.adding._COMPACT_ABOVE", 1.0)
        yield


@pytest.fixture(scope="module")
def sound(segments_stay, tmp_path_factory):
    return build(tmp_path_factory.mktemp("sound") / "i.clew")


def flip(path, place):
    """Change a bit of the byte of a file where `place` of its bytes says."""
    data = bytearray(path.read_bytes())
    data[place(data)] ^= 1
    path.write_bytes(data)


def in_a_text(data):
    return data.index(b"Ola Eriksen crossed", 8_192)


def made_by(index):
    """Return what made the extractions of each chunk, by its id."""
    layer = index.snapshot().layer("chunk")
    ids = layer.ids(range(len(layer)))
    return {kind: dict(zip(ids, layer.columns[kind].tolist(), strict=True)) for kind in KINDS}


def rows(index):
    """Return all that the index has, as plain values."""
    return snapshots.contents(index.snapshot())


@pytest.mark.parametrize("name", PAID)
@pytest.mark.parametrize("seed", range(6))
def test_damage_is_told_and_mended(copy, name, seed):
    """Cut, changed or zeroed: the file is named, mended, and the index is whole again."""
    rng = random.Random(seed)  # noqa: S311 -- a test's
    path = copy / name
    before = path.read_bytes()
    damage(path, rng)
    if path.read_bytes() == before:
        pytest.skip("zeros where there were zeros")
    with opened(copy) as index:
        [told] = index.check()
        assert (told.file, told.is_paid, told.is_cached) == (name, True, False)
        assert "paid for again" in told.what
        assert index.repair() == Repaired(paid=[name])
        assert index.check() == []
        assert index.search(QUESTION).hits


@pytest.mark.parametrize("name", PAID)
@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_lost_file_is_missed_by_an_index_that_had_it(copy, name, how):
    """A repair says so once, and what is lost is paid for again."""
    if how == "gone":
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(b"")
    with opened(copy) as index:
        [told] = index.check()
        assert (told.file, told.is_paid) == (name, True)
        assert told.what.startswith("it is missing")
        assert index.repair().paid == [name]
        assert index.check() == []


def test_what_never_was_is_not_missed(tmp_path):
    """An index that nothing was paid for has no such file, nor one that a killed process made."""
    with open_index(tmp_path / "i.clew", models=testing.models()) as index:
        index.add(testing.small_documents())
        assert not (tmp_path / "i.clew" / "embeddings.sqlite").exists()
        assert index.check() == []
        (tmp_path / "i.clew" / "embeddings.sqlite").touch()
        assert index.check() == []


def test_files_that_have_each_others_names_get_them_back(copy):
    """Nothing of them is lost."""
    contents = [(copy / name).read_bytes() for name in PAID]
    for name, content in zip(PAID, reversed(contents), strict=True):
        (copy / name).write_bytes(content)
    with opened(copy) as index:
        assert {each.file for each in index.check()} == {*PAID}
        index.repair()
        assert index.check() == []
    assert [(copy / name).read_bytes() for name in PAID] == contents


@pytest.mark.parametrize("at", [24, 40, 68, 105, 2_500, 4_090])
def test_a_bit_of_the_first_page_costs_no_reply(tmp_path, at):
    """It holds only which tables there are."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    requests = [Request("m", Prompt(user=f"question {i}")) for i in range(50)]
    for request in requests:
        ledger.record(request, Turn("a reply " * 50))
    flip(ledger.path, lambda _: at)
    assert len(ledger.faults()) == 1
    ledger.mend()
    assert ledger.faults() == []
    assert all(ledger.recall(request) for request in requests)


def test_no_row_beside_a_damaged_page_is_lost(tmp_path):
    """What stands before it is read before it is met."""
    path = tmp_path / "rows.sqlite"
    with closing(sqlite.connect(path, wait=1)) as database:
        database.execute("CREATE TABLE rows (row INTEGER PRIMARY KEY, text TEXT)")
        database.executemany("INSERT INTO rows VALUES (?, ?)", [(i, "x" * 900) for i in range(40)])
        pages = int(database.execute("PRAGMA page_count").get)
    flip(path, lambda _: (pages // 2) * 4096 + 2_000)
    with closing(sqlite.connect(path, wait=1)) as database:
        found = [row for row, _ in sqlite.readable(database, "rows", "row", (0, 1 << 40))]
    assert len(found) == len({*found})
    assert 1 <= len({*range(40)} - {*found}) <= 4  # rows of one page


# -- what an LLM made ------------------------------------------------------------------------------


def lost_segments(folder, which):
    """Lose the segments of documents or of extractions, the largest, or all of them."""
    found = sorted((folder / "segments").iterdir(), key=lambda path: path.stat().st_size)
    extracted = [path for path in found if "chunk.document" not in segments.open_segment(path)]
    return {
        "documents": [path for path in found if path not in extracted],
        "extractions": extracted,
        "one": found[-1:],
        "all": found,
    }[which]


@pytest.mark.parametrize("with_llm", [True, False])
@pytest.mark.parametrize("which", ["documents", "extractions", "one", "all"])
def test_what_an_llm_made_is_restored(sound, copy, which, with_llm):
    """The same chunks have the same units and triples, no model is asked, and none is needed."""
    with opened(sound) as index:
        expected, sources = rows(index), made_by(index)
    for kind in (UNITS, GRAPH):
        assert {0, LLM_MADE} <= {*sources[kind].values()}  # some were chosen, and some were not
    for path in lost_segments(copy, which):
        path.write_bytes(b"")
    chat, embedder = testing.ScriptedChat(reply_to), Counting()
    with opened(copy, chat=chat if with_llm else None, embedder=embedder) as index:
        index.repair()
        assert made_by(index) == sources
        found = rows(index)
        assert [name for name in found if found[name] != expected[name]] == []
        assert index.check() == []
        index.add([])
        assert made_by(index) == sources
    assert chat.asked == []
    assert embedder.n_texts == 0


def test_what_an_llm_made_is_restored_behind_a_damaged_database(sound, copy):
    """Texts that can be read are indexed again, and have what they had; no model is asked."""
    with opened(sound) as index:
        sources = made_by(index)
    flip(copy / "index.sqlite", in_a_text)
    chat = testing.ScriptedChat(reply_to)
    with opened(copy, chat=chat) as index:
        done = index.repair()
        assert done.documents
        found = made_by(index)
        for kind in KINDS:
            assert found[kind].items() <= sources[kind].items()
        assert {name.partition(":")[0] for name in found[UNITS]} == {*done.documents}
        assert index.check() == []
    assert chat.asked == []


def test_without_its_ledger_the_next_run_asks_again(sound, copy):
    """A repair asks no model, and nothing is left out for good."""
    (copy / "calls.sqlite").unlink()
    damaged = max((copy / "segments").iterdir(), key=lambda path: path.stat().st_size)
    vector = bytes(segments.open_segment(damaged)["sentence.vectors"][1].data)
    flip(damaged, lambda data: data.index(vector))
    chat = testing.ScriptedChat(reply_to)
    with opened(copy, chat=chat) as index:
        assert index.repair().documents
        assert not chat.asked
        assert {*made_by(index)[UNITS].values()} == {0}
        index.add([])
        assert LLM_MADE in made_by(index)[UNITS].values()
        assert LLM_MADE in made_by(index)[GRAPH].values()
    assert chat.asked


def test_a_repair_that_is_killed_goes_on(sound, copy, monkeypatch):
    """Behind the rewriting of the rows what was chosen is still known."""
    with opened(sound) as index:
        sources = made_by(index)
    for path in lost_segments(copy, "documents"):
        path.write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr("clew.index.repair.recall_extractions", lambda *_, **__: 1 / 0)
        with opened(copy) as index, pytest.raises(ZeroDivisionError):
            index.repair()
    with opened(copy) as index:
        assert index.check() == []
        assert made_by(index) != sources
        index.repair()
        assert made_by(index) == sources


def test_triples_from_a_file_are_named(copy, tmp_path):
    """They are neither in the texts nor in the ledger."""
    path = tmp_path / "triples.jsonl"
    path.write_text(json.dumps({"id": "d1", "triples": [["Bo Dahl", "crossed", "Verle"]]}))
    with opened(copy) as index:
        index.import_triples(path)
    for path in lost_segments(copy, "all"):
        path.write_bytes(b"")
    with opened(copy) as index:
        assert index.repair().without_triples in ([], ["d1"])


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_shared_index_stays_shared(copy):
    """What is made anew has the permissions of the folder."""
    copy.chmod(0o750)
    flip(copy / "index.sqlite", in_a_text)
    with opened(copy) as index:
        index.repair()
    assert stat.S_IMODE((copy / "segments").stat().st_mode) == 0o750
    assert stat.S_IMODE((copy / "index.sqlite").stat().st_mode) == 0o640
