"""A document's id follows its file: one file has one id, and two files never share one."""

import os
import shutil
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.testing import models
from tests.snapshots import contents


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder of one's own, and give a function that writes a file there."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    return write


def opened(folder="my.clew"):
    return clew.open(folder, models=models())


def texts(index):
    """Return the text of each document by its id."""
    layer = index.snapshot().layer("document")
    rows = range(len(layer))
    return dict(zip(layer.ids(rows), layer.texts(rows), strict=True))


def test_two_folders_of_one_name(here):
    """The second is called by its parent too, whichever comes again."""
    here("p1/docs/index.md", "Ada came.")
    here("p2/docs/index.md", "Bo left.")
    both = {"docs/index.md": "Ada came.", "p2/docs/index.md": "Bo left."}
    with opened() as index:
        index.add("p1/docs")
        index.add("p2/docs")
        assert texts(index) == both
    with opened() as index:
        assert index.add(["p2/docs", "p1/docs"]).report.n_unchanged == 2
        assert texts(index) == both


@pytest.mark.parametrize("first", ["nl", "nl/de.txt"])
def test_one_file_has_one_id(here, first):
    here("nl/de.txt", "De Ruyter sailed.")
    with opened() as index:
        index.add(first)
        ids = list(texts(index))
        for again in ("nl/de.txt", "nl", "./nl/../nl", str(Path("nl/de.txt").resolve())):
            assert index.add(again).report.n_unchanged == 1
        assert ids == ["nl/de.txt" if first == "nl" else "de.txt"]


def test_a_folder_in_a_known_one(here):
    """What lies below a root is called by it; a folder above a root leaves it its name."""
    here("a/b/c.txt", "Ada came.")
    here("a/d.txt", "Bo left.")
    with opened() as index:
        index.add("a/b")
        assert index.add("a").report.added == ["a/d.txt"]
        assert sorted(texts(index)) == ["a/d.txt", "b/c.txt"]
    with opened("other.clew") as index:
        index.add("a")
        assert index.add("a/b").report.n_unchanged == 1


def test_a_folder_that_is_gone_is_in_doubt(here):
    """Another one of its name may be the same, moved: the error names both, and how to go on."""
    here("p1/docs/index.md", "Ada came.")
    with opened() as index:
        index.add("p1/docs")
        here("p2/docs/index.md", "Bo left.")
        shutil.rmtree("p1")
        with pytest.raises(
            InputError, match=r"'docs' .*p1/docs, which is gone.*p2/docs.*--as docs"
        ):
            index.add("p2/docs")
        assert texts(index) == {"docs/index.md": "Ada came."}
        index.add("p2/docs", name="docs")
        assert texts(index) == {"docs/index.md": "Bo left."}
        here("p3/docs/index.md", "Cy stayed.")
        index.add("p3/docs", name="more")
        assert sorted(texts(index)) == ["docs/index.md", "more/index.md"]
        with pytest.raises(
            InputError, match="already in this index as 'docs', so it cannot also be 'again'"
        ):
            index.add("p2/docs", name="again")
        with pytest.raises(
            InputError, match="the name 'x' can be given to one folder or file only"
        ):
            index.add(["p2", "p3"], name="x")


def test_an_index_moves_with_its_documents(here):
    """The way from the index to the folder stays the same, so the folder does."""
    here("work/docs/index.md", "Ada came.")
    with opened("work/my.clew") as index:
        index.add("work/docs")
    shutil.move("work", "elsewhere")
    with opened("elsewhere/my.clew") as index:
        assert index.add("elsewhere/docs").report.n_unchanged == 1


def test_records_of_two_files(here):
    """A record does not replace that of another file, while that is there; it is named."""
    here("a.jsonl", '{"id": "n1", "text": "Ada came."}\n')
    here("b.jsonl", '{"id": "n1", "text": "Bo left."}\n{"id": "n2", "text": "Cy stayed."}\n')
    with opened() as index:
        index.add("a.jsonl")
        [skipped] = index.add("b.jsonl").report.skipped
        assert "its id 'n1' is that of a document from a.jsonl" in str(skipped)
        assert texts(index) == {"n1": "Ada came.", "n2": "Cy stayed."}
        here("a.jsonl", '{"id": "n1", "text": "Ada came late."}\n')
        assert index.add("a.jsonl").report.changed == ["n1"]
        shutil.move("a.jsonl", "moved.jsonl")
        assert index.add("b.jsonl").report.changed == ["n1"]


