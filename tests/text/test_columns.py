"""Tables of records: which these are, and what their columns have."""

import pytest

from clew.text.columns import are_records, find_main_amount, read_columns, skip_totals


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("Order No.", ["7", "9", "7"], "identifier"),
        ("Invoice", ["901", "902", "905"], "identifier"),
        ("Order", ["1001", "1002", "1004"], "identifier"),
        ("Order", ["2001", "2002", "2004"], "identifier"),
        ("Year", ["2001", "2002", "2004"], "date"),
        ("Rechnungsnummer", ["12", "15", "15"], "identifier"),
        ("Zip", ["01067", "20095", "24103"], "identifier"),
        ("Area", ["01", "02", "10"], "identifier"),
        ("Employee ID", ["E-1", "E-2", "E-3"], "identifier"),
        ("Week", ["1", "1", "2"], "identifier"),
        ("Cars", ["20", "50", "80"], "measure"),
        ("Betrag (EUR)", ["1107,62", "92,00", "7,5"], "measure"),
        ("Population", ["563000", "563000", "12"], "measure"),
        ("Datum", ["28.08.2024", "7.3.2024", ""], "date"),
        ("Built", ["1990", "2001", "2001"], "date"),
        ("Day", ["2001-05-01", "2002-01-01", "2002-01-02"], "date"),
        ("Paid", ["yes", "no", ""], "flag"),
        ("Port", ["Oslo", "Moss", "Oslo"], "text"),
    ],
)
def test_kinds_of_columns(name, cells, kind):
    [column] = read_columns([name], [[cell] for cell in cells])
    assert column.kind == kind


@pytest.mark.parametrize(
    ("names", "rows", "is_one"),
    [
        (["Level", "Use"], [["error", "faults"], ["warn", "doubts"]], True),
        (["Description:", "Sets it"], [["Default:", "warn"], ["Status:", "Core"]], False),
        (["Name", "Name"], [["a", "b"], ["c", "d"]], False),
        (["Next", "Up"], [["Modules", "Top"]], False),
        (["Left", "Right"], [["x", ""], ["y", ""], ["z", ""]], False),
        (["A", "B"], [["long text " * 9, "more of it " * 9]] * 3, False),
    ],
)
def test_which_tables_hold_records(names, rows, is_one):
    assert are_records(names, rows) == is_one


@pytest.mark.parametrize(
    ("last", "is_sum"),
    [
        (["Total", "", "8"], True),
        (["**Total**", "", "8"], True),
        (["Grand total", "", "8"], True),
        (["Zwischensumme Oslo", "", "8"], True),
        (["Everything", "3", "8"], True),
        (["Total Recall", "Verhoeven", "8"], False),
        (["Vardø", "9", "8"], False),
    ],
)
def test_rows_of_sums_are_dropped(last, is_sum):
    rows = [["Oslo", "2", "5"], ["Moss", "1", "3"], last]
    assert skip_totals(rows) == ([0, 1] if is_sum else [0, 1, 2])


def test_the_main_amount_is_no_rate():
    rows = [["1", "80", "80", "7"], ["6", "140", "840", "9"]]
    columns = read_columns(["Nights", "Price per night", "Sum", "Guests"], rows)
    assert find_main_amount(columns) == 2
    assert find_main_amount(columns[:1]) is None
