"""What files say of themselves becomes metadata, under one name for one thing."""

import datetime as dt
import io
import json

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.readers.markdown import read_front_matter
from clew.readers.properties import moment, properties
from tests.extras.files.test_office import BOOK, CONTENT, SHEET, SLIDES
from tests.extras.files.test_pages import word
from tests.readers.writers import packed, pdf, saved

DC = "xmlns:c='c' xmlns:dc='d' xmlns:t='t' xmlns:m='m'"
CORE = (
    f"<c:p {DC}><dc:title>Clews</dc:title><dc:creator>Ada Lund</dc:creator>"
    "<c:keywords>rope, yarn; ice</c:keywords><dc:language>en</dc:language>"
    "<dc:subject> </dc:subject>"
    "<t:created>2024-05-01T12:00:00Z</t:created><t:modified>2024-06-01T12:00:00Z</t:modified></c:p>"
)
ABOUT = {
    "author": "Ada Lund",
    "keywords": ("rope", "yarn", "ice"),
    "language": "en",
    "created": "2024-05-01T12:00:00Z",
    "modified": "2024-06-01T12:00:00Z",
}
META = (
    f"<m:document-meta {DC}><m:initial-creator>Ada Lund</m:initial-creator>"
    "<dc:creator>Bo Dahl</dc:creator><m:keyword>rope</m:keyword><m:keyword>yarn</m:keyword>"
    "<m:creation-date>2024-05-01T12:00:00.123</m:creation-date></m:document-meta>"
)
IN_META = {
    "author": ("Ada Lund", "Bo Dahl"),
    "keywords": ("rope", "yarn"),
    "created": "2024-05-01T12:00:00.123",
}


def a_word_file(file):
    file.add_paragraph("One.")
    core = file.core_properties
    core.author, core.keywords, core.language, core.comments = (
        "Ada Lund",
        "rope;yarn",
        "en",
        "Of it.",
    )
    core.created = core.modified = dt.datetime(2024, 5, 1, 12)  # noqa: DTZ001 -- as the file has it


def a_pdf_file():
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("One.")))
    about = {
        "/Author": "Ada Lund",
        "/Keywords": "rope,yarn",
        "/CreationDate": "D:20240501120000+02'00'",
    }
    writer.add_metadata(about)
    return saved(writer.write)


BOOK_ABOUT = BOOK | {
    "in/book.opf": BOOK["in/book.opf"].replace(
        "<dc:title>",
        "<dc:creator>Ada Lund</dc:creator><dc:creator>Bo Dahl</dc:creator><dc:date>2024</dc:date>"
        "<dc:identifier>urn:x</dc:identifier><dc:publisher>Pier</dc:publisher><dc:title>",
    )
}
PAGE = """<html lang="de"><head><title>x</title><meta name="Author" content="Ada Lund">
<meta name="keywords" content="rope, yarn">
<meta property="article:published_time" content="2024-05-01">
<meta name="viewport" content="width"><meta name="description" content=""></head><p>One.</html>"""
MAIL = """From: Ada <ada@a.example>
To: bo@b.example
Date: Wed, 1 May 2024 12:00:00 +0200
Message-ID: <1@a.example>
List-ID: Ropes <ropes.a.example>
Subject: Rope

One."""
NOTE = """---
title: Rope
tags: [rope, yarn]
date: 2024-05-01
draft: yes
weight: 3
author: {name: Ada}
nothing:
---
One."""
TOML = """+++
title = "Rope"
tags = ["rope", "yarn"]
date = 2024-05-01T12:00:00Z
+++
One."""
BOOKLET = {
    "cells": [{"cell_type": "markdown", "source": "One."}],
    "metadata": {"kernelspec": {"name": "python3"}, "authors": [{"name": "Ada"}, {"name": "Bo"}]},
}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pptx", packed(SLIDES | {"docProps/core.xml": CORE}), ABOUT),
        ("a.odt", packed({"content.xml": CONTENT, "meta.xml": META}), IN_META),
        ("a.xlsx", packed(SHEET | {"docProps/core.xml": CORE}), ABOUT),
        (
            "a.docx",
            word(a_word_file),
            {
                "author": "Ada Lund",
                "created": "2024-05-01T12:00:00Z",
                "keywords": ("rope", "yarn"),
                "language": "en",
                "modified": "2024-05-01T12:00:00Z",
                "description": "Of it.",
            },
        ),
        (
            "a.pdf",
            a_pdf_file(),
            {
                "author": "Ada Lund",
                "keywords": ("rope", "yarn"),
                "created": "2024-05-01T12:00:00+02:00",
            },
        ),
        (
            "a.epub",
            packed(BOOK_ABOUT),
            {
                "author": ("Ada Lund", "Bo Dahl"),
                "date": "2024",
                "identifier": "urn:x",
                "publisher": "Pier",
            },
        ),
        (
            "a.html",
            PAGE,
            {
                "author": "Ada Lund",
                "keywords": ("rope", "yarn"),
                "date": "2024-05-01",
                "language": "de",
            },
        ),
        (
            "a.eml",
            MAIL,
            {
                "from": "Ada <ada@a.example>",
                "to": "bo@b.example",
                "date": "2024-05-01T10:00:00+00:00",
                "message-id": "<1@a.example>",
                "list-id": "Ropes <ropes.a.example>",
            },
        ),
        (
            "a.md",
            NOTE,
            {
                "tags": ("rope", "yarn"),
                "date": "2024-05-01",
                "draft": True,
                "weight": 3,
                "author": '{"name": "Ada"}',
            },
        ),
        ("a.md", TOML, {"tags": ("rope", "yarn"), "date": "2024-05-01T12:00:00+00:00"}),
        ("a.ipynb", json.dumps(BOOKLET), {"kernel": "python3", "author": ("Ada", "Bo")}),
    ],
)
def test_metadata(document, name, content, expected):
    """Each format has its own way to say it."""
    assert document(name, content).metadata == expected


