"""What a file shows keeps its meaning as plain text: raised digits, struck-out text."""

from io import BytesIO
from textwrap import wrap

import docx
import pytest

from clew.readers import read
from tests.readers.writers import packed, pdf, sheet, unpacked


def test_raised_and_lowered_text_of_word(document):
    """Also where Word splits a number into several runs."""
    made = docx.Document()
    paragraph = made.add_paragraph("Over 10")
    for raised in ("-", "6"):
        paragraph.add_run(raised).font.superscript = True
    paragraph.add_run(" m of CO")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("0").font.strike = True
    sink = BytesIO()
    made.save(sink)
    found = document("a.docx", sink.getvalue())
    assert found.text == "Over 10⁻⁶ m of CO₂"
    assert found.partly == ("1 struck-out passage not read",)


def test_a_sheet_that_reaches_too_far_is_refused_before_it_is_read(write):
    """Two cells at its corners would take gigabytes; one that begins far in is read."""
    parts = unpacked(sheet("S", ["a"]))
    name = "xl/worksheets/sheet1.xml"

    def place(*cells):
        rows = "".join(f"<row r='{r}'><c r='{c}{r}'><v>5</v></c></row>" for c, r in cells)
        double = parts[name].decode().split("<sheetData>")[0].replace("'", '"')
        text = f"{double}<sheetData>{rows}</sheetData></worksheet>".replace("'", '"')
        return packed({**parts, name: text})

    (skipped,) = read([write("a.xlsx", place(("A", 1), ("XFD", 1_048_576)))])
    assert "has a sheet over more than 20,000,000 cells" in skipped.reason
    (found,) = read([write("b.xlsx", place(("C", 4), ("C", 5)))])
    assert found.text == "S\n\n5\n\n5"


def test_pictures_of_word_say_their_alternative_text(document, tmp_path):
    """The note that they are not read stays."""
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (4, 4)).save(tmp_path / "a.png")
    made = docx.Document()
    run = made.add_paragraph("Sales: ").add_run()
    shape = run.add_picture(str(tmp_path / "a.png"))
    shape._inline.docPr.set("descr", "They rose by 4 %")  # noqa: SLF001 -- python-docx has no name
    sink = BytesIO()
    made.save(sink)
    found = document("a.docx", sink.getvalue())
    assert found.text == "Sales: [Picture: They rose by 4 %]"
    assert found.partly == ("1 picture not read",)


def test_raised_text_and_pictures_of_slides_and_open_documents(document):
    """By the baseline of a run, and by the style of a span."""
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    slide = (
        f"<p:sld xmlns:p='p' {drawing}><p:pic><p:nvPicPr><p:cNvPr descr='Sales rose'/></p:nvPicPr>"
        "</p:pic><a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>3</a:t></a:r>"
        "<a:r><a:rPr baseline='0'/><a:t> CO</a:t></a:r><a:r><a:rPr baseline='-25000'/>"
        "<a:t>2</a:t></a:r></a:p></p:sld>"
    )
    found = document("a.pptx", packed({"ppt/slides/slide1.xml": slide}))
    assert found.text == "[Picture: Sales rose]\n\n10³ CO₂"
    content = (
        "<o:c xmlns:o='o' xmlns:t='t'><o:style o:name='T1'>"
        "<o:text-properties o:text-position='super 58%'/></o:style><t:p>10"
        "<t:span t:style-name='T1'>3</t:span><t:span t:style-name='T2'> lamps</t:span></t:p></o:c>"
    )
    assert document("a.odt", packed({"content.xml": content})).text == "10³ lamps"


LEFT, RIGHT, THIRD = (
    wrap(text, 31)
    for text in """\
The board met on the quay and agreed that all of the old pier is to be built anew before the storms
of winter. It hopes that the work will last for nine months, in which the ferry calls at the
southern pier. Nobody spoke against it, and two asked for more.

Our market stays open for those that come on foot by the bridge to the east side. Its head expects
fewer guests in the spring but more in the weeks of the regatta. Stalls cost twelve euro a day and
two hundred for all of the month, as they did last year.

School begins in August for all that live on this side, and later for those who come by boat. Lunch
is free for all below the age of ten. Coats and boots need a label with the full name of the child.
There is a choir on each Friday from four to six, too.""".split("\n\n")
)


