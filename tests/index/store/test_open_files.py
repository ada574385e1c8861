"""A file that is open or mapped cannot be moved or deleted on Windows; an index lives with that."""

import os
import sys
from pathlib import Path

import pytest

from clew import testing
from clew.api import open_index, restore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says what is open")

DOCUMENTS = testing.small_documents()
MODELS = testing.models(testing.HashTokenEmbedder())


def in_use():
    """Return the paths of what this process has open or mapped."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    descriptors = Path("/proc/self/fd").iterdir()
    return {line.split(maxsplit=5)[-1] for line in lines} | {
        os.path.realpath(d) for d in descriptors
    }


@pytest.fixture
def refused(monkeypatch):
    """Let functions of `os` refuse what Windows would; return the names of files that were."""
    names = []

    def guard(function, n_paths):
        real = getattr(os, function)

        def call(*paths, **given):
            below = given.get("dir_fd")
            folder = Path.cwd() if below is None else Path(f"/proc/self/fd/{below}").readlink()
            for path in paths[:n_paths]:
                place = folder.resolve() / path
                if any(Path(each).is_relative_to(place) for each in in_use()):
                    names.append(place.name)
                    raise PermissionError(13, "it is in use", str(place))
            return real(*paths, **given)

        monkeypatch.setattr(os, function, call)

    for function, n_paths in {"rename": 2, "replace": 2, "unlink": 1, "remove": 1}.items():
        guard(function, n_paths)
    return names


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "i.clew"
    with open_index(folder, models=MODELS) as index:
        index.add(DOCUMENTS[:4])
    return folder


def test_a_reader_keeps_nobody_from_writing(folder, refused, tmp_path):
    """What it has mapped stays until the next writer, which deletes it."""
    with open_index(folder, models=MODELS) as reader:
        before = reader.search("Fram")
        with open_index(folder, models=MODELS) as writer:
            writer.add(DOCUMENTS[4:])
            writer.remove([DOCUMENTS[0].id])
            writer.compact()
            writer.backup(tmp_path / "b.tar")
        assert before
        assert len(reader) == len(DOCUMENTS) - 1
    assert refused
    refused.clear()
    (tmp_path / "new.clew").mkdir()
    restore(tmp_path / "b.tar", tmp_path / "new.clew")
    with open_index(folder, models=MODELS) as index:
        index.add(DOCUMENTS[:1])
        assert index.check() == []
    assert len(list((folder / "segments").iterdir())) == 2
    assert refused == []
