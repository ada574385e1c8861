"""Records: JSON lines, JSON lists, CSV, TSV and Parquet."""

import csv
import datetime as dt
import io
import json
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Document, Skipped
from clew.readers import read
from clew.readers.walk import Columns

NO_TEXT = "has no column text, content, body, contents or passage, only:"
RECORD = {"id": "a1", "title": "Threads", "text": "Body é", "year": "2024"}


def parquet(columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


FILES = {
    "a.jsonl": json.dumps(RECORD),
    "a.ndjson": json.dumps(RECORD, ensure_ascii=False) + "\r\n\r\n",
    "a.json": json.dumps([RECORD], indent=1),
    "a.csv": "id,title,text,year\na1,Threads,Body é,2024\n",
    "b.csv": 'id;"title";text;year\r\na1;Threads;"Body é";2024\r\n',
    "c.csv": "\N{BOM}id,title,text,year\na1,Threads,Body é,2024\n",
    "e.csv": "id,title,text,year\na1,Threads,Body é,2024\n".encode("utf-16"),
    "a.tsv": "id\ttitle\ttext\tyear\na1\tThreads\tBody é\t2024",
    "a.parquet": parquet({name: [value] for name, value in RECORD.items()}),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_document(document, name):
    """Id, title and text are the record's own; the other columns are metadata."""
    found = document(name, FILES[name])
    assert (found.id, found.title, found.text) == ("a1", "Threads", "Body é")
    assert found.metadata == {"year": "2024"}
    assert found.body_start == 0
    assert found.source.startswith(f"{name}:")


def test_odd_characters(document):
    """Spreadsheet programs still write the encodings of Windows; JSON can hold half a character."""
    text = "Die Straße führt über die Brücke nach Köln, das Café öffnet um zwölf."
    assert document("a.csv", f"id;text\n1;{text}\n".encode("cp1252")).text == text
    found = document("a.jsonl", r'{"text": "cut \ud83d", "title": "\ude00", "k\ud83d": "\ud83d"}')
    assert (found.text, found.title, found.metadata) == ("cut �", "�", {"k�": "�"})


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.jsonl", '{"text": "a"}\n\n{"text": "b"}\n', [1, 3]),
        ("a.json", '[{"text": "a"}, {"text": "b"}]', [1, 2]),
        ("a.csv", 'n,text\n1,a\n2,"b\nb"\n3,c\n', [2, 3, 5]),
        ("a.parquet", parquet({"text": ["a", "b"]}), [1, 2]),
    ],
)
def test_a_record_without_id_is_called_by_its_line(write, name, content, lines):
    """The line is the first one of the record in the file, or its place in the list."""
    write(f"docs/{name}", content)
    items = list(read(["docs"]))
    assert [item.id for item in items] == [f"docs/{name}:{line}" for line in lines]
    assert [item.source for item in items] == [item.id for item in items]


@pytest.mark.parametrize("text", ["text", "content", "body", "contents", "passage", " Text "])
@pytest.mark.parametrize("title", ["title", "name", "Heading"])
@pytest.mark.parametrize("id_", ["id", "_id", "ID"])
def test_columns_go_by_several_names(document, text, title, id_):
    """Upper case and spaces around a name do not matter."""
    found = document("a.jsonl", json.dumps({title: "t", text: "b", id_: 7}))
    assert (found.id, found.title, found.text, found.metadata) == ("7", "t", "b", {})


def test_metadata_is_scalar(document):
    """Nested values become JSON, numbers that are none become None."""
    record = {"text": "t", "n": 1, "x": 1.5, "ok": True, "no": None, "l": [1, {"é": None}]}
    line = json.dumps(record, ensure_ascii=False)[:-1] + ', "nan": NaN, "big": 1e999}'
    expected = record | {"l": '[1, {"é": null}]', "nan": None, "big": None}
    del expected["text"]
    assert document("a.jsonl", line).metadata == expected


def test_parquet_values_become_scalars(document):
    """Times are written out, bytes are left out, and nanoseconds are no trouble."""
    columns = {
        "text": ["t"],
        "day": [dt.date(2024, 5, 1)],
        "at": pa.array([1_700_000_000_000_000_001], pa.timestamp("ns", "UTC")),
        "image": [{"bytes": b"\xff", "path": "a.png"}],
        "raw": [b"\xff"],
        "x": [float("nan")],
    }
    assert document("a.parquet", parquet(columns)).metadata == {
        "day": "2024-05-01",
        "at": "2023-11-14T22:13:20+00:00",
        "image": '{"bytes": null, "path": "a.png"}',
        "raw": None,
        "x": None,
    }


