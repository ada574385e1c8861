"""What was paid for is part of what `check` looks at."""

import random

import pytest

from clew import testing
from clew.api import open_index
from clew.base.types import KINDS, Document
from clew.models.cache import CachedEmbedder
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
def test_damage_is_told(copy, name, seed):
    """Cut, changed or zeroed: the file is named, and the index is whole without it."""
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
    path.unlink()
    with opened(copy) as index:
        assert index.search(QUESTION).hits


@pytest.mark.parametrize("name", PAID)
@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_lost_file_is_missed_by_an_index_that_had_it(copy, name, how):
    """What is lost is paid for again, and the next write no longer misses it."""
    if how == "gone":
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(b"")
    with opened(copy) as index:
        [told] = index.check()
        assert (told.file, told.is_paid) == (name, True)
        assert told.what.startswith("it is missing")
        index.add(texts(20, 21))
        assert index.check() == []


def test_what_never_was_is_not_missed(tmp_path):
    """An index that nothing was paid for has no such file, nor one that a killed process made."""
    with open_index(tmp_path / "i.clew", models=testing.models()) as index:
        index.add(testing.small_documents())
        assert not (tmp_path / "i.clew" / "embeddings.sqlite").exists()
        assert index.check() == []
        (tmp_path / "i.clew" / "embeddings.sqlite").touch()
        assert index.check() == []
