"""Pages that are swapped, flipped, zeroed or cut off: what is read is right, or a sentence says so.

Pages are whole and sound where they are swapped, and stand in the place of another.
"""

import random
import shutil
import struct
import subprocess
import sys

import pytest

from clew.base.runtime import sqlite
from clew.errors import ClewError
from clew.models import Prompt, Turn
from clew.models.cache import CachedEmbedder
from clew.models.ledger import Ledger, Request
from clew.testing import HashEmbedder
from tests.index.store import test_random_damage
from tests.index.store.test_every_damage import tried

PAGE = 4096
HOWS = ("swap", "swap", "swap", "copy", "flip", "zero", "cut", "rows")
FEW, MANY = range(10), range(1_000, 1_200)


def damage(path, rng):
    """Damage one file, and say how."""
    data, how = bytearray(path.read_bytes()), rng.choice(HOWS)
    n = len(data) // PAGE
    first, second = (PAGE * i for i in rng.sample(range(n), 2))
    match how:
        case "swap" | "copy":
            one, other = data[first : first + PAGE], data[second : second + PAGE]
            data[first : first + PAGE] = other
            if how == "swap":
                data[second : second + PAGE] = one
        case "flip":
            data[first + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        case "zero":
            data[first : first + PAGE] = bytes(PAGE)
        case "cut":
            del data[max(first, second) + rng.choice([0, 100]) :]
        case "rows":  # two pieces of one page change places
            at = first + rng.randrange(200, 2_000)
            data[at : at + 64], data[at + 64 : at + 128] = (
                data[at + 64 : at + 128],
                data[at : at + 64],
            )
    path.write_bytes(data)
    return how, first // PAGE, second // PAGE


def requests():
    return [
        Request("m", Prompt(version="v", system="", user=f"What is {i}?", max_tokens=9))
        for i in range(120)
    ]


def reply(i):
    return f"It is {i}: " + f"née {i * 7} — " * (5 + i * 13 % 120)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "calls.sqlite"
    book = Ledger(path)
    for i, request in enumerate(requests()):
        book.record(request, Turn(text=reply(i), fault="", prompt_tokens=i, seconds=0.5))
    book.keep({("m", "v", f"text {i}"): {"names": [f"Åse {i}"] * (1 + i % 40)} for i in range(120)})
    return path


def check_ledger(ledger, path, seed):
    shutil.copyfile(ledger, path)
    how = damage(path, random.Random(seed))  # noqa: S311 -- a test's
    tried(lambda: Ledger(path).faults())
    for i, request in enumerate(requests()):
        turn = tried(lambda request=request: Ledger(path).recall(request))
        assert isinstance(turn, ClewError | None) or turn.text == reply(i), how
    keys = [("m", "v", f"text {i}") for i in range(120)]
    pieces = tried(lambda: Ledger(path).pieces(keys))
    if not isinstance(pieces, ClewError):
        for (*_, text), value in pieces.items():
            i = int(text.split()[1])
            assert value == {"names": [f"Åse {i}"] * (1 + i % 40)}, how
    for read in (Ledger.list_versions, Ledger.costs, Ledger.totals):
        tried(lambda read=read: read(Ledger(path)))


WORDS = [f"word {i}" for i in range(400)]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "embeddings.sqlite"
    CachedEmbedder(HashEmbedder(), path, exact=True).embed(WORDS, kind="document")
    return path


def check_vectors(vectors, path, seed):
    shutil.copyfile(vectors, path)
    how = damage(path, random.Random(seed))  # noqa: S311 -- a test's
    found = tried(
        lambda: CachedEmbedder(HashEmbedder(), path, exact=True).embed(WORDS, kind="document")
    )
    right = HashEmbedder().embed(WORDS, kind="document")
    assert isinstance(found, ClewError) or (found == right).all(), how


sound = test_random_damage.sound
expected = test_random_damage.expected


def check_index(sound, expected, place, seed):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound, place)
    how = damage(place / "index.sqlite", random.Random(seed))  # noqa: S311 -- a test's
    said = test_random_damage.outcome(place)
    assert said == expected or said.startswith("told: "), f"{how}: {said[:200]}"
    assert "\n" not in said


