"""Which files are read, in which order, and what their documents are called."""

import os
import sys
from pathlib import Path

import pytest

from clew.base.types import Document, Skipped
from clew.errors import InputError, MissingExtra
from clew.readers import formats, read
from clew.readers.selection import Selection

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def ids(paths, **options):
    return [item.id for item in read(paths, **options) if isinstance(item, Document)]


def test_a_folder_is_read_in_the_order_of_its_names(write):
    """Files and folders come sorted by name, however the file system lists them."""
    for name in ("docs/b.txt", "docs/a/z.txt", "docs/c.md", "docs/a/y/x.txt", "docs/B.txt"):
        write(name, "text")
    assert ids(["docs"]) == [
        "docs/B.txt",
        "docs/a/y/x.txt",
        "docs/a/z.txt",
        "docs/b.txt",
        "docs/c.md",
    ]


@pytest.mark.parametrize("given", ["docs", "./docs/", "other/../docs", Path("docs")])
def test_an_id_begins_with_the_folder_however_it_is_given(write, given):
    """The folder's own name begins the id, and the source begins as the folder was given."""
    write("docs/in/a.txt", "text")
    write("other/b.txt", "text")
    (item,) = read([given])
    assert item.id == "docs/in/a.txt"
    assert item.source == (Path(given) / "in/a.txt").as_posix()


def test_the_current_folder_has_its_real_name(write, tmp_path):
    """`.` has no name of its own, so the id takes that of the folder it stands for."""
    write("a.txt", "text")
    (item,) = read(["."])
    assert (item.id, item.source) == (f"{tmp_path.name}/a.txt", "a.txt")


def test_a_named_file_is_called_by_its_name(write, tmp_path):
    """The id of a named file is its name; its source is the whole path as given."""
    write("docs/a.txt", "text")
    (item,) = read([tmp_path / "docs" / "a.txt"])
    assert (item.id, item.source) == ("a.txt", f"{tmp_path.as_posix()}/docs/a.txt")


@pytest.mark.parametrize(
    ("name", "reason", "unread"),
    [
        ("a.pem", "no reader for .pem files", ".pem"),
        ("a.tar.gz", "no reader for .tar.gz files", ".tar.gz"),
    ],
)
def test_a_file_for_programs_is_skipped(write, name, reason, unread):
    """The reason names the suffix, in a folder as for a named file, which should be read."""
    path = write(f"docs/{name}", "text")
    assert list(read(["docs"])) == [Skipped(source=path, reason=reason, unread=unread)]
    assert list(read([path])) == [Skipped(source=path, reason=reason)]


@pytest.mark.parametrize("name", ["tool-NEWS.Debian", "conf.example", "list.xyz"])
def test_a_text_of_an_unknown_suffix_is_read(write, name):
    """In a folder and where it is named; what is no text is for no reader."""
    path = write(f"docs/{name}", "The winch has a new brake.")
    for asked in ("docs", path):
        assert [each.text for each in read([asked])] == ["The winch has a new brake."]
    Path(path).write_bytes(b"\x7fELF\0\0\0" * 99)
    [skipped] = read(["docs"])
    assert skipped.reason == f"no reader for {Path(name).suffix.lower()} files"


def test_what_is_no_path(write):
    """The call itself fails; nothing is said about hidden files, and a named one is read."""
    with pytest.raises(InputError, match=r"no file or folder 'nowhere\.txt'"):
        read([write("a.txt", "text"), "nowhere.txt"])
    write("docs/.a.txt", "text")
    write("docs/.git/b.txt", "text")
    assert list(read(["docs"])) == []
    assert ids(["docs/.a.txt"]) == [".a.txt"]


@pytest.mark.parametrize("path", ["docs", Path("docs")])
def test_one_path_in_place_of_a_list_is_an_error(path):
    """A string would be taken for a list of its letters."""
    with pytest.raises(InputError, match=r"read\(\['docs'\]\)"):
        read(path)


def test_two_files_of_one_name_have_two_ids(write):
    """The second is called by its folder too."""
    paths = [write("x/a.txt", "one"), write("y/a.txt", "two")]
    assert [(each.id, each.text) for each in read(paths)] == [("a.txt", "one"), ("y/a.txt", "two")]


