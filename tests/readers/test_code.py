"""Source code: where functions and classes begin, in many languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.readers.code import _PATTERNS, definitions

CASES = {
    ".py": (
        '''"""A module."""
import os


@cached
def wind(rope):
    def inner():
        return rope


class Clew(Rope):
    size = 3

    @property
    def end(self):
        return 1

    async def pull(self):
        return 2
''',
        [
            ("wind", 1, "@cached"),
            ("Clew", 1, "class"),
            ("end", 2, "    @pro"),
            ("pull", 2, "    asy"),
        ],
    ),
    ".c": (
        """#include <stdio.h>
struct clew {
    int size;
};
static int
wind(struct clew *c, int n)
{
    if (n) {
        return 1;
    }
    return wind(c, n);
}
int end(void);
void pull(int (*f)(int)) { f(1); }
""",
        [("clew", 1, "struct"), ("wind", 1, "static"), ("pull", 1, "void")],
    ),
    ".js": (
        """import x from "x";
export default async function wind(rope) {
  if (rope) { return 1; }
}
class Clew {
  constructor(a) {
    for (const b of a) { b(); }
  }
  static async end() { return 2; }
}
const pull = (a) => a;
exports.knot = function (a) { return a; };
""",
        [
            ("wind", 1, "export"),
            ("Clew", 1, "class"),
            ("constructor", 2, "  con"),
            ("end", 2, "  static"),
            ("pull", 1, "const"),
            ("knot", 1, "exports"),
        ],
    ),
    ".rs": (
        """use std::fmt;
mod ropes;
pub struct Clew { size: usize }
impl<T: fmt::Debug> Clew {
    pub fn new(size: usize) -> Self { Clew { size } }
        fn deeper() {}
}
macro_rules! knot { () => {} }
""",
        [
            ("Clew", 1, "pub"),
            ("impl<T: fmt::Debug> Clew", 1, "impl"),
            ("new", 2, "    pub"),
            ("knot", 1, "macro"),
        ],
    ),
    ".go": (
        "package a\n\ntype Clew struct {\n}\n\nfunc (c *Clew) Wind() int {\n\treturn 1\n}\n",
        [("Clew", 1, "type"), ("Wind", 1, "func")],
    ),
    ".java": (
        """package a;
public final class Clew {
    private int end;
    public static int wind(int n) {
        return 1;
    }
}
""",
        [("Clew", 1, "public"), ("wind", 2, "    public")],
    ),
    ".rb": (
        "class Clew\n  def self.wind\n  end\n  def end?\n  end\nend\n",
        [("Clew", 1, "class"), ("wind", 2, "  def"), ("end?", 2, "  def")],
    ),
    ".sh": (
        "set -e\nwind() {\n  echo 1\n}\nfunction end {\n  echo 2\n}\n",
        [("wind", 1, "wind"), ("end", 1, "function")],
    ),
    ".el": ("(defun wind (rope)\n  rope)\n", [("wind", 1, "(defun")]),
    ".sql": ("CREATE TABLE IF NOT EXISTS clew (a int);\nselect 1;\n", [("clew", 1, "CREATE")]),
    ".txt": ("def wind():\n", []),
    ".css": ("a { b: c }\n", []),
}


@pytest.mark.parametrize("suffix", CASES)
def test_definitions(suffix):
    """Names, levels and places; what stands inside a function is no definition of its own."""
    text, expected = CASES[suffix]
    found = definitions(text, suffix)
    assert [(h.title, h.level) for h in found] == [(name, level) for name, level, _ in expected]
    for heading, (_, _, begin) in zip(found, expected, strict=True):
        assert text[heading.start :].startswith(begin)


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 500, "print 'old'", ""])
def test_python_that_cannot_be_parsed(text):
    """Old or broken code has no definitions, and no warning is printed."""
    assert definitions(text, ".py") == []


@given(st.text(), st.sampled_from([*_PATTERNS, ".py"]))
def test_any_text(text, suffix):
    """Definitions come in order, inside the text, and have names."""
    found = definitions(text, suffix)
    assert [h.start for h in found] == sorted({h.start for h in found})
    assert all(h.title and h.start < len(text) for h in found)


@pytest.mark.parametrize("suffix", sorted(_PATTERNS))
def test_odd_lines_take_no_long_time(suffix):
    """No pattern looks at a line again and again: 64,000 characters take some milliseconds."""
    for word in ("a", "a ", "a(", "static ", "impl ", "\t", "a\n", "pub ", "a::"):
        definitions(word * 8_000, suffix)


def test_a_document_of_code_has_its_definitions(document):
    """They are its headings, as those of a text are."""
    found = document("a.py", CASES[".py"][0])
    assert [(h.level, h.title) for h in found.headings][:2] == [(1, "wind"), (1, "Clew")]
    assert found.section_at(found.text.index("return 2")) == "Clew > pull"


LICENSED = """#!/usr/bin/env python3
# Copyright 2026 Ada Winter
#
# Licensed under the Apache License, Version 2.0; redistribution
# is allowed.

# Moves the crane.
SPEED = 7
"""
SPDX = """// SPDX-License-Identifier: GPL-2.0
/*
 * Moves the crane.
 *
 * Copyright Ada Winter
 */
int speed = 7;
"""


@pytest.mark.parametrize(
    ("name", "content", "begins"),
    [
        ("a.py", LICENSED, "\n# Moves the crane."),
        ("a.c", SPDX, "/*\n * Moves the crane."),
        ("a.c", "/* Copyright 2026 Ada */\nint a;\n", "int a;"),
        ("a.c", "/*\n * Copyright 2026 Ada\n */\nint a;\n", "int a;"),
        ("a.c", "/* Moves the crane. Copyright 2026 */\nint a;\n", "/* Moves"),
        ("b.c", "/* moves.c: the crane.\n * Copyright 2026 */\nint a;\n", "/* moves.c"),
        ("a.py", "# Copyright 2026 Ada Winter\n", "# Copyright"),
    ],
)
def test_chunks_begin_behind_a_licence(document, name, content, begins):
    """What a file says of itself is none, and a file that is nothing else is read."""
    found = document(name, content)
    assert found.text[found.body_start :].startswith(begins)
