"""An index whose database was cut off: what can be read is kept, what was lost is read or named."""

import pytest

from clew import testing
from clew.api import open_index

MODELS = testing.models(testing.HashEmbedder())
N = 11


@pytest.fixture(params=[5, 40, 400], ids=["small", "some", "large"])
def index(tmp_path, request):
    """Make an index of eleven files of one size."""
    docs, folder = tmp_path / "docs", tmp_path / "my.clew"
    docs.mkdir()
    for n in range(N):
        sentences = (f"Person {n} crossed place {i} in {1900 + i}." for i in range(request.param))
        (docs / f"d{n}.txt").write_text(" ".join(sentences), encoding="utf-8")
    (docs / "rows.csv").write_text("id,text\nr1,Mira Toll came.\nr2,She left.\n", encoding="utf-8")
    with open_index(folder, models=MODELS) as opened:
        opened.add(docs)
    return folder


def cut(folder, share):
    with (folder / "index.sqlite").open("r+b") as file:
        file.truncate(int((folder / "index.sqlite").stat().st_size * share))
    with open_index(folder, models=MODELS) as opened:
        return opened.repair(), opened.documents(), opened.check()


@pytest.mark.parametrize("share", [0.3, 0.5, 0.6, 0.7, 0.79, 0.9, 0.99])
def test_every_document_is_kept_or_read_again_or_it_is_said(index, share):
    done, documents, left = cut(index, share)
    assert left == []
    assert done.lost == []
    if share >= 0.5:
        assert len(documents) == N + 2
    assert sorted({*done.documents, *done.reread}) == documents
    assert len(documents) == N + 2 or done.is_unsure


@pytest.mark.parametrize("share", [0.5, 0.79, 0.9])
def test_what_is_gone_with_its_file_is_named(index, share):
    """And what changed meanwhile is read as it is now."""
    for path in index.with_name("docs").iterdir():
        path.unlink()
    (index.with_name("docs") / "d10.txt").write_text("Person 10 left.", encoding="utf-8")
    done, documents, left = cut(index, share)
    assert left == []
    assert len(documents) + len(done.lost) == N + 2 or done.is_unsure
    assert not {*documents} & {*done.lost}
