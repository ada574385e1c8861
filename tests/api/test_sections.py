"""Sections, pages and apparatus, from documents to answers."""

from dataclasses import replace

import pytest

from clew import testing
from clew.api import open_index
from clew.base.types import Apparatus, Document, Heading

ICE = "Ice\n\nThe Fram drifted through the ice for three years. Nansen left the ship in 1895."
CREW = "Crew\n\nThirteen men sailed with the Fram. The cook of the Fram was Adolf Juell."
CONTENTS = "The drift of the Fram\n\nThe ice and the Fram\n\nThe cook of the Fram"
TEXT = f"{ICE}\n\n{CREW}"
MANUAL = Document(
    id="fram",
    title="Fram",
    text=TEXT,
    source="fram.pdf",
    headings=(Heading(0, 1, "Ice"), Heading(TEXT.index("Crew"), 1, "Crew")),
    pages=(0, TEXT.index("Nansen"), TEXT.index("Crew")),
)
LISTED = Document(
    id="contents",
    text=CONTENTS,
    source="contents.html",
    apparatus=(Apparatus(0, len(CONTENTS), "contents"),),
)
QUESTION = "Who was the cook of the Fram?"


@pytest.fixture
def index(tmp_path):
    with open_index(tmp_path / "a.clew", models=testing.models()) as opened:
        opened.add([MANUAL, LISTED])
        yield opened


def test_hits_passages_and_citations_say_where_they_stand(index):
    found = index.search("drift in the ice", method="bm25")
    [hit] = [hit for hit in found.hits if hit.document_id == "fram"]
    assert (hit.section, hit.page, hit.last_page) == ("Ice", 1, 3)
    passages = index.answer(found).context
    [passage] = [each for each in passages.passages if each.document_id == "fram"]
    assert (passage.section, passage.page, passage.last_page) == ("Ice", 1, 3)
    assert f"[{passage.number}] Fram > Ice, pp. 1-3\n" in passages.text
    found = index.ask(QUESTION, method="dense")
    [cited] = [each for each in found.citations if "Juell" in each.quote]
    assert (cited.section, cited.page, cited.last_page) == ("Crew", 3, 3)
    snapshot = index.snapshot()
    [row] = snapshot.layer("chunk").rows([f"fram:0-{len(TEXT)}"])
    assert snapshot.titled_texts([row]) == [f"Fram > Ice\n{TEXT}"]
    [ice] = snapshot.layer("term").rows(["ice"])
    assert snapshot.link("chunk", "term")[[row]].toarray()[0, ice] == 3
    layer = index.snapshot().layer("document")
    rows = layer.rows(["fram", "contents"])
    assert index.snapshot().documents(rows) == [MANUAL, LISTED]
    changed = replace(MANUAL, headings=MANUAL.headings[:1])
    assert index.add([changed, LISTED]).report.changed == ["fram"]


def test_contents_come_last(index):
    for method in ("bm25", "dense", "hybrid", "walk", "pagerank", "ket"):
        found = index.search(QUESTION, method=method)
        assert [hit.apparatus for hit in found.hits] == ["", "contents"]
        assert [hit.document_id for hit in found.hits] == ["fram", "contents"]
        assert found.hits[0].score >= found.hits[1].score
        ends = [path.steps[-1].document_id for path in found.paths]
        assert ends == sorted(ends, reverse=True)
    asked = "The contents: drift, ice, cook"
    found = index.search(asked, method="bm25")
    assert {hit.document_id: hit.apparatus for hit in found.hits} == {
        "fram": "",
        "contents": "contents",
    }
    assert found.hits[0].document_id == "contents"


def test_contents_are_quoted_where_a_question_asks_for_them(index):
    """Or where nothing else is found."""
    text = "The cook of the Fram, Adolf Lindstrom\n\nThe cook of the Gauss, Otto Berg"
    marks = (Apparatus(0, len(text), "contents"),)
    index.add(Document(id="list", text=text, apparatus=marks))

    def quoted(question, **options):
        found = index.ask(question, method="dense", min_support=0, **options)
        return {each.document_id for each in found.citations}

    assert quoted(QUESTION) == {"fram"}
    assert "list" in quoted(f"{QUESTION} See the contents.")
    assert quoted(QUESTION, where="id = 'list'") == {"list"}