@pytest.mark.parametrize(
    "matter",
    [
        "a: [",
        "- a\n- b",
        "plain",
        "",
        "a: &x [1]\nb: *x",
        "[" * 1_000,
        "a: !!python/object/apply:os.getcwd []",
        "a: 2024-02-31",
        "? {a: 1}\n: 2",
    ],
)
def test_front_matter_that_says_nothing(matter):
    """What is no mapping, is broken, repeats itself or is code gives no metadata."""
    assert read_front_matter(matter)[1] == {}


@given(st.text(max_size=60), st.booleans())
def test_any_front_matter_is_read_or_left(matter, is_toml):
    """Nothing that stands there stops a file from being read."""
    assert isinstance(read_front_matter(matter, is_toml=is_toml)[1], dict)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024", "2024"),
        ("2024-05-01", "2024-05-01"),
        ("D:20240501", "2024-05-01"),
        ("D:202405", "2024-05"),
        ("D:20240501120000Z", "2024-05-01T12:00:00+00:00"),
        ("D:20240501120000Z00'00'", "2024-05-01T12:00:00+00:00"),
        ("D:202405011200-05'30'", "2024-05-01T12:00:00-05:30"),
        ("D:20241301", "D:20241301"),
        ("Wed, 1 May 2024 12:00:00 +0200", "2024-05-01T10:00:00+00:00"),
        ("Wed, 1 May 2024 12:00:00", "2024-05-01T12:00:00+00:00"),
        ("in May", "in May"),
        ("", ""),
        ("5. März 2026", "2026-03-05"),
        ("05.03.26", "2026-03-05"),
        ("5/3/2026", "5/3/2026"),  # which of them is the day?
    ],
)
def test_moments(text, iso):
    """Dates as formats write them; what is none stays as it stands."""
    assert moment(text) == iso


@given(st.text(max_size=40))
def test_any_text_may_stand_for_a_date(text):
    """A broken date is no error."""
    assert isinstance(moment(text), str)


def test_properties_are_tidy(document):
    """White space is one space, nothing is said twice; the body has what TOML says."""
    given_pairs = [
        ("author", " Ada \n Lund "),
        ("author", "Ada Lund"),
        ("x", None),
        ("y", "\ud83d"),
    ]
    assert properties(given_pairs) == {"author": "Ada Lund", "y": "\N{REPLACEMENT CHARACTER}"}
    assert len(properties([("x", "a" * 9_999)])["x"]) == 2_000
    found = document("a.md", TOML)
    assert found.title == "Rope"
    assert found.text[found.body_start :].startswith('title = "Rope"')
