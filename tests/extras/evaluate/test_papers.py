"""The tables of papers: what is copied adds up, and every row can be measured or says why not."""

from dataclasses import fields
from pathlib import Path

import pytest

from clew import methods
from clew.errors import InputError
from clew.extras.evaluate.papers import explain_missing, find_columns, group_by_index, load_tables

TABLES = load_tables()
# The mean over its columns that a paper prints, or that its row has, for each metric.
MEANS = {
    ("clue-2", "Vanilla RAG"): (29.43, 37.84),
    ("clue-2", "HippoRAG"): (26.41, 38.46),
    ("clue-2", "KETRAG"): (37.66, 37.52),
    ("clue-2", "SiReRAG"): (27.91, 45.83),
    ("clue-2", "Clue-RAG, α = 0"): (42.56, 45.73),
    ("clue-2", "Clue-RAG, α = 0.5"): (44.92, 47.73),
    ("clue-2", "Clue-RAG, α = 1"): (45.76, 48.46),
    ("bubble-2", "Naive RAG"): (53.51, 56.72),
    ("bubble-2", "HippoRAG2"): (60.51, 64.40),
    ("bubble-2", "Clue-RAG"): (43.29, 48.65),
    ("bubble-2", "BubbleRAG"): (63.64, 67.17),
}


@pytest.mark.parametrize(("name", "row"), MEANS)
def test_printed_numbers_have_the_printed_means(name, row):
    printed = next(each.printed for each in TABLES[name].rows if each.name == row)
    means = [sum(numbers) / len(printed) for numbers in zip(*printed, strict=True)]
    assert means == pytest.approx(MEANS[name, row], abs=0.0051)


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_has_its_numbers_and_every_row_a_method(name):
    """Or none, where the paper's are not known. A paper has at least the rows that are its own."""
    table = TABLES[name]
    for row in table.rows:
        assert not row.printed or [len(cell) for cell in row.printed] == [
            len(table.metrics_of(column)) for column in table.columns
        ]
        assert all(0 <= number <= table.scale for cell in row.printed for number in cell)
        assert bool(row.missing) != bool(row.method)
        assert not (row.added and row.printed)
        if row.method:
            known = {field.name for field in fields(methods.load(row.method))}
            assert set(row.parameters) <= known
    assert len({row.name for row in table.rows}) == len(table.rows)
    assert sum(not row.added for row in table.rows) <= table.size


def test_what_a_row_needs():
    """An LLM, for some; a file of triples will do for those that need no more."""
    rows = {row.name: row for row in TABLES["clue-2"].rows}
    needs = {name: [explain_missing(row, None), explain_missing(row, None, Path("t.jsonl"))]
             for name, row in rows.items()}  # fmt: skip
    assert needs["Vanilla RAG"] == needs["E²GraphRAG"] == ["", ""]
    assert needs["LightRAG"][1] == needs["KETRAG"][1] == ""
    assert "extracts" in needs["LightRAG"][0]
    assert all("extracts" in each for each in needs["Clue-RAG, α = 1"])
    assert all("does all of it" in each for each in needs["IRCoT"])
    assert all("second version" in each for each in needs["HippoRAG"])
    assert not explain_missing(rows["IRCoT"], "openai:model")


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
    groups = group_by_index(table, [low], "openai:model")
    assert [(r.folder, [row.name for row in rows]) for r, rows in groups.items()] == [
        ("size=1200-overlap=0", ["Text-RAG", "KNNG-RAG", "Keyword-RAG"]),
        (
            "size=1200-overlap=0-subchunk_depth=3-triples=llm-core=0.8",
            ["Skeleton-RAG", "KET-RAG-U", "KET-RAG-P"],
        ),
        ("size=1200-overlap=0-triples=llm-core=1.0", ["KG-RAG", "Hybrid-RAG"]),
    ]
    assert [r.folder for r in group_by_index(table, [low], None, Path("t.jsonl"))] == [
        "size=1200-overlap=0",
        "size=1200-overlap=0-triples=recorded",
        "size=1200-overlap=0-subchunk_depth=3-triples=recorded",
    ]
    free = group_by_index(table, [low], None)
    assert list(map(list, free.values())) == [
        [row for row in table.rows if not explain_missing(row, None)]
    ]


def test_a_column_is_found_by_format_or_by_name(dataset):
    table = TABLES["clue-2"]
    with pytest.raises(InputError, match="format clew: choose with --column .* 8B MuSiQue"):
        find_columns(table, dataset)
    with pytest.raises(InputError, match="no column '9B'"):
        find_columns(table, dataset, ["9B"])
    assert [column.name for column in find_columns(table, dataset, ["32B 2Wiki"])] == ["32B 2Wiki"]
