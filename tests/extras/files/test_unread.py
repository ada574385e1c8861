"""What Office files hold beside their paragraphs is read, or said not to be read."""

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from clew.readers import read
from clew.readers.number_forms import format_number
from tests.readers.writers import OFFICE, packed, saved, sheet, unpacked, word

LEVEL = (
    '<w:lvl w:ilvl="{}"><w:start w:val="{}"/><w:numFmt w:val="{}"/>{}<w:lvlText w:val="{}"/>'
    "</w:lvl>"
)


def last(file):
    return file.element.body.xpath("./w:p")[-1]


def numbered(levels, paragraphs, overrides=""):
    """Write a file with one list of some levels, and paragraphs of (level, text, instance)."""
    file = docx.Document()
    root = file.part.numbering_part.element
    own = "".join(LEVEL.format(i, *each) for i, each in enumerate(levels))
    root.insert(
        0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90">{own}</w:abstractNum>')
    )
    for instance, more in (("90", ""), ("91", overrides)):
        link = '<w:abstractNumId w:val="90"/>'
        root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="{instance}">{link}{more}</w:num>'))
    for level, text, instance in paragraphs:
        file.add_paragraph(text)
        if level is not None:
            place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{instance}"/>'
            number = parse_xml(f"<w:numPr {nsdecls('w')}>{place}</w:numPr>")
            last(file).get_or_add_pPr().append(number)
    return saved(file.save)


DECIMAL = (1, "decimal", "")


def paragraphs(document, content, name="a.docx"):
    return document(name, content).text.split("\n\n")


def test_numbers_of_a_style_are_computed(document):
    """As Word shows them, past paragraphs between."""
    file = docx.Document()
    for each in ("Definitions", "Term"):
        file.add_paragraph(each, style="List Number")
        file.add_paragraph(f"About {each}.")
    file.add_paragraph("No number", style="List Bullet")
    assert paragraphs(document, saved(file.save)) == [
        "1. Definitions", "About Definitions.", "2. Term", "About Term.", "No number",
    ]  # fmt: skip


def test_numbers_of_several_levels_are_computed(document):
    """A deeper level begins anew behind one above it, and may name that."""
    levels = [(*DECIMAL, "%1."), (*DECIMAL, "%1.%2."), (1, "lowerLetter", "", "(%3)")]
    given = [
        (0, "Term"), (1, "Start"), (1, "End"), (2, "early"), (2, "late"), (0, "Fees"), (1, "Due"),
        (2, "again"),
    ]  # fmt: skip
    content = numbered(levels, [(*each, "90") for each in given])
    assert paragraphs(document, content) == [
        "1. Term", "1.1. Start", "1.2. End", "(a) early", "(b) late", "2. Fees", "2.1. Due",
        "(a) again",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "numbers"),
    [
        ((4, "upperRoman", "", "Article %1"), ["Article IV", "Article V"]),
        ((1, "lowerRoman", "", "%1)"), ["i)", "ii)"]),
        ((26, "upperLetter", "", "%1."), ["Z.", "AA."]),
        ((9, "decimalZero", "", "%1"), ["09", "10"]),
        ((9, "japaneseCounting", "", "第%1条"), ["第九条", "第十条"]),
        ((1, "none", "", "Note"), ["Note", "Note"]),
        ((1, "bullet", "", "o"), ["", ""]),
        ((1, "unheardOf", "", "%1."), ["1.", "2."]),
    ],
    ids=lambda each: each[1] if isinstance(each, tuple) else "",
)
def test_numbers_have_the_form_of_their_level(document, level, numbers):
    """In digits where the form is not known; bullets are none."""
    content = numbered([level], [(0, "First", "90"), (0, "Second", "90")])
    expected = [f"{a} {b}".strip() for a, b in zip(numbers, ("First", "Second"), strict=True)]
    assert paragraphs(document, content) == expected


def test_a_list_goes_on_or_begins_anew(document):
    """Another instance of it goes on, unless it has a number of its own to begin with."""
    own = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    given = [(0, "a", "90"), (None, "between", ""), (0, "b", "91"), (0, "c", "91"), (0, "d", "90")]
    level = [(*DECIMAL, "%1.")]
    assert paragraphs(document, numbered(level, given)) == [
        "1. a",
        "between",
        "2. b",
        "3. c",
        "4. d",
    ]
    assert paragraphs(document, numbered(level, given, own))[2:4] == ["7. b", "8. c"]


