"""Markup, source code, subtitles, mail, notebooks, XML: what of a file is text, and its title."""

import json

import pytest

from clew.base.types import Document
from clew.readers import read

THREAD = "Ariadne gave Theseus a clew of thread."

SRT = f"""1
00:00:01,000 --> 00:00:02,000
<i>{THREAD}</i>

2
00:00:03,000 --> 00:00:04,000
{{\\an8}}He
went.
"""

VTT = f"""WEBVTT

NOTE nobody says this

00:01.000 --> 00:02.000 align:start
<c.loud>{THREAD}</c>

x
00:03.000 --> 00:04.000
He
went.
"""


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("my-a.rst", f"A clew\n======\n\n{THREAD}\n", "A clew"),
        ("my-a.rst", f"{THREAD}\n", "my a"),
        ("my-a.org", f"#+TITLE: A clew\n\n{THREAD}\n", "A clew"),
        ("my-a.adoc", f"= A clew\n\n{THREAD}\n", "A clew"),
        (
            "my-a.tex",
            f"\\title{{A\n clew}}\n\\begin{{document}}{THREAD}\\end{{document}}",
            "A clew",
        ),
        ("my-a.log", f"12:00 {THREAD}\n", "my a"),
        ("my-a.yaml", f"text: {THREAD}\n", "my a"),
        ("my_a.py", f"# {THREAD}\n", "my a"),
        ("my-a.RS", f"// {THREAD}\n", "my a"),
        ("README", THREAD, "README"),
        ("license", THREAD, "license"),
        ("README.Debian", THREAD, "README"),
        ("my-a.json", json.dumps({"name": "clew", "said": THREAD}), "my a"),
    ],
)
def test_text_is_the_whole_file(document, name, content, title):
    """Markup says its title; source code and files without a suffix are text too."""
    found = document(name, content)
    assert (found.text, found.title) == (content, title)


@pytest.mark.parametrize(("name", "content"), [("a.srt", SRT), ("a.vtt", VTT)])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_subtitles_are_what_is_said(document, name, content, newline):
    """Numbers, times, marks and comments are no text."""
    assert document(name, content.replace("\n", newline)).text == f"{THREAD}\nHe went."


def test_xml_gives_the_text_of_its_elements(document):
    """An element inside a text belongs to its paragraph."""
    page = (
        "<?xml version='1.0'?><!DOCTYPE a SYSTEM 'a.dtd'><a xmlns:b='c'>"
        "<title>A clew</title><b:p>Of <em>red</em> thread</b:p></a>"
    )
    found = document("my-a.xml", page)
    assert (found.title, found.text, found.body_start) == ("A clew", "A clew\n\nOf red thread", 8)


MESSAGE = f"""From: Ariadne <ariadne@example.org>
To: Theseus <theseus@example.org>
Subject: =?utf-8?q?Caf=C3=A9?= tonight
Date: Mon, 2 Mar 2026 10:00:00 +0000
Message-ID: <one@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/html

<nav>Home</nav><p>{THREAD}</p>
--x
Content-Type: application/octet-stream; name="a.bin"
Content-Transfer-Encoding: base64

QUJD
--x--
"""


@pytest.mark.satellite
def test_mail_and_mailboxes(document, write):
    """HTML stands in where there is no plain text; an id is the message's, else its number."""
    found = document("a.eml", MESSAGE)
    assert found.title == "Café tonight"
    assert found.text.startswith(f"{THREAD}\n\nFrom: Ariadne <ariadne@example.org>\nTo: Theseus")
    assert found.metadata["from"] == "Ariadne <ariadne@example.org>"
    second = f"From: Theseus\nSubject: Thanks\n\n{THREAD}\n"
    third = "Subject: none\n\n\n"
    separator = "From a Mon Mar  2 10:00:00 2026\n"
    mailbox = "\n".join(separator + message for message in (MESSAGE, second, third))
    first, second, third = read([write("a.mbox", mailbox)])
    assert (first.id, second.id, second.title) == ("one@example.org", "a.mbox:2", "Thanks")
    assert str(third) == "a.mbox, line 3: is a message without text"


def test_a_notebook_is_its_cells(document):
    """Short outputs stand behind their cells; the title is the first heading."""
    cells = [
        {"cell_type": "code", "source": "# not a heading\nx = 1", "outputs": [{"text": "7"}, 8]},
        {"cell_type": "markdown", "source": ["# A clew\n", THREAD]},
        {"cell_type": "code", "source": []},
    ]
    found = document("a.ipynb", json.dumps({"cells": cells}))
    assert found.title == "A clew"
    assert found.text == f"# not a heading\nx = 1\n\n7\n\n# A clew\n{THREAD}"


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"text": "a", "id": "x"}, ["a"]),
        ({"total": 2, "data": [{"text": "a"}, {"body": "b"}]}, ["a", "b"]),
    ],
)
def test_an_object_may_be_a_record_or_hold_records(write, value, texts):
    """A list of records often stands in an envelope."""
    items = read([write("a.json", json.dumps(value))])
    assert [item.text for item in items] == texts


BASE64 = "QmFzZTY0IGlzIG5vIHRleHQgdGhhdCBhbnlib2R5IHdvdWxkIGxvb2sgZm9yIGhlcmUsIG1pbmQ=\n" * 5


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.srt", "nothing timed", "holds no text"),
        ("a.vtt", "WEBVTT\n", "holds no text"),
        ("a.xml", "<a><b></a>", "is not valid XML: mismatched tag: line 1, column 8"),
        ("a.xml", "<a/>", "holds no text"),
        (
            "a.xml",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "declares entities, which are not expanded; save it without them",
        ),
        ("a.eml", "no header at all", "is not a mail message: it has no headers"),
        ("a.eml", "Subject: a\n\n", "holds no text"),
        ("a.mbox", "no message", "is empty: it holds no records"),
        ("a.ipynb", "{}", "is not a notebook: it has no list of cells"),
        ("a.ipynb", "[", "is not valid JSON: Expecting value at column 2"),
        ("a.ipynb", '{"cells": []}', "holds no text"),
        ("README", b"\0\1", "looks like a binary file"),
        ("a.txt", "a" * 300, "holds no words: it repeats one character"),
        ("a.txt", f"key:\n{BASE64}", "holds no words: most of it is encoded data, such as base64"),
    ],
)
def test_what_holds_no_words_is_skipped_with_a_reason(skipped, name, content, reason):
    """Empty, broken and degenerate files are told apart."""
    assert skipped(name, content) == [f"{name}: {reason}"]


@pytest.mark.parametrize(
    "text", [f"{THREAD * 6}\n{BASE64[:150]}" * 3, "-" * 500 + THREAD, "の道" * 200]
)
def test_text_beside_such_data_is_read(document, text):
    """Half of the file and more must be encoded; a script without spaces is none."""
    assert isinstance(document("a.txt", text), Document)
