"""What users get: plain values, a line, HTML; and an index as a collection of documents."""

import json
from dataclasses import fields, is_dataclass

import pytest
from click.testing import CliRunner

import clew
from clew.api import open_index
from clew.base.display.shown import Shown
from clew.base.types import Citation, Document, Evidence, Hit, Usage
from clew.cli import main
from clew.testing import models

DOCUMENTS = [
    Document(id="fram.md", title="Fram", text="Colin Archer built the Fram for Nansen. " * 3),
    Document(id="evil.md", title="<b>Fram</b>", text="<script>alert(1)</script> met the Fram."),
]
QUESTION = "Who built the <i>Fram</i>?"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "my.clew"
    with clew.open(folder, models=models()) as opened:
        opened.add(DOCUMENTS, triples="cooccurrence")
        yield opened


@pytest.fixture(scope="module")
def answer(index):
    return index.ask(QUESTION, min_support=0)


def is_plain(value):
    if isinstance(value, dict):
        return all(isinstance(name, str) and is_plain(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or type(value) in {str, int, float, bool}


def test_to_dict_is_plain_and_whole(index, answer):
    added = index.add(DOCUMENTS)
    for result in (added, answer, answer.evidence, answer.context, answer.usage, DOCUMENTS[0]):
        plain = result.to_dict()
        assert list(plain) == [each.name for each in fields(result) if each.name != "pictures"]
        assert is_plain(plain)
        assert json.loads(json.dumps(plain)) == plain
    assert answer.to_dict()["evidence"]["hits"][0] == answer.evidence.hits[0].to_dict()
    assert is_plain(index.search("Fram", method="bubble").graph.to_dict())


def test_the_command_line_prints_the_same(index, answer):
    opener = lambda folder, **named: open_index(folder, models=models(), **named)  # noqa: E731
    arguments = ["ask", QUESTION, "--anyway", "--json", "--index", str(index.folder)]
    printed = json.loads(CliRunner().invoke(main, arguments, obj=opener).stdout)
    expected = answer.to_dict()
    for each in (printed, expected, printed["evidence"], expected["evidence"]):
        each.pop("usage")
    assert printed == expected


def kinds(kind):
    yield kind
    for each in kind.__subclasses__():
        yield from kinds(each)


@pytest.mark.satellite
def test_every_result_is_of_one_kind(answer):

    def inside(value):
        if is_dataclass(value):
            yield value
            for each in fields(value):
                yield from inside(getattr(value, each.name))
        elif isinstance(value, list | tuple):
            for each in value:
                yield from inside(each)

    assert [type(each) for each in inside(answer) if not isinstance(each, Shown)] == []
    public = {getattr(clew, name) for name in clew.__all__}
    results = {kind for kind in public if isinstance(kind, type) and is_dataclass(kind)}
    given = {clew.Chunking, clew.Limits, clew.Models, clew.Settings, clew.Snapshot, clew.Specs}
    assert results - given <= set(kinds(Shown))


def test_a_line_says_what_matters(index, answer):
    hit = Hit(
        chunk_id="a:0-9", score=1 / 3, document_id="a", title="A", source="", start=0, end=9,
        text="word " * 50,
    )  # fmt: skip
    assert repr(hit) == (
        "Hit(chunk_id='a:0-9', score=0.3333, document_id='a', title='A', source='', start=0, "
        f"end=9, text='{('word ' * 12)[:59]}…')"
    )
    assert repr(Usage()) == "Usage()"
    assert repr(Evidence(query="q", method="walk", hits=(hit, hit))) == (
        "Evidence(query='q', method='walk', hits=<2 Hit>)"
    )
    assert repr(Document(id="a", text="b", metadata={"tags": ("x", "y")}, pages=(0, 5))) == (
        "Document(id='a', text='b', metadata=<1 values>, pages=[0, 5])"
    )
    for result in (answer, answer.evidence, answer.context, index.add(DOCUMENTS)):
        assert len(repr(result)) < 400
        assert "\n" not in repr(result)
    citation = Citation(
        number=1, chunk_id="a:0-9", document_id="a", source="a.md", start=0, end=4, quote="Fram"
    )
    assert repr(citation) == (
        "Citation(number=1, chunk_id='a:0-9', document_id='a', source='a.md', start=0, end=4, "
        "quote='Fram')"
    )


def test_an_index_is_a_collection_of_documents(index, tmp_path):
    assert len(index) == 2
    assert "fram.md" in index
    assert "fox.md" not in index
    assert 3 not in index
    assert repr(index) == f"<Index {str(index.folder)!r}: 2 documents>"
    with clew.open(tmp_path / "new.clew", models=models()) as new:
        assert (len(new), "fram.md" in new, bool(new)) == (0, False, True)
        assert repr(new) == f"<Index {str(new.folder)!r}: not made yet>"
        assert "not made yet" in new._repr_html_()
        new.add(DOCUMENTS[0])
        assert repr(new).endswith(": 1 document>")
        assert not (tmp_path / "other.clew").exists()
    (tmp_path / "index.sqlite").write_text("no database", encoding="utf-8")
    assert repr(clew.open(tmp_path)).startswith(f"<Index {str(tmp_path)!r}: ")


def test_notebooks_show_what_was_found_and_obey_nothing(index, answer):
    evidence = index.search("Who met the Fram?", chunks=2)
    pages = [index._repr_html_(), evidence._repr_html_(), answer._repr_html_()]
    assert "<td>document</td><td>2</td>" in pages[0]
    assert "&lt;script&gt;alert(1)" in pages[1]
    assert "Who built the &lt;i&gt;Fram&lt;/i&gt;?" in pages[2]
    assert "<td>fram.md</td>" in pages[2]
    for page in pages:
        assert "<script" not in page
        assert "<i>" not in page
        assert page.count("<table>") == page.count("</table>") == 1
    refused = index.ask("How is sourdough bread baked?", min_support=1)
    assert "Nothing in the index answers this." in refused._repr_html_()
