"""Tables keep their geometry in every format, and cells look as they are shown."""

import docx
import pytest

from clew.base.types import Document, Skipped
from clew.extras.files.number_formats import format_cell
from clew.readers import read
from clew.readers.grid import Cell, fill_spans
from tests.extras.files.test_office import SHEET
from tests.readers.writers import OFFICE, OOXML, packed, saved

HARBOURS = [
    "Port | Winter | Summer",
    "Bergen | | 12",
    "Oslo | 8 | 9",
    "Oslo | 7 |",
    "Alta | closed | closed",
]
PAGE = (
    "<table><tr><th>Port<th>Winter<th>Summer<tr><td><p>Bergen</p><td><td>12"
    "<tr><td rowspan=2>Oslo<td>8<td>9<tr><td>7<td><tr><td>Alta<td colspan=2>closed</table>"
)


def word():
    file = docx.Document()
    table = file.add_table(rows=5, cols=3)
    for i, row in enumerate(
        ["Port|Winter|Summer", "Bergen||12", "Oslo|8|9", "|7|", "Alta|closed|"]
    ):
        for j, text in enumerate(row.split("|")):
            table.cell(i, j).text = text
    table.cell(2, 0).merge(table.cell(3, 0))
    table.cell(4, 1).merge(table.cell(4, 2))
    return saved(file.save)


def open_rows(cell):
    """Return the rows of a table of OpenDocument; `cell` makes a cell of attributes and a text."""
    covered = "<b:covered-table-cell/>"
    rows = [
        cell("", "Port") + cell("", "Winter") + cell("", "Summer"),
        cell("", "Bergen") + cell("", "") + cell("", "12"),
        cell("b:number-rows-spanned='2'", "Oslo") + cell("", "8") + cell("", "9"),
        covered + cell("", "7") + cell("b:number-columns-repeated='1000'", ""),
        cell("", "Alta") + cell("b:number-columns-spanned='2'", "closed") + covered,
    ]
    return "".join(f"<b:table-row>{row}</b:table-row>" for row in rows)


def open_file(kind):
    names = (
        f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' xmlns:b='{OFFICE}:table:1.0'"
    )
    rows = open_rows(lambda said, text: f"<b:table-cell {said}><t:p>{text}</t:p></b:table-cell>")
    table = f"<b:table b:name='Ports'>{rows}</b:table>"
    body = f"<o:body><o:{kind}>{table}</o:{kind}></o:body>"
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": f"<m:manifest xmlns:m='{OFFICE}:manifest:1.0'/>",
            "content.xml": f"<o:document-content {names}>{body}</o:document-content>",
        }
    )


def slides():
    def cell(text, said=""):
        return f"<a:tc {said}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    rows = [
        cell("Port") + cell("Winter") + cell("Summer"),
        cell("Bergen") + cell("") + cell("12"),
        cell("Oslo", "rowSpan='2'") + cell("8") + cell("9"),
        cell("", "vMerge='1'") + cell("7") + cell(""),
        cell("Alta") + cell("closed", "gridSpan='2'") + cell("", "hMerge='1'"),
    ]
    table = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    slide = f"<p:sld xmlns:p='p' xmlns:a='a'><a:tbl>{table}</a:tbl></p:sld>"
    return packed({"ppt/slides/slide1.xml": slide})


