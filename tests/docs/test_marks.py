"""Numbers that `make results` keeps: they are found, filled in and compared."""

import pytest

from benchmarks.marks import Table, cells, fill, find, markdown, read
from tests.docs.pages import PAGES, ROOT

TABLE = Table(
    ("method", "recall@5", "95 %", "s p50"), (("clue", "0.915", "0.875 to 0.950", "0.018"),)
)
PAGE = f"""# Page

<!-- table: hotpot -->
{markdown(TABLE)}<!-- end -->

Clue finds <!-- = hotpot / clue / recall@5 -->0.915, in
(<!-- = hotpot / clue / s p50 -->0.018) seconds.
"""


def changed(column, value):
    """The table with another value in one column of its row."""
    row = dict(zip(TABLE.header, TABLE.rows[0], strict=True)) | {column: value}
    return Table(TABLE.header, (tuple(row.values()),))


def verdicts(page, table):
    """What is said of each number of the page, by its place."""
    return {each.place: each.verdict for each in fill(page, {"hotpot": table})[1]}


def test_a_page_filled_with_its_own_numbers_is_itself():
    """Reading and writing are inverse, and every number is found equal."""
    assert read(PAGE) == {"hotpot": TABLE}
    page, compared = fill(PAGE, read(PAGE))
    assert page == PAGE
    assert [each.verdict for each in compared] == ["ok"] * 5


def test_numbers_are_replaced_in_tables_and_in_prose():
    """The mark before a number in prose says which cell it is."""
    page, _ = fill(PAGE, {"hotpot": changed("recall@5", "0.700")})
    assert "| clue | 0.700 |" in page
    assert "Clue finds <!-- = hotpot / clue / recall@5 -->0.700, in" in page
    assert dict(cells(page))["hotpot / clue / s p50"] == "0.018"


@pytest.mark.parametrize(
    ("column", "value", "verdict"),
    [
        ("recall@5", "0.915", "ok"),
        ("recall@5", "0.910", "near"),
        ("recall@5", "0.900", "off"),
        ("95 %", "0.870 to 0.955", "near"),
        ("95 %", "0.800 to 0.955", "off"),
        ("s p50", "0.020", "near"),
        ("s p50", "0.100", "off"),
    ],
)
def test_scores_must_agree_and_seconds_may_differ(column, value, verdict):
    """Scores are near within a hundredth; seconds within twice, or a hundredth of one."""
    assert verdicts(PAGE, changed(column, value))[f"hotpot / clue / {column}"] == verdict


def test_new_rows_are_new_and_other_tables_are_left():
    """What no page had yet is called so; what was not measured stays as it is."""
    more = Table(TABLE.header, (*TABLE.rows, ("bm25", "0.735", "0.685 to 0.785", "0.001")))
    assert verdicts(PAGE, more)["hotpot / bm25 / recall@5"] == "new"
    assert fill(PAGE, {"musique": TABLE}) == (PAGE, [])


def test_a_cell_that_is_not_there_is_an_error():
    """A number in prose without its cell would never be checked."""
    with pytest.raises(KeyError, match="clue / recall@7"):
        fill(PAGE.replace("/ recall@5", "/ recall@7"), {"hotpot": TABLE})


def test_a_partial_table_keeps_the_other_rows():
    """Where one data set was measured, those of before stay, in tables and in prose."""
    other = Table(TABLE.header, (("bm25", "0.735", "0.685 to 0.785", "0.001"),), partial=True)
    page, compared = fill(PAGE, {"hotpot": other})
    assert read(page)["hotpot"].rows == (*TABLE.rows, *other.rows)
    assert [each.verdict for each in compared] == ["new"] * 3
    assert dict(cells(page)) == dict(cells(PAGE))


def test_a_partial_table_of_nothing_changes_nothing():
    """Where no data set of a table was measured, it stays, whatever columns it would have now."""
    nothing = Table((*TABLE.header, "walk"), (), partial=True)
    assert fill(PAGE, {"hotpot": nothing}) == (PAGE, [])


def test_cells_may_hold_bars():
    """A bar in a cell is escaped and read back."""
    odd = Table(("a|b", "c"), (("x|y", "1"),))
    assert read(f"<!-- table: odd -->\n{markdown(odd)}<!-- end -->\n") == {"odd": odd}


RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))


def test_each_table_is_on_one_page_of_results():
    """So that no two pages of results can have different numbers of one name."""
    tables = [table for page in RESULTS for table in read(page.read_text(encoding="utf-8"))]
    assert "recall@5" in tables
    assert len(set(tables)) == len(tables)


def test_published_numbers_agree_with_the_tables():
    """Every marked number in prose, and every table that two pages have, is that of the results."""
    results: dict[str, Table] = {}
    for each in RESULTS:
        results |= read(each.read_text(encoding="utf-8"))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert [(key, value) for key, value in cells(text) if find(results, key) != value] == []
        tables = {table: each for table, each in read(text).items() if table in results}
        assert tables == {table: results[table] for table in tables}, page
