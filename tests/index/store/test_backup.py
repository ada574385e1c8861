"""Backups are of one committed generation, whatever goes on meanwhile, and whole or not there."""

import io
import signal
import tarfile
import threading
from contextlib import closing, suppress
from functools import partial

import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError, NotAnIndex, StoreError
from clew.index.store.database import Database
from clew.testing import models, small_documents
from tests.index.store.deadly import killed_at_file

opened = partial(clew.open, models=models())
QUESTION = "Who built the Comet in Bakken?"


def texts(first, n=3):
    return [
        Document(id=f"d{i}", text=f"Ada Lund {i} built the Comet in Bakken.")
        for i in range(first, first + n)
    ]


@pytest.fixture
def folder(tmp_path):
    with opened(tmp_path / "my.clew") as index:
        index.add(small_documents())
        index.add(texts(0))
        index.remove("d1")
    return tmp_path / "my.clew"


def contents(folder):
    with opened(folder) as index:
        assert index.check() == []
        hits = [(hit.chunk_id, hit.score) for hit in index.search(QUESTION).hits]
        return index.snapshot().generation, index.digest(), hits, index.documents()


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz"])
def test_what_is_restored_is_what_was_there(folder, tmp_path, name):
    """The generation, every document, and what questions find; and it can be written to."""
    with opened(folder) as index:
        made = index.backup(tmp_path / name)
        (tmp_path / "empty").mkdir()
        done = clew.restore(tmp_path / name, tmp_path / "empty")
        assert (made.generation, made.n_documents) == (done.generation, done.n_documents)
        assert made.n_bytes == (tmp_path / name).stat().st_size
    assert contents(tmp_path / "empty") == contents(folder)
    with opened(tmp_path / "empty") as index:
        index.add(texts(7))
        assert index.snapshot().generation > made.generation
    assert sorted(each.name for each in tmp_path.iterdir()) == [name, "empty", "my.clew"]


def test_the_same_generation_is_the_same_bytes(folder, tmp_path):
    """Nothing of the time or the machine is in an archive."""
    with opened(folder) as index:
        for name in ("a.tar.gz", "b.tar.gz"):
            index.backup(tmp_path / name)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_a_writer_beside_it(folder, tmp_path, monkeypatch):
    """Each backup is one of the generations that were committed, through merges and compactions."""
    known, over = {}, threading.Event()
    tell = Database.record_generation

    def note(database):  # called behind each commit
        hashes = dict(database.hashes())
        assert known.setdefault(database.meta("generation"), hashes) == hashes
        tell(database)

    def write():
        with opened(folder) as index:
            for i in range(10_000):
                if over.is_set():
                    return
                if i % 12 == 11:  # behind a merge
                    index.remove("d1*")
                    index.compact()
                else:
                    index.add(texts(10 * i, 2))

    monkeypatch.setattr(Database, "record_generation", note)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = []
        while len({each.generation for each in made}) < 8 or len(known) < 14:
            made.append(clew.open(folder).backup(tmp_path / f"{len(made)}.tar"))
    finally:
        over.set()
        writer.join()
    monkeypatch.undo()
    for each in {each.generation: each for each in made}.values():
        place = tmp_path / f"{each.generation}-{each.path[-5]}"
        clew.restore(each.path, place)
        with opened(place) as index:
            assert index.check() == []
            assert index.snapshot().generation == each.generation
        with closing(Database(place)) as database:
            assert each.generation == 3 or database.hashes() == known[each.generation]


@pytest.mark.parametrize("kind", ["backup", "restore"])
def test_killed_it_leaves_nothing_that_looks_whole(folder, tmp_path, kind):
    """Whenever the process is killed: what was asked for is whole, or not there."""
    archive, place = tmp_path / "a.tar.gz", folder
    if kind == "restore":
        with opened(folder) as index:
            index.backup(archive)
        place = tmp_path / "new.clew"
    target = archive if kind == "backup" else place
    work = clew.open(place).backup if kind == "backup" else partial(clew.restore, folder=place)
    for left in range(100):  # the next file is the last that it gets to
        end = killed_at_file(lambda: work(archive), f".{target.name}-", left)
        if target.exists():  # it died behind its last step, or not at all
            break
        assert end == -signal.SIGKILL
    assert left > 4
    if kind == "backup":
        clew.restore(archive, tmp_path / "new.clew")
    assert contents(tmp_path / "new.clew") == contents(folder)


