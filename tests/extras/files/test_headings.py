"""The headings, pages and apparatus of documents, format by format."""

import io
import json

import docx
import pypdf
import pytest

from tests.readers.writers import packed, pdf, saved


def headings(document):
    """Return each heading, and check that its first word stands where it says."""
    for heading in document.headings:
        line = document.text[heading.start :].partition("\n")[0]
        assert heading.title.split()[0] in line
    return [(heading.level, heading.title) for heading in document.headings]


MARKDOWN = """---
date: 2020
---
# Fram

A ship.

## Building

```
# no heading
```

  ### At *Larvik* ###
Text
Voyages
-------

 Text

Ends
====
"""


def test_markdown(document):
    """Lines with number signs and underlined ones, outside of code.

    Below front matter the title is one.
    """
    found = document("a.md", MARKDOWN)
    assert found.title == "Fram"
    assert headings(found) == [
        (1, "Fram"), (2, "Building"), (3, "At Larvik"), (2, "Text Voyages"), (1, "Ends"),
    ]  # fmt: skip
    found = document("a.md", "---\ntitle: Ships\n---\n# Fram\nA ship.\n# Gjøa\nAnother.\n")
    assert headings(found) == [(1, "Fram"), (1, "Gjøa")]


PAGE = """<html><head><title>Fram: a ship</title></head><body>
<h1>Fram</h1><p>One.</p><h2>Ice <a class="headerlink" href="#ice">¶</a></h2><p>Two.</p>
<h3><a href="#x">Drift</a></h3><p>Three.</p><h2>  </h2><h1>Sources</h1><p>Four.</p></body></html>"""


def test_html(document):
    """The first `<h1>` is the title's own where the title has its words."""
    assert headings(document("a.html", PAGE)) == [(2, "Ice"), (3, "Drift"), (1, "Sources")]
    few = "".join(f"<li><a href='#{n}'>Link {n}</a></li>" for n in range(5))
    page = f"<div class='references'><h1>Rum</h1><p>Text.</p></div><ul>{few}</ul>"
    assert document("a.html", page).apparatus == ()


LINKS = "".join(f"<li><a href='#{n}'>Chapter {n}</a></li>" for n in range(7))
LISTS = f"""<html><body><h1>Manual</h1><p>About it.</p>
<div class="toc"><p>Table of Contents</p><p>One</p></div><p>A word.</p>
<ul>{LINKS}</ul><p>See <a href="#x">there</a>.</p>
<section role="doc-bibliography"><p>Nansen 1897</p></section>
<table class="indextable"><tr><td><a href="#1">gale</a></td></tr></table></body></html>"""


def test_apparatus_of_a_page(document):
    """What a role or a class says, and runs of links."""
    found = document("a.html", LISTS)
    parts = [(each.kind, found.text[each.start : each.end]) for each in found.apparatus]
    assert parts == [
        ("contents", "Table of Contents\n\nOne"),
        ("contents", "\n\n".join(f"Chapter {n}" for n in range(7))),
        ("bibliography", "Nansen 1897"),
        ("index", "gale"),
    ]


