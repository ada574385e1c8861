"""A damaged index is rebuilt from the texts that it holds."""

import random
import shutil

import pytest

from clew import testing
from clew.api import open_index
from clew.errors import DamagedIndex, NotAnIndex
from clew.index.store import segments
from tests.index.store.test_random_damage import damage
from tests.snapshots import check_consistent, contents

DOCUMENTS = testing.small_documents()
MODELS = testing.models(testing.HashTokenEmbedder())


def seeds(some, many):
    """Return seeds of which the default suite takes only some."""
    return [*range(some), *(pytest.param(i, marks=pytest.mark.slow) for i in range(some, many))]


def index_of(folder, documents=DOCUMENTS):
    with open_index(folder, models=MODELS) as index:
        for i in range(0, len(documents), 4):
            index.add(documents[i : i + 4], triples="cooccurrence")
    return folder


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Let a block be a few rows, as it is in an index of many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(segments, "_BLOCK", 64)
        yield


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "i.clew"
    return index_of(folder)


@pytest.fixture(scope="module")
def expected(sound, tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy") / "i.clew"
    shutil.copytree(sound, copy)
    with open_index(copy, models=MODELS) as index:
        return contents(index.snapshot())


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_segments_are_repaired(copy, expected, seed):
    """Row for row the index is what it was."""
    rng = random.Random(seed)  # noqa: S311 -- a test's
    path = rng.choice(sorted((copy / "segments").iterdir()))
    before = path.read_bytes()
    damage(path, rng)
    with open_index(copy, models=MODELS) as index:
        done = index.repair()
        assert index.check() == []
        assert not done.lost
        check_consistent(index.snapshot())
        found = contents(index.snapshot())
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []
    if path.exists() and path.read_bytes() == before:  # zeros where there were zeros
        assert not done.documents


@pytest.mark.parametrize("seed", seeds(7, 200))
def test_a_damaged_database_is_salvaged(copy, tmp_path, seed):
    """Documents whose texts can be read are indexed again, and the others are named."""
    rng = random.Random(seed)  # noqa: S311 -- a test's
    path = copy / "index.sqlite"
    damage(path, rng)
    with open_index(copy, models=MODELS) as index:
        try:
            done = index.repair()
        except (DamagedIndex, NotAnIndex):  # its first page is gone
            return
        assert index.check() == []
        left = [each for each in DOCUMENTS if each.id in index]
        assert set(done.lost) <= {each.id for each in DOCUMENTS} - {each.id for each in left}
        if not left:
            return
        found = contents(index.snapshot())
    with open_index(index_of(tmp_path / "fresh.clew", left), models=MODELS) as fresh:
        other = contents(fresh.snapshot())
    assert [name for name in found if found[name] != other[name]] == []


def test_a_sound_index_is_left_as_it_is(copy):
    """Nothing is damaged: nothing is written."""
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with open_index(copy, models=MODELS) as index:
        assert index.repair().documents == []
    assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
