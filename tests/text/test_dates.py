"""Dates as values: one value however it is written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.analyze import term_set
from clew.text.dates import (
    Date,
    find_dates,
    find_day_first,
    find_days,
    find_periods,
    parse_period,
    read_date,
)

DAY = Date((2026, 3, 5), (2026, 3, 5))
SPELLINGS = [
    "5 March 2026", "5th of March 2026", "March 5, 2026", "March 5th 2026", "Mar. 5, 2026",
    "5-Mar-2026", "2026-03-05", "2026/3/5", "2026-03-05T10:00", "05.03.26", "5.3.2026",
    "05-03-2026",
    "5. März 2026", "5 mars 2026", "5 de marzo de 2026", "5 marzo 2026", "2026年3月5日",
    "2026년 3월 5일",
]  # fmt: skip


@pytest.mark.parametrize("written", SPELLINGS)
def test_a_day_is_one_value_and_has_the_same_words(written):
    assert read_date(written) == DAY
    assert {"5", "march", "2026"} <= term_set(f"At the mill ({written}) a wheel broke.")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Q2 2026", (2026, 4, 0), (2026, 6, 0)),
        ("2026-Q4", (2026, 10, 0), (2026, 12, 0)),
        ("autumn 2025", (2025, 9, 0), (2025, 11, 0)),
        ("Winter 2025", (2025, 12, 0), (2026, 2, 0)),
        ("the 1990s", (1990, 0, 0), (1999, 0, 0)),
        ("1932–38", (1932, 0, 0), (1938, 0, 0)),
        ("1911-12", (1911, 0, 0), (1912, 0, 0)),
        ("2026-04", (2026, 4, 0), (2026, 4, 0)),
        ("between 1932 and 1938", (1932, 0, 0), (1938, 0, 0)),
        ("27.–29. Mai 2026", (2026, 5, 27), (2026, 5, 29)),
        ("from 3 May to 5 June 2026", (2026, 5, 3), (2026, 6, 5)),
        ("in May", (0, 5, 0), (0, 5, 0)),
        ("im März", (0, 3, 0), (0, 3, 0)),
        ("3月5日に", (0, 3, 5), (0, 3, 5)),
        ("am 04.05. um", (0, 5, 4), (0, 5, 4)),
        ("on 10/24 it", (0, 10, 24), (0, 10, 24)),
        ("the 19th century", (1801, 0, 0), (1900, 0, 0)),
        ("died 309 BC", (-309, 0, 0), (-309, 0, 0)),
        ("May 31 of 2008", (2008, 5, 31), (2008, 5, 31)),
    ],
)
def test_longer_times_and_parts_of_dates(text, first, last):
    assert [found.date for found in find_periods(text)] == [Date(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "v1.2.26", "Python 3.10.12", "version 03.10.12", "12-10-11",
        "10.1.12.5", "1/2 cup", "You may 5", "in may", "8812-00-7",
        "March 5,000 men", "a march of 40 km", "the planet Mars", "ratio 3/4", "",
    ],
)  # fmt: skip
def test_no_dates(text):
    assert find_days(text) == []


def test_other_dates_tell_which_number_is_the_day():
    assert find_day_first(["5/3/2026", "15/3/2026"]) is True
    assert find_day_first(["5/3/2026", "3/15/2026"]) is False
    assert find_day_first(["5/3/2026"]) is None
    assert find_dates("5/3/2026")[0].date == Date((2026, 5, 3), (2026, 5, 3))
    assert find_dates("5/3/2026", day_first=True)[0].date == DAY


def test_a_date_lies_in_another_as_far_as_both_say():
    march, year = read_date("March"), read_date("2026")
    assert march.has(DAY)
    assert year.has(DAY)
    assert not year.has(march)
    assert not year.is_apart(march)
    assert read_date("April").is_apart(DAY)
    assert read_date("2025").is_apart(DAY)
    assert str(DAY), str(year) == ("2026-03-05", "2026")


def test_periods_of_metadata_are_of_iso_8601():
    assert parse_period("2024-02").end.isoformat() == "2024-03-01T00:00:00+00:00"
    assert parse_period("5 March 2026") is None


PIECES = ["5", "05", ".", "/", "-", " ", "2026", "March", "may", "月", "年", "日", "Q1", "to", "th"]


@given(st.lists(st.text(max_size=4) | st.sampled_from(PIECES), max_size=25).map("".join))
def test_whatever_the_text_dates_lie_in_it_and_apart(text):
    found = find_dates(text)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