def workbook(rows, *, merged=(), codes=()):
    """Return a sheet: strings and numbers, each with the number of a style, None where empty."""

    def cell(place, value):
        text, style = value if isinstance(value, tuple) else (value, 0)
        if isinstance(text, str):
            return f"<c r='{place}' t='inlineStr'><is><t>{text}</t></is></c>"
        return f'<c r="{place}" s="{style}"><v>{text}</v></c>'

    body = "".join(
        f"<row r='{i}'>"
        + "".join(cell(f"{chr(65 + j)}{i}", v) for j, v in enumerate(row) if v is not None)
        + "</row>"
        for i, row in enumerate(rows, 1)
    )
    spans = "".join(f"<mergeCell ref='{each}'/>" for each in merged)
    main = f"xmlns='{OOXML}/spreadsheetml/2006/main'"
    formats = "".join(
        f"<numFmt numFmtId='{164 + i}' formatCode='{code}'/>" for i, code in enumerate(codes)
    )
    styles = "".join(f"<xf numFmtId='{164 + i}'/>" for i in range(len(codes)))
    return packed(
        SHEET
        | {
            "xl/_rels/workbook.xml.rels": SHEET["xl/_rels/workbook.xml.rels"].replace(
                "</Relationships>",
                f"<Relationship Id='r2' Type='{OOXML}/officeDocument/2006/relationships/styles' "
                "Target='styles.xml'/></Relationships>",
            ),
            "xl/styles.xml": f"<styleSheet {main}><numFmts>{formats}</numFmts><cellXfs>"
            f"<xf numFmtId='0'/>{styles}</cellXfs></styleSheet>",
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{body}</sheetData>"
            f"<mergeCells>{spans}</mergeCells></worksheet>",
        }
    )


SHEET_ROWS = [
    ["Port", "Winter", "Summer"],
    ["Bergen", None, 12],
    ["Oslo", 8, 9],
    [None, 7, None],
    ["Alta", "closed", None],
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", PAGE),
        ("a.docx", word()),
        ("a.odt", open_file("text")),
        ("a.ods", open_file("spreadsheet")),
        ("a.pptx", slides()),
        ("a.xlsx", workbook(SHEET_ROWS, merged=["A3:A4", "B5:C5"])),
    ],
)
def test_cells_stay_where_they_stand(document, name, content):
    """An empty cell is one, and a merged one says its value wherever it goes."""
    assert document(name, content).text.removeprefix("Ports\n\n").removeprefix("Ships\n\n") == (
        "\n\n".join(HARBOURS)
    )


def test_rows_of_rich_text_keep_their_empty_cells(document):
    rows = [("Port", "Winter", "Summer"), ("", "7", "")]
    cells = ("".join(rf"{cell}\cell " for cell in row) for row in rows)
    text = "".join(rf"\trowd\cellx9\cellx18\cellx27 {row}\row " for row in cells)
    assert document("a.rtf", rf"{{\rtf1 {text}\pard End\par}}").text == (
        "Port | Winter | Summer\n\n| 7 |\n\nEnd"
    )


def test_tables_that_lay_out_a_page_are_paragraphs(document):
    """A table around another one, or around a heading or a long text, sets nothing in columns."""
    long = "A long sentence of the page. " * 50
    page = f"<table><tr><td><h1>Top</h1><td>Menu<tr><td>{PAGE}</table><table><tr><td>{long}<td>x"
    text = document("a.html", page).text
    assert text.startswith("Top\n\nMenu\n\n" + "\n\n".join(HARBOURS))
    assert long.strip() in text


def test_cells_that_go_over_too_much_fill_no_memory():
    """So many cells are filled for each that there is, over rows as over columns."""
    rows = [[Cell("x", 60_000, 60_000)] for _ in range(1_000)]
    assert sum(map(len, fill_spans(rows))) < 500_000
    assert fill_spans([[Cell("x", 2, 2), Cell("y")], [Cell("z")]]) == [
        ["x", "x", "y"],
        ["x", "x", "z"],
    ]


def test_two_tables_without_a_word_between_are_two(document):
    """Each has a header of its own."""
    page = "<table><tr><td>a<td>b<tr><td>c<td>d</table><table><tr><td>e<td>f<tr><td>g<td>h</table>"
    assert document("a.html", page).text == "a | b\n\nc | d\n\n\ne | f\n\ng | h"
    rows = [["Port", "Sum"], ["Moss", 7], [None, None], ["Ship", "Year"], ["Fram", 1892]]
    assert document("a.xlsx", workbook(rows)).text == (
        "Ships\n\nPort | Sum\n\nMoss | 7\n\n\nShip | Year\n\nFram | 1892"
    )
    rows[3] = ["Alta", 9]  # a gap in one table
    assert "Moss | 7\n\nAlta | 9" in document("a.xlsx", workbook(rows)).text