def test_links_to_folders(write):
    """One to a folder above it is not followed; a given one is, and its real name is in the ids."""
    write("docs/in/a.txt", "text")
    Path("docs/in/up").symlink_to(Path("docs").resolve())
    Path("docs/in/top").symlink_to("/")
    assert ids(["docs"]) == ["docs/in/a.txt"]
    Path("link").symlink_to(Path("docs").resolve())
    item, top = read(["link"])
    assert (item.id, item.source) == ("docs/in/a.txt", "link/in/a.txt")
    assert str(top) == "link/in/top: links to /, a folder above this one"


def test_linked_folders_are_read_once(write):
    """A link out of the folder is followed where it is to be, links to what was read are not."""
    write("docs/z/a.txt", "text")
    write("elsewhere/b.txt", "text")
    Path("docs/a-link").symlink_to(Path("docs/z").resolve())
    Path("docs/more").symlink_to(Path("elsewhere").resolve())
    Path("docs/more-again").symlink_to(Path("elsewhere").resolve())
    Path("elsewhere/loop").symlink_to(Path("elsewhere").resolve())
    Path("elsewhere/up").symlink_to("/")
    follow = Selection(follow_links=True)
    assert ids(["docs"], selection=follow) == ["docs/more/b.txt", "docs/z/a.txt"]
    assert ids(["docs"]) == ["docs/z/a.txt"]


def test_links_out_of_a_folder_are_skipped_with_a_reason(write):
    """To a file or a folder, in a chain, by `..`; hard links are files, and named ones are read."""
    write("docs/in/a.txt", "text")
    write("other/b.txt", "secret")
    Path("docs/file.txt").symlink_to("../other/b.txt")
    Path("docs/in/dotted.txt").symlink_to("../in/../../other/b.txt")
    Path("docs/folder").symlink_to(Path("other").resolve())
    Path("docs/chain.txt").symlink_to("file.txt")
    Path("docs/through.txt").symlink_to("folder/b.txt")
    Path("docs/passwd.txt").symlink_to("/etc/passwd")
    os.link("other/b.txt", "docs/hard.txt")
    found = list(read(["docs"]))
    assert [each.id for each in found if isinstance(each, Document)] == [
        "docs/hard.txt",
        "docs/in/a.txt",
    ]
    skipped = {each.source: each.reason for each in found if isinstance(each, Skipped)}
    other = Path("other/b.txt").resolve()
    assert skipped == {
        "docs/chain.txt": f"links to {other}, outside the folder: read it with --follow-links",
        "docs/file.txt": f"links to {other}, outside the folder: read it with --follow-links",
        "docs/folder": f"links to {other.parent}, outside the folder: read it with --follow-links",
        "docs/in/dotted.txt": f"links to {other}, outside the folder: read it with --follow-links",
        "docs/passwd.txt": "links to /etc/passwd, outside the folder: read it with --follow-links",
        "docs/through.txt": f"links to {other}, outside the folder: read it with --follow-links",
    }
    assert (ids(["docs/file.txt"]), ids(["docs/folder"])) == (["b.txt"], ["other/b.txt"])
    Path("docs/passwd.txt").unlink()
    # Of several that lead to one place the first is read.
    follow = Selection(follow_links=True)
    assert ids(["docs"], selection=follow) == ["docs/chain.txt", "docs/hard.txt", "docs/in/a.txt"]


def test_what_links_within_a_folder_lead_to_is_read_once(write):
    """In its own place, or by the link where that is left out, as by what updates a volume."""
    write("docs/z/a.txt", "one")
    write("docs/.kept/b.txt", "two")
    write("docs/.kept/more/c.txt", "three")
    Path("docs/alias.txt").symlink_to("z/a.txt")
    Path("docs/again.txt").symlink_to("alias.txt")
    Path("docs/b.txt").symlink_to(".kept/b.txt")
    Path("docs/b2.txt").symlink_to(".kept/b.txt")
    Path("docs/more").symlink_to(Path("docs/.kept/more").resolve())
    Path("docs/z/round").symlink_to("..")
    Path("docs/z/and-round").symlink_to("../z/round/z")
    assert ids(["docs"]) == ["docs/z/a.txt", "docs/b.txt", "docs/more/c.txt"]
    assert not [each for each in read(["docs"]) if isinstance(each, Skipped)]
    changed = Selection(changed=["docs/alias.txt"])  # of a new link
    assert ids(["docs"], selection=changed) == ids(["docs"])


