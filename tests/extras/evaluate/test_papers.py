"""The tables of papers: what is copied adds up, and every row can be measured or says why not."""

from dataclasses import fields
from itertools import product
from pathlib import Path

import pytest

from clew import methods
from clew.errors import InputError
from clew.extras.evaluate.papers import (
    PaperModels,
    find_columns,
    format_value,
    group_by_index,
    load_tables,
)
from clew.models.prompts import list_prompts

TABLES = load_tables()
# Rows, columns and numbers in a row of each table.
SHAPES = {
    "clue-2": (13, 7, 14),
    "clue-3": (4, 7, 14),
    "clue-4": (5, 7, 14),
    "clue-5": (12, 3, 6),
    "clue-6": (2, 3, 9),
    "clue-sweeps": (21, 3, 6),
    "ket-2": (8, 4, 16),
    "ket-3": (8, 1, 3),
    "ket-4": (3, 1, 3),
    "ket-sweeps": (12, 4, 12),
    "bubble-2": (11, 7, 14),
    "bubble-3": (4, 2, 4),
    "bubble-4": (12, 1, 2),
    "bubble-5": (4, 1, 3),
    "agrag-3": (11, 10, 22),
    "agrag-4": (11, 4, 16),
    "agrag-5": (10, 1, 1),
    "agrag-6": (6, 10, 26),
    "agrag-9": (4, 1, 6),
    "agrag-sweeps": (16, 8, 18),
}
IN_FIGURES = {
    "clue-5",
    "clue-sweeps",
    "ket-sweeps",
    "agrag-sweeps",
}  # whose numbers are not printed


def test_every_table_has_its_rows_columns_and_numbers():
    assert {
        name: (
            len(table.rows),
            len(table.columns),
            sum(len(table.metrics_of(column)) for column in table.columns),
        )
        for name, table in TABLES.items()
    } == SHAPES


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_has_its_numbers_and_every_row_a_method(name):
    table = TABLES[name]
    size = 0 if name in IN_FIGURES else SHAPES[name][2]
    for row in table.rows:
        assert len(row.printed) == size
        cells = [table.get_printed(row, column) for column in table.columns]
        assert sum(cells, ()) == (row.printed or (None,) * SHAPES[name][2])
        assert bool(row.missing) != bool(row.method)
        if row.method:
            known = {field.name for field in fields(methods.load(row.method))}
            assert set(row.parameters) <= known
    assert len({row.name for row in table.rows}) == len(table.rows)
    assert len({column.name for column in table.columns}) == len(table.columns)
    assert {column.prompt for column in table.columns} <= {"", *list_prompts()}


def test_shares_are_between_nothing_and_all():
    costs = (
        "index ",
        "question ",
        "tokens",
        "texts",
        "units",
        "entities",
        "step",
        "prompt",
        "compl",
    )
    for table in TABLES.values():
        for row, column in product(table.rows, table.columns):
            cell = zip(table.metrics_of(column), table.get_printed(row, column), strict=True)
            shares = [n for metric, n in cell if n is not None and not metric.startswith(costs)]
            assert all(0 <= n <= table.scale for n in shares), (table.title, row.name)


@pytest.mark.parametrize("name", ["clue-2", "clue-3", "clue-4", "bubble-2"])
def test_printed_numbers_have_the_printed_means(name):
    """But for BubbleRAG's own row, whose printed mean is another."""
    table = TABLES[name]
    for row in table.rows:
        *cells, average = [table.get_printed(row, column) for column in table.columns]
        means = [sum(numbers) / len(cells) for numbers in zip(*cells, strict=True)]
        printed = (63.64, 67.17) if row.name == "BubbleRAG" else average
        assert means == pytest.approx(printed, abs=0.011), row.name