def test_what_is_no_whole_backup(folder, tmp_path):
    """Cut off or changed anywhere, nothing is restored, and nothing is left."""
    with opened(folder) as index:
        index.backup(tmp_path / "a.tar")
    whole = (tmp_path / "a.tar").read_bytes()
    bad = tmp_path / "bad.tar"
    end = len(whole.rstrip(b"\0"))
    n_restored = 0
    for i in range(24):
        content = bytearray(whole)
        if i % 2:
            content = content[: i * end // 24]  # cut off
        else:
            content[end * i // 24 + 7 * i] ^= 1
        bad.write_bytes(content)
        with suppress(InputError):
            clew.restore(bad, tmp_path / f"back{i}")
        if (tmp_path / f"back{i}").exists():  # a byte between the members, that nobody reads
            assert contents(tmp_path / f"back{i}") == contents(folder)
            assert not i % 2
            n_restored += 1
    assert n_restored < 6
    assert not list(tmp_path.glob(".back*"))


def archive(path, *members):
    with tarfile.open(path, "w") as file:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd"
            file.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside.sqlite", tarfile.REGTYPE),
        ("/srv/index.sqlite", tarfile.REGTYPE),
        ("segments/../../x.safetensors", tarfile.REGTYPE),
        ("store.txt", tarfile.REGTYPE),
        ("cached/assembly-000001.safetensors", tarfile.REGTYPE),
        ("index.sqlite", tarfile.SYMTYPE),
        ("index.sqlite", tarfile.LNKTYPE),
        ("segments", tarfile.DIRTYPE),
        ("index.sqlite", tarfile.FIFOTYPE),
    ],
)
def test_only_files_of_an_index_are_taken(tmp_path, name, kind):
    """No name leads out of the folder, and nothing but files is made."""
    content = b"" if kind != tarfile.REGTYPE else b"x"
    source = archive(tmp_path / "a.tar", (name, content, kind))
    with pytest.raises(InputError, match="is not a backup of an index: it has"):
        clew.restore(source, tmp_path / "back")
    assert [each.name for each in tmp_path.iterdir()] == ["a.tar"]


def test_a_file_by_hand_is_no_index(tmp_path):
    """Whoever writes an archive by hand gets a sentence."""
    source = archive(tmp_path / "a.tar", ("index.sqlite", b"x", tarfile.REGTYPE))
    with pytest.raises(InputError, match=r"a\.tar holds a damaged index \(.*is not a Clew index"):
        clew.restore(source, tmp_path / "back")
    for members in ((), (("calls.sqlite", b"x", tarfile.REGTYPE),)):
        with pytest.raises(InputError):
            clew.restore(archive(tmp_path / "a.tar", *members), tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_lost_segment_is_missed(folder, tmp_path):
    """An archive that ends before the last file is no index."""
    with opened(folder) as index:
        index.backup(tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as whole, tarfile.open(tmp_path / "b.tar", "w") as cut:
        for member in whole.getmembers()[:-1]:
            cut.addfile(member, whole.extractfile(member))
    with pytest.raises(InputError, match=r"holds a damaged index \(segments/"):
        clew.restore(tmp_path / "b.tar", tmp_path / "back")


def test_damage_is_in_no_restored_index(folder, tmp_path):
    """What was damaged when it was backed up is told, and not restored."""
    segment = max(folder.glob("segments/*"))
    content = bytearray(segment.read_bytes())
    content[-3] ^= 1
    segment.write_bytes(content)
    with opened(folder) as index:
        index.backup(tmp_path / "a.tar")
    with pytest.raises(InputError, match=r"holds a damaged index \(segments/"):
        clew.restore(tmp_path / "a.tar", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_what_is_refused(folder, tmp_path):
    """Nothing that is there is overwritten, and no index gets files that are none of its own."""
    with opened(folder) as index:
        index.backup(tmp_path / "a.tar")
        index.add(texts(9))
        (tmp_path / "b.tar.gz").write_bytes(b"something else")
        for name, words in (
            ("a.tar", "exists and is not overwritten"),
            ("b.tar.gz", "exists and is not overwritten"),
            ("a.zip", r"it must end in \.tar\.gz or \.tar$"),
            ("none/a.tar", "there is no folder"),
            ("my.clew/a.tar", "is inside the index: choose another folder"),
            ("my.clew/segments/a.tar", "is inside the index: choose another folder"),
        ):
            with pytest.raises(InputError, match=words):
                index.backup(tmp_path / name)
    for place in (folder, tmp_path / "a.tar"):
        with pytest.raises(InputError, match="exists, and"):
            clew.restore(tmp_path / "a.tar", place)
    with pytest.raises(InputError, match="there is no backup"):
        clew.restore(tmp_path / "none.tar", tmp_path / "back")
    with pytest.raises(NotAnIndex):
        clew.Index(tmp_path / "none.clew").backup(tmp_path / "c.tar")
    with pytest.raises(StoreError, match="name another place"):
        clew.Index(folder).backup(tmp_path / ("x" * 250 + ".tar"))
    (folder / "store.txt").write_text("shelf:x\n")
    with pytest.raises(InputError, match="names the store 'shelf:x', which no installed package"):
        clew.Index(folder).backup(tmp_path / "c.tar")