def test_a_broken_link_is_skipped(write):
    """The reason is what the operating system says, also for a named link."""
    write("docs/a.txt", "text")
    Path("docs/b.txt").symlink_to("nowhere")
    Path("docs/c.txt").symlink_to("c.txt")
    items = list(read(["docs", "docs/b.txt"]))
    assert [str(item) for item in items[1:]] == [
        "docs/b.txt: cannot be read: No such file or directory",
        "docs/c.txt: cannot be read: Too many levels of symbolic links",
        "docs/b.txt: cannot be read: No such file or directory",
    ]


def test_pipes_and_devices_are_skipped(write):
    """They are not opened, as that could wait for ever."""
    write("docs/a.txt", "text")
    os.mkfifo("docs/pipe.txt")
    Path("docs/null.txt").symlink_to("/dev/null")
    items = list(read(["docs", "docs/pipe.txt"]))
    assert [item.reason for item in items[1:]] == [
        "links to /dev/null, outside the folder: read it with --follow-links",
        "is not a regular file",
        "is not a regular file",
    ]


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_what_may_not_be_read_is_skipped(write):
    """Files and folders without permission are named, and the rest goes on."""
    Path(write("docs/a.txt", "text")).chmod(0)
    write("docs/b/c.txt", "text")
    Path("docs/b").chmod(0)
    write("docs/d.txt", "text")
    items = list(read(["docs"]))
    Path("docs/b").chmod(0o700)
    reason = "cannot be read: Permission denied"
    assert items[:2] == [Skipped(source=f"docs/{name}", reason=reason) for name in ("a.txt", "b")]
    assert items[2].id == "docs/d.txt"


def test_a_file_that_goes_away_is_skipped(write):
    """What fails while a file is read is said of that file; the rest goes on."""
    write("docs/a.txt", "text")
    write("docs/b.txt", "text")
    write("docs/c.txt", "text")
    items = read(["docs"])
    next(items)
    Path("docs/b.txt").unlink()
    skipped, last = items
    assert str(skipped) == "docs/b.txt: cannot be read: No such file or directory"
    assert last.id == "docs/c.txt"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_no_text_are_made_text(tmp_path):
    """Ids and sources can be written in UTF-8, whatever bytes a file is named by."""
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    (item,) = read([tmp_path])
    assert item.id == f"{tmp_path.name}/caf�.txt"
    item.source.encode()


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("name", "package", "hint"),
    [
        ("a.pdf", "pypdfium2", "reading a PDF file needs the package 'pypdfium2'"),
        ("a.xlsx", "python_calamine", "reading a spreadsheet needs the package 'python-calamine'"),
        ("a.rtf", "striprtf.striprtf", "reading an RTF file needs the package 'striprtf'"),
        ("a.parquet", "pyarrow", "reading a Parquet file needs the package 'pyarrow'"),
    ],
)
def test_a_missing_extra_is_said(write, monkeypatch, name, package, hint):
    """In a folder such a file is skipped; one that the caller named is an error."""
    path = write(f"docs/{name}", "text")
    write("docs/z.txt", "text")
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(formats, "_PACKED", frozenset())  # another process would have it
    skipped, document = read(["docs"])
    assert skipped.reason.startswith(hint)
    assert "pip install 'clew[" in skipped.reason
    assert document.id == "docs/z.txt"
    with pytest.raises(MissingExtra, match=hint):
        list(read([path]))


def test_an_index_among_the_documents_is_left_out(tmp_path):
    """Indexing a folder into a folder inside it reads no file of the index."""
    (tmp_path / "a.txt").write_text("Text.", encoding="utf-8")
    index = tmp_path / "my.clew"
    index.mkdir()
    for name in ("index.sqlite", "writer.lock", "note.txt"):
        (index / name).write_text("x", encoding="utf-8")
    assert [document.id for document in read([tmp_path])] == [f"{tmp_path.name}/a.txt"]
