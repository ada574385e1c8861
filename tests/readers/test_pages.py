"""HTML, PDF and Word: what of a page is text."""

import io
import zipfile

import docx
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.readers import read
from clew.readers.running_heads import without_running_heads
from clew.types import Document, Skipped


def pdf(*pages, title=None, password=None):
    """Write a small PDF by hand, and encrypt it through pypdf."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, page in enumerate(pages):
        lines = b" ".join(b"(%s) Tj T*" % line.encode() for line in page.split("\n"))
        stream = b"BT /F1 12 Tf 72 700 Td 14 TL %s ET" % lines
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * i),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(offsets))
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(out + table + end))
    if title:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    sink = io.BytesIO()
    writer.write(sink)
    return sink.getvalue()


def word(build):
    file = docx.Document()
    build(file)
    sink = io.BytesIO()
    file.save(sink)
    return sink.getvalue()


def a_report(file):
    file.add_heading("Threads", 0)
    file.add_paragraph("One.")
    file.add_paragraph(" ")
    table = file.add_table(2, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "a", "b"
    table.cell(1, 0).merge(table.cell(1, 1)).text = "both"
    file.add_paragraph("Two.")


HTML = {
    "<p>One <b>two</b>three\n four</p><p>five</p>": "One twothree four\n\nfive",
    "<div>bare <i>words</i><p>in</p>tail</div>": "bare words\n\nin\n\ntail",
    "a<br>b<br/> c": "a\nb\nc",
    "caf&eacute; &amp; &lt;tea&gt; &#8212;&nbsp;x": "café & <tea> — x",
    "<nav>Home</nav><p>a</p><script>b()</script><style>c</style><noscript>d</noscript>": "a",
    "<p>a</p><!-- b --><template>c</template><svg><title>d</title></svg>": "a",
    "<ul><li>a<li>b<ul><li>c</ul></ul>": "a\n\nb\n\nc",
    "<table><tr><th>a<th>b</tr><tr><td>c<td></tr></table>": "a | b\n\nc |",
    "<table><tr><td><p>a</p></td><td>b</td></tr></table>": "a\n\nb",
    "<p>a</p><pre>\ndef f():\n    return  1\n</pre>b": "a\n\ndef f():\n    return  1\n\nb",
    "<p>never <b>closed": "never closed",
    "<p>a</p></body></html><p>b": "a\n\nb",
}


@pytest.mark.parametrize(("page", "text"), HTML.items(), ids=range(len(HTML)))
def test_the_text_of_a_page_is_what_people_see(document, page, text):
    """Blocks are paragraphs, and what is no prose is dropped."""
    assert document("a.html", page).text == text


STEP = '<a rel="prev" href="a">Ropes</a>, <a accesskey="n" href="c">Yarn</a>'
FRAMES = [
    '<div role="navigation">index</div><p>a</p>',
    '<p>a</p><div class="footer">Created by a program</div>',
    '<div id="cookie-banner"><p>We use cookies</p></div><p>a</p>',
    '<div class="big sidebar"><ul><li>b</ul></div><p>a</p>',
    f"<table><tr><td>{STEP}</td></tr></table><p>a</p>",
    f"<div><p>Back: {STEP}</p></div><p>a</p>",
    "<b>Next:</b> <a>Yarn</a> <b>Up:</b> <a>Top</a><hr><p>a</p>",
]


@pytest.mark.parametrize("page", FRAMES)
def test_what_stands_around_a_page_is_no_text(document, page):
    """Navigation, imprints, banners and lines of steps to other pages are dropped."""
    assert document("a.html", page).text == "a"


@pytest.mark.parametrize(
    "page",
    [
        '<body class="has-sidebar nav"><p>a</p>',
        '<main class="footer"><p>a</p></main>',
        '<p class="related-work">a</p>',
        '<div class="grid-for-nav">a</div>',
        '<div class="nav"><div role="main">a</div></div>',
        '<p><a rel="next" href="b">a</a></p>',
        '<p><a accesskey="" href="b">a</a><a href="c" accesskey="x"></a></p>',
    ],
)
def test_what_only_looks_like_a_frame_is_text(document, page):
    """A page is not lost for the name of its body, nor a paragraph for one link."""
    assert document("a.html", page).text == "a"


def test_a_short_page_around_steps_is_text(document):
    """A heading beside the links says that the block is more than navigation."""
    page = f"<div><p>{STEP}</p><h4>Threads</h4><ul><li>Red</ul></div>"
    assert document("a.html", page).text == "Threads\n\nRed"


def test_a_long_text_with_steps_is_text(document):
    """Only a short line of links is navigation."""
    assert len(document("a.html", f"<div>{'word ' * 100}{STEP}</div>").text) > 500


@pytest.mark.parametrize(
    ("page", "title", "body"),
    [
        ("<title> A\n b </title><h1>C</h1><p>d", "A b", "C\n\nd"),
        ("<title>A b</title><h1>A\nb</h1><p>d", "A b", "d"),
        ("<h1>C <i>c</i></h1><p>d", "C c", "d"),
        ("<p>d</p><h1>C</h1>", "C", "d\n\nC"),
        ("<title></title><p>d", "my page", "d"),
        ("<h1>C</h1>", "C", "C"),
    ],
)
def test_the_title_of_a_page(document, page, title, body):
    """It is <title>, else the first <h1>, else the file name; the body begins behind it."""
    found = document("my_page.htm", page)
    assert (found.title, found.text[found.body_start :]) == (title, body)


def test_a_page_may_say_its_encoding(document):
    """Where it is not UTF-8 the declared encoding decides."""
    page = '<meta charset="windows-1253"><p>Ο μίτος της Αριάδνης</p>'
    assert document("a.html", page.encode("cp1253")).text == "Ο μίτος της Αριάδνης"


def test_xhtml_is_html(document):
    """The XML declaration and the namespace are no text."""
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>a</p></body></html>'
    assert document("a.xhtml", page).text == "a"


def test_deep_pages_are_read(document):
    """No limit of recursion stands in the way."""
    assert document("a.html", "<div>" * 5000 + "deep").text == "deep"


def test_a_pdf_says_where_its_pages_begin(document):
    """Pages are joined by blank lines, lines stay lines."""
    found = document("my-report.pdf", pdf("Hello world\nsecond line", "", "Page three"))
    assert found.text == "Hello world\nsecond line\n\n\n\nPage three"
    starts = found.pages
    assert [found.text[start:][:6] for start in starts] == ["Hello ", "\n\nPage", "Page t"]
    assert (found.title, found.body_start) == ("my report", 0)


def test_a_pdf_may_have_a_title(document):
    """Its own title goes before the file name."""
    assert document("a.pdf", pdf("Hello", title="Threads")).title == "Threads"


def test_a_pdf_without_a_user_password_is_read(document):
    """Many files are encrypted only so that nobody prints or changes them."""
    assert document("a.pdf", pdf("Hello", password="")).text == "Hello"


def test_divided_words_are_joined(document):
    """A hyphen at the end of a line goes, unless the word has it elsewhere or a name follows."""
    page = "Sup-\nplied well-\nknown and Neron-\nTate things are well-known"
    text = document("a.pdf", pdf(page)).text
    assert text == "Supplied well-known and Neron-Tate things are well-known"


HEADS = [f"{n} Threads\nText of page {word}\n{word} ends" for n, word in enumerate("abc", 7)]


@pytest.mark.parametrize(
    ("pages", "texts"),
    [
        (HEADS, [f"Text of page {word}\n{word} ends" for word in "abc"]),
        (["a\n1", "b\n2"], ["a", "b"]),
        (["one a\niv", "b\nv", "c\nvi"], ["one a", "b", "c"]),
        (["a\n5", "b\n7", "c\n9"], ["a\n5", "b\n7", "c\n9"]),
        (["3.1 Rope", "3.2 Yarn", "3.3 Clew"], ["3.1 Rope", "3.2 Yarn", "3.3 Clew"]),
        (["Threads\na", "Threads\nb", "c"], ["Threads\na", "Threads\nb", "c"]),
        (["Threads\nA 1", "Threads\nB 2", "Threads\nC 3", "D"], ["", "", "", "D"]),
        (["same", "same", "same"], ["same", "same", "same"]),
        (["alone\n1"], ["alone\n1"]),
    ],
)
def test_running_heads_and_page_numbers_are_dropped(pages, texts):
    """What counts the pages or stands on three nearby ones is no text; other lines are."""
    assert without_running_heads(pages) == texts


def test_pages_begin_where_their_text_does(document):
    """The page map counts characters of the text that is left."""
    found = document("a.pdf", pdf(*HEADS))
    starts = found.pages
    assert [found.text[start:].split("\n")[0][-1] for start in starts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.html", "<nav>Home</nav>", "holds no text"),
        ("a.pdf", pdf(""), "holds no text; scanned pages need OCR first"),
        ("a.pdf", pdf("a", password="p"), "is an encrypted PDF; save it without a password"),
        ("a.pdf", b"%PDF-1.4 and no more", "is a broken PDF file"),
        ("a.pdf", "words", "is a broken PDF file"),
        ("a.docx", "words", "is a broken or encrypted Word file, or none"),
        ("a.docx", word(a_report)[:-100], "is a broken or encrypted Word file, or none"),
        ("a.docx", word(lambda _: None), "holds no text"),
    ],
)
def test_what_cannot_be_read_is_skipped(skipped, name, content, reason):
    """One sentence says why, and what to do where something can be done."""
    assert skipped(name, content) == [f"{name}: {reason}"]


def test_a_zip_file_is_no_word_file(skipped):
    """A spreadsheet by the wrong name is said to be none."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.xml", "<a/>")
    assert skipped("a.docx", sink.getvalue()) == ["a.docx: is not a complete Word file"]


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("word/styles.xml", b'w:val="Title"', b'w:other="Title"'),  # InvalidXmlError
        ("[Content_Types].xml", b"document.main", b"document.other"),  # ValueError
        ("[Content_Types].xml", b"Types", b"Kinds"),  # AttributeError
        ("_rels/.rels", b"Target=", b"Other="),  # TypeError
        ("word/_rels/document.xml.rels", b'Target="styles.xml"', b'Target="none.xml"'),  # KeyError
    ],
)
def test_word_files_with_a_damaged_part_are_skipped(skipped, part, old, new):
    """Whatever python-docx makes of a part that is not what it should be, one sentence says so."""
    with zipfile.ZipFile(io.BytesIO(word(a_report))) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    assert old in parts[part]
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as target:
        for name, content in parts.items():
            target.writestr(name, content.replace(old, new) if name == part else content)
    assert skipped("a.docx", sink.getvalue()) == ["a.docx: is not a complete Word file"]


