"""Texts that are made to take long are read and cut in time linear in their size."""

import re
import time

import pytest

from clew.base.types import Document, Skipped
from clew.index.layers.chunks import cut_chunks
from clew.readers import read
from clew.readers.gitignore import Ignored, Pattern
from clew.text.apparatus import apparatus_kind
from clew.text.chunking import Chunking
from tests.extras.files.test_real_files import paragraph, run, word
from tests.readers.writers import OFFICE, RELATIONS, packed, relation

SMALL, LARGE = 10_000, 40_000  # bytes
BOUND = 10  # times as long: four times as much, with room; the square is sixteen times
LEAST = 0.08  # CPU seconds, below which nothing is said
RTF = "{\\rtf1\\ansi The ship "
CUE = "1\n00:00:01,000 --> 00:00:02,000\nThe ship"
KINDS = {
    "exclamations.txt": lambda n: "The ship sank. " + "!" * n,
    "images.md": lambda n: "The ship sank. " + "![](x)" * (n // 6),
    "spaces.srt": lambda n: CUE + " " * n + "sank",
    "tabs.srt": lambda n: CUE + "\t" * n + "sank",
    "spaces.org": lambda n: "* a" + " " * n + "b\n",
    "code.org": lambda n: "".join(f"#+begin_{i}\n" for i in range(n // 13)),
    "long-heading.org": lambda n: "The ship\n" + "* a :a" * (n // 6),
    "levels.org": lambda n: "".join(f"{'*' * i} Ship {i}\n" for i in range(1, int(n**0.5)))
    + "The ship sank. " * (n // 30),
    "spaces.adoc": lambda n: "= a" + " " * n + "b\n",
    "fences.adoc": lambda n: "".join(f"{c * i}\n" for i in range(4, int(n**0.5)) for c in "-+"),
    "title.tex": lambda n: "\\title" + " " * n + "x\nThe ship",
    "sections.tex": lambda n: "".join(f"\\section[{i}\n" for i in range(n // 14)),
    "verbatim.tex": lambda n: "".join(f"\\begin{{verbatim}}{i}\n" for i in range(n // 21)),
    "names.rs": lambda n: "fn " + "a" * n + ";\n",
    "headings.md": lambda n: "".join(f"## Ship {i}\n\nIt sank.\n\n" for i in range(n // 25)),
    "lists.md": lambda n: "".join(f"- {i}\n" for i in range(n // 8)),
    "comments.md": lambda n: "".join(f"<!-- {i}\n\n" for i in range(n // 12)),
    "cells.rtf": lambda n: RTF + "a|" * (n // 2) + " sank}",
    "spaces.rtf": lambda n: RTF + " " * n + " sank}",
    "parameters.eml": lambda n: f"From: a\nContent-Type: text/plain; {'a=b; ' * (n // 5)}\n\nShip",
    "addresses.eml": lambda n: "To: " + ", ".join(f"a{i}@b.c" for i in range(n // 10)) + "\n\nShip",
}  # fmt: skip


def cpu_seconds(write, name, size):
    """Return how long it takes to read and cut a file, the shortest of some times."""
    path = write(f"{size}-{name}", KINDS[name](size))
    taken = []
    for _ in range(3):
        began = time.process_time()
        documents = [each for each in read([path]) if isinstance(each, Document)]
        cut_chunks(documents, Chunking()).titled_texts()
        taken.append(time.process_time() - began)
        if taken[-1] < LEAST:
            break
    return min(taken)


@pytest.mark.parametrize("name", KINDS)
def test_time_grows_as_the_text_does(write, name):
    """Four times the text takes about four times as long, by the processor's clock."""
    large = cpu_seconds(write, name, LARGE)
    assert large < LEAST or large < BOUND * cpu_seconds(write, name, SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_megabyte_is_read_in_seconds(write, name):
    """Or it is skipped with a reason."""
    assert cpu_seconds(write, name, 1_000_000) < 30


def test_pages_that_a_book_repeats_are_read_once(write):
    """A list of pages that names one page a thousand times makes no text of a thousand pages."""
    pages = '<itemref idref="a"/>' * 1000
    package = (
        '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        f"</manifest><spine>{pages}</spine></package>"
    )
    parts = {
        "META-INF/container.xml": '<container><rootfile full-path="c.opf"/></container>',
        "c.opf": package,
        "a.xhtml": "<p>The ship sank.</p>",
    }
    [document] = read([write("a.epub", packed(parts))])
    assert document.text == "The ship sank."


def test_what_is_repeated_is_read_once(document):
    """A thousand names of one slide, or marks of one note, make no text of a thousand."""
    names = f"xmlns:r='{RELATIONS}'"
    slides = "".join(f"<sldId id='{i}' r:id='r1'/>" for i in range(1000))
    parts = {
        "ppt/presentation.xml": f"<presentation {names}>{slides}</presentation>",
        "ppt/_rels/presentation.xml.rels": relation("slide", "slides/slide1.xml"),
        "ppt/slides/slide1.xml": "<sld><p><r><t>The ship sank.</t></r></p></sld>",
    }
    assert document("a.pptx", packed(parts)).text == "The ship sank."
    mark = "<w:r><w:footnoteReference w:id='2'/></w:r>"
    note = f"<w:footnote w:id='2'>{paragraph('It was late.')}</w:footnote>"
    marked = f"<w:p>{run('The ship sank.')}{mark * 1000}</w:p>"
    found = document("a.docx", word(marked, footnotes=note))
    assert found.text == "The ship sank.\n\nIt was late."


@pytest.mark.parametrize(
    ("name", "outer", "inner"),
    [("a.odt", "t:table><t:table-row><t:table-cell", "t:p"), ("a.odp", "t:body", "t:page><t:p")],
)
def test_open_document_says_once_what_stands_inside_of_its_like(document, name, outer, inner):
    """Neither paragraphs of a cell nor pages in each other repeat those that they are around."""
    text = ""
    for place in range(20):
        text = wrapped(inner, f"ship {place} {text}")
    content = f"<t:content xmlns:t='{OFFICE}:text:1.0'>{wrapped(outer, text)}</t:content>"
    found = document(name, packed({"content.xml": content})).text
    assert found.count("ship 0") == found.count("ship 19") == 1


def wrapped(tags, text):
    """Return a text inside of elements, the outermost first: a><b."""
    ends = "".join(f"</{tag}>" for tag in reversed(tags.split("><")))
    return f"<{tags}>{text}{ends}"


def test_what_is_repeated_inside_is_told(write):
    """A page that becomes the square of its size is not parsed; a `<` in a value hides nothing."""
    page = "".join(f"<p><b id=a{i}>" for i in range(2_000)) + "The ship"
    [skipped] = read([write("a.html", page)])
    assert isinstance(skipped, Skipped)
    assert "repeats elements that are not closed more than" in skipped.reason
    page = '<p x="<" ' + " ".join(f"a{i}=1" for i in range(9_000)) + ">The ship"
    [skipped] = read([write("a.html", page)])
    assert "more than 1,000 attributes" in skipped.reason


def test_stars_of_a_pattern_do_not_multiply():
    """Thirty of them in one pattern are tried on a long path in a moment."""
    began = time.process_time()
    assert not Pattern.parse("a*" * 30 + "b").regex.fullmatch("a" * 250)
    assert not Pattern.parse("**/a/" * 20 + "b").regex.fullmatch("a/" * 500 + "c")
    assert Pattern.parse("a*b*c").regex.fullmatch("xx/abbxbc")
    assert Pattern.parse("a/**/b/**/c").regex.fullmatch("a/b/x/b/y/c")
    assert time.process_time() - began < 5


def test_names_that_are_ignored_are_looked_up(write, tmp_path):
    """Lines without signs take no longer where there are twenty thousand; the last one counts."""
    lines = "".join(f"built{i}/\nnotes{i}.md\nin/a{i}.md\n" for i in range(7_000))
    write(".gitignore", f"*.md\n{lines}!notes6.md\n!in/a7.md\n*9.md\n")
    ignored = Ignored().enter(tmp_path)
    began = time.process_time()
    for i in range(1_500):
        assert ignored.names(tmp_path / f"built{i}", is_folder=True)
        assert not ignored.names(tmp_path / f"built{i}", is_folder=False)
        assert ignored.names(tmp_path / "x" / f"notes{i}.md", is_folder=False) == (i != 6)
        assert ignored.names(tmp_path / "in" / f"a{i}.md", is_folder=False) == (i != 7)
    assert time.process_time() - began < 3


def test_a_line_of_dots_is_told_in_a_moment():
    """A leader is looked for at the end of a line."""
    began = time.process_time()
    assert apparatus_kind(("." * 50_000 + "z\n") * 2) == ""
    assert time.process_time() - began < 5
    assert apparatus_kind("Larvik ........ 3\nOslo ........ 9\nTromsø ........ 12") == "contents"


def test_a_long_header_keeps_its_addresses(write):
    """Beyond the length that is read by grammar they are words, and none is lost."""
    names = [f"a{i}@b.c" for i in range(3_000)]
    [document] = read([write("a.eml", "To: " + ", ".join(names) + "\n\nShip")])
    assert re.findall(r"\w+@b\.c", document.text) == names