def test_an_empty_item_counts_and_is_no_paragraph(document):
    """Word numbers it, too."""
    given = [(0, "a", "90"), (0, "", "90"), (0, "c", "90")]
    assert paragraphs(document, numbered([(*DECIMAL, "%1.")], given)) == ["1. a", "3. c"]


def test_legal_numbers_are_all_digits(document):
    """Whatever the forms of the levels are that they name."""
    levels = [(1, "upperRoman", "", "%1."), (1, "decimal", "<w:isLgl/>", "%1.%2")]
    content = numbered(levels, [(0, "Term", "90"), (1, "Start", "90")])
    assert paragraphs(document, content) == ["I. Term", "1.1 Start"]


@pytest.mark.parametrize(
    ("number", "form", "written"),
    [
        (1994, "lowerRoman", "mcmxciv"), (27, "lowerLetter", "aa"),
        (21, "chineseCounting", "二十一"), (3, "russianLower", "в"), (0, "upperRoman", "0"),
        (10**12, "lowerLetter", "1000000000000"),
    ],
)  # fmt: skip
def test_numbers_are_written(number, form, written):
    """In letters, signs and digits."""
    assert format_number(number, form) == written


def test_headings_have_their_numbers(document):
    """So that a citation names the clause."""
    file = docx.Document()
    style = file.styles["Heading 1"].element.get_or_add_pPr()
    style.append(parse_xml(f'<w:numPr {nsdecls("w")}><w:numId w:val="5"/></w:numPr>'))
    for each in ("Scope", "Term"):
        file.add_heading(each, 1)
        file.add_paragraph(f"About {each}.")
    found = document("a.docx", saved(file.save))
    assert [heading.title for heading in found.headings] == ["1. Scope", "2. Term"]
    assert found.title == "Scope"


def test_hidden_text_of_word_is_not_read(document):
    """A note says so; what is not hidden after all is read."""
    file = docx.Document()
    paragraph = file.add_paragraph("Seen ")
    paragraph.add_run("secret ").font.hidden = True
    paragraph.add_run("words.").font.hidden = False
    found = document("a.docx", saved(file.save))
    assert found.text == "Seen words."
    assert found.partly == ("1 hidden passage not read",)


def test_comments_pictures_and_objects_of_word(document, tmp_path):
    """A comment stands behind its paragraph; pictures and objects are counted."""
    file = docx.Document()
    paragraph = file.add_paragraph("The fee is 40 pounds.")
    file.add_comment(paragraph.runs, "Is that per month?", author="Ada")
    for inside in ('<v:imagedata xmlns:v="v"/>', '<o:OLEObject xmlns:o="o"/>'):
        last(file).append(parse_xml(f"<w:r {nsdecls('w')}><w:pict>{inside}</w:pict></w:r>"))
    found = document("a.docx", saved(file.save))
    assert found.text == "The fee is 40 pounds.\n\nComment: Is that per month?"
    assert found.partly == ("1 picture not read", "1 embedded object not read")


def test_formulas_of_word_are_lines(document):
    """Powers, indices, fractions and roots keep their sense."""
    m = 'xmlns:m="m"'
    run = "<m:r><m:t>{}</m:t></m:r>".format
    parts = (
        f"<m:oMath {m}><m:sSup><m:e>{run('c')}</m:e><m:sup>{run('2')}</m:sup></m:sSup></m:oMath>",
        f"<m:oMath {m}><m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f></m:oMath>",
        f"<m:oMath {m}><m:sSub><m:e>{run('x')}</m:e><m:sub>{run('i')}</m:sub></m:sSub></m:oMath>",
        f"<m:oMath {m}><m:rad><m:e>{run('y+1')}</m:e></m:rad></m:oMath>",
    )
    file = docx.Document()
    for part in parts:
        file.add_paragraph()
        last(file).append(parse_xml(part))
    assert paragraphs(document, saved(file.save)) == ["c²", "(a+b)/2", "x_i", "√(y+1)"]


@pytest.mark.parametrize(
    "kind", ["document.macroEnabled.main+xml", "template.macroEnabledTemplate.main+xml"]
)
def test_word_files_with_macros_are_read(document, kind):
    """Their kind is another one."""
    parts = unpacked(word("Fram", ["She is of 1892."]))
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = "[Content_Types].xml"
    parts[types] = parts[types].replace(plain, f"application/vnd.ms-word.{kind}".encode())
    assert document("a.docm", packed(parts)).text == "Fram\n\nShe is of 1892."


