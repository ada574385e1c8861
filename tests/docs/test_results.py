"""The tables that `make results` writes are those that the pages have."""

from itertools import chain

from benchmarks.ablations import ABLATIONS, SENSITIVITY
from benchmarks.marks import read
from benchmarks.results import ABLATED, METHODS, page_tables
from clew.evaluate import Report, Scoring, Setting
from clew.evaluate.datasets import About
from clew.evaluate.summary import Row
from clew.types import Usage
from tests.docs.pages import ROOT

RANKING = "recall@2 recall@5 recall@10 all@5 nDCG@10 MRR@10 coverage".split()
ANSWERS = ["EM", "F1 plain", "F1 hotpot", "F1 ket", "Acc", "ROUGE-L"]
ABOUT = About(
    name="set",
    n_questions=1,
    n_documents=1,
    n_without_gold=0,
    n_without_answers=0,
    unknown_ids=(),
    dropped_answers=(),
    digest="",
)


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


def test_other_systems_are_written_without_ours():
    """Ours stand in the table of retrieval, on the same page."""
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