def _drawn(*rows):
    """Return a page of a PDF with each row drawn across columns that are 180 points apart."""
    return "\n".join(
        " ".join(f"{text}) Tj 180 0 Td (" for text in row) + f") Tj {-180 * len(row)} 0 Td ("
        for row in rows
    )


@pytest.mark.parametrize(
    ("head", "foot"), [((), ()), (("Harbour News", "12"), ()), (("7", "News"), ("May", "page 7"))]
)
@pytest.mark.parametrize("columns", [(LEFT, RIGHT), (RIGHT, LEFT), (THIRD, LEFT, RIGHT)])
def test_columns_that_are_drawn_across_are_read_one_by_one(document, columns, head, foot):
    """What is printed at the head and foot of the page gets into none of them."""
    rows = [row for row in (head, *zip(*columns, strict=True), foot) if row]
    title = "The news of this week from all sides of the harbour, and of the land behind it"
    text = document("a.pdf", pdf("\n".join([title, _drawn(*rows)]))).text
    inner = "\n".join(line for column in columns for line in column)
    assert inner in text
    assert text.index(title) < text.index(inner)


@pytest.mark.parametrize(
    "rows",
    [
        [("Fee of a small boat at noon", "Twelve euro for a day or so")] * 9,
        [
            ("The fee of a boat that has", "Twelve euro a day, and ten"),
            ("a mooring in the summer", "for each night behind the first"),
        ]
        * 5,
        [("j COL f", "j COL KIND f"), ("j COL l BND", "j COL KIND l BND")] * 5,
        [("Index of functions", "61"), *((line,) for line in (*LEFT, *RIGHT))],
    ],
)
def test_rows_of_a_table_in_a_pdf_stay_rows(document, rows):
    """Also where cells go over two lines, and below a head of two parts."""
    text = document("a.pdf", pdf(_drawn(*rows))).text
    lines = [" ".join(filter(None, row)) for row in rows]
    assert text == "\n".join(lines)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([("10", 0), ("3", 5), (" lamps", 0)], "10³ lamps"),
        ([("10", 0), ("-6", 5), (" m", 0)], "10⁻⁶ m"),
        ([("CO", 0), ("2", -3), (" falls", 0)], "CO₂ falls"),
        ([("built in 1987", 0), ("12", 4)], "built in 1987¹²"),
        ([("Room 10", 0), ("3", 0), (" is free", 0)], "Room 103 is free"),
    ],
)
def test_raised_and_lowered_digits_of_a_pdf(document, pieces, text):
    """Smaller digits on the line of the text are none."""
    drawn = "".join(
        f") Tj /F1 {12 if i % 2 == 0 else 8} Tf {rise} Ts ({words}"
        for i, (words, rise) in enumerate(pieces)
    )
    assert " ".join(document("a.pdf", pdf(drawn)).text.split()) == text


def test_hidden_rows_of_a_sheet_are_read_and_said_to_be_hidden(document):
    """As hidden sheets are."""
    parts = unpacked(sheet("S", ["a", "b"]))
    name = "xl/worksheets/sheet1.xml"
    hidden = parts[name].replace(b"<row r='2'", b"<row r='2' hidden=\"1\"")
    found = document("a.xlsx", packed({**parts, name: hidden}))
    assert found.text == "S\n\na\n\nb"
    assert found.partly == ("1 hidden row read with the others",)