CHART = (
    "<c:chartSpace xmlns:c='c' xmlns:a='a'><c:chart><c:title><a:t>Landings</a:t></c:title><c:ser>"
    "<c:tx><c:v>Herring</c:v></c:tx><c:cat><c:pt idx='0'><c:v>1901</c:v></c:pt><c:pt idx='1'>"
    "<c:v>1902</c:v></c:pt></c:cat><c:val><c:pt idx='0'><c:v>40</c:v></c:pt><c:pt idx='1'>"
    "<c:v>55</c:v></c:pt></c:val></c:ser></c:chart></c:chartSpace>"
)
RELATIONS = (
    "<Relationships>"
    "<Relationship Id='r1' Target='../charts/chart1.xml'/>"
    "<Relationship Id='r2' Target='../diagrams/data1.xml'/>"
    "<Relationship Id='r3' Target='../notesSlides/notesSlide1.xml'/>"
    "<Relationship Id='r4' Target='../comments/comment1.xml'/></Relationships>"
)


def deck(slide, **parts):
    names = {"xmlns:p": "p", "xmlns:a": "a", "xmlns:r": "r", "xmlns:mc": "mc"}
    root = " ".join(f"{name}='{value}'" for name, value in names.items())
    return packed(
        {
            "ppt/slides/slide1.xml": f"<p:sld {root} {parts.pop('more', '')}>{slide}</p:sld>",
            "ppt/slides/_rels/slide1.xml.rels": RELATIONS,
            **{f"ppt/{name.replace('_', '/')}1.xml": part for name, part in parts.items()},
        }
    )


def words(text):
    return f"<a:p xmlns:a='a'><a:r><a:t>{text}</a:t></a:r></a:p>"


def test_what_belongs_to_a_slide_is_read_behind_it(document):
    """Diagrams, charts with their numbers, notes, comments; groups are of the slide itself."""
    content = deck(
        f"<p:grpSp><p:grpSp><p:sp>{words('In a group')}</p:sp></p:grpSp></p:grpSp><p:pic/><p:pic/>",
        charts_chart=CHART,
        diagrams_data=f"<d><pt>{words('Plan')}</pt><pt>{words('Build')}</pt></d>",
        notesSlides_notesSlide=f"<n>{words('Say it slowly.')}</n>",
        comments_comment="<p:cmLst xmlns:p='p'><p:cm><p:text>Is it so?</p:text></p:cm></p:cmLst>",
    )
    found = document("a.pptx", content)
    assert found.text.split("\n\n") == [
        "In a group", "Plan", "Build", "Chart: Landings", "Herring", "1901 | 40", "1902 | 55",
        "Say it slowly.", "Comment: Is it so?",
    ]  # fmt: skip
    assert found.partly == ("2 pictures not read",)


def test_a_hidden_slide_is_read_and_said_to_be_hidden(document):
    """And what is written twice for old programs is read once."""
    twice = (
        f"<mc:AlternateContent><mc:Choice>{words('Once')}</mc:Choice><mc:Fallback>{words('Once')}"
        "</mc:Fallback></mc:AlternateContent>"
    )
    found = document("a.ppsx", deck(twice, more="show='0'"))
    assert found.text == "Once"
    assert found.partly == ("1 hidden slide read with the others",)


def test_hidden_text_of_a_page_is_not_read(document):
    """What is hidden in hidden text is counted once; a page that scripts show later is read."""
    hidden = "Buy lamps here. " * 10
    page = (
        f"<body style='display: none'><p>Seen.</p><div hidden><p style='display:none'>{hidden}</p>"
        f"{hidden}</div><p style='VISIBILITY:hidden'>x</p><p style='display:block'>Also.</p></body>"
    )
    found = document("a.html", page)
    assert found.text == "Seen.\n\nAlso."
    assert found.partly == ("319 characters of hidden text not read",)
    assert document("b.html", "<p>Seen.</p><p hidden>Menu</p>").partly == ()


def test_hidden_text_pictures_and_comments_of_rtf(document):
    """The first two are not read; comments, headers and footers stand at the end."""
    content = (
        r"{\rtf1\ansi {\headerf\pard Rule 7 \par}"
        r"{\footer Page {\field{\*\fldinst PAGE}{\fldrslt 3}}}"
        r"{\listtext 1.\tab}Seen {\v secret {\b words}}words.{\pict\pngblip 89504e}"
        r"{\*\annotation Why?}}"
    )
    found = document("a.rtf", content)
    assert found.text == "1.\tSeen words.\n\nComment: Why?\n\nHeader: Rule 7"
    assert found.partly == ("1 hidden passage not read", "1 picture not read")


