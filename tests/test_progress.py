"""How far a run is: bytes that are done with, from the first file to the last."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.api import open_index
from clew.progress import Progress
from clew.readers import read

FILES = st.lists(st.tuples(st.integers(0, 1_000), st.lists(st.integers(0, 900), max_size=4)))


@given(FILES, st.integers(1, 3))
def test_bytes_done(files, at_once):
    """They never exceed what was read, never go back at a commit, and come to all of it."""
    progress = Progress(total=sum(size for size, _ in files))
    waiting, last = [], 0.0
    for f, (size, documents) in enumerate(files):
        progress.open(f"f{f}", size)
        for d, characters in enumerate(documents):
            progress.read(f"{f}.{d}", characters)
            waiting.append(f"{f}.{d}")
            if len(waiting) >= at_once:
                progress.expect(100)
                steps = [progress.done_bytes]
                for n in (30, 50, 90):
                    progress.add_embedded(n)
                    steps.append(progress.done_bytes)
                assert steps == sorted(steps)
                progress.settle(waiting)
                waiting.clear()
                assert progress.done_bytes >= steps[-1] - 1e-6
        assert last - 1e-6 <= progress.done_bytes <= progress.total + 1e-6
    progress.settle(waiting)
    progress.open("", 0)
    assert abs(progress.done_bytes - progress.total) < 1e-6
    assert progress.documents == sum(len(documents) for _, documents in files)


def test_an_index_writes_its_progress(tmp_path):
    """The total is known before the first document is embedded; all is done at the end."""
    for name in "abc":
        (tmp_path / "d" / name).mkdir(parents=True)
        (tmp_path / "d" / name / "x.md").write_text(f"Ada {name} wound a rope. " * 200, "utf-8")
    progress, seen = Progress(), []
    models = testing.models(testing.HashTokenEmbedder())

    class Watching(testing.HashTokenEmbedder):
        def embed_tokens(self, texts):
            seen.append((progress.stage, progress.total, progress.done_bytes, progress.source))
            return super().embed_tokens(texts)

    models = testing.models(Watching())
    with open_index(tmp_path / "i.clew", models=models) as index:
        index.add(tmp_path / "d", progress=progress)
    total = sum(path.stat().st_size for path in (tmp_path / "d").rglob("*.md"))
    assert seen[0][:3] == ("indexing", total, 0.0)
    assert seen[0][3].endswith("x.md")
    assert (progress.stage, progress.documents, round(progress.done_bytes)) == (
        "finishing",
        3,
        total,
    )
    assert progress.meter.usage.llm_calls == 0


def test_a_whole_file_counts_with_its_own_bytes(tmp_path):
    """A page of markup, of wide letters or packed is under way as its text is embedded."""
    text = "Ада нашла верёвку. " * 200
    (tmp_path / "a.html").write_text(f"<p style='{'x' * 9_000}'>{text}</p>", encoding="utf-8")
    (tmp_path / "b.txt").write_text(text, encoding="utf-8")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(text.encode()))
    progress = Progress()
    wide = len(text.encode())
    sizes = [(tmp_path / "a.html").stat().st_size, wide, wide]
    for n, document in enumerate(read([tmp_path], progress=progress)):
        assert progress.total == sum(sizes)
        progress.expect(100)
        progress.add_embedded(50)
        assert progress.done_bytes == sum(sizes[:n]) + sizes[n] / 2
        progress.settle([document.id])
        assert progress.done_bytes == sum(sizes[: n + 1])


def test_what_is_never_read_is_no_work(tmp_path):
    """Pictures without OCR, programs and the like count neither in the total nor when met."""
    (tmp_path / "a.md").write_text("Ada wound a rope. " * 50, encoding="utf-8")
    for name in ("b.png", "c.JPG", "d.exe", "e.tiff.gz"):
        (tmp_path / name).write_bytes(bytes(100_000))
    progress = Progress()
    documents = [each for each in read([tmp_path], progress=progress) if hasattr(each, "text")]
    assert [each.id for each in documents] == [f"{tmp_path.name}/a.md"]
    progress.settle([documents[0].id])
    assert progress.total == progress.done_bytes == (tmp_path / "a.md").stat().st_size