SHOWN = [
    (0.075, "0.0%", "7.5%"),
    (0.5, "0 %", "50 %"),
    (1234.5, '"$"#,##0.00', "$1,234.50"),
    (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
    (42, "00000", "00042"),
    (5, "0000-000", "0000-005"),
    (4791234567, "(###) ###-####", "(479) 123-4567"),
    (0, '0;-0;"none"', "none"),
    (1234, "# ##0", "1 234"),
    (12e6, '0.0,,"M"', "12.0M"),
    (3.14159, "0.0##", "3.142"),
    (1234.5, "#,##0.00\\ [$€-407]", "1,234.50 €"),
    (-5.5, "0.00", "-5.50"),
    (1.5, "# ?/?", "1.5"),
    (0.1 + 0.2, "", "0.3"),
    (1e15, "", "1000000000000000"),
]


@pytest.mark.parametrize(("value", "code", "shown"), SHOWN)
def test_numbers_look_as_they_are_shown(value, code, shown):
    assert format_cell(float(value), code) == shown


def test_a_sheet_is_read_as_it_is_shown(document):
    """Percentages, leading zeros and dates by their styles, other numbers as they are."""
    codes = ["0.0%", "00000", "dd.mm.yyyy", "h:mm AM/PM"]
    rows = [
        ["Rate", "Code", "Day", "Hour", "Plain"],
        [(0.075, 1), (42, 2), (46096, 3), (0.75, 4), 7],
    ]
    found = document("a.xlsx", workbook(rows, codes=codes))
    assert found.text.split("\n\n")[2] == "7.5% | 00042 | 15.03.2026 | 6:00 PM | 7"
    assert [heading.title for heading in found.headings] == ["Ships"]


# -- rows of CSV ----------------------------------------------------------------------------------


def test_a_row_without_a_text_is_its_cells(write):
    """Each behind the name of its column; what is empty is left out, and all can be filtered by."""
    path = write("cap.csv", 'Code,Holder,Note,\nSH-1,"Lund, Ada",,x\nSH-2,Bo,"old\nnew",\n')
    first, second = read([path])
    assert first.text == "Code: SH-1; Holder: Lund, Ada; x"
    assert second.text == "Code: SH-2; Holder: Bo; Note: old new"
    assert (first.id, first.title, first.line_at(0)) == ("cap.csv:2", "cap", 2)
    assert first.metadata == {"Code": "SH-1", "Holder": "Lund, Ada", "Note": ""}


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("name,role\nAda,cook\n", ["name: Ada; role: cook"]),
        ("sku,note,price\n7,,9\n", ["sku: 7; price: 9"]),  # a remark is not what a row says
        ("SH-1,7\nSH-2,8\n", ["SH-1; 7", "SH-2; 8"]),  # no header: a number names nothing
        ("year;2023;2024\nMoss;7;8\n", ["year: Moss; 2023: 7; 2024: 8"]),
        ("id,abstract\n1,words\n", ["words"]),
        ("id,note\n1,words\n", ["words"]),
    ],
)
def test_which_column_is_a_text(write, content, texts):
    assert [each.text for each in read([write("a.csv", content)])] == texts


@pytest.mark.parametrize("head", ["subject,relation,object", "id,abstract,summary"])
def test_triples_and_two_texts_are_asked_about(write, head):
    (found,) = read([write("a.csv", f"{head}\n1,b,c\n")])
    assert isinstance(found, Skipped)
    assert "has no column text" in found.reason


def test_rows_of_two_files_do_not_take_each_others_ids(write):
    paths = [write(name, "id,price\n1,9\n") for name in ("a.csv", "b.csv")]
    assert [each.id for each in read(paths) if isinstance(each, Document)] == ["a.csv:2", "b.csv:2"]