@pytest.mark.parametrize(
    ("page", "text", "n_struck"),
    [
        ("<p>Price <s>100</s> 80</p>", "Price 80", 1),
        ("<ul><li><del>Call Ida</del> <ins>Call Per</ins></ul>", "Call Per", 1),
        ("<table><tr><td>Fee <strike>3</strike></td><td>4</td></tr></table>", "Fee | 4", 1),
        ("<p style='text-decoration: line-through'>Old</p><p>New <s> </s></p>", "New", 1),
        ("<p>kept</p>", "kept", 0),
    ],
)
def test_struck_out_text_of_a_page_is_left_out_with_a_note(document, page, text, n_struck):
    """In lists, tables and by a style; an empty one is none."""
    found = document("a.html", page)
    assert found.text == text
    note = f"{n_struck} struck-out passage not read"
    assert found.partly == ((note,) if n_struck else ())


def test_struck_out_text_of_mail_and_books(document):
    """A note stands once, however many pages of a book have one."""
    mail = "From: a@example.org\nContent-Type: text/html\n\n<p>At <s>9</s> 10 o'clock</p>"
    found = document("a.eml", mail)
    assert found.text.startswith("At 10 o'clock")
    assert found.partly == ("1 struck-out passage not read",)


@pytest.mark.parametrize(
    ("ruby", "text"),
    [
        ("<ruby>漢<rt>kan</rt>字<rt>ji</rt></ruby>", "漢(kan)字(ji)"),
        ("<ruby>東京<rp>[</rp><rt>とうきょう</rt><rp>]</rp></ruby>", "東京(とうきょう)"),
        (
            "<ruby>北<rt>běi</ruby> and <ruby>東<rtc><rt>east</rt></rtc></ruby>",
            "北(běi) and 東(east)",
        ),
    ],
)
def test_a_reading_stands_in_parentheses_behind_its_base(document, ruby, text):
    """Whatever brackets a page has for browsers that know none."""
    assert document("a.html", f"<p>{ruby}</p>").text == text


def _formula(inside):
    return f"<p>So <math>{inside}</math> holds.</p>"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "mc²"),
        ("<mn>10</mn><msup><mn>10</mn><mrow><mo>-</mo><mn>6</mn></mrow></msup>", "10 10⁻⁶"),
        ("<mn>2</mn><mfrac><mn>1</mn><mn>3</mn></mfrac>", "2 1/3"),
        (
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mi>b</mi></mfrac><mi>c</mi>",
            "(a+1)/b c",
        ),
        ("<msqrt><mi>x</mi><mo>=</mo><mn>4</mn></msqrt>", "√(x = 4)"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>i</mi>", "∑_iⁿi"),
        ("<semantics><mi>x</mi><annotation>\\xi</annotation></semantics>", "x"),
        ("<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd></mtr></mtable>", "1, 2; 3"),
    ],
)
def test_formulas_of_a_page_stand_in_a_line(document, inside, text):
    """Exponents and fractions keep their value beside other digits."""
    assert document("a.html", _formula(inside)).text == f"So {text} holds."


def test_a_formula_of_meanings_alone_has_its_alternative_text(document):
    """Content markup has no line of its own."""
    page = "<p><math alttext='a \\le b'><apply><leq/><ci>a</ci><ci>b</ci></apply></math> holds.</p>"
    assert document("a.html", page).text == "a \\le b holds."


@pytest.mark.parametrize("tag", ["sup", "sub", "msup"])
def test_scripts_that_stand_deep_in_each_other_end_no_run(document, tag):
    """Five thousand of them met Python's limit."""
    assert "Fine" in document("a.html", f"<p>Fine</p><math></math><p>{f'<{tag}>' * 5000}2").text
    assert "Fine" in document("b.html", f"<p>Fine</p><math>{f'<{tag}>' * 5000}2").text


LEVELS = (
    "<t:list-style o:name='L'><t:list-level-style-number t:level='1' o:num-format='1' "
    "o:num-suffix='.'/><t:list-level-style-number t:level='2' o:num-format='a' o:num-prefix='(' "
    "o:num-suffix=')'/><t:list-level-style-number t:level='3' o:num-format='1' "
    "t:display-levels='3'/><t:list-level-style-bullet t:level='4' t:bullet-char='-'/>"
    "</t:list-style>"
)


def _items(*texts):
    return "".join(f"<t:list-item><t:p>{text}</t:p></t:list-item>" for text in texts)