def test_what_a_spreadsheet_lacks_or_hides_is_said(document):
    """A formula that no program has computed, hidden sheets and pictures."""
    parts = unpacked(sheet("Fees", ["Harbour", "Quay"]))
    book, cells = "xl/workbook.xml", "xl/worksheets/sheet1.xml"
    parts[book] = parts[book].replace(b"sheetId=", b"state='hidden' sheetId=")
    row = b"<row r='9'><c r='A9'><f>A1*2</f></c><c r='B9'><f>1+1</f><v>2</v></c><c r='C9'><f>B9"
    parts[cells] = parts[cells].replace(b"</sheetData>", row + b"</f><v/></c></row></sheetData>")
    parts["xl/drawings/drawing1.xml"] = b"<d xmlns:x='x'><x:pic/></d>"
    assert document("a.xlsm", packed(parts)).partly == (
        "2 formula cells without a stored value: open and save the file in a spreadsheet program",
        "1 picture not read",
        "1 hidden sheet read with the others",
    )


REMARKS = "<c>{}</c>".format(
    "".join(
        f"<comment ref='{cell}'><text><r><t>{first}</t></r><r><t> {last}</t></r></text></comment>"
        for cell, first, last in (
            ("A2", "Since", "1902"), ("D9", "Ask", "Ada"), ("A3", "[Threaded comment]", "Learn"),
        )
    )
)  # fmt: skip
THREADS = (
    "<t><threadedComment ref='A3'><text>Closed?</text></threadedComment>"
    "<threadedComment ref='A3'><text>In May</text></threadedComment></t>"
)


def test_comments_and_text_boxes_of_a_spreadsheet_are_read(document):
    """A comment behind its cell, a thread as one; text boxes, and a comment on none, at the end."""
    parts = unpacked(sheet("Fees", ["Harbour", "Quay", "Dock"]))
    parts["xl/comments1.xml"], parts["xl/threadedComments/threadedComment1.xml"] = REMARKS, THREADS
    parts["xl/drawings/drawing1.xml"] = (
        f"<d xmlns:x='x'><x:txBody>{words('In kroner')}</x:txBody></d>"
    )
    targets = (
        "../comments1.xml",
        "../threadedComments/threadedComment1.xml",
        "../drawings/drawing1.xml",
    )
    related = "".join(f"<Relationship Id='r{i}' Target='{t}'/>" for i, t in enumerate(targets))
    parts["xl/worksheets/_rels/sheet1.xml.rels"] = f"<Relationships>{related}</Relationships>"
    found = document("a.xlsx", packed(parts))
    assert found.text.split("\n\n") == [
        "Fees", "Harbour", "Quay (Comment: Since 1902)", "Dock (Comment: Closed?; In May)",
        "Comment: Ask Ada", "In kroner",
    ]  # fmt: skip
    assert found.partly == ()


def test_numbers_with_white_space_are_no_damage(document):
    """As some programs write them; a spreadsheet of figures alone is no dump of bytes."""
    parts = unpacked(sheet("Fees", ["Harbour"]))
    cells = "xl/worksheets/sheet1.xml"
    letters, number = "ABCDEFGHIJKL", "<c r='{}{}'><v> {}\n</v></c>".format
    rows = "".join(
        f"<row r='{n}'>{''.join(number(c, n, 37 * n) for c in letters)}</row>" for n in range(2, 30)
    )
    parts[cells] = parts[cells].replace(b"</sheetData>", f"{rows}</sheetData>".encode())
    text = document("a.xlsx", packed(parts)).text
    assert text.endswith(" | ".join(["1073"] * 12))


def test_comments_of_an_open_spreadsheet_stand_behind_their_cell(document):
    """Also where white space stands between the cells of the file."""
    note = "<o:annotation><t:p>Per month?</t:p></o:annotation>"
    cell = f"<b:table-cell>\n {note}\n <t:p>40</t:p></b:table-cell>\n <b:table-cell><t:p>Quay</t:p>"
    content = (
        f"<o:document-content xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' "
        f"xmlns:b='{OFFICE}:table:1.0'><o:body><o:spreadsheet><b:table b:name='Fees'>"
        f"<b:table-row>\n {cell}</b:table-cell></b:table-row></b:table></o:spreadsheet></o:body>"
        "</o:document-content>"
    )
    assert document("a.ods", packed({"content.xml": content})).text == (
        "Fees\n\n40 (Comment: Per month?) | Quay"
    )


