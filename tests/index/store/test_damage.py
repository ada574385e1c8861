"""Damaged arrays: told, or made anew, and never believed."""

import random
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from clew import testing
from clew.algo.links import check_link
from clew.api import open_index
from clew.base.runtime import sqlite
from clew.errors import ClewError, DamagedIndex
from clew.index.store import segments
from tests.index.store.test_random_damage import damage

MODELS = testing.models(testing.HashTokenEmbedder())
METHODS = ("walk", "ket", "clue", "agrag")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "i.clew"
    with open_index(folder, models=MODELS) as index:
        for i in range(0, 12, 4):
            index.add(testing.small_documents()[i : i + 4], triples="cooccurrence")
        answers(index)
    return folder


def answers(index):
    return [
        (hit.chunk_id, hit.score, hit.text)
        for method in METHODS
        for hit in index.search(testing.QUESTIONS[0], method=method).hits
    ]


@pytest.mark.parametrize("seed", range(12))
def test_every_damage_of_arrays_is_found(copy, seed):
    """`check` names the file and the documents; what is cached is dropped, and made anew."""
    rng = random.Random(seed)  # noqa: S311 -- a test's
    path = rng.choice(sorted(copy.rglob("*.safetensors")))
    before = path.read_bytes()
    damage(path, rng)
    with open_index(copy, models=MODELS) as index:
        found = index.check()
        if path.exists() and path.read_bytes() == before:  # zeros where there were zeros
            assert found == []
            return
        assert {each.file for each in found} == {f"{path.parent.name}/{path.name}"}
        if path.parent.name == "cached":
            assert not path.exists()
            assert answers(index)
        else:
            # A name's vector is of no document: it is made again from the name.
            assert all(each.documents or "'name." in each.what for each in found)


def test_a_text_that_was_changed_is_found(copy):
    """A document's hash stands beside it."""
    with closing(sqlite.connect(copy / "index.sqlite", wait=1)) as database:
        database.execute("UPDATE document SET title = title || '.' WHERE id = 'comet'")
    with open_index(copy, models=MODELS) as index:
        [found] = index.check()
    assert (found.documents, found.file) == (("comet",), "index.sqlite")


@pytest.fixture
def in_parts(tmp_path, monkeypatch):
    """Give an index of several segments."""
    monkeypatch.setattr("clew.index.adding._COMPACT_ABOVE", 1.0)
    with open_index(tmp_path / "sound.clew", models=MODELS) as index:
        for i in range(0, 12, 4):
            index.add(testing.small_documents()[i : i + 4], triples="cooccurrence")
        answers(index)
    return tmp_path / "sound.clew"


@pytest.mark.parametrize("below", ["cached", "segments"])
def test_a_file_under_another_ones_name_is_found(in_parts, tmp_path, below):
    """Each is sound by itself, and says what it is."""
    folder = tmp_path / "i.clew"
    shutil.copytree(in_parts, folder)
    first, second, *_ = sorted((folder / below).iterdir())
    first.replace(tmp_path / "aside")
    second.replace(first)
    (tmp_path / "aside").replace(second)
    with open_index(folder, models=MODELS) as index:
        found = index.check()
        assert {each.file for each in found} == {f"{below}/{p.name}" for p in (first, second)}
        assert all("it was written as" in each.what for each in found)


def test_a_cached_file_under_another_ones_name_is_computed_again(copy, sound):
    """A question makes no answer of it, and no error."""
    paths = sorted((copy / "cached").iterdir())
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    with open_index(copy, models=MODELS) as index, open_index(sound, models=MODELS) as other:
        assert answers(index) == answers(other)


def test_a_name_that_was_changed_is_damage(tmp_path):
    path = tmp_path / "below" / "x.safetensors"
    segments.write_segment(path, {"a": np.arange(3)})
    whole = path.read_bytes()
    assert b'"name":"below/x"' in whole
    for changed in (b'"nbme":"below/x"', b'"name":"below/y"', b'"name":"belov/x"'):
        path.write_bytes(whole.replace(b'"name":"below/x"', changed))
        with pytest.raises(DamagedIndex, match="its header was changed"):
            segments.open_segment(path)


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_the_note_of_the_newest_generation_is_looked_at(copy, how):
    """It is told, and written again."""
    path = copy / "generation.json"
    before = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(before[:-3])
    with open_index(copy, models=MODELS) as index:
        [told] = index.check()
        assert (told.file, told.is_cached) == ("generation.json", True)
        assert index.check() == []
    assert path.read_bytes() == before


def test_parts_are_checked_by_their_blocks(tmp_path, monkeypatch):
    """A part is sound where its own blocks are."""
    monkeypatch.setattr(segments, "_BLOCK", 64)
    path = tmp_path / "below" / "x"
    array = np.arange(100, dtype=np.int32).reshape(50, 2)
    segments.write_segment(path, {"a": array, "none": np.zeros((0, 3), np.float32)})
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = segments.open_segment(path)
    np.testing.assert_array_equal(found.part("a", 3, 20), array[3:20])
    assert found["none"].shape == (0, 3)
    assert found.part("none", 0, 0).shape == (0, 3)
    for ask in (lambda: found["a"], lambda: found.part("a", 48, 50)):
        with pytest.raises(DamagedIndex, match="the array 'a'"):
            ask()
    assert set(found) == {"a", "none"}
    assert "b" not in found


