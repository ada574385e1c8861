"""Random single damages to any file of an index: never a wrong answer, a raw error or a signal."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from clew import testing
from clew.api import open_index
from clew.base.types import Document
from clew.errors import ClewError
from tests.index.store.deadly import fork

MODELS = testing.models(testing.HashTokenEmbedder())
METHODS = ("walk", "hybrid", "ket", "clue", "pagerank", "agrag", "bubble")
SECONDS = 60


def extracted(prompt, _turns):
    """Return a reply of the shape that is asked for."""
    return {"triples": [], "entities": [], "relations": [], "knowledge_units": []}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "i.clew"
    documents = testing.small_documents()
    llm = testing.ScriptedChat(extracted)
    with open_index(folder, models=testing.models(testing.HashTokenEmbedder(), llm=llm)) as index:
        for i in range(0, 12, 4):
            index.add(documents[i : i + 4], triples="cooccurrence", units=1.0)
        index.remove([documents[0].id])
        answers(index)
    return folder


@pytest.fixture(scope="module")
def expected(sound):
    copy = sound.with_name("copy.clew")
    shutil.copytree(sound, copy)
    return outcome(copy)


def answers(index):
    found = [
        index.search(question, method=method)
        for method in METHODS
        for question in testing.QUESTIONS[:2]
    ]
    return [[(h.chunk_id, h.score, h.text) for h in each.hits] for each in found]


def outcome(folder):
    """Ask, check and write in a child process; return what it says, or what signal ended it."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        said = "raw"
        try:
            with open_index(folder, models=MODELS) as index:
                found = json.dumps([sorted(index.documents()), answers(index)])
                index.spent()
                index.check()
                index.add([Document(id="new", text="Colin Archer built the Fram.")])
                said = found
        except ClewError as error:
            said = f"told: {error}"
        except Exception as error:  # noqa: BLE001 -- it is what is looked for
            said = f"raw: {error!r}"
        finally:
            with os.fdopen(write, "w") as pipe:
                pipe.write(said)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}"


def damage(path: Path, rng: random.Random) -> str:
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    kind = rng.choice(["flip", "flip", "zero", "page", "cut"])
    match kind:
        case "flip":
            data[at] ^= 1 << rng.randrange(8)
        case "zero":
            end = min(len(data), at + rng.choice([1, 16, 512]))
            data[at:end] = bytes(end - at)
        case "page":
            begin = at - at % 4096
            data[begin : begin + 4096] = bytes(len(data[begin : begin + 4096]))
        case "cut":
            del data[at : at + rng.choice([1, 100, 5000])]
    path.write_bytes(data)
    return f"{kind} at {at} of {path.name}"


def check(sound, expected, place, rng):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound, place)
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
    done = damage(rng.choice(files), rng)
    said = outcome(place)
    assert said == expected or said.startswith("told: "), f"{done}: {said[:200]}"
    assert "\n" not in said


@pytest.mark.parametrize("seed", range(3))
def test_damage(sound, expected, tmp_path, seed):
    """The answers are those of the sound index, or a sentence says what is damaged."""
    check(sound, expected, tmp_path / "i.clew", random.Random(seed))  # noqa: S311 -- a test's


@pytest.mark.slow
def test_a_thousand_damages(sound, expected, tmp_path):
    """The same, a thousand times."""
    for seed in range(1000, 2000):
        check(sound, expected, tmp_path / "i.clew", random.Random(seed))  # noqa: S311 -- a test's
