"""Documents that hold for a time."""

import pytest

from clew.base.types import Document
from clew.errors import InputError
from clew.filters import parse
from clew.filters.validity import find_date, mark_valid


def held(date, **metadata):
    """Return the ids of the documents of these metadata that hold on a date."""
    documents = [Document(id=name, text="", metadata=given) for name, given in metadata.items()]
    marked = mark_valid(documents, date).tolist()
    return [each.id for each, is_valid in zip(documents, marked, strict=True) if is_valid]


@pytest.mark.parametrize(
    ("metadata", "dates"),
    [
        ({}, {"1900": True, "2100": True}),
        ({"date": "2024-05-01"}, {"2024-04-30": False, "2024-05-01": True, "2024-04": False}),
        ({"date": "2024-05-01"}, {"2024-05": True, "2024": True, "2023": False, "2030": True}),
        ({"valid_from": "2020", "date": "2024"}, {"2021": True, "2019": False}),
        ({"Valid-From": "2020"}, {"2019": False}),
        ({"expires": "2024-05-01"}, {"2024-05-01": True, "2024-05-02": False, "2024-05": True}),
        ({"date": "2020", "valid_until": "2021"}, {"2019": False, "2021": True, "2022": False}),
        ({"date": "some day"}, {"1900": True}),
    ],
)
def test_a_document_holds_between_its_dates(metadata, dates):
    assert {date: held(date, a=metadata) == ["a"] for date in dates} == dates


def test_a_document_ends_where_the_one_that_replaces_it_begins():
    versions = {
        "v1": {"date": "2020"},
        "v2": {"date": "2022-03", "replaces": "v1"},
        "v3": {"date": "2024", "supersedes": ("v2", "gone")},
    }
    assert held("2019", **versions) == []
    assert held("2021", **versions) == ["v1"]
    assert held("2022-02", **versions) == ["v1"]
    assert held("2022-03", **versions) == ["v2"]
    assert held("2025", **versions) == ["v3"]


def test_it_is_a_part_of_a_filter():
    text = "not valid on 2024-05-01 and (valid on 2020 or kind = 'law')"
    assert str(parse(text)) == text
    assert str(parse("valid = 1 and on = 2")) == "valid = 1 and on = 2"  # fields of these names


@pytest.mark.parametrize("text", ["valid on", "valid on 'x'", "valid on true", "valid on 2024-13"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(InputError, match="where a date such as|which is no date"):
        parse(text)


def test_the_date_of_a_document():
    assert find_date({"modified": "2024-01-01", "Date": "2020"}) == "2020"
    assert find_date({"modified": "2024-01-01", "date": "soon"}) == "2024-01-01"
    assert find_date({}) == ""