LATEX = r"""\title{Fram}
\section{Ice \& \emph{snow}}
text
% \section{No}
\begin{verbatim}
\section{no}
\end{verbatim}
\subsection*{Drift}
\section[S]{Sources}
"""
TEXTS = {
    "a.rst": (
        "====\nFram\n====\n\nA ship.\n\nIce\n---\n\nText.\n\nDrift\n~~~~~\n\nSources\n---------\n",
        [(2, "Ice"), (3, "Drift"), (2, "Sources")],
    ),
    "a.org": (
        "#+title: Fram\n* Ice :cold:\n** Drift\n#+begin_src\n* no heading\n#+end_src\n* Sources\n",
        [(1, "Ice"), (2, "Drift"), (1, "Sources")],
    ),
    "a.adoc": (
        "= Fram\n\n== Ice\n\ntext\n\n----\n== no heading\n----\n\n=== Drift ===\n\n== Sources\n",
        [(2, "Ice"), (3, "Drift"), (2, "Sources")],
    ),
    "a.tex": (LATEX, [(1, "Ice & snow"), (2, "Drift"), (1, "Sources")]),
    "a.txt": ("Fram\n====\n\n* Ice\n", [(1, "Fram")]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_markup(document, name):
    """The widest level that is used is 1; code and comments have no headings."""
    text, expected = TEXTS[name]
    found = document(name, text)
    assert [(heading.level, heading.title) for heading in found.headings] == expected
    for heading in found.headings:
        assert heading.start == 0 or found.text[heading.start - 1] == "\n"


def test_word(document):
    """The styles of headings, and a paragraph of a table of contents."""
    file = docx.Document()
    file.add_heading("Fram", 1)
    file.add_paragraph("A ship.")
    file.add_heading("Ice", 2)
    file.add_paragraph("Cold.")
    found = document("a.docx", saved(file.save))
    assert found.title == "Fram"
    assert headings(found) == [(2, "Ice")]


def test_notebooks_and_open_documents(document):
    """Headings of Markdown cells, and outline levels; comments of code are none."""
    cells = [
        {"cell_type": "markdown", "source": ["# Fram\n", "A ship.\n", "## Ice\n"]},
        {"cell_type": "code", "source": "# no heading"},
        {"cell_type": "markdown", "source": "## Drift"},
    ]
    assert headings(document("a.ipynb", json.dumps({"cells": cells}))) == [(2, "Ice"), (2, "Drift")]
    content = (
        "<document-content xmlns:text='urn:text'><text:h text:outline-level='1'>Fram</text:h>"
        "<text:p>A ship.</text:p><text:h text:outline-level='2'>Ice</text:h><text:p>Cold.</text:p>"
        "</document-content>"
    )
    found = document("a.odt", packed({"content.xml": content}))
    assert headings(found) == [(2, "Ice")]
    assert found.pages == ()


def test_slides_are_pages(document):
    """One without words begins where the next one does."""
    slide = "<s xmlns:a='urn:a'>{}</s>"
    texts = (
        "<a:p><a:t>Fram</a:t></a:p><a:p><a:t>A ship.</a:t></a:p>",
        "",
        "<a:p><a:t>Ice</a:t></a:p>",
    )
    parts = {f"ppt/slides/slide{n}.xml": slide.format(text) for n, text in enumerate(texts, 1)}
    found = document("a.pptx", packed(parts))
    assert found.text == "Fram\n\nA ship.\n\nIce"
    assert found.pages == (0, 15, 15)
    assert found.pages_of(15, 18) == (3, 3)

    page = "<p:page>{}</p:page>"
    texts = ("<t:p>Fram</t:p><t:p>A ship.</t:p>", "<t:p>Ice</t:p>")
    content = f"<c xmlns:p='urn:p' xmlns:t='urn:t'>{''.join(map(page.format, texts))}</c>"
    found = document("a.odp", packed({"content.xml": content}))
    assert (found.text, found.pages) == ("Fram\n\nA ship.\n\nIce", (0, 15))


def test_a_book(document):
    """Chapters are sections; the first heading is the book's title where it has its words."""
    package = (
        "<package><metadata><title>Ships</title></metadata><manifest>"
        "<item id='a' href='a.xhtml' media-type='application/xhtml+xml'/>"
        "<item id='b' href='b.xhtml' media-type='application/xhtml+xml'/></manifest>"
        "<spine><itemref idref='a'/><itemref idref='b'/></spine></package>"
    )
    parts = {
        "META-INF/container.xml": "<c><rootfile full-path='p.opf'/></c>",
        "p.opf": package,
        "a.xhtml": "<body><h1>Fram</h1><p>One.</p><h2>Ice</h2><p>Two.</p></body>",
        "b.xhtml": "<body><h1>Gjøa</h1><p>Three.</p><div epub:type='index'>Ice</div></body>",
    }
    found = document("a.epub", packed(parts))
    assert headings(found) == [(1, "Fram"), (2, "Ice"), (1, "Gjøa")]
    assert found.section_at(found.text.index("Two")) == "Fram > Ice"
    assert [each.kind for each in found.apparatus] == ["index"]


def test_bookmarks_of_a_pdf(document):
    """A bookmark is a heading where a line of its page has its words, else where that begins."""
    pages = ("Fram\nA ship.\n2.1 Ice\nCold here.", "Other words\nto the end.")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(*pages, title="Ships")))
    above = writer.add_outline_item(title="Fram", page_number=0)
    writer.add_outline_item(title="Ice", page_number=0, parent=above)
    writer.add_outline_item(title="Elsewhere", page_number=1)
    found = document("a.pdf", saved(writer.write))
    assert [(h.level, h.title) for h in found.headings] == [
        (1, "Fram"),
        (2, "Ice"),
        (1, "Elsewhere"),
    ]
    starts = [found.text.index(words) for words in ("Fram", "2.1 Ice", "Other")]
    assert [heading.start for heading in found.headings] == starts
    assert found.section_at(found.text.index("Cold")) == "Fram > Ice"
    assert found.pages == (0, starts[-1])