def test_a_word_file_gives_its_paragraphs_and_tables(document):
    """They come in the order of the document; a merged cell comes once."""
    found = document("a.docx", word(a_report))
    assert found.text == "Threads\n\nOne.\n\na | b\n\nboth\n\nTwo."
    assert (found.title, found.text[found.body_start :][:4]) == ("Threads", "One.")


def test_a_word_file_may_have_a_title(document):
    """The title in its properties goes before the first heading, and that before the name."""

    def titled(file):
        a_report(file)
        file.core_properties.title = "Clews"

    assert document("a.docx", word(titled)).title == "Clews"
    assert document("my-b.docx", word(lambda file: file.add_paragraph("x"))).title == "my b"


SUFFIXES = (
    "txt md html xml jsonl json ipynb csv tsv parquet srt eml mbox pdf docx pptx odt rtf xlsx epub"
).split()
SEEDS = [pdf("Hello", "two"), word(a_report), b'{"text": "a"}\n', b"id,text\n1,a\n", b"---\na: b\n"]


BROKEN = st.tuples(
    st.sampled_from(SUFFIXES),
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 40_000), st.binary(max_size=8)), max_size=5),
    st.none() | st.binary(min_size=1),
)


@settings(max_examples=8)
@given(st.lists(BROKEN, min_size=6, max_size=6))
def test_no_file_is_too_broken(tmp_path_factory, files):
    """Random bytes and good files with changed bytes give documents or reasons, never errors."""
    check_broken(tmp_path_factory, files)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(BROKEN, min_size=6, max_size=6))
def test_no_file_of_many_is_too_broken(tmp_path_factory, files):
    """The same of more files."""
    check_broken(tmp_path_factory, files)


def check_broken(tmp_path_factory, files):
    folder, paths = tmp_path_factory.mktemp("broken"), []
    for number, (suffix, seed, changes, random) in enumerate(files):
        data = bytearray(seed if random is None else random)
        for place, piece in changes:
            data[place % len(data) : place % len(data) + len(piece)] = piece
        paths.append(folder / f"{number}.{suffix}")
        paths[-1].write_bytes(data)
    items = list(read(paths))  # in one run, as a process that reads is started for each
    assert all(any(item.source.startswith(str(path)) for item in items) for path in paths)
    for item in items:
        assert isinstance(item, Document | Skipped)
        str(item).encode()