def test_what_is_gone_is_told_and_removed_on_request(here):
    """A file that is gone from a folder is named by the next run, and goes with `prune`."""
    here("docs/a.txt", "Ada came.")
    here("docs/deep/b.txt", "Bo left.")
    here("docs/c.jsonl", '{"text": "Cy stayed."}\n')
    here("more/d.txt", "Di slept.")
    with opened() as index:
        index.add(["docs", "more"])
        Path("docs/deep/b.txt").unlink()
        Path("more/d.txt").unlink()
        report = index.add("docs").report
        assert (report.gone, report.pruned) == (["docs/deep/b.txt"], False)
        assert len(texts(index)) == 4
        report = index.add("docs", prune=True).report
        assert (report.gone, report.pruned) == (["docs/deep/b.txt"], True)
        assert sorted(texts(index)) == ["docs/a.txt", "docs/c.jsonl:1", "more/d.txt"]
        assert index.add("docs", prune=True).report.gone == []


def test_documents_by_pattern(here):
    for name in ("docs/a.txt", "docs/deep/b.txt", "docs/deep/c.md", "more/d.md"):
        here(name, f"This is {name}.")
    with opened() as index:
        index.add(["docs", "more"])
        assert index.documents("docs/deep") == ["docs/deep/b.txt", "docs/deep/c.md"]
        found = ["docs/deep/c.md", "more/d.md", "docs/a.txt"]
        assert index.documents("*.md", "docs/a.txt") == found
        assert index.remove("docs/deep/", dry_run=True) == ["docs/deep/b.txt", "docs/deep/c.md"]
        assert len(index.documents()) == 4
        with pytest.raises(InputError, match=r"no document '\*.pdf' in my.clew: see 'clew list'"):
            index.remove(["more", "*.pdf"])
        gone = ["more/d.md", "docs/deep/b.txt", "docs/deep/c.md"]
        assert index.remove(["more", "docs/deep"]) == gone
        assert index.documents() == ["docs/a.txt"]


def test_a_file_that_was_renamed_keeps_its_rows(here, monkeypatch):
    """The new file takes them over where the old one is gone; then the index is a fresh build."""
    texts_ = {f"docs/{name}.md": f"# {name}\n\nThis is {name} of Larvik." for name in "abc"}
    for name, text in texts_.items():
        here(name, text)
    here("docs/r.jsonl", '{"text": "Di slept."}\n{"text": "Ed woke."}\n')
    with opened() as index:
        index.add("docs", triples="cooccurrence")
        Path("docs/deep").mkdir()
        shutil.move("docs/a.md", "docs/deep/z.md")
        shutil.copy("docs/b.md", "docs/copy.md")
        shutil.move("docs/r.jsonl", "docs/s.jsonl")
        added = index.add("docs")
        assert added.report.renamed == {
            "docs/a.md": "docs/deep/z.md",
            "docs/r.jsonl:1": "docs/s.jsonl:1",
            "docs/r.jsonl:2": "docs/s.jsonl:2",
        }
        assert (added.report.added, added.report.gone) == (["docs/copy.md"], [])
        assert not any(added.extracted.llm.values())
        with opened("fresh.clew") as fresh:
            fresh.add("docs", triples="cooccurrence")
            assert contents(index.snapshot()) == contents(fresh.snapshot())
            assert index.digest() == fresh.digest()


def test_a_copy_is_a_new_document(here):
    """As long as the old file is there, its document stays, and so it does with other content."""
    here("docs/a.md", "# A\n\nAda came.")
    here("docs/b.md", "# B\n\nBo left.")
    with opened() as index:
        index.add("docs")
        shutil.copy("docs/a.md", "docs/c.md")
        Path("docs/b.md").unlink()
        here("docs/d.md", "# B\n\nBo left late.")
        report = index.add("docs").report
        assert (report.renamed, report.added) == ({}, ["docs/c.md", "docs/d.md"])
        assert report.gone == ["docs/b.md"]


def test_one_that_is_gone_becomes_one_other(here):
    """Two new files of its content are one renamed and one new; a name that is taken is changed."""
    here("docs/a.md", "# A\n\nAda came.")
    here("docs/z.md", "# Z\n\nZed came.")
    with opened() as index:
        index.add("docs")
        shutil.copy("docs/a.md", "docs/b.md")
        shutil.copy("docs/a.md", "docs/c.md")
        shutil.move("docs/a.md", "docs/z.md")
        report = index.add("docs", prune=True).report
        assert (report.renamed, report.added) == ({"docs/a.md": "docs/b.md"}, ["docs/c.md"])
        assert (report.changed, report.gone) == (["docs/z.md"], [])


def test_a_text_whose_title_is_its_name_is_read_anew(here):
    """Chunks are read behind the title, so another one is another document."""
    here("docs/in/first.txt", "Ada came.")
    with opened() as index:
        index.add("docs")
        shutil.move("docs/in/first.txt", "docs/first.txt")
        assert index.add("docs").report.renamed == {"docs/in/first.txt": "docs/first.txt"}
        shutil.move("docs/first.txt", "docs/last.txt")
        report = index.add("docs", prune=True).report
        assert (report.renamed, report.added) == ({}, ["docs/last.txt"])
        assert report.gone == ["docs/first.txt"]


