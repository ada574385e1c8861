"""A question about one row of a table finds and quotes that row, whatever file it stands in."""

import io

import docx
import pytest

import clew
from clew import readers
from tests.extras.files.test_tables import workbook

HEAD = ["Code", "Shareholder", "Share class", "Shares", "Jurisdiction"]
ROWS = [
    [
        f"SH-{i:03}",
        f"Holder {chr(65 + i % 26)}{i}",
        ("Common", "Preferred")[i % 2],
        f"{1000 + 37 * i:,}",
        ("Norway", "Peru", "Japan")[i * 7 % 3],
    ]
    for i in range(120)
]
QUESTIONS = {
    "How many shares does SH-077 have?": 77,
    "In which jurisdiction is SH-077?": 77,
    "Which share class does SH-103 hold?": 103,
    "How many shares has Holder L37?": 37,
}


def markdown():
    lines = [" | ".join(row) for row in (HEAD, ["---"] * len(HEAD), *ROWS)]
    return "# Cap table\n\nThe register of holders.\n\n| " + " |\n| ".join(lines) + " |\n"


def separated(mark):
    return "\n".join(mark.join(f'"{cell}"' for cell in row) for row in (HEAD, *ROWS))


def page():
    rows = ("".join(f"<td>{cell}" for cell in row) for row in (HEAD, *ROWS))
    return f"<h1>Cap table</h1><table>{''.join(f'<tr>{row}' for row in rows)}</table>"


def word():
    file = docx.Document()
    table = file.add_table(rows=len(ROWS) + 1, cols=len(HEAD))
    for cells, row in zip(table.rows, [HEAD, *ROWS], strict=True):
        for cell, text in zip(cells.cells, row, strict=True):
            cell.text = text
    sink = io.BytesIO()
    file.save(sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cap.md", markdown().encode()),
        ("cap.csv", separated(",").encode()),
        ("cap.tsv", separated("\t").encode()),
        ("cap.html", page().encode()),
        ("cap.docx", word()),
        ("cap.xlsx", workbook([HEAD, *ROWS])),
    ],
)
def test_the_row_is_the_first_quote_with_its_columns(tmp_path, name, content):
    """It is in the first hit, which has the names of the columns, as models read it."""
    (tmp_path / name).write_bytes(content)
    read_files = list(readers.read([tmp_path / name]))
    with clew.open(tmp_path / "cap.clew") as index:
        index.add(tmp_path / name)
        for question, row in QUESTIONS.items():
            answer = index.ask(question)
            hit, first = answer.evidence.hits[0], answer.citations[0]
            assert answer.kind in {"quoted", "counted"}, question
            assert all(cell in first.quote for cell in ROWS[row]), question
            assert ROWS[row][0] in hit.text, question
            shown = f"{first.before}\n{first.quote}"
            read = f"{hit.section}\n{hit.text}"
            assert all(column in shown and column in read for column in HEAD), question
            [document] = [each for each in read_files if each.id == first.document_id]
            assert document.text[first.start : first.end] == first.quote