@pytest.mark.parametrize(
    ("lists", "lines"),
    [
        (f"<t:list t:style-name='L'>{_items('a', 'b')}</t:list>", ["1. a", "2. b"]),
        (
            (
                f"<t:list t:style-name='L'>{_items('a')}<t:list-item><t:p>b</t:p><t:list>"
                f"{_items('c', 'd')}<t:list-item><t:list>{_items('e')}</t:list></t:list-item>"
                "</t:list>"
                f"</t:list-item>{_items('f')}</t:list>"
            ),
            ["1. a", "2. b", "(a) c", "(b) d", "2.b.1 e", "3. f"],
        ),
        (
            (
                f"<t:list t:style-name='L' o:id='x'>{_items('a')}</t:list><t:p>between</t:p>"
                f"<t:list t:style-name='L' t:continue-numbering='true'>{_items('b')}</t:list>"
                f"<t:list t:style-name='L'>{_items('c')}</t:list>"
                f"<t:list t:style-name='L' t:continue-list='x'>{_items('d')}</t:list>"
            ),
            ["1. a", "between", "2. b", "1. c", "3. d"],
        ),
        (
            (
                "<t:list t:style-name='L'><t:list-header><t:p>Steps</t:p></t:list-header>"
                "<t:list-item t:start-value='7'><t:p>a</t:p><t:p>more</t:p></t:list-item></t:list>"
            ),
            ["Steps", "7. a", "more"],
        ),
        (
            (
                "<t:list t:style-name='L'><t:list-item><t:soft-page-break/><t:p>a</t:p>"
                "</t:list-item></t:list>"
            ),
            ["1. a"],
        ),
        (f"<t:list t:style-name='M'>{_items('a')}</t:list>", ["a"]),
    ],
)
@pytest.mark.parametrize("suffix", ["odt", "odp"])
def test_lists_of_open_documents_have_their_numbers(document, lists, lines, suffix):
    """Also inside each other, interrupted, and begun at another number."""
    content = f"<o:c xmlns:o='o' xmlns:t='t'>{LEVELS}{lists}</o:c>"
    found = document(f"a.{suffix}", packed({"content.xml": content}))
    assert found.text.split("\n\n") == lines


def test_headings_of_open_documents_have_their_numbers(document):
    """The title, which is the first of them, has none."""
    styles = (
        "<o:s xmlns:o='o' xmlns:t='t'><t:outline-style><t:outline-level-style t:level='1' "
        "o:num-format='I' o:num-suffix='.'/><t:outline-level-style t:level='2' o:num-format='1' "
        "t:display-levels='2'/></t:outline-style></o:s>"
    )
    heads = ((1, "Scope"), (2, "Terms"), (2, "Fees"), (1, "End"), (3, "Deep"))
    body = "".join(f"<t:h t:outline-level='{level}'>{text}</t:h>" for level, text in heads)
    parts = {"content.xml": f"<o:c xmlns:o='o' xmlns:t='t'>{body}</o:c>", "styles.xml": styles}
    found = document("a.odt", packed(parts))
    assert found.text.split("\n\n") == ["I. Scope", "I.1 Terms", "I.2 Fees", "II. End", "Deep"]
    assert found.title == "Scope"


DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ([("arabicPeriod", 0)] * 2, ["1. a", "2. b"]),
        (
            [("arabicPeriod", 0), ("alphaLcParenR", 1), ("alphaLcParenR", 1), ("arabicPeriod", 0)],
            ["1. a", "a) b", "b) c", "2. d"],
        ),
        ([("romanUcParenBoth' startAt='9", 0)] * 2, ["(IX) a", "(X) b"]),
        ([("arabicPlain", 0), ("", 0), ("arabicPlain", 0)], ["1 a", "b", "1 c"]),
        ([("arabicPeriod", 0), ("", 1), ("arabicPeriod", 0)], ["1. a", "b", "2. c"]),
    ],
)
def test_lists_of_slides_have_their_numbers(document, given, lines):
    """A bullet ends a list of its level, and no list of a level above."""
    inside = "".join(
        f"<a:p><a:pPr lvl='{level}'>{f'<a:buAutoNum type={kind!r}/>' if kind else ''}</a:pPr>"
        f"<a:r><a:t>{letter}</a:t></a:r></a:p>".replace('"', "'")
        for letter, (kind, level) in zip("abcd", given, strict=False)
    ).replace("\\'", "'")
    slide = f"<p:sld xmlns:p='p' {DRAWING}><p:txBody>{inside}</p:txBody></p:sld>"
    found = document("a.pptx", packed({"ppt/slides/slide1.xml": slide}))
    assert found.text.split("\n\n") == lines


