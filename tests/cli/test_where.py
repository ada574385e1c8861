"""`--where`: only documents that fulfil a filter are listed, asked and removed."""

import json

import pytest

LINES = [
    {"id": "fram", "text": "Colin Archer built the Fram.", "kind": "ship", "year": "1892"},
    {"id": "gjoa", "text": "Knut Skaale built the Gjoa.", "kind": "ship", "year": 1872},
    {"id": "archer", "text": "Colin Archer was born in Larvik.", "kind": "man", "year": None},
]


@pytest.fixture
def index(clew, tmp_path):
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    assert clew("index", "notes.jsonl").exit_code == 0
    return clew


def ids(result):
    assert result.exit_code == 0, result.output
    return [each["id"] for each in json.loads(result.stdout)["documents"]]


def test_list_and_remove(index):
    """Two filters both hold, and what documents have is printed with --json."""
    assert ids(index("list", "--where", "kind = 'ship'", "--json")) == ["fram", "gjoa"]
    both = ("--where", "kind = 'ship' or kind = 'man'", "--where", "year > 1880")
    assert ids(index("list", *both, "--json")) == ["fram"]
    assert ids(index("list", "--where", "year > 1900", "--json")) == []
    [row] = json.loads(index("list", "fram", "--json").stdout)["documents"]
    assert row["metadata"] == {"kind": "ship", "year": "1892"}
    assert index("remove", "--where", "kind = 'ship'", "--dry-run").stdout == "fram\ngjoa\n"
    assert "Removed 2 documents" in index("remove", "--where", "kind = 'ship'").stdout
    assert ids(index("list", "--json")) == ["archer"]


@pytest.mark.parametrize("command", ["ask", "search"])
def test_questions(index, command):
    """Nothing of other documents is printed; the filter stands in the evidence."""
    where = ("--where", "kind = 'ship'", "--where", "year < 1880")
    result = index(command, "Who built the ship?", *where)
    assert "Skaale" in result.stdout
    assert "Archer" not in result.stdout
    found = json.loads(index(command, "Who built the ship?", *where, "--json").stdout)
    assert found.get("evidence", found)["where"] == "kind = 'ship' and year < 1880"


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("kind = ship", "write 'ship' for a text"),
        ("colour = 1", "no document has the field 'colour': there are id, source, title, kind"),
        ("year = 3", "no document matches the filter 'year = 3': see 'clew list'"),
    ],
)
def test_what_is_wrong(index, where, reason):
    result = index("ask", "Who?", "--where", where)
    assert (result.exit_code, result.stdout) == (1, "")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.satellite
def test_eval(index, tmp_path):
    """An evaluation of some documents, whose runs are not taken for those of all."""
    folder = tmp_path / "set"
    folder.mkdir()
    lines = [json.dumps({**line, "title": line["id"]}) for line in LINES]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    asked = {"id": "q", "question": "Who built the Fram?", "supporting_ids": ["fram"]}
    (folder / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    run = ("eval", folder, "--methods", "bm25", "--runs", "runs", "--json")
    hidden = index(*run, "--where", "id != 'fram'")
    assert hidden.exit_code == 0, hidden.output
    assert json.loads(hidden.stdout)["methods"]["bm25"]["metrics"]["recall@5"]["mean"] == 0
    again = index(*run)
    assert json.loads(again.stdout)["methods"]["bm25"]["metrics"]["recall@5"]["mean"] == 1