def test_bad_lines_are_skipped_and_the_rest_goes_on(write):
    """Each has its line number and its reason."""
    lines = [
        b'{"text": "a"}',
        b'{"text": "b"',
        b"[1]",
        b'{"text": " "}',
        b'{"text": null}',
        b'{"text": 5}',
        b'{"x": null, "y": {"z": ""}}',
        b"{}",
        b'{"text": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"text": "a", "x": ' + b"1" * 5000 + b"}",
        b'{"text": "z"}',
    ]
    first, *bad, last = read([write("a.jsonl", b"\n".join(lines))])
    assert (first.text, last.text, last.source) == ("a", "z", "a.jsonl:11")
    assert [str(item).removeprefix("a.jsonl, line ") for item in bad] == [
        "2: is not valid JSON: Expecting ',' delimiter at column 13",
        "3: is not a JSON object",
        "4: its 'text' is empty",
        "5: its 'text' is empty",
        "6: its 'text' is of type int, not a string",
        "7: is empty",
        "8: has no column text, content, body, contents or passage, only: none at all",
        "9: is nested too deeply",
        "10: holds a number of too many digits",
    ]


def test_an_id_that_comes_twice_is_skipped(write):
    """The reason names the record that has the id, in whichever file."""
    paths = [
        write("a.jsonl", '{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}'),
        write("b.csv", "id,text\n1,c\n"),
    ]
    first, second, third = read(paths)
    assert first.text == "a"
    assert str(second) == "a.jsonl, line 2: has the id '1', which a.jsonl:1 has already"
    assert str(third) == "b.csv, line 2: has the id '1', which a.jsonl:1 has already"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", '"a"', "a.json: is neither a list of records nor an object"),
        ("a.json", "[1]", "a.json, line 1: is not a JSON object"),
        (
            "a.json",
            '[{"text":\n"a"]',
            "a.json: is not valid JSON: Expecting ',' delimiter at line 2",
        ),
        ("a.json", "[]", "a.json: is empty: it holds no records"),
        ("a.jsonl", "\n \n", "a.jsonl: is empty: it holds no records"),
        ("a.csv", "\n\n", "a.csv: is empty: it holds no records"),
        ("a.csv", "id,text\n", "a.csv: is empty: it holds no records"),
        ("a.csv", "head,tail\na,b\n", f"a.csv: {NO_TEXT} head, tail; 'clew import' reads triples"),
        (
            "a.tsv",
            "Head\trelation\ttail\na\tb\tc\n",
            (
                "a.tsv: has no column text, content, body, contents or passage, only:"
                " Head, relation, tail; 'clew import' reads triples"
            ),
        ),
        ("a.csv", 'text,"id"x\n', "a.csv, line 1: is not valid CSV: ',' expected after '\"'"),
        (
            "a.parquet",
            parquet({"abstract": ["a"], "summary": ["b"]}),
            f"a.parquet: {NO_TEXT} abstract, summary (see --text-column)",
        ),
        (
            "a.parquet",
            parquet({"text": pa.array([], pa.string())}),
            "a.parquet: is empty: it holds",
        ),
        ("a.parquet", b"PAR1" + b"x" * 40, "a.parquet: is a broken Parquet file: "),
        ("a.parquet", b"x", "a.parquet: is a broken Parquet file: "),
    ],
)
def test_a_file_without_records_is_skipped(skipped, name, content, reason):
    """One sentence says what is wrong with the file, and what there is instead."""
    (said,) = skipped(name, content)
    assert said.startswith(reason)


def test_bad_rows_are_skipped_and_the_rest_goes_on(write):
    """A row with too many fields lost its quotes; one with too few may still have its text."""
    rows = [
        "text,id,x,",
        "a,1,u,index",
        "b",
        "c,2,u,index,extra",
        '"d"d,3,u',
        ",4,u",
        ",,,",
        "e,5",
        '"f',
    ]
    items = list(read([write("a.csv", "\n".join(rows))]))
    assert [item.text for item in items if isinstance(item, Document)] == ["a", "b", "e"]
    assert items[0].metadata == {"x": "u"}
    assert [str(item) for item in items if isinstance(item, Skipped)] == [
        "a.csv, line 4: has 5 fields, where the first line has 4",
        "a.csv, line 5: is not valid CSV: ',' expected after '\"'",
        "a.csv, line 6: its 'text' is empty",
        "a.csv, line 9: is not valid CSV: unexpected end of data",
    ]


ABOVE = {
    "sep=;\nName;Role\nIda;captain\n": "Name: Ida; Role: captain",
    '"sep=|"\r\nName|Role\r\nIda|captain, retired\r\n': "Name: Ida; Role: captain, retired",
    "Crew of the Hesper, 2024\n\nName;Role\nIda;captain, cook\n": "Name: Ida; Role: captain, cook",
    "Crew list,,\nprinted,3 May,\nName,Role,Age\nIda,captain,41\n": (
        "Name: Ida; Role: captain; Age: 41"
    ),
    'Name,"Role, at\nsea"\nIda,captain\n': "Name: Ida; Role, at sea: captain",
    "Name\nIda\n": "Name: Ida",
}


@pytest.mark.parametrize(("content", "text"), ABOVE.items(), ids=range(len(ABOVE)))
def test_what_stands_above_a_header_is_no_row(write, content, text):
    """A separator that is named, titles and notes; the number of a line is that in the file."""
    [row] = read([write("a.csv", content)])
    assert row.text == text
    assert row.source == f"a.csv:{content.count(chr(10), 0, content.index('Ida')) + 1}"


