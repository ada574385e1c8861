"""How far a run is: bytes that are done with, from the first file to the last."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.api import open_index
from clew.progress import Progress, TimeLeft
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


# -- the time that is left ------------------------------------------------------------------------


def looked_at(steps, until, total):
    """Look every second at work that is done in steps (when, work); return what is said when."""
    left, done, found = TimeLeft(), 0.0, {}
    steps = list(steps)
    for second in range(until):
        while steps and steps[0][0] <= second:
            done += steps.pop(0)[1]
        found[second] = left.estimate_seconds_left(float(second), done, total)
    return found


def evenly(begin, end, work, every):
    """Return steps of work from one time to another."""
    n = max(int((end - begin) / every), 1)
    return [(begin + every * (i + 1), work / n) for i in range(n)]


STEADY = {  # each is as fast from its first step to its end at 1,200 s
    "even": evenly(20, 1_200, 1_180, 1),
    "models that load for a minute": evenly(60, 1_200, 1_140, 1),
    "a batch every five seconds": evenly(0, 1_200, 1_200, 5),
    "a batch every fifteen seconds": evenly(0, 1_200, 1_200, 15),
    "a big document after small ones": [
        *evenly(0, 120, 120, 2),
        *evenly(130, 1_200, 1_080, 8),  # it is cut and tagged first
    ],
    "small documents after a big one": [*evenly(10, 900, 900, 10), *evenly(900, 1_200, 300, 1)],
    "a commit that takes a while now and then": [
        (when + when // 120 * 0.9, work) for when, work in evenly(0, 1_190, 1_200, 3)
    ],
}


@pytest.mark.parametrize("name", STEADY)
def test_at_a_steady_speed_the_time_left_is_right(name):
    """Never more than half above or a third below, and never a jump of more than a tenth."""
    steps = STEADY[name]
    total, first = sum(work for _, work in steps), steps[0][0]
    said = {when: left for when, left in looked_at(steps, 1_190, total).items() if left is not None}
    assert min(said) >= first + 10  # before there is a basis nothing is said
    assert min(said) <= first + 75
    for when, left in said.items():
        if when < 1_150:
            assert 2 / 3 < left / (1_200 - when) < 3 / 2, when
        if when + 1 in said and left > 30:
            assert 0.9 < said[when + 1] / (left - 1) < 1.1, when


CHANGING = {
    "what is unchanged comes first": ([*evenly(0, 3, 9_000, 1), *evenly(3, 1_200, 1_197, 2)], 90),
    "embedded before, for minutes": (
        [*evenly(0, 120, 2_400, 1), *evenly(120, 1_200, 1_080, 2)],
        220,
    ),
    "embedded before at the end of it": (
        [*evenly(0, 900, 900, 3), *evenly(900, 1_200, 3_000, 2)],
        1_150,
    ),
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_is_had_for_nothing_is_no_speed(name):
    """Soon after the speed has changed the time left is within twice what it is."""
    steps, known = CHANGING[name]
    said = looked_at(steps, 1_190, sum(work for _, work in steps))
    for when in range(known, 1_150):
        assert 1 / 2 < said[when] / (1_200 - when) < 2, when


def test_nothing_is_said_without_a_basis():
    """Of a total that is not known, of nothing done yet, of the first moments, and at the end."""
    left = TimeLeft()
    assert [left.estimate_seconds_left(t, 0.0, 100.0) for t in range(200)] == [None] * 200
    assert [left.estimate_seconds_left(200.0 + t, 1.0, 100.0) for t in range(60)] == [None] * 60
    assert TimeLeft().estimate_seconds_left(0.0, 5.0, None) is None
    even = looked_at(evenly(0, 100, 100, 1), 140, 100)
    assert even[5] is None
    assert even[50] is not None
    assert even[120] is None


@given(st.lists(st.floats(0, 50), min_size=1, max_size=90))
def test_a_time_is_never_negative_or_without_end(works):
    """Whatever comes in whatever steps."""
    total = sum(works) + 1
    for left in looked_at(enumerate(works), len(works) + 90, total).values():
        assert left is None or 0 < left < float("inf")


def test_a_long_pause_makes_no_absurd_time():
    """Nothing is said rather than a time that nobody believes, until the work goes on."""
    steps = [*evenly(0, 300, 300, 1), *evenly(3_900, 6_900, 3_000, 1)]
    said = looked_at(steps, 6_850, 3_300)
    assert max(filter(None, said.values())) < 360_000
    assert all(0.5 < said[when] / (6_900 - when) < 2 for when in range(5_500, 6_850))


@pytest.mark.parametrize("asleep", [40.0, 3_600.0, 1e6, 1e15])
def test_no_time_passes_while_a_machine_sleeps(asleep):
    """Nobody looks, and nothing is done; what is said then is what was said before."""
    left, done, said = TimeLeft(), 0.0, {}
    for second in range(200):
        done += 1.0
        now = second + (asleep if second >= 100 else 0.0)
        said[second] = left.estimate_seconds_left(now, done, 300.0)
    assert all(abs(said[second] - (300 - second)) < 5 for second in range(30, 200))


def test_nothing_is_said_of_a_hundred_hours():
    steps = [(float(second), 1.0) for second in range(300)]
    assert set(looked_at(steps, 300, 1e12).values()) == {None}


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
