"""A file that is as it was when it was read last is not opened, and every other one is."""

import gzip
import itertools
import os
import shutil
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.base.types import Document
from clew.errors import InputError
from clew.index.store.catalogue import Catalogue
from clew.index.store.embedded import EmbeddedStore
from clew.limits import ReadingLimits
from clew.readers import formats, unchanged
from clew.stopping import Stop
from clew.testing import HashTokenEmbedder, models
from tests.index.build import scratch
from tests.index.store.deadly import deadly, start_child
from tests.trials import trials

MODELS = models(HashTokenEmbedder(8))
NOTE = "The brig {} sailed from Larvik."


@pytest.fixture(autouse=True)
def long_ago(monkeypatch):
    """Let files count as written long before they are read, except in the test of that."""
    monkeypatch.setattr(unchanged, "_MARGIN", -1)


@pytest.fixture
def opened(monkeypatch):
    """Return a list that gets the names of the files that are read."""
    names = []
    monkeypatch.setattr(formats, "_read_file", read_and_record(names))
    return names


def read_and_record(names, read=formats._read_file):  # noqa: SLF001 -- what opens a file
    def record(file, apart):
        names.append(file.path.name)
        return read(file, apart)

    return record


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("fram", "gjoa", "maud"):
        (folder / f"{name}.txt").write_text(NOTE.format(name))
    return folder


def add(*sources, **options):
    with clew.open("my.clew", models=MODELS) as index:
        return index.add(
            sources[0] if len(sources) == 1 else list(sources) or "notes", **options
        ).report


def listed():
    with clew.open("my.clew", models=MODELS) as index:
        return sorted(index.documents())


def text_of(document_id):
    with clew.open("my.clew", models=MODELS) as index:
        snapshot = index.snapshot()
        [row] = snapshot.document_layer.rows([document_id])
        return snapshot.documents([row])[0].text


def test_an_unchanged_file_is_not_opened_and_counts_as_unchanged(notes, opened):
    add()
    opened.clear()
    progress = clew.progress.Progress()
    report = add(progress=progress)
    assert (opened, report.n_unchanged, progress.documents, progress.total) == ([], 3, 3, 0)
    (notes / "fram.txt").write_text("The Fram is at Oslo.")
    assert (add().changed, opened) == (["notes/fram.txt"], ["fram.txt"])
    (notes / "amber.txt").write_text("Amber floats.")
    opened.clear()
    assert (add().added, opened) == (["notes/amber.txt"], ["amber.txt"])


