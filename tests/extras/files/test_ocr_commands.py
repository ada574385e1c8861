"""`clew index --ocr`: what it read stays, and is not recognised twice."""

import json
import os
from pathlib import Path

import pytest

from tests.extras.files.engine import engine  # noqa: F401 -- a fixture
from tests.extras.files.test_ocr import DARK, FAINT, picture
from tests.readers.writers import pdf

NOTE = "1 of 2 pages was read by OCR, confidence .97"


@pytest.fixture
def library(tmp_path, monkeypatch, engine):  # noqa: F811
    """A folder with a half scanned PDF and a picture; returns the count of pages recognised."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/report.pdf").write_bytes(pdf("The lighthouse was lit in 1871.", FAINT))
    Path("docs/letter.png").write_bytes(picture())
    return engine()


def report(clew, *options):
    return json.loads(clew("index", "docs", *options, "--json").stdout)["report"]


def test_without_the_option_its_name_stands_in_the_note(clew, library):
    """Of pictures in a folder, too; nothing is recognised."""
    done = clew("index", "docs")
    assert done.exit_code == 0
    assert "1 of 2 pages holds no text (2): scanned? --ocr reads pictures" in done.stderr
    assert "1 .png (--verbose names them, --ocr reads pictures)" in done.stderr
    assert library() == 0


def test_what_was_read_stays_without_the_option(clew, library):
    """With it or without, files that are the same are not recognised again."""
    first = report(clew, "--ocr")
    assert first["added"] == ["docs/letter.png", "docs/report.pdf"]
    assert first["partly"]["docs/report.pdf"] == [NOTE]
    assert library() == 2
    for options in (["--ocr"], []):
        os.utime("docs/letter.png", (10, 10))
        again = report(clew, *options)
        assert (again["n_unchanged"], again["changed"], again["skipped"]) == (2, [], [])
        assert again["partly"] == first["partly"]
    assert library() == 2
    asked = json.loads(clew("ask", "Where did the Halcyon run aground?", "--json").stdout)
    assert asked["citations"][0]["partly"]


def test_a_changed_file_is_read_by_ocr_again(clew, library):
    """Without the option, since its text would be lost; new files are not."""
    report(clew, "--ocr")
    Path("docs/report.pdf").write_bytes(pdf("The lighthouse was lit in 1872.", FAINT, DARK))
    Path("docs/new.png").write_bytes(picture())
    again = report(clew)
    assert (again["changed"], again["n_unchanged"]) == (["docs/report.pdf"], 1)
    assert again["partly"]["docs/report.pdf"][0].startswith("2 of 3 pages were read by OCR")
    assert [each["source"] for each in again["skipped"]] == ["docs/new.png"]
    assert library() == 4


def test_the_option_reads_what_was_indexed_without(clew, library):
    """The PDF changes, and the picture comes."""
    report(clew)
    again = report(clew, "--ocr")
    assert (again["changed"], again["added"]) == (["docs/report.pdf"], ["docs/letter.png"])
