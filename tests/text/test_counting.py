"""What a question wants of all of something, and the numbers and dates of cells."""

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.amounts import read_amounts, read_date_number
from clew.text.counting import may_count, read_count_question


@pytest.mark.parametrize(
    ("question", "operation", "noun"),
    [
        ("How many ferries carry more than 200 cars?", "count", "ferries"),
        ("What is the number of different home ports?", "count", "home"),
        ("List all shareholders in Norway", "list", "shareholders"),
        ("Which ferries were built between 1960 and 1970?", "list", "ferries"),
        ("Which ferry is longer than 90 m?", "list", "ferry"),
        ("What is the average length of the ferries?", "mean", None),
        ("What is the median salary?", "median", None),
        ("What is the sum of all shares?", "sum", None),
        ("Which ferry is the longest?", "most", "ferry"),
        ("Which ferry was built first?", "least", "ferry"),
        ("What is the cheapest fare?", "least", None),
        ("What is the least expensive cabin?", "least", None),
        ("What is the most expensive cabin?", "most", None),
    ],
)
def test_what_is_asked(question, operation, noun):
    read = read_count_question(question)
    assert read.operation == operation
    assert may_count(question)
    if noun is not None:
        assert question[read.noun :].startswith(noun)


@pytest.mark.parametrize(
    "question",
    [
        "Who built the Fram?",
        "When did the Fram sail?",
        "Which ferry has a bar?",
        "Which lighthouse was lit by oil?",
        "Fram",
        "What are the main themes?",
        "Is the Fram longer than the Gjøa?",
    ],
)
def test_other_questions(question):
    assert not may_count(question)


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        ("with more than 1,500 cars", [(">", 1500.0, False)]),
        ("for at least 2.5 million people", [(">=", 2_500_000.0, False)]),
        ("built before 1990", [("<", 19_900_000.0, True)]),
        ("since 2024-02-01", [(">=", 20_240_201.0, True)]),
        ("in May 2024", [("=", 20_240_500.0, True)]),
        ("of 40 m or more", [(">=", 40.0, False)]),
        ("older than 40", [("<", 40.0, False)]),
        ("from 1990 to 1995", [(">=", 19_900_000.0, True), ("<=", 19_950_000.0, True)]),
    ],
)
def test_bounds(words, bounds):
    [compared] = read_count_question(f"How many ferries are {words}?").comparisons
    assert list(compared.bounds) == bounds


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["1,200 m", "950 m", "n/a"], [1200, 950, None], "m"),
        (["$1,234.50", "$7"], [1234.5, 7], "$"),
        (["12,5", "3,25"], [12.5, 3.25], ""),
        (["1.234,50", "7,00"], [1234.5, 7], ""),
        (["(40)", "-3", "5"], [-40, -3, 5], ""),
        (["1 200 km", "12,00,000 km"], [1200, 1_200_000], "km"),
        (["7.5%", ""], [7.5, None], "%"),
        (["24.10", "26.04 LTS"], [24.1, 26.04], ""),
    ],
)
def test_numbers_of_cells(cells, values, unit):
    read = read_amounts(cells)
    assert [None if isnan(value) else value for value in read.values.tolist()] == values
    assert (read.unit, read.are_dates) == (unit, False)


@pytest.mark.parametrize(
    "cells",
    [
        ["20 kg", "500 g"],
        ["SH-1", "SH-2"],
        ["a", "b"],
        ["", "n/a"],
        ["12, 15", "3, 4"],
        ["5'11", "6'02"],
        ["1.2.3", "1.2.10"],
        ["555 123 4567", "555 123 9999"],
    ],
)
def test_other_cells_have_none(cells):
    assert read_amounts(cells) is None


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_grouped_numbers_are_read_back(numbers):
    assert read_amounts([f"{n:,}" for n in numbers if not 1000 <= n < 3000] or ["7"]) is not None
    cells = [f"{n:,}" for n in numbers]
    assert read_amounts(cells).values.tolist() == numbers


@pytest.mark.parametrize(
    "text", ["1998-05-12", "12 May 1998", "May 12, 1998", "12. May 1998", "1998-05-12T10:00"]
)
def test_dates_of_cells(text):
    assert read_date_number(text) == 19_980_512
    assert read_amounts([text, "2001"]).are_dates
