"""Gzip files are what they hold, and a name without a suffix is no reason to leave a text out."""

import gzip
import io

import pytest

from clew.base.types import Document
from clew.limits import LIMITS, ReadingLimits
from clew.readers import inputs, read
from clew.readers.formats import READERS
from clew.readers.packed import unpack
from clew.readers.walk import File
from tests.readers.writers import LIGHTHOUSES, files

TEXT = "The keeper Ada Lund lit the lamp of the tower at dusk.\n" * 20


@pytest.mark.satellite
@pytest.mark.parametrize(
    "suffix", [".txt", ".md", ".csv", ".tsv", ".jsonl", ".json", ".html", ".xml", ".eml", ".rst"]
)
def test_a_gzip_file_is_what_it_holds(write, suffix):
    """Texts, titles, records and their lines are those of the file as it was before."""
    plain = [write(name, content) for name, content in files(suffix, LIGHTHOUSES).items()]
    found = [(d.title, d.text, d.body_start, d.headings) for d in read(plain)]
    assert found
    packed = [
        write(
            f"{name}.gz", gzip.compress(content if isinstance(content, bytes) else content.encode())
        )
        for name, content in files(suffix, LIGHTHOUSES).items()
    ]
    documents = list(read(packed))
    assert [(d.title, d.text, d.body_start, d.headings) for d in documents] == found
    assert all(document.source.partition(":")[0] in packed for document in documents)


@pytest.mark.parametrize(
    "name",
    [
        "copyright",
        "changelog.gz",
        "NEWS.Debian.gz",
        "changelog.Debian.amd64.gz",
        "rfc-notes",
        "THANKS",
        "ChangeLog-6.0-7.0.gz",
        "knots.info.gz",
    ],
)
def test_a_text_without_a_suffix_is_read(write, name):
    """Nor one of an unknown suffix, in a folder as well as where it is named."""
    path = write(f"docs/{name}", gzip.compress(TEXT.encode()) if name[-3:] == ".gz" else TEXT)
    for asked in ("docs", path):
        [document] = read([asked])
        assert (document.text, document.source) == (TEXT, path)


SKIPPED = [
    ("tool", b"\x7fELF\0\0\0" * 99, "looks like a binary file", "without suffix"),
    ("tool.gz", gzip.compress(b"\x7fELF\0\0\0" * 99), "looks like a binary file", "without suffix"),
    ("a.xyz.gz", gzip.compress(b"\0\1\2" * 99), "looks like a binary file", ".xyz"),
    ("stamp", b"", "is empty", "without suffix"),
    ("all.tar.gz", gzip.compress(b"x"), "no reader for .tar.gz files", ".tar.gz"),
    ("paper.ps.gz", gzip.compress(b"%!PS"), "no reader for .ps.gz files", ".ps.gz"),
    ("x.gz.gz", gzip.compress(gzip.compress(b"x")), "no reader for .gz.gz files", ".gz.gz"),
    ("notes.txt.gz", b"no gzip file", "is a broken gzip file, or not one", ""),
    ("cut.md.gz", gzip.compress(TEXT.encode())[:-9], "is a broken gzip file, or not one", ""),
    ("README", b"\0\1\2" * 99, "looks like a binary file", ""),
]


@pytest.mark.parametrize(
    ("name", "content", "reason", "unread"), SKIPPED, ids=[name for name, *_ in SKIPPED]
)
def test_what_is_skipped_says_why(write, name, content, reason, unread):
    """What no reader takes is counted by its kind; what should have been a text is named."""
    path = write(f"docs/{name}", content)
    for asked, counted in (("docs", unread), (path, "")):
        [skipped] = read([asked])
        assert (skipped.source, skipped.reason, skipped.unread) == (path, reason, counted)


def test_a_bomb_is_not_unpacked(write, monkeypatch):
    """What becomes too many times its size is left, before it fills a disk."""
    monkeypatch.setattr("clew.readers.packed._SMALL", 1 << 20)
    path = write("bomb.txt.gz", gzip.compress(b"a b " * (2 << 20)))
    [skipped] = read([path])
    assert skipped.reason.startswith("unpacks to more than 200 times its size: --limit unpacked_")
    [found] = read([path], limits=ReadingLimits(unpacked_ratio=10_000))
    assert isinstance(found, Document)


def test_nothing_is_left_of_what_was_unpacked(tmp_path):
    """The temporary file goes with the block; a file that is not packed stays where it is."""
    packed, plain = tmp_path / "a.md.gz", tmp_path / "a.md"
    packed.write_bytes(gzip.compress(b"# A"))
    plain.write_bytes(b"# A")
    with unpack(File(path=packed, id="a", source="a")) as file:
        place = file.path
        assert (place.name, place.read_bytes()) == ("a.md", b"# A")
    assert not place.exists()
    with unpack(File(path=plain, id="a", source="a")) as file:
        assert file.path == plain


def test_standard_input_may_be_packed():
    """It is seen by its beginning, or said by its name."""
    data = gzip.compress(TEXT.encode())
    for given in (inputs.StandardInput(), inputs.StandardInput(name="notes.md.gz")):
        with (
            inputs.read_standard_input(given, io.BytesIO(data), LIMITS) as file,
            unpack(file) as plain,
        ):
            assert plain.path.read_text(encoding="utf-8") == TEXT
            assert plain.path.suffix in READERS


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("doc/bash/changelog.gz", "bash changelog"),
        ("doc/bash/NEWS.Debian.gz", "bash NEWS"),
        ("doc/git-lfs/README", "git lfs README"),
        ("doc/bash/intro.gz", "intro"),
    ],
)
def test_a_name_that_is_everywhere_stands_behind_its_folder(write, name, title):
    """A thousand files called changelog are not of one thing."""
    write(name, gzip.compress(TEXT.encode()) if name[-3:] == ".gz" else TEXT)
    [document] = read(["doc"])
    assert document.title == title
