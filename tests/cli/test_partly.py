"""What a reader saw of a document and did not read is said wherever the document is shown."""

import json

import pytest

import clew as api
from clew import testing
from clew.base.types import Document
from tests.readers.writers import pdf

pytestmark = pytest.mark.satellite

REPORT = "Marit Solheim designed the lighthouse on Gull Rock. It was lit in 1871."
DRAWING = ") Tj ET 0 0 99 99 re f BT /F1 12 Tf ("  # ends the text, and begins another
NOTE = "2 of 3 pages hold no text (2-3): scanned? --ocr reads pictures (pip install 'clew[ocr]')"


@pytest.fixture
def scanned(tmp_path):
    """A PDF file with a page of text and two that have only a drawing."""
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf(REPORT, DRAWING, DRAWING))
    return path


@pytest.mark.parametrize("again", [False, True])
def test_a_run_says_what_was_read_in_part(clew, tmp_path, scanned, again):
    """So does a second one, which finds nothing changed."""
    folder = str(tmp_path / "i.clew")
    for _ in range(1 + again):
        found = clew("index", str(scanned), "--into", folder)
    assert found.exit_code == 0
    assert f"clew: read in part report.pdf: {NOTE}" in found.stderr
    assert "1 read in part" in found.stdout
    assert ("1 unchanged" in found.stdout) == again
    told = json.loads(clew("index", str(scanned), "--into", folder, "--json").stdout)
    assert told["report"]["partly"] == {"report.pdf": [NOTE]}


def test_the_notes_stand_in_lists_and_below_citations(clew, tmp_path, scanned):
    """In words and as JSON."""
    folder = str(tmp_path / "i.clew")
    clew("index", str(scanned), "--into", folder)
    assert f"\n           read in part: {NOTE}\n" in clew("list", "--index", folder).stdout
    (row,) = json.loads(clew("list", "--index", folder, "--json").stdout)["documents"]
    assert row["partly"] == row["metadata"]["partly"] == [NOTE]
    asked = ("ask", "Who designed the lighthouse on Gull Rock?", "--index", folder)
    assert f"This document was read in part: {NOTE}" in " ".join(clew(*asked).stdout.split())
    citation = json.loads(clew(*asked, "--json").stdout)["citations"][0]
    assert citation["partly"] == [NOTE]


def test_many_documents_are_summed_up(clew, tmp_path):
    """Ten are named."""
    for number in range(12):
        (tmp_path / "texts").mkdir(exist_ok=True)
        path = tmp_path / "texts" / f"{number:02}.txt"
        path.write_bytes(f"Der Bäcker schließt um {number} in der Königstraße.".encode() + b"\xff")
    found = clew("index", str(tmp_path / "texts"), "--into", str(tmp_path / "i.clew"))
    lines = [line for line in found.stderr.splitlines() if "read in part" in line]
    assert len(lines) == 11
    assert lines[-1] == "clew: read in part 2 more documents: 'clew list' says why"


def test_notes_change_no_rows(tmp_path):
    """An older index gets them without being embedded again."""
    text = Document(id="a", text=REPORT)
    noted = Document(id="a", text=REPORT, metadata={"partly": ("3 charts",)})
    with api.open(tmp_path / "i.clew", models=testing.models()) as index:
        assert index.add([text]).report.added == ["a"]
        report = index.add([noted]).report
        assert (report.restated, report.changed) == (["a"], [])
        assert report.partly == {"a": ("3 charts",)}
        assert index.add([noted]).report.n_unchanged == 1
        (citation, *_) = index.ask("Who designed the lighthouse on Gull Rock?").citations
        assert citation.partly == ("3 charts",)
