"""What a document may take is bounded, each bound is told, and what lies below it is read."""

import gzip
import subprocess
import sys
import time

import pytest

from clew.base.types import Document
from clew.errors import InputError, UnreadableSource
from clew.limits import LIMITS, ReadingLimits, parse_limits
from clew.readers import apart, read, read_graph
from tests.extras.files.test_office import CONTENT
from tests.readers.writers import packed


@pytest.fixture(autouse=True)
def _started(monkeypatch):
    """Let the processes that read be started as they are."""
    monkeypatch.setattr(apart, "subprocess", subprocess)


BOOK = packed({"content.xml": CONTENT})
MANY = f"<p {f' {chr(97) * 30}=1' * 400}>ice"
HTML_MAIL = f"Subject: a\nContent-Type: text/html\n\n{'<b>' * 10}ice"
TEXT = "Threads\n\nOne red\ntwo\n\na | b"
LONG = "Colin Archer built the Fram in Larvik."


def only(path, **limits):
    [item] = read([path], limits=ReadingLimits(**limits))
    return item


@pytest.mark.parametrize(
    ("limit", "name", "content", "reason"),
    [
        ("file_bytes=30", "a.txt", LONG, "has more than 30 bytes"),
        ("text_characters=9", "a.txt", "The ice held.", "holds more than 9 characters of text"),
        ("text_characters=9", "a.csv", "id,text\n1,The ice held on\n", "a field of more than 9 ch"),
        ("line_characters=50", "a.jsonl", '{"text": "' + "x" * 60 + '"}', "has more than 50 char"),
        ("nesting=9", "a.html", "<div>" * 10 + "ice", "has more than 9 elements inside each other"),
        ("nesting=9", "a.eml", HTML_MAIL, "than 9 el"),
        ("attributes=9", "a.html", MANY, "an element of more than 9 attr"),
    ],
)  # fmt: skip
def test_a_limit_is_told_with_the_way_to_raise_it(write, limit, name, content, reason):
    """The sentence has the limit's name, its value, and the option."""
    path, limits = write(name, content), parse_limits([limit])
    [item] = read([path], limits=limits)
    assert reason in item.reason
    assert f"--limit {limit.partition('=')[0]}=" in item.reason
    assert isinstance(only(path), Document)


def test_records_are_counted(write):
    """The first ones are read, and the rest is told of."""
    path = write("a.csv", "text\n" + "".join(f"Ship number {i}\n" for i in range(9)))
    *documents, told = read([path], limits=ReadingLimits(records=4))
    assert len(documents) == 4
    assert told.reason == "holds more than 4 records: --limit records=16 reads it"
    assert len(list(read([path], limits=ReadingLimits(records=9)))) == 9


def test_long_titles_and_attributes(write, document):
    """The file is called by its name, then; an address of data is one attribute."""
    page = f"<title>{'Archer ' * 300}</title><p>Colin Archer built the Fram."
    assert only(write("my-ships.html", page)).title == "my ships"
    picture = f"<img src='data:image/png;base64,{'A a=' * 5000}'>"
    assert document("a.html", f"<p>ice{picture}</p>").text == "ice"


def test_deep_mail_is_told(skipped):
    """A message in a message in a message ends in no traceback."""
    parts = (f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(1500))
    content = "Subject: x\n" + "".join(parts)
    assert skipped("a.eml", content) == ["a.eml: is a broken mail message"]
    assert skipped("a.mbox", f"From a b\n{content}") == ["a.mbox, line 1: is a broken mail message"]


