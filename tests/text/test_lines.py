"""Lines are those of the original file, or none."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew import testing
from clew.base.types import Document
from clew.readers import read
from clew.readers.formats import READERS
from clew.readers.pictures import PICTURES
from clew.text.lines import file_place, line_at
from tests.readers.writers import LIGHTHOUSES, files

TEXTS = {
    "plain.txt": "One.\n\nThe keeper Ada Lund lit the lamp.\n",
    "crlf.txt": "One.\r\n\r\nThe keeper Ada Lund lit the lamp.\r\n",
    "bom.txt": "\ufeffOne.\n\nThe keeper Ada Lund lit the lamp.\n",
    "bom.md": "\ufeff# One\r\n\r\nThe keeper Ada Lund lit the lamp.\r\n",
    "matter.md": "---\ntitle: Lamps\na: 1\n---\n# Lamps\n\nThe keeper Ada Lund lit the lamp.\n",
    "data.md": f"![a](data:image/png;base64,{'A' * 300})\n\nThe keeper Ada Lund lit the lamp.\n",
    "feed.txt": "One.\f\n\u2028\x0b\nThe keeper Ada Lund lit the lamp.\n",
    "README": "One.\n\n\nThe keeper Ada Lund lit the lamp.\n",
    "code.py": "def one():\n    pass\n\n\n# The keeper Ada Lund lit the lamp.\n",
    "paper.tex": "\\title{One}\n\\begin{document}\n\nThe keeper Ada Lund lit the lamp.\n",
    "whole.json": '{\n  "a": 1,\n  "b": "The keeper Ada Lund lit the lamp."\n}\n',
    "wide.txt": "One.\n\nThe keeper Ada Lund lit the lamp.\n".encode("utf-16"),
    "log.gz": gzip.compress(b"One.\n\n\n\nThe keeper Ada Lund lit the lamp.\n"),
    "rows.csv": 'id,text\nq,"One\n\nword"\nr,The keeper Ada Lund lit the lamp.\n',
    "rows.jsonl": '{"text": "One"}\n\n{"text": "\\n\\n\\nThe keeper Ada Lund lit the lamp."}\n',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_citation_names_the_line_of_its_file(tmp_path, monkeypatch, name):
    """An editor that is sent there shows the words, whatever became of the file's bytes."""
    monkeypatch.chdir(tmp_path)
    content = TEXTS[name]
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes(data)
    with clew.open("my.clew", models=testing.models()) as index:
        index.add("docs")
        answer = index.ask("Who lit the lamp?", min_support=0.0)
    cited = next(each for each in answer.citations if "Ada Lund" in each.quote)
    raw = gzip.decompress(data) if name.endswith(".gz") else data
    text = raw.decode("utf-16" if name == "wide.txt" else "utf-8-sig")
    words = cited.quote.split()[0][:9]
    lines = text.split("\n")
    assert words in lines[cited.line - 1]
    assert file_place(cited.source, cited.line).endswith(f"docs/{name}:{cited.line}")
    hit = next(each for each in answer.evidence.hits if each.chunk_id == cited.chunk_id)
    assert hit.text.split()[0][:9] in lines[hit.line - 1]
    passage = answer.context.passages[cited.number - 1]
    assert passage.line == hit.line
    steps = [s for path in answer.evidence.paths for s in path.steps if s.layer == "unit"]
    assert all(step.text.split()[0][:9] in lines[step.line - 1] for step in steps)


@pytest.mark.satellite
@pytest.mark.parametrize("suffix", sorted(READERS.keys() - {*PICTURES}))
def test_no_format_has_a_wrong_line(tmp_path, monkeypatch, suffix):
    """Where a document has a line, the file has there what the document has."""
    monkeypatch.chdir(tmp_path)
    for name, content in files(suffix, LIGHTHOUSES).items():
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        documents = [each for each in read([name]) if isinstance(each, Document)]
        assert documents
        if documents[0].line_at(0) is None:
            assert all(each.line_at(len(each.text) // 2) is None for each in documents)
            continue
        lines = data.decode().split("\n")
        for document in documents:
            for place in range(0, len(document.text), 97):
                word = document.text[place : place + 500].split()[:1]
                assert "".join(word) in lines[document.line_at(place) - 1]


@pytest.mark.parametrize(
    ("id_", "source"),
    [
        ("fram.md", ""),  # given by a caller, who says no file
        ("1", "fram.md"),  # a part of one, as far as can be told
        ("https://x.example/fram.md", "https://x.example/fram.md"),
        ("fram.pdf", "fram.pdf"),
        ("list.json:3", "list.json:3"),
        ("inbox.mbox:3", "inbox.mbox:3"),
        ("ships.tsv#fram", "ships.tsv#fram"),
        ("ships.tsv#a/b", "ships.tsv#a/b"),
        ("ships.nt.gz#fram.md", "data/ships.nt.gz#fram.md"),
    ],
)
def test_what_has_no_true_line(id_, source):
    """It has none, rather than a wrong one."""
    assert line_at("One.\nTwo.\n", 5, id_=id_, source=source) is None


@given(st.text(alphabet="ab \n\r", max_size=40), st.integers(0, 40))
def test_a_line_is_where_the_first_word_is(text, place):
    """By the newlines that editors count, behind white space."""
    found = line_at(text, place, id_="a.txt", source="a.txt")
    if "\r" in text and "\n" not in text:
        assert found is None
        return
    rest = text[place:]
    first = len(text) - len(rest.lstrip()) if rest else place
    assert found == text[: min(first, len(text))].count("\n") + 1


def test_places_as_people_read_them():
    """A line behind its file; of what is in no line, which record it is."""
    assert file_place("a.md", 12) == "a.md:12"
    assert file_place("a.csv:12", 12) == "a.csv:12"
    assert file_place("a.json:3", None) == "a.json, record 3"
    assert file_place("a.pdf", None) == "a.pdf"
    assert file_place("http://localhost:80", None) == "http://localhost:80"
