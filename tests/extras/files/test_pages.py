"""HTML, PDF and Word: what of a page is text."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import docx
import pytest

from clew.extras.files.page_lines import without_running_heads
from clew.readers.pictures import HINT
from tests.readers.writers import packed, pdf, saved, unpacked


def word(build):
    file = docx.Document()
    build(file)
    return saved(file.save)


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
    "<table><tr><td><p>a</p></td><td>b</td></tr></table>": "a | b",
    "<p>a</p><pre>\ndef f():\n    return  1\n</pre>b": "a\n\ndef f():\n    return  1\n\nb",
    "<p>never <b>closed": "never closed",
    "<p>10<sup>3</sup> m<sup>2</sup> of CO<sub>2</sub></p>": "10³ m² of CO₂",
    "<p>the 1<sup>st</sup> of 2<sup>n</sup>, 2<sup>k+1</sup>, a<sub>i,1</sub></p>": (
        "the 1st of 2ⁿ, 2^(k+1), a_(i,1)"
    ),
    '<p>42<sup><a href="#f">1</a></sup> men<sup class="reference">[3]</sup></p>': "42¹ men[3]",
    "<table><tr><td>km<sup>2</sup><td><ol><li>a<li>b</ol></table>": "km² | 1. a 2. b",
    "<ol start=3><li>a<ol type=i><li>b<li><p>c</p><p>d</p></ol><li value=9>e<li>f</ol>": (
        "3. a\n\ni. b\n\nii. c\n\nd\n\n9. e\n\n10. f"
    ),
    "<ol reversed><li>a<li>b</ol><ol start=x type=A><li><li>c</ol>d": "2. a\n\n1. b\n\nB. c\n\nd",
    '<ol class="loweralpha"><li>a</ol><ol style="list-style: none"><li>b</ol>': "a. a\n\nb",
    '<ol style="list-style-type: upper-roman"><li><ol><li>a</ol></ol>': "I. 1. a",
    '<p>a <img src="b.png" alt="A red pump"> <img src="c.png" alt="logo"></p>': (
        "a [Picture: A red pump]"
    ),
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
    '<ul class="menu mainmenu"><li><a href="a">Home</a><li><a href="b">About</a></ul><p>a</p>',
    "<b>Next:</b> <a>Yarn</a> <b>Up:</b> <a>Top</a><hr><p>a</p>",
]


def test_a_menu_of_dishes_and_a_large_drawing_are_read(document):
    """Only a menu of links is none of the text, and a drawing's shapes are closed."""
    page = '<div class="menu"><p>Soup, 4 crowns</p></div><svg>' + "<path d='M1'/>" * 12_000
    assert document("a.html", f"{page}</svg><p>a</p>").text == "Soup, 4 crowns\n\na"


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


def test_text_with_steps_is_text(document):
    """Only a short line of links is navigation."""
    page = f"<div><p>{STEP}</p><h4>Threads</h4><ul><li>Red</ul></div>"
    assert document("a.html", page).text == "Threads\n\nRed"
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


def test_pages_as_they_come(document):
    """The XML declaration is no text, and depth is not a limit."""
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>a</p></body></html>'
    assert document("a.xhtml", page).text == "a"
    assert document("a.html", "<div>" * 5000 + "deep").text == "deep"


def test_a_pdf_says_where_its_pages_begin(document):
    """Pages are joined by blank lines; running heads count no characters."""
    found = document("my-report.pdf", pdf("Hello world\nsecond line", "", "Page three"))
    assert found.text == "Hello world\nsecond line\n\n\n\nPage three"
    starts = found.pages
    assert [found.text[start:][:6] for start in starts] == ["Hello ", "\n\nPage", "Page t"]
    assert (found.title, found.body_start) == ("my report", 0)
    found = document("a.pdf", pdf(*HEADS))
    starts = found.pages
    assert [found.text[start:].split("\n")[0][-1] for start in starts] == ["a", "b", "c"]


def test_a_pdf_may_have_a_title(document):
    """Its title goes before the file name; a hyphen at the end of a line goes."""
    assert document("a.pdf", pdf("Hello", title="Threads")).title == "Threads"
    assert document("a.pdf", pdf("Hello", password="")).text == "Hello"
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


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.html", "<nav>Home</nav>", "holds no text"),
        ("a.pdf", pdf(""), f"holds no text: scanned? {HINT}"),
        ("a.pdf", pdf("a", password="p"), "is an encrypted PDF; save it without a password"),
        ("a.pdf", b"%PDF-1.4 and no more", "is a broken PDF file"),
        ("a.pdf", "words", "is a broken PDF file"),
        ("a.docx", "words", "is a broken or encrypted Word file, or not one"),
        ("a.docx", word(a_report)[:-100], "is a broken or encrypted Word file, or not one"),
        ("a.docx", word(lambda _: None), "holds no text"),
    ],
)
def test_what_cannot_be_read_is_skipped(skipped, name, content, reason):
    """One sentence says why, and what to do where something can be done."""
    assert skipped(name, content) == [f"{name}: {reason}"]


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("word/styles.xml", b'w:val="Title"', b'w:other="Title"'),
        ("[Content_Types].xml", b"Types", b"Kinds"),
        ("word/_rels/document.xml.rels", b'Target="styles.xml"', b'Target="none.xml"'),
    ],
)
def test_word_files_with_a_damaged_part_are_read(document, part, old, new):
    """What is whole of a file is its text; only what the part would say of it is lost."""
    parts = unpacked(word(a_report))
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    assert document("a.docx", packed(parts)).text.startswith("Threads\n\nOne.")


