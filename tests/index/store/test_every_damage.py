"""Damage of any kind to any file of an index of any kind: told, and never a raw error."""

import random
import shutil
from itertools import count

import pytest

from clew import testing
from clew.errors import ClewError
from tests.index.store.test_paid import QUESTION, opened, reply_to, texts

pytestmark = pytest.mark.satellite

KINDS = ("plain", "extracted", "updated", "removed", "graph")
HOWS = ("flip", "zero", "page", "cut", "tail", "empty", "garbage", "delete", "swap", "pages")


def build(folder, kind):
    with opened(folder, chat=testing.ScriptedChat(reply_to)) as index:
        match kind:
            case "plain":
                index.add(texts(0, 6))
            case "extracted":
                for i in range(0, 6, 2):
                    index.add(texts(i, i + 2), triples="llm", units=0.5, core=0.6)
            case "updated":
                for i in range(9):  # eight segments become one
                    index.add(texts(i, i + 1), triples="llm", units=0.5, core=0.6)
                index.remove(["d0", "d5"])
                index.compact()
                index.add(texts(11, 13))
                index.merge("Mira Toll", "Bo Dahl")
            case "removed":
                for i in range(0, 6, 2):
                    index.add(texts(i, i + 2), triples="cooccurrence", units=1.0)
                index.remove(["d0", "d1", "d3"])
            case "graph":
                index.add(texts(0, 4), triples="llm")
                (folder / "graph.tsv").write_text("Bo Dahl\tleft\tVerle\nVerle\tis in\tBakken\n")
                index.import_graph(folder / "graph.tsv")
                (folder / "graph.tsv").unlink()
        for method in ("walk", "hybrid"):
            index.search(QUESTION, method=method)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Give the folder of a sound index of each kind, made once."""
    base = tmp_path_factory.mktemp("sound")

    def of(kind):
        if not (base / kind).exists():
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("clew.index.adding._COMPACT_ABOVE", 1.0)  # never compacted
                build(base / kind, kind)
        return base / kind

    return of


def damaged(folder, rng):  # noqa: C901 -- one case for each kind
    """Damage a file; return its name, and how."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice([each for each in paths if each.name != "writer.lock"])
    how, data = rng.choice(HOWS), bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    match how:
        case "flip":
            data[at] ^= 1 << rng.randrange(8)
        case "zero":
            data[at : at + 512] = bytes(len(data[at : at + 512]))
        case "page":
            begin = at - at % 4096
            data[begin : begin + 4096] = bytes(len(data[begin : begin + 4096]))
        case "pages":
            begin, other = at - at % 4096, rng.randrange(len(data) // 4096 + 1) * 4096
            if len(data) >= max(begin, other) + 4096:
                one = data[begin : begin + 4096]
                data[begin : begin + 4096] = data[other : other + 4096]
                data[other : other + 4096] = one
        case "cut":
            del data[at : at + rng.choice([1, 100, 5000])]
        case "tail":
            del data[at:]
        case "empty":
            data.clear()
        case "garbage":
            data[at : at + 200] = rng.randbytes(len(data[at : at + 200]))
        case "swap":
            other = rng.choice([each for each in paths if each.parent == path.parent])
            data, own = bytearray(other.read_bytes()), data
            other.write_bytes(own)
    is_same = bytes(data) == path.read_bytes()
    path.unlink() if how == "delete" else path.write_bytes(data)
    return path.relative_to(folder), how, is_same and how != "delete"


def tried(work):
    """Return what some work gives, or the one sentence that it says."""
    try:
        return work()
    except ClewError as error:
        return error


def check(sound, tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311 -- a test's
    folder = tmp_path / "i.clew"
    shutil.copytree(sound(rng.choice(KINDS)), folder)
    name, how, is_same = damaged(folder, rng)
    is_told = not (is_same or (how == "delete" and name.parent.name == "cached"))
    asks_first = rng.random() < 0.2
    chat = testing.ScriptedChat(reply_to)
    with opened(folder, chat=chat) as index:
        if asks_first:
            tried(lambda: index.search(QUESTION, method="walk"))
    with opened(folder, chat=chat) as index:
        told = tried(index.check)
        assert "\n" not in str(told)
        assert asks_first or is_told == bool(told), (name, how)
    with opened(folder, chat=chat) as index:
        tried(lambda: index.search(QUESTION, method="walk"))
        tried(lambda: index.add(texts(20, 21)))


@pytest.mark.parametrize("seed", range(8))
def test_damage_is_told(sound, tmp_path, seed):
    """`check` says of each, and what is asked or written later gives one sentence at the most."""
    check(sound, tmp_path, seed)


@pytest.mark.slow
def test_six_hundred_damages(sound, tmp_path):
    """The same, six hundred times."""
    for seed, place in zip(range(1_000, 1_600), count(), strict=False):
        check(sound, tmp_path / str(place), seed)
        shutil.rmtree(tmp_path / str(place))
