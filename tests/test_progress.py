"""How far a run is: bytes that are done with, from the first file to the last."""

from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.api import open_index
from clew.progress import Progress

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
                steps = [progress.done]
                for n in (30, 50, 90):
                    progress.embedded(n)
                    steps.append(progress.done)
                assert steps == sorted(steps)
                progress.settle(waiting)
                waiting.clear()
                assert progress.done >= steps[-1] - 1e-6
        assert last - 1e-6 <= progress.done <= progress.total + 1e-6
    progress.settle(waiting)
    progress.open("", 0)
    assert abs(progress.done - progress.total) < 1e-6
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
            seen.append((progress.stage, progress.total, progress.done, progress.source))
            return super().embed_tokens(texts)

    models = testing.models(Watching())
    with open_index(tmp_path / "i.clew", models=models) as index:
        index.add(tmp_path / "d", progress=progress)
    total = sum(path.stat().st_size for path in (tmp_path / "d").rglob("*.md"))
    assert seen[0][:3] == ("indexing", total, 0.0)
    assert seen[0][3].endswith("x.md")
    assert (progress.stage, progress.documents, round(progress.done)) == ("finishing", 3, total)
    assert progress.meter.llm_calls == 0