def test_word_files_without_their_text_are_skipped(skipped):
    """One sentence says so where nothing leads to the text, or to that of another program."""
    reason = "a.docx: is a broken or encrypted Word file, or not one"
    parts = unpacked(word(a_report))
    parts["_rels/.rels"] = parts["_rels/.rels"].replace(b"Target=", b"Other=")
    assert skipped("a.docx", packed(parts)) == [reason]
    parts = unpacked(word(a_report))
    parts["word/document.xml"] = b"<workbook/>"
    assert skipped("a.docx", packed(parts)) == [reason]


def test_a_word_file_gives_its_paragraphs_and_tables(document, skipped):
    """In the order of the document, a merged cell twice; its own title goes before a heading."""
    found = document("a.docx", word(a_report))
    assert found.text == "Threads\n\nOne.\n\na | b\n\nboth | both\n\nTwo."
    assert (found.title, found.text[found.body_start :][:4]) == ("Threads", "One.")

    def titled(file):
        a_report(file)
        file.core_properties.title = "Clews"

    assert document("a.docx", word(titled)).title == "Clews"
    assert document("my-b.docx", word(lambda file: file.add_paragraph("x"))).title == "my b"
    said = skipped("a.docx", packed({"a.xml": "<a/>"}))
    assert said == ["a.docx: is a broken or encrypted Word file, or not one"]


ARTICLE = """<html><head><title>The Fram is found | Harbour Times</title></head><body>
<div id="consent-layer" class="cmp"><p>We and our partners store cookies on your device.</p></div>
<div class="top"><a href="/">Harbour Times</a><div class="links"><a href="/n">News</a>
<a href="/s">Sport</a></div></div>
<div class="path"><a href="/">Home</a> &gt; <a href="/n">News</a> &gt; Ships</div>
<div class="story"><h1>The Fram is found</h1><div class="share-bar">Share this page</div>
<p class="lead">Divers have found the wreck of a whaler beside the quay where the Fram lay.</p>
<div class="body"><p>The Fram was built by Colin Archer in Larvik and launched on 26 October 1892,
and she sailed with Nansen, Sverdrup and Amundsen.</p>
<p>The divers say that the wreck is older, and that it had a hull of oak and a keel of elm.</p>
<div class="x1"><a href="/a">Read also: How a museum keeps a ship dry</a></div>
<ul><li>Length: 39 m</li><li>Beam: 11 m</li></ul>
<p>The museum will show the finds from the first of May, in the hall behind the ship.</p></div>
<div class="x2"><h3>More on this</h3><ul><li><a href="/b">Storm damages the quay</a></li>
<li><a href="/c">Amundsen's letters are sold</a></li></ul></div></div>
<div class="comment-list"><h3>2 comments</h3><div><b>kai</b> Nansen built the Fram himself in Kiel
in 1900!</div><div><b>liv</b> No, he did not, as everybody in Larvik can tell you.</div></div>
<div class="x3"><p>Harbour Times, 1 Quay Street. Editor: A. Berg.</p></div></body></html>"""


def test_of_an_article_only_the_text_is_read(document):
    """Menus, teasers, comments and the imprint are left out, whatever most of them are called."""
    text = document("a.html", ARTICLE).text
    assert [paragraph[:12] for paragraph in text.split("\n\n")] == [
        "The Fram is ", "Divers have ", "The Fram was", "The divers s", "Length: 39 m",
        "Beam: 11 m", "The museum w",
    ]  # fmt: skip


MANUAL = """<html><head><title>rope - Manual</title><meta name="generator" content="Docutils 1">
</head><body><div id="page-top"><p class="menu"><a href="m">Modules</a> | <a href="f">FAQ</a></p>
</div><h1>rope<a class="x" href="#rope">\u00b6</a></h1><div><p>Languages:
<a href="de" hreflang="de">de</a> | <a href="fr" hreflang="fr">fr</a></p></div>
<p>See <a href="knot">knot</a>, <a href="splice">splice</a>.</p>
<section id="cookies"><h2>Cookies <a href="#cookies">#</a></h2>
<dl><dt>--wet</dt><dd>Soak.</dd><dt>--dry <i>n</i></dt><dd>See <a href="n">n</a>.</dd></dl>
<pre>rope --wet <span class="meta">7</span></pre></section>
<ul><li><a href="a">one</a></li><li><a href="b">two</a></li></ul></body></html>"""


def test_a_manual_keeps_its_options_lists_and_code(document):
    """Permalinks, languages and menus are none of it; an id may be made of a heading."""
    assert document("a.html", MANUAL).text.split("\n\n") == [
        "rope", "See knot, splice.", "Cookies", "--wet", "    Soak.", "--dry n", "    See n.",
        "rope --wet 7", "one", "two",
    ]  # fmt: skip


def test_a_forum_keeps_its_posts(document):
    """Comments that hold most of the words of a page are its text."""
    posts = "".join(
        f'<div class="comment"><p>{n}: the boiler loses a little pressure each night.</p></div>'
        for n in ("One", "Two")
    )
    page = f'<body><h1>Boilers</h1><div class="comments">{posts}</div></body>'
    assert document("a.html", page).text.count("boiler loses") == 2


def test_trafilatura_finds_the_article_where_it_is_installed(document, monkeypatch):
    """Not that of a manual, and not where it finds next to nothing."""
    found = "<html><body><h1>Fram</h1><p>Found by another.</p></body></html>"
    fake = ModuleType("trafilatura")
    fake.__spec__ = ModuleSpec("trafilatura", None)
    fake.extract = lambda *_, **__: found
    monkeypatch.setitem(sys.modules, "trafilatura", fake)
    assert document("a.html", "<h1>Fram</h1><p>Words.</p>").text == "Fram\n\nFound by another."
    assert document("b.html", ARTICLE).text.startswith("The Fram is found")
    assert document("c.html", MANUAL).text.startswith("rope")
