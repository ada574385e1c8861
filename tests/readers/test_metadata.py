"""The values of metadata, and what the store keeps of a document beside its text."""

import datetime as dt

import numpy as np
import pytest

from clew.api import open_index
from clew.base.types import Document, Heading
from clew.readers.metadata import values
from clew.testing.doubles import models


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Fram", "Fram"),
        (True, True),
        (1893, 1893),
        (0.5, 0.5),
        (float("nan"), None),
        (None, None),
        (b"\xff", None),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), "2024-05-01T12:00:00+00:00"),
        (["ice", 1], ("ice", 1)),
        ({"b", "a"}, ("a", "b")),
        ([], ()),
        ([["nested"]], '[["nested"]]'),
        ({"a": {"b": float("inf")}}, '{"a": {"b": null}}'),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
    ],
)
def test_values(given, kept):
    """Whatever a caller has becomes text, number, truth value or a list of these."""
    assert values({"x": given}) == {"x": kept}


def test_the_store_keeps_what_a_document_has(tmp_path):
    """Lists, headings and pages come back as they were given."""
    given = Document(
        id="fram",
        text="Hull\n\nThe Fram had a round hull.",
        metadata={"tags": ("ship", "ice"), "built": dt.date(1892, 10, 26)},
        headings=(Heading(0, 1, "Hull"),),
        pages=(0, 6),
    )
    with open_index(tmp_path / "i", models=models()) as index:
        index.add(given)
        assert index.add(given).report.n_unchanged == 1
        [found] = index.snapshot().documents([0])
    assert found.metadata == {"tags": ("ship", "ice"), "built": "1892-10-26"}
    assert (found.headings, found.pages) == (given.headings, given.pages)
