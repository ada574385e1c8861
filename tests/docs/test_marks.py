"""Numbers and tables of `make results`: they are found, filled in and compared."""

from itertools import chain

import pytest

from benchmarks.ablations import ABLATIONS, SENSITIVITY
from benchmarks.marks import Table, cells, fill, find, markdown, read
from benchmarks.results import ABLATED, METHODS, page_tables
from clew.base.types import Usage
from clew.evaluate import Report, Scoring, Setting
from clew.extras.evaluate.datasets import About
from clew.extras.evaluate.summary import Row
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
    row = dict(zip(TABLE.header, TABLE.rows[0], strict=True)) | {column: value}
    return Table(TABLE.header, (tuple(row.values()),))


def verdicts(page, table):
    return {each.place: each.verdict for each in fill(page, {"hotpot": table})[1]}


def test_a_page_filled_with_its_own_numbers_is_itself():
    """Reading and writing are inverse, and every number is found equal."""
    assert read(PAGE) == {"hotpot": TABLE}
    page, compared = fill(PAGE, read(PAGE))
    assert page == PAGE
    assert [each.verdict for each in compared] == ["ok"] * 5
    odd = Table(("a|b", "c"), (("x|y", "1"),))
    assert read(f"<!-- table: odd -->\n{markdown(odd)}<!-- end -->\n") == {"odd": odd}


def test_numbers_are_replaced_in_tables_and_in_prose():
    page, _ = fill(PAGE, {"hotpot": changed("recall@5", "0.700")})
    assert "| clue | 0.700 |" in page
    assert "Clue finds <!-- = hotpot / clue / recall@5 -->0.700, in" in page
    assert dict(cells(page))["hotpot / clue / s p50"] == "0.018"
    with pytest.raises(KeyError, match="clue / recall@7"):
        fill(PAGE.replace("/ recall@5", "/ recall@7"), {"hotpot": TABLE})


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


def test_partial_and_other_tables_leave_what_was_not_measured():
    more = Table(TABLE.header, (*TABLE.rows, ("bm25", "0.735", "0.685 to 0.785", "0.001")))
    assert verdicts(PAGE, more)["hotpot / bm25 / recall@5"] == "new"
    assert fill(PAGE, {"musique": TABLE}) == (PAGE, [])
    other = Table(TABLE.header, (("bm25", "0.735", "0.685 to 0.785", "0.001"),), partial=True)
    page, compared = fill(PAGE, {"hotpot": other})
    assert read(page)["hotpot"].rows == (*TABLE.rows, *other.rows)
    assert [each.verdict for each in compared] == ["new"] * 3
    assert dict(cells(page)) == dict(cells(PAGE))
    nothing = Table((*TABLE.header, "walk"), (), partial=True)
    assert fill(PAGE, {"hotpot": nothing}) == (PAGE, [])


RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))


def test_published_numbers_agree_with_the_tables():
    tables = [table for page in RESULTS for table in read(page.read_text(encoding="utf-8"))]
    assert "recall@5" in tables
    assert len(set(tables)) == len(tables)
    results = {}
    for each in RESULTS:
        results |= read(each.read_text(encoding="utf-8"))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert [(key, value) for key, value in cells(text) if find(results, key) != value] == []
        tables = {table: each for table, each in read(text).items() if table in results}
        assert tables == {table: results[table] for table in tables}, page


RANKING = "recall@2 recall@5 recall@10 all@5 nDCG@10 MRR@10 coverage".split()
ANSWERS = ["EM", "F1 plain", "F1 hotpot", "F1 ket", "Acc", "ROUGE-L"]
COUNTS = {"n_questions": 1, "n_documents": 1, "n_without_gold": 0, "n_without_answers": 0}
ABOUT = About(name="set", unknown_ids=(), dropped_answers=(), digest="", **COUNTS)


def report(*settings, better=(), types=("",)):
    """Return a report on a question of each type; labels in `better` score more than the others."""
    rows = [
        Row(
            question_id=f"q{number}",
            label=setting.label,
            type=each,
            scores=dict.fromkeys([*RANKING, *ANSWERS], float(setting.label in better)),
            usage=Usage(),
            context_tokens=1,
        )
        for setting in settings
        for number, each in enumerate(types)
    ]
    return Report(dataset=ABOUT, settings=settings, scoring=Scoring(), rows=tuple(rows))


def test_the_pages_have_the_columns_that_are_written():
    """So that `make results` changes numbers and nothing else."""
    methods = list(map(Setting, METHODS))
    varied = list(chain.from_iterable(SENSITIVITY.values()))
    ablated = [setting for named in ABLATIONS.values() for _, setting in named]
    reports = {
        "examples, co-occurrence, retrieval": report(*methods),
        "hotpotqa_train100, co-occurrence, answers": report(Setting("dense")),
    }
    for dataset in ABLATED:
        reports[f"{dataset}, recorded, ablations"] = report(*ablated)
        reports[f"{dataset}, recorded, sensitivity"] = report(*varied)
    written = page_tables(reports)
    for page in (ROOT / "docs" / "results").glob("*.md"):
        for name, table in read(page.read_text(encoding="utf-8")).items():
            if name in written and name != "evidence":
                new = written.pop(name)
                assert (name, table.header) == (name, new.header)
                assert new.names <= table.names
    assert set(written) == {"evidence"}


def test_rows_that_triples_do_not_change_are_written_once():
    """Beside co-occurrence, recorded triples have the rows of methods that score otherwise."""
    methods = list(map(Setting, METHODS))
    reports = {
        "set, co-occurrence, retrieval": report(*methods),
        "set, recorded, retrieval": report(*methods, better=["bubble"]),
    }
    written = page_tables(reports)
    assert written["set, co-occurrence, retrieval"].names == set(METHODS)
    assert written["set, recorded, retrieval"].names == {"bubble"}
    peer = Setting("peer: other")
    written = page_tables({"set, recorded, peers": report(Setting("dense"), peer)})
    assert written["set, recorded, peers"].names == {"peer: other"}


def test_types_of_few_questions_have_no_column():
    """Fifty questions tell settings apart, or not; fewer are noise, and one type is the whole."""
    name = "set, co-occurrence, retrieval"
    methods = list(map(Setting, METHODS))
    few = ["bridge"] * 50 + ["comparison"] * 49
    written = page_tables({name: report(*methods, types=few)})
    assert f"{name}, by type" not in written
    written = page_tables({name: report(*methods, types=[*few, "comparison", "other"])})
    assert written[f"{name}, by type"].header == ("method", "bridge (50)", "comparison (50)")
