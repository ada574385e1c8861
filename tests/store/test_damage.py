"""Damaged arrays: told, or made anew, and never believed."""

import shutil
from contextlib import closing

import numpy as np
import pytest

from clew import sqlite, testing
from clew.algo.links import check_link
from clew.api import open_index
from clew.errors import ClewError, DamagedIndex
from clew.store import segments

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


def damaged(folder, path, rng):
    data = bytearray(path.read_bytes())
    at = int(rng.integers(len(data)))
    match str(rng.choice(["flip", "zero", "cut"])):
        case "flip":
            data[at] ^= 1 << int(rng.integers(8))
        case "zero":
            data[at : at + 64] = bytes(len(data[at : at + 64]))
        case "cut":
            del data[at : at + int(rng.choice([1, 500]))]
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(20))
def test_every_damage_of_arrays_is_found(sound, tmp_path, seed):
    """`check` names the file and the documents; what is cached is dropped, and made anew."""
    rng = np.random.default_rng(seed)
    folder = tmp_path / "i.clew"
    shutil.copytree(sound, folder)
    paths = sorted(folder.rglob("*.safetensors"))
    path = paths[int(rng.integers(len(paths)))]
    before = path.read_bytes()
    damaged(folder, path, rng)
    with open_index(folder, models=MODELS) as index:
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
        with open_index(sound, models=MODELS) as other:
            assert other.check() == []


def test_a_text_that_was_changed_is_found(sound, tmp_path):
    """A document's hash stands beside it."""
    folder = tmp_path / "i.clew"
    shutil.copytree(sound, folder)
    with closing(sqlite.connect(folder / "index.sqlite", wait=1)) as database:
        database.execute("UPDATE document SET title = title || '.' WHERE id = 'comet'")
    with open_index(folder, models=MODELS) as index:
        [found] = index.check()
    assert (found.documents, found.file) == (("comet",), "index.sqlite")


def test_parts_are_checked_by_their_blocks(tmp_path, monkeypatch):
    """A part is sound where its own blocks are."""
    monkeypatch.setattr(segments, "_BLOCK", 64)
    path = tmp_path / "below" / "x"
    array = np.arange(100, dtype=np.int32).reshape(50, 2)
    segments.write(path, {"a": array, "none": np.zeros((0, 3), np.float32)})
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = segments.read(path)
    np.testing.assert_array_equal(found.part("a", 3, 20), array[3:20])
    assert found["none"].shape == (0, 3)
    assert found.part("none", 0, 0).shape == (0, 3)
    for ask in (lambda: found["a"], lambda: found.part("a", 48, 50)):
        with pytest.raises(DamagedIndex, match="the array 'a'"):
            ask()
    assert set(found) == {"a", "none"}
    assert "b" not in found


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
        segments.write(tmp_path / "f" / name, {"x": blocks})
        np.testing.assert_array_equal(segments.read(tmp_path / "f" / name)["x"], whole)
    written = {(tmp_path / "f" / name).read_bytes() for name in "abc"}
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