def test_blocks_are_as_long_as_their_file_says(tmp_path, monkeypatch):
    array, path = np.arange(3 << 18, dtype=np.int32), tmp_path / "below" / "new"
    monkeypatch.setattr(segments, "_BLOCK", 4_096)
    segments.write_segment(path, {"a": array})
    monkeypatch.undo()
    np.testing.assert_array_equal(segments.open_segment(path)["a"], array)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert segments.open_segment(path).part("a", 0, len(array) - 1024)[-1] == len(array) - 1025
    with pytest.raises(DamagedIndex):
        segments.open_segment(path).part("a", 0, len(array))


def test_rows_are_sound_wherever_they_stand(tmp_path, monkeypatch):
    """Few and many rows, in any order, and long ranges; a damaged block is told from others."""
    monkeypatch.setattr(segments, "_BLOCK", 64)
    monkeypatch.setattr(segments, "_TOUCHED", 640)
    path = tmp_path / "below" / "x"
    array = np.arange(4_000, dtype=np.int32).reshape(2_000, 2)
    segments.write_segment(path, {"first": np.zeros(3, np.int64), "a": array})
    data = bytearray(path.read_bytes())
    data[len(data) - array.nbytes + 8 * 1_000] ^= 1  # in row 1,000
    path.write_bytes(data)
    rng = np.random.default_rng(0)
    found = segments.open_segment(path)
    for n in (1, 5, 100):
        rows = np.delete(np.arange(1_900), slice(990, 1_010))[rng.integers(0, 1_880, n)]
        reached = found.verify_ranges("a", rows, rows + rng.integers(0, 3, n))
        np.testing.assert_array_equal(reached[rows], array[rows])
    for few, last in ((1, 1_001), (1, 2_000), (40, 1_001)):
        starts = np.concatenate([[900], np.arange(few - 1)])
        with pytest.raises(DamagedIndex, match="the array 'a'"):
            found.verify_ranges("a", starts, np.concatenate([[last], starts[1:] + 1]))
    none = np.arange(40)
    assert segments.open_segment(path).verify_ranges("a", none, none) is not None


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux says what is resident")
def test_what_is_read_here_and_there_is_let_go_of(tmp_path, monkeypatch):
    """A process holds no more of a file than a bound, and of a longer one not more."""
    rows = np.random.default_rng(0).integers(0, 1 << 15, 10_000)

    def resident(bound):
        path = tmp_path / f"below {bound}" / "x"
        segments.write_segment(path, {"a": np.zeros((1 << 15, 512), np.uint8)})  # 16 MiB
        monkeypatch.setattr(segments, "_TOUCHED", bound)
        found = segments.open_segment(path)
        for some in np.array_split(rows, 1_000):
            found.verify_ranges("a", some, some + 1)[some].sum()
        found.verify_ranges(
            "a", rows, rows + 1
        )  # of which nothing is read: a fault may map many pages
        lines = Path("/proc/self/smaps").read_text(encoding="utf-8").split(str(path))[1].split("\n")
        return int(next(line for line in lines if line.startswith("Rss:")).split()[1]) << 10

    assert resident(1 << 30) > 12 << 20
    assert resident(1 << 20) < 4 << 20


def test_pieces_have_the_checksums_of_the_whole(tmp_path, monkeypatch):
    """However an array was written, its file is the same."""
    monkeypatch.setattr(segments, "_BLOCK", 64)
    whole = np.arange(1_000, dtype=np.uint8)
    for name, pieces in (
        ("a", [whole]),
        ("b", np.array_split(whole, 7)),
        ("c", [whole[:64], whole[64:]]),
    ):
        blocks = segments.Blocks(whole.shape, whole.dtype, pieces)
        segments.write_segment(tmp_path / name / "f" / "x", {"x": blocks})
        np.testing.assert_array_equal(
            segments.open_segment(tmp_path / name / "f" / "x")["x"], whole
        )
    written = {(tmp_path / name / "f" / "x").read_bytes() for name in "abc"}
    assert len(written) == 1


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 5], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0], [0, 2, 1]),
        ([0], [0, 1]),
        ([0, 1], [1, 1, 2]),
    ],
)
def test_links_stay_in_their_bounds(indices, indptr):
    """Compiled code trusts the indices of a sparse matrix, so they are looked at before."""
    check_link(np.array([0, 4]), np.array([0, 1, 2]), 2, 5)
    with pytest.raises(ClewError, match="leaves its bounds"):
        check_link(np.array(indices), np.array(indptr), 2, 5)