def field(code, result):
    kinds = (f'<w:fldChar w:fldCharType="{each}"/>' for each in ("begin", "separate", "end"))
    parts = zip(
        kinds, (f"<w:instrText>{code}</w:instrText>", f"<w:t>{result}</w:t>", ""), strict=True
    )
    return [parse_xml(f"<w:r {nsdecls('w')}>{mark}{more}</w:r>") for mark, more in parts]


@pytest.mark.parametrize(
    ("before", "between", "foot"),
    [
        ("Page ", " of ", ""), ("", "", ""), ("- ", " -", ""), ("Seite ", "/", ""),
        ("QA-117 rev. 3, page ", " of ", "Footer: QA-117 rev. 3, page 3 of 7"),
        ("QA-117 | ", "", "Footer: QA-117 | 3"),
    ],
)  # fmt: skip
def test_headers_and_footers_of_word_are_read_once(document, before, between, foot):
    """At the end, whatever sections they are of; one that only numbers the pages is not."""
    file = docx.Document()
    file.add_paragraph("She is of 1892.")
    file.add_section()
    for section in file.sections:
        section.header.is_linked_to_previous = section.footer.is_linked_to_previous = False
        section.header.paragraphs[0].text = "Harbour Office"
        numbered = section.footer.paragraphs[0]
        numbered.add_run(before)
        root = section.footer.part.element[0]
        root.extend(field(" PAGE ", "3"))
        numbered.add_run(between)
        if between in (" of ", "/"):
            root.extend(field(" NUMPAGES ", "7"))
    assert paragraphs(document, saved(file.save)) == [
        "She is of 1892.", "Header: Harbour Office", *filter(None, [foot]),
    ]  # fmt: skip


def test_headers_and_footers_of_an_open_document_are_read_once(document):
    """Those of slides, too; page numbers are not."""
    names = f"xmlns:t='{OFFICE}:text:1.0' xmlns:s='{OFFICE}:style:1.0'"
    pages = (
        "<s:header><t:p>Harbour Office</t:p></s:header><s:header-left><t:p>Harbour Office</t:p>"
        "</s:header-left><s:footer><t:p>Page <t:page-number>1</t:page-number></t:p></s:footer>"
    )
    styles = f"<x {names}><s:master-page>{pages}</s:master-page></x>"
    content = f"<x {names}><t:p>She is of 1892.</t:p></x>"
    found = document("a.odt", packed({"content.xml": content, "styles.xml": styles}))
    assert found.text == "She is of 1892.\n\nHeader: Harbour Office"
    foot = (
        "<p:sp><p:nvSpPr><p:nvPr><p:ph type='{}'/></p:nvPr></p:nvSpPr>" + words("{}") + "</p:sp>"
    ).format
    slide = f"{words('Landings')}{foot('ftr', 'Harbour Office')}{foot('sldNum', '4')}"
    assert document("a.pptx", deck(slide)).text == "Landings\n\nFooter: Harbour Office"


def test_what_a_file_without_text_holds_is_said(document, write):
    """A deck of pictures is not empty."""
    write("a.pptx", deck("<p:pic/><p:pic/>"))
    [skipped] = read(["a.pptx"])
    assert skipped.reason == "holds no text; 2 pictures not read"


def test_values_of_a_chart_look_as_they_are_shown(document):
    """Dates, shares and whole numbers, by the code of their format."""
    code = "<c:formatCode>{}</c:formatCode>".format
    chart = CHART.replace("<c:cat>", f"<c:cat>{code('d/m/yyyy')}").replace("1901", "732.0")
    chart = chart.replace("<c:val>", f"<c:val>{code('0.0%')}").replace("55", "0.075")
    text = document("a.pptx", deck("<p:pic/>", charts_chart=chart)).text
    assert text.split("\n\n")[2:] == ["1/1/1902 | 4000.0%", "16/3/1905 | 7.5%"]


def test_comments_and_pictures_of_open_document(document):
    """A comment is behind its paragraph; a picture and a chart are counted."""
    names = (
        f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' xmlns:d='{OFFICE}:drawing:1.0'"
    )
    frames = "<d:frame><d:image/></d:frame><d:frame><d:object/><d:image/></d:frame>"
    note = "<o:annotation><t:p>Per month?</t:p></o:annotation>"
    content = (
        f"<o:document-content {names}><o:body><t:p>The fee is 40.{note}{frames}</t:p></o:body>"
        "</o:document-content>"
    )
    found = document("a.odt", packed({"content.xml": content}))
    assert found.text == "The fee is 40.\n\nComment: Per month?"
    assert found.partly == ("1 picture not read", "1 embedded object not read")