def test_what_is_left_out_now_counts_as_gone(here):
    """It is told, and goes with `prune`; a file that is named itself stays."""
    for name in ("a.md", "b.log", "old/c.md", ".gitignore"):
        here(f"docs/{name}", "Ada came." if name != ".gitignore" else "")
    with opened() as index:
        index.add("docs")
        here("docs/.gitignore", "*.log\n")
        report = index.add("docs", exclude=["old"]).report
        assert report.gone == ["docs/b.log", "docs/old/c.md"]
        assert report.left_out == {"exclude": 1, "gitignore": 1}
        assert len(texts(index)) == 3
        report = index.add(["docs", "docs/b.log"], exclude=["old"], prune=True).report
        assert report.gone == ["docs/old/c.md"]
        assert index.add("docs", exclude=["old"], gitignore=False).report.gone == []
        assert index.add("docs").report.gone == ["docs/b.log"]


def test_a_file_without_text_is_gone(here):
    """Its old text must not answer for it; but it was not renamed as long as it is there."""
    here("docs/a.md", "# A\n\nAda came.")
    here("docs/b.md", "Bo left.")
    with opened() as index:
        index.add("docs")
        shutil.copy("docs/a.md", "docs/c.md")
        here("docs/a.md", "")
        report = index.add("docs").report
        assert (report.gone, report.added, report.renamed) == (["docs/a.md"], ["docs/c.md"], {})
        assert index.add("docs", prune=True).report.pruned
        assert sorted(texts(index)) == ["docs/b.md", "docs/c.md"]


def test_records_that_a_file_has_no_more_are_gone(here):
    """As long as some of it can be read; one that is broken now is not gone."""
    lines = [f'{{"text": "This is {name}."}}\n' for name in ("Ada", "Bo", "Cy", "Di")]
    here("docs/r.jsonl", "".join(lines))
    here("docs/t.jsonl", "".join(lines))
    with opened() as index:
        index.add("docs")
        here("docs/r.jsonl", f"{lines[0]}{{\n{lines[2]}")
        here("docs/t.jsonl", "{\n")
        report = index.add("docs").report
        assert report.gone == ["docs/r.jsonl:4"]
        assert index.add("docs/r.jsonl", prune=True).report.gone == ["docs/r.jsonl:4"]
        assert index.documents("docs/r.jsonl:*") == [f"docs/r.jsonl:{n}" for n in (1, 2, 3)]
        assert len(index.documents("docs/t.jsonl:*")) == 4


def test_nothing_but_what_is_left_out_is_an_error(here):
    here("docs/a.log", "Ada came.")
    with opened() as index:
        with pytest.raises(InputError, match=r"but what is excluded or in a \.gitignore file"):
            index.add("docs", exclude=["*.log"])
        assert not index.folder.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="names are text elsewhere")
def test_what_may_be_there_is_not_gone(here, tmp_path):
    """A name that is no text cannot be looked up, and a record with another one's number stays."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / os.fsdecode(b"caf\xe9.txt")).write_text("Ada came.")
    here("docs/a:1", "Bo left.")
    here("docs/a:1.md", "Cy stayed.")
    with opened() as index:
        index.add("docs")
        assert index.add("docs", prune=True).report.gone == []
        (tmp_path / "docs/a:1.md").unlink()
        assert index.add("docs", prune=True).report.gone == ["docs/a:1.md"]


def test_what_may_not_be_looked_at_is_not_gone(here, monkeypatch):
    """A folder without permission hides its files, and a disk that is ill may do the same."""
    here("docs/a.md", "Ada came.")
    here("docs/b.md", "Bo left.")
    look = os.lstat

    def refused(path, *given, **named):
        if str(path).endswith("a.md"):
            raise PermissionError(path)
        return look(path, *given, **named)

    with opened() as index:
        index.add("docs")
        Path("docs/a.md").unlink()
        Path("docs/b.md").unlink()
        monkeypatch.setattr(os, "lstat", refused)
        assert index.add("docs", prune=True).report.gone == ["docs/b.md"]


def test_only_what_changed_is_read(here):
    """Of a folder; what is gone from it is known without reading anything."""
    for name in "abc":
        here(f"docs/{name}.md", f"# {name}\n\nAda came.")
    with opened() as index:
        index.add("docs")
        here("docs/a.md", "Ada left.")
        here("docs/b.md", "Ada stayed.")
        Path("docs/c.md").unlink()
        report = index.add("docs", changed=["docs/b.md", "docs/c.md"], prune=True).report
        assert (report.changed, report.gone) == (["docs/b.md"], ["docs/c.md"])
        assert report.n_unchanged == 0
        assert index.add("docs").report.changed == ["docs/a.md"]