def test_a_file_of_the_same_size_and_date_is_read_where_it_was_written(notes):
    add()
    path = notes / "fram.txt"
    before = path.stat()
    path.write_text(NOTE.format("farm"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_size == before.st_size
    assert add().changed == ["notes/fram.txt"]


def test_a_file_that_was_written_just_before_is_read_again(notes, opened, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(notes.parent)
    long_ago = time.time() - 200_000
    os.utime(notes / "maud.txt", (long_ago, long_ago))  # which changes the file now
    monkeypatch.setattr(formats, "_read_file", read_and_record(opened))
    add()
    opened.clear()
    assert (add().n_unchanged, len(opened)) == (3, 3)


@pytest.mark.parametrize(
    "options", [{"limits": ReadingLimits(records=5)}, {"columns": clew.readers.Columns(text="a")}]
)
def test_other_options_and_packages_read_anew(notes, opened, monkeypatch, options):
    add()
    opened.clear()
    add(**options)
    assert len(opened) == 3
    opened.clear()
    add(**options, again=True)
    assert len(opened) == 3
    opened.clear()
    add(**options)
    assert not opened
    (notes.parent / "packages" / "clew-99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(notes.parent / "packages")
    add(**options)
    assert len(opened) == 3


def test_removed_and_replaced_documents_come_back(notes):
    add()
    with clew.open("my.clew", models=MODELS) as index:
        index.remove("notes/fram.txt")
        index.add([Document(id="notes/maud.txt", text="Another text of the Maud.")])
    report = add()
    assert (report.restored, report.n_unchanged) == (["notes/fram.txt", "notes/maud.txt"], 1)
    assert text_of("notes/maud.txt") == NOTE.format("maud")


def test_files_that_are_gone_are_pruned(notes):
    add()
    (notes / "fram.txt").unlink()
    assert add().gone == ["notes/fram.txt"]
    assert add(prune=True).pruned
    assert listed() == ["notes/gjoa.txt", "notes/maud.txt"]
    assert add(exclude=["maud*"], prune=True).gone == ["notes/maud.txt"]
    assert add().restored == ["notes/maud.txt"]


def test_what_was_reported_is_reported_again(notes, opened):
    (notes / "odd.txt").write_text("...")
    (notes / "rows.jsonl").write_text('{"text": "Bo Dahl sailed."}\n{"text": 3\n')
    first = add()
    opened.clear()
    assert add().skipped == first.skipped
    assert opened == ["odd.txt", "rows.jsonl"]


def test_a_file_of_several_documents(notes, opened):
    rows = notes / "rows.csv"
    rows.write_text("id,text\nbo,Bo Dahl sailed.\nola,Ola Dahl stayed.\n")
    add()
    opened.clear()
    assert (add(prune=True).n_unchanged, opened) == (5, [])
    with clew.open("my.clew", models=MODELS) as index:
        index.remove("ola")
    assert (add().restored, opened) == (["ola"], ["rows.csv"])
    rows.write_text("id,text\nbo,Bo Dahl sailed.\n")
    opened.clear()
    assert (add(prune=True).n_unchanged, opened) == (4, ["rows.csv"])


def test_an_id_that_another_file_has_first_is_still_refused(notes):
    (notes / "z.csv").write_text("id,text\nbo,Bo Dahl sailed.\n")
    add()
    (notes / "a.csv").write_text("id,text\nbo,Bo Dahl stayed.\n")
    skipped = add().skipped
    assert [each.source for each in skipped] == ["notes/a.csv"]
    assert add().skipped == skipped
    assert text_of("bo") == "Bo Dahl sailed."


def test_a_file_of_a_second_folder_that_has_an_id_of_the_first_is_refused_again(notes):
    for folder in ("a", "b"):
        (notes.parent / folder).mkdir()
        (notes.parent / folder / "rows.csv").write_text(f"id,text\nbo,Bo Dahl of {folder}.\n")
    add("a")
    first = add("b").skipped
    assert len(first) == 1
    assert add("b").skipped == first
    (notes.parent / "a" / "rows.csv").unlink()
    assert add("b").changed == ["bo"]


def test_links_and_ignored_files(notes, opened):
    (notes / "link.txt").symlink_to("fram.txt")
    (notes / "other.txt").symlink_to(notes.parent / "outside.txt")
    (notes.parent / "outside.txt").write_text("The Belgica sailed.")
    add(follow_links=True)
    opened.clear()
    assert (add(follow_links=True).n_unchanged, opened) == (4, [])
    (notes.parent / "outside.txt").write_text("The Belgica is lost.")
    assert add(follow_links=True).changed == ["notes/other.txt"]
    assert opened == ["other.txt"]
    assert add(prune=True).gone == ["notes/other.txt"]
    (notes.parent / ".git").mkdir()
    (notes / ".gitignore").write_text("maud.txt")
    assert add(prune=True).gone == ["notes/maud.txt"]


def test_packed_files(notes, opened):
    with gzip.open(notes / "log.txt.gz", "wt") as packed:
        packed.write("The Fram left Oslo.")
    add()
    opened.clear()
    assert (add().n_unchanged, opened) == (4, [])
    with gzip.open(notes / "log.txt.gz", "wt") as packed:
        packed.write("The Fram left Rome.")
    assert add().changed == ["notes/log.txt.gz"]


def test_more_documents_than_are_remembered_are_read(notes, opened, monkeypatch):
    monkeypatch.setattr(unchanged, "_MOST", 2)
    add()
    for _ in range(2):
        opened.clear()
        assert (add().n_unchanged, opened) == (3, ["maud.txt"])


def test_shards_read_their_own_files_alone(notes, opened):
    for number in (0, 1):
        with clew.open(f"{number}.clew", models=MODELS) as index:
            index.add("notes", part=f"{number}/2")
            opened.clear()
            assert not index.add("notes", part=f"{number}/2").report.added
            assert not opened


def test_another_name_reads_a_moved_file(notes, opened):
    add("notes/fram.txt", name="ship")
    (notes / "fram.txt").rename(notes / "hull.txt")
    opened.clear()
    add("notes/hull.txt", name="ship")
    assert opened == ["hull.txt"]  # its title is its name


def test_two_folders_keep_what_is_known_of_both(notes, opened):
    (notes.parent / "more").mkdir()
    (notes.parent / "more" / "a.txt").write_text("Amber floats.")
    add()
    add("more")
    opened.clear()
    assert add("notes", "more").n_unchanged == 4
    assert not opened


def test_a_run_that_ends_early_notes_no_file(notes, opened, monkeypatch):
    class KilledError(Exception):
        pass

    def die(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("clew.index.store.embedded.EmbeddedStore.commit", die)
        with pytest.raises(KilledError):
            add()
    add(again=True)
    (notes / "fram.txt").write_text("The Fram is at Oslo.")
    stop = Stop()
    stop.ask()
    assert add(stop=stop).stopped
    opened.clear()
    assert (add().changed, opened) == (["notes/fram.txt"], ["fram.txt"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_run_that_dies_wherever_the_index_is_written_is_made_good(notes, opened):
    """Whatever a killed run recorded of files, the next one reads what the index lacks."""
    (notes / "rows.csv").write_text("text\nBo Dahl sailed.\nOla Dahl stayed.\n")
    add()
    shutil.copytree("my.clew", "before.clew")
    (notes / "fram.txt").write_text("The Fram is at Oslo.")
    (notes / "gjoa.txt").rename(notes / "hull.txt")
    (notes / "rows.csv").write_text("text\nLiv Dahl left.\n")
    names = ("fram.txt", "hull.txt", "maud.txt", "rows.csv:2")
    for at in itertools.count(1):
        shutil.rmtree("my.clew")
        shutil.copytree("before.clew", "my.clew")
        _, status = os.waitpid(start_child(lambda at=at: add_and_die(at)), 0)
        add(prune=True)
        assert listed() == [f"notes/{name}" for name in names]
        assert text_of("notes/fram.txt") == "The Fram is at Oslo."
        assert text_of("notes/rows.csv:2") == "Liv Dahl left."
        opened.clear()
        assert (add(prune=True).n_unchanged, opened) == (4, [])
        if not os.WIFSIGNALED(status):
            break
    assert (status, at > 5) == (0, True)  # instants at which it died


def add_and_die(at):
    """Add what is there, and die where the index is written for the time that is `at` in order."""
    calls = Catalogue.set_meta, EmbeddedStore.commit, EmbeddedStore.set_note
    Catalogue.set_meta, EmbeddedStore.commit, EmbeddedStore.set_note = deadly(at, *calls)
    add(prune=True)


def test_a_page_with_pictures_is_always_read(notes, opened):
    (notes / "a.html").write_text("<p>The Fram <img src=hull.png alt='Her hull'> sailed.</p>")
    (notes / "b.html").write_text("<p>The Maud sailed.</p>")
    add()
    opened.clear()
    add()
    assert opened == ["a.html"]


def test_nothing_to_index_is_an_error_as_before(notes):
    add()
    for each in notes.iterdir():
        each.unlink()
    with pytest.raises(InputError, match="no file to index"):
        add("notes", exclude=["*"]) if not add().gone else add(exclude=["*"], prune=True) and add()


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abc"), st.sampled_from(["one", "two"])),
        st.tuples(st.just("rows"), st.sampled_from("abc"), st.sampled_from(["one", "two"])),
        st.tuples(st.just("delete"), st.sampled_from("abc"), st.just("")),
        st.tuples(st.just("swap"), st.sampled_from("abc"), st.sampled_from("abc")),
        st.tuples(st.just("remove"), st.sampled_from("abc"), st.just("")),
        st.tuples(st.just("run"), st.just(""), st.just("")),
    ),
    max_size=12,
)


@given(edits=EDITS)
@trials(15, 200, deadline=None)
def test_any_edits_and_runs_equal_a_fresh_build(edits):
    with scratch() as folder, clew.open(folder / "my.clew", models=MODELS) as index:
        files = folder / "files"
        files.mkdir()
        (files / "keep.txt").write_text(NOTE.format("fram"))
        index.add(files)
        for edit, name, what in edits:
            path, rows = files / f"{name}.txt", files / f"{name}.csv"
            if edit == "write":
                before = path.stat().st_mtime_ns if path.exists() else 0
                path.write_text(f"The brig {what} sailed.")
                os.utime(path, ns=(before, before))
            elif edit == "rows":
                rows.write_text(f"text\nThe {what} sank.\n" + "It was old.\n" * (what == "two"))
            elif edit == "delete":
                path.unlink(missing_ok=True)
                rows.unlink(missing_ok=True)
            elif (
                edit == "swap"
                and name != what
                and path.exists()
                and (other := files / f"{what}.txt").exists()
            ):
                path.rename(files / "swap")
                other.rename(path)
                (files / "swap").rename(other)
            elif edit == "remove" and f"files/{name}.txt" in index.documents():
                index.remove(f"files/{name}.txt")
            elif edit == "run":
                index.add(files, prune=True)
        index.add(files, prune=True)
        with clew.open(folder / "new.clew", models=MODELS) as fresh:
            fresh.add(files)
            assert contents_of(index) == contents_of(fresh)


def contents_of(index):
    snapshot = index.snapshot()
    rows = range(len(snapshot.layer("document")))
    return {
        each.id: (each.text, each.title, dict(each.metadata)) for each in snapshot.documents(rows)
    }