def test_what_a_row_needs():
    """An LLM, for some; a file of triples will do for those that need no more."""
    rows = {row.name: row for row in TABLES["clue-2"].rows}
    alone, recorded = PaperModels(), PaperModels(triples=Path("t.jsonl"))
    needs = {name: [each.explain_missing(row) for each in (alone, recorded)]
             for name, row in rows.items()}  # fmt: skip
    assert needs["Vanilla"] == ["", ""]
    assert needs["LLightRAG"][1] == needs["KETRAG"][1] == needs["HippoRAG"][1] == ""
    assert "extracts" in needs["LLightRAG"][0]
    assert all("extracts" in each for each in needs["Clue-RAG-1.0"])
    assert all("does all of it" in each for each in (*needs["Zero-shot"], *needs["RAPTOR"]))
    assert all("not a method" in each for each in needs["SIRERAG"])
    reads = PaperModels(answer_llm="openai:model")
    assert not reads.explain_missing(rows["Zero-shot"])
    assert "extracts" in reads.explain_missing(rows["Clue-RAG-1.0"])
    assert not PaperModels(llm="openai:model").explain_missing(rows["Clue-RAG-1.0"])


def test_numbers_are_shown_as_tables_have_them():
    clue, agrag = TABLES["clue-2"], TABLES["agrag-3"]
    assert format_value(clue, "Acc", 48.9) == "48.90"
    assert format_value(agrag, "accuracy", 0.4) == "0.400"
    assert format_value(clue, "recall@5", 0.5) == "0.500"
    assert format_value(clue, "index USD", 20.1) == "20.10"
    assert format_value(clue, "question USD", 0.00123) == "0.0012"
    assert format_value(clue, "index tokens", 3840320) == "3,840,320"
    assert format_value(clue, "question seconds", 0.674) == "0.67"
    assert format_value(clue, "step 6", 106.7) == "106.7"
    assert format_value(clue, "question tokens", 250) == "250"
    assert format_value(clue, "Acc", None) == "-"


def test_rows_are_chosen_by_name():
    table = TABLES["bubble-2"].choose_rows(["ToG", "RAPTOR"])
    assert [row.name for row in table.rows] == ["ToG", "RAPTOR"]
    assert TABLES["bubble-2"].choose_rows([]) == TABLES["bubble-2"]
    with pytest.raises(InputError, match="no row 'Tog', only Vanilla LLM; "):
        table = TABLES["bubble-2"].choose_rows(["Tog"])


def test_columns_of_labels_need_labelled_texts(dataset):
    with pytest.raises(InputError, match="WOS is of the format labels, and .* of the format clew"):
        find_columns(TABLES["agrag-3"], dataset, ["WOS"])


def test_rows_of_one_index_are_measured_together():
    table = TABLES["ket-2"]
    low = next(column for column in table.columns if column.name == "MuSiQue, low")
    groups = group_by_index(table, [low], PaperModels(llm="openai:model"))
    assert [(r.folder, [row.name for row in rows]) for r, rows in groups.items()] == [
        ("size=1200-overlap=0", ["Text-RAG", "KNNG-RAG", "Keyword-RAG"]),
        (
            "size=1200-overlap=0-subchunk_depth=3-triples=llm-core=0.8",
            ["Skeleton-RAG", "KET-RAG-U", "KET-RAG-P"],
        ),
        ("size=1200-overlap=0-triples=llm-core=1.0", ["KG-RAG", "Hybrid-RAG"]),
    ]
    assert [
        r.folder for r in group_by_index(table, [low], PaperModels(triples=Path("t.jsonl")))
    ] == [
        "size=1200-overlap=0",
        "size=1200-overlap=0-triples=recorded",
        "size=1200-overlap=0-subchunk_depth=3-triples=recorded",
    ]
    free = group_by_index(table, [low], PaperModels())
    assert list(map(list, free.values())) == [
        [row for row in table.rows if not PaperModels().explain_missing(row)]
    ]


def test_a_column_is_found_by_format_or_by_name(dataset):
    table = TABLES["clue-2"]
    with pytest.raises(InputError, match="format clew: choose with --column .* 8B MuSiQue"):
        find_columns(table, dataset)
    with pytest.raises(
        InputError, match="average of Clue-RAG, Table 2: all methods is no data set"
    ):
        find_columns(table, dataset, ["average"])
    with pytest.raises(InputError, match="no column '9B'"):
        find_columns(table, dataset, ["9B"])
    assert [column.name for column in find_columns(table, dataset, ["32B 2Wiki"])] == ["32B 2Wiki"]