@pytest.mark.parametrize("seed", FEW)
def test_ledger(ledger, tmp_path, seed):
    check_ledger(ledger, tmp_path / "calls.sqlite", seed)


@pytest.mark.parametrize("seed", FEW)
def test_vectors(vectors, tmp_path, seed):
    check_vectors(vectors, tmp_path / "embeddings.sqlite", seed)


@pytest.mark.parametrize("seed", FEW)
def test_index(sound, expected, tmp_path, seed):
    check_index(sound, expected, tmp_path / "i.clew", seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ledger", "vectors", "index"])
def test_two_hundred_of_each(ledger, vectors, sound, expected, tmp_path, kind):
    for seed in MANY:
        match kind:
            case "ledger":
                for end in ("", "-wal", "-shm"):
                    (tmp_path / f"{seed}.sqlite{end}").unlink(missing_ok=True)
                check_ledger(ledger, tmp_path / f"{seed}.sqlite", seed)
            case "vectors":
                check_vectors(vectors, tmp_path / f"{seed}.sqlite", seed)
            case "index":
                check_index(sound, expected, tmp_path / "i.clew", seed)


def as_of_before(path):
    """Give a file the checksums that earlier versions wrote: of the content alone."""
    data = bytearray(path.read_bytes())
    data[60:64] = (1).to_bytes(4)
    for i in range(len(data) // PAGE):
        first = second = 0
        words = struct.unpack_from(f"<{PAGE // 4 - 2}I", data, PAGE * i)
        for one, other in zip(words[::2], words[1::2], strict=True):
            first = (first + one + second) % (1 << 32)
            second = (second + other + first) % (1 << 32)
        struct.pack_into("<2I", data, PAGE * (i + 1) - 8, first, second)
    path.write_bytes(data)


def test_files_of_earlier_versions_are_read_and_written(ledger, sound, expected, tmp_path):
    path, place = tmp_path / "calls.sqlite", tmp_path / "i.clew"
    shutil.copyfile(ledger, path)
    shutil.copytree(sound, place)
    for each in (path, place / "index.sqlite", place / "calls.sqlite"):
        as_of_before(each)
    old = Ledger(path)
    assert old.faults() == []
    assert [old.recall(each).text for each in requests()] == [reply(i) for i in range(120)]
    new = Request("m", Prompt(version="v", system="", user="And now?", max_tokens=9))
    old.record(new, Turn(text="a" * 9_000, fault="", seconds=0.5))
    assert old.faults() == []
    assert Ledger(path).recall(new).text == "a" * 9_000
    assert test_random_damage.outcome(place) == expected


def test_a_copy_of_a_file_of_an_earlier_version(ledger, tmp_path):
    old, copy = tmp_path / "calls.sqlite", tmp_path / "copy.sqlite"
    shutil.copyfile(ledger, old)
    as_of_before(old)
    connection = sqlite.connect(old, wait=1)
    sqlite.copy(connection, copy)
    connection.close()
    assert Ledger(copy).faults() == []
    assert Ledger(copy).recall(requests()[7]).text == reply(7)


def test_an_open_database_at_the_end_of_the_process(ledger):
    """Nothing is said, and no signal ends it, where nobody closed a connection."""
    code = (
        "import sys; from pathlib import Path; from clew.base.runtime import sqlite\n"
        "connection = sqlite.connect(Path(sys.argv[1]), wait=1)\n"
        "print(len(sqlite.rows(connection, 'SELECT * FROM call')))"
    )
    done = subprocess.run([sys.executable, "-c", code, ledger], capture_output=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (b"120", b"")


@pytest.mark.parametrize("at", range(2_900, 4_090, 70))
def test_damage_to_the_schema_of_a_ledger(ledger, tmp_path, at):
    """What the first page says of the tables may be of any form."""
    path = tmp_path / "calls.sqlite"
    for n in (1, 16, 512):
        data = bytearray(ledger.read_bytes())
        data[at : min(at + n, PAGE)] = bytes(min(at + n, PAGE) - at)
        for end in ("", "-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        path.write_bytes(data)
        for read in (Ledger.costs, Ledger.totals, Ledger.faults):
            tried(lambda read=read: read(Ledger(path)))