INSIDE = {
    '{"question": "Where?", "answer": "At the quay."}': "question: Where?; answer: At the quay.",
    '{"sku": "A-17", "specs": {"height": 310, "tags": ["red", "new"]}, "sold": false}': (
        "sku: A-17; specs.height: 310; specs.tags: red, new; sold: false"
    ),
    '{"ship": "Fram", "crew": [{"name": "Ida"}, {"name": "Per"}], "lost": null}': (
        "ship: Fram; crew.1.name: Ida; crew.2.name: Per"
    ),
}


@pytest.mark.parametrize(("record", "text"), INSIDE.items(), ids=range(len(INSIDE)))
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_record_without_a_text_says_all_its_values(write, record, text, suffix):
    """As a row of a table does, values in objects by their paths; numbers stay numbers."""
    [row] = read([write(f"a.{suffix}", record if suffix == "jsonl" else f"[{record}]")])
    assert row.text == text
    assert row.metadata.get("specs.height") in (None, 310)


def test_fields_that_are_long_or_no_utf8(write, document):
    """The first megabyte decides on the encoding; Python's own limit for a field is smaller."""
    good = "text\n" + "ab" * (1 << 19)
    first, second, third = read([write("a.csv", good.encode() + b"\n\xff\nb\n")])
    assert (len(first.text), second.text, third.text) == (1 << 20, "\ufffd", "b")
    assert second.partly == (
        "1 place with bytes that are no UTF-8 became U+FFFD, the first in line 3",
    )
    assert len(document("a.csv", "text\n" + "ab" * 150_000).text) == 300_000


def test_json_lines_are_read_one_at_a_time(write):
    """Memory does not grow with the file."""
    line = json.dumps({"text": "shipbuilders " * 4_000}) + "\n"
    path = write("a.jsonl", line * 100)
    size = Path(path).stat().st_size
    tracemalloc.start()
    n = sum(isinstance(item, Document) for item in read([path]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 100
    assert peak < size / 2


TEXT = st.text(min_size=1).filter(str.strip)
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text()
NAMES = {"id", "_id", "title", "name", "heading", "text", "content", "body", "contents", "passage"}
KEY = st.text().filter(lambda key: key.strip().casefold() not in NAMES)
RECORDS = st.lists(
    st.fixed_dictionaries({"id": TEXT, "text": TEXT, "title": st.text()})
    | st.dictionaries(KEY, SCALAR).map(lambda extra: extra | {"text": "t"}),
    min_size=1,
    unique_by=lambda record: record.get("id", id(record)),
)


@given(RECORDS, st.booleans())
def test_any_records_come_back(tmp_path_factory, records, escaped):
    """What was written as JSON lines is read to the character, with its metadata."""
    path = tmp_path_factory.mktemp("records") / "a.jsonl"
    lines = [json.dumps(record, ensure_ascii=escaped) + "\n" for record in records]
    path.write_bytes("".join(lines).encode())
    for number, (record, item) in enumerate(zip(records, read([path]), strict=True), 1):
        assert item.text == record["text"]
        assert item.id == record.get("id", f"a.jsonl:{number}")
        assert item.title == record.get("title", "")
        assert item.metadata == {key: record[key] for key in record if key not in NAMES}


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\n\r"))


@given(st.lists(st.tuples(WORDS.filter(str.strip), WORDS), min_size=1))
def test_any_table_comes_back(tmp_path_factory, rows):
    """What Python's csv module wrote is read to the character."""
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("text", "note"), *rows])
    assert [(item.text, item.metadata["note"]) for item in read([path])] == rows


SAID = Columns(text="Words", title="head line", id="NUMBER")
ROWS = [{"number": 1, "words": "One.", "Head Line": "First", "text": "no"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps(ROWS[0])),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps({"rows": ROWS, "pages": [1]})),
        ("a.csv", "number;words;Head Line;text\n1;One.;First;no\n"),
        ("a.parquet", parquet({name: [value] for name, value in ROWS[0].items()})),
    ],
)
def test_columns_that_are_said(write, name, content):
    """They go before those that are guessed, in upper or lower case; the others are metadata."""
    (found,) = read([write(name, content)], columns=SAID)
    assert (found.id, found.title, found.text) == ("1", "First", "One.")
    assert found.metadata == {"text": "no"}


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", '{"a": 1}'), ("a.csv", "a\n1\n"), ("a.parquet", parquet({"a": [1]}))],
)
@pytest.mark.parametrize("said", [Columns(text="b"), Columns(text="a", id="b")])
def test_columns_that_are_not_there(write, name, content, said):
    """The reason names the column that was said and those there are."""
    (found,) = read([write(name, content)], columns=said)
    assert found.reason == "has no column 'b', only: a"


def test_columns_that_are_odd(write):
    """What was said is taken as it is."""
    (found,) = read([write("a.jsonl", '{"a": 1.5}')], columns=Columns(text="a"))
    assert found.text == "1.5"
    rows = {"x": {"text": "One."}, "y": {"text": "Two.", "id": "z"}}
    first, second = read([write("a.json", json.dumps(rows))])
    assert (first.id, first.text, second.id) == ("x", "One.", "z")