def test_struck_out_text_of_slides_and_open_documents_is_left_out_with_a_note(document):
    """By a run, by the style of a span and by that of a paragraph."""
    runs = "".join(
        f"<a:r><a:rPr strike='{kind}'/><a:t>{text}</a:t></a:r>"
        for kind, text in (("noStrike", "Fee "), ("sngStrike", "9"), ("dblStrike", "8"))
    )
    slide = f"<p:sld xmlns:p='p' {DRAWING}><a:p>{runs}<a:r><a:t> 7</a:t></a:r></a:p></p:sld>"
    found = document("a.pptx", packed({"ppt/slides/slide1.xml": slide}))
    assert (found.text, found.partly) == ("Fee 7", ("2 struck-out passages not read",))
    content = (
        "<o:c xmlns:o='o' xmlns:t='t'><o:style o:name='S'><o:text-properties "
        "o:text-line-through-style='solid'/></o:style><o:style o:name='N'><o:text-properties "
        "o:text-line-through-style='none'/></o:style><t:p>Fee <t:span t:style-name='S'>9</t:span>"
        "<t:span t:style-name='N'> 7</t:span></t:p><t:p t:style-name='S'>Old</t:p></o:c>"
    )
    found = document("a.odt", packed({"content.xml": content}))
    assert (found.text, found.partly) == ("Fee 7", ("2 struck-out passages not read",))


@pytest.mark.parametrize("name", ["desc", "title"])
def test_pictures_in_the_cells_of_open_documents_say_their_alternative_text(document, name):
    """As those between paragraphs do."""
    frame = f"<d:frame><d:image/><s:{name}>Sales rose by 4 %</s:{name}></d:frame>"
    content = (
        "<o:c xmlns:o='o' xmlns:t='t' xmlns:d='d' xmlns:s='s'><o:table><o:table-row><o:table-cell>"
        f"<t:p>A</t:p><t:p>{frame}</t:p></o:table-cell><o:table-cell><t:p>B</t:p></o:table-cell>"
        f"</o:table-row></o:table><t:p>{frame}</t:p></o:c>"
    )
    found = document("a.odt", packed({"content.xml": content}))
    assert found.text.split("\n\n") == [
        "A [Picture: Sales rose by 4 %] | B",
        "[Picture: Sales rose by 4 %]",
    ]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ("<o:table-row o:visibility='collapse'>{}</o:table-row>", "1 hidden row"),
        ("<o:table-row o:visibility='filter'>{}</o:table-row>", "1 hidden row"),
        (
            "<o:table-column o:visibility='collapse'/><o:table-row>{}</o:table-row>",
            "1 hidden column",
        ),
        ("<o:table-row o:visibility='visible'>{}</o:table-row>", ""),
    ],
)
def test_what_is_hidden_in_an_open_document_sheet_is_read_with_a_note(document, cells, note):
    """Rows, also those that a filter hides, and columns."""
    cell = "<o:table-cell><t:p>5</t:p></o:table-cell>"
    content = (
        f"<o:c xmlns:o='o' xmlns:t='t'><o:table o:name='S'>{cells.format(cell)}</o:table></o:c>"
    ).replace("'", '"')
    found = document("a.ods", packed({"content.xml": content}))
    assert found.text == "S\n\n5"
    assert found.partly == ((f"{note} read with the others",) if note else ())