def test_a_packed_graph_is_unpacked_to_so_many_times_its_size(tmp_path, monkeypatch):
    """No file stays behind."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"Archer\tbuilt\tFram\n" * 5_000_000))
    with pytest.raises(UnreadableSource, match="unpacks to more than 200 times its size: --limit"):
        list(read_graph(path))
    assert not list((tmp_path / "temporary").iterdir())
    assert next(read_graph(path, ReadingLimits(unpacked_ratio=2000))).triple.subject == "Archer"


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "nt"])
def test_long_lines_of_triples(tmp_path, suffix):
    """They are refused before they are parsed."""
    path = tmp_path / f"a.{suffix}"
    path.write_text(f'<http://a/b> <http://a/c> "{"x" * 200}" .\n', encoding="utf-8")
    with pytest.raises(UnreadableSource, match="line 1: has more than 100 characters"):
        list(read_graph(path, ReadingLimits(line_characters=100)))


def test_labels_that_are_alike(tmp_path):
    """Thousands of things of one name are told apart in a moment."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = (
        f'<http://a/{"-" * (i % 60)}/{"_" * (i // 60)}> {label} "Larvik" .\n'
        f"<http://a/{'-' * (i % 60)}/{'_' * (i // 60)}> <http://a/near> <http://a/Fram> .\n"
        for i in range(3000)
    )
    path = tmp_path / "a.nt"
    path.write_text("".join(lines), encoding="utf-8")
    began = time.process_time()
    found = [each for each in read_graph(path) if getattr(each, "triple", None)]
    assert time.process_time() - began < 5
    assert len({each.triple.subject for each in found}) == len(found) == 3000


def with_reader(monkeypatch, expression):
    """Let the other process read OpenDocument files as an expression of `file` and `read` says."""
    program = apart._PROGRAM  # noqa: SLF001 -- what the process runs
    imports = "from clew.extras.files import office; read = office.read_open_document"
    own = f"office.read_open_document = lambda file: {expression}"
    monkeypatch.setattr(apart, "_PROGRAM", f"{imports}; {own}; {program}")


def test_what_takes_too_long_is_ended(write, monkeypatch):
    """The file is skipped, and the next one is read by a new process."""
    with_reader(monkeypatch, "__import__('time').sleep(60) if 'slow' in file.id else read(file)")
    monkeypatch.setattr(apart, "_START_S", 20.0)
    for name in ("a.odt", "slow.odt", "z.odt"):
        write(f"docs/{name}", BOOK)
    first, skipped, last = read(["docs"], limits=ReadingLimits(seconds=0.5))
    assert (first.text, last.text) == (TEXT, TEXT)
    assert skipped.reason == "takes more than 0.5 seconds: --limit seconds=2 reads it"


def test_what_ends_the_process_is_told(write, monkeypatch):
    """A crash of a parser is that file's, and no other's."""
    with_reader(monkeypatch, "__import__('os').abort() if 'bad' in file.id else read(file)")
    for name in ("bad.odt", "z.odt"):
        write(f"docs/{name}", BOOK)
    skipped, last = read(["docs"])
    assert skipped.reason.startswith("ended the process that read it")
    assert last.text == TEXT


@pytest.mark.skipif(sys.platform == "win32", reason="a process has no limit of memory there")
def test_a_string_that_does_not_fit_into_memory(tmp_path):
    """A string of 200 MB in a Parquet file of some kilobytes is told as what it is."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "big.parquet"
    table = pa.table({"text": ["x" * 200_000_000]})
    plain = {"use_dictionary": False, "write_statistics": False}  # neither of which copies it
    parquet.write_table(table, path, compression="zstd", **plain)
    del table
    pa.default_memory_pool().release_unused()  # a gigabyte, which the worker would keep
    [skipped] = read([path], limits=ReadingLimits(memory_bytes=800_000_000))
    assert skipped.reason.startswith("takes more than 800,000,000 bytes of memory: --limit memory")


def test_the_process_ends_with_the_iteration(write):
    """Also where nobody reads to the end."""
    for i in range(3):
        write(f"docs/{i}.odt", BOOK)
    found = read(["docs"])
    next(found)
    held = found.gi_frame.f_locals["apart"]._process  # noqa: SLF001
    found.close()
    assert held.returncode is not None


@pytest.mark.parametrize("wrong", ["seconds", "seconds=", "hours=1", "seconds=nan", "records=-1"])
def test_wrong_limits_are_named(wrong):
    """Before anything is read."""
    with pytest.raises(InputError, match=wrong.partition("=")[0]):
        parse_limits([wrong])


def test_limits_are_read_from_words():
    """The last one of a name holds."""
    assert parse_limits([]) == LIMITS
    assert parse_limits(["seconds=9", "records=5", "seconds=1.5"]) == ReadingLimits(
        seconds=1.5, records=5
    )
