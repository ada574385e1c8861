"""Manual pages of Unix, in the macros of man(7) and mdoc(7)."""

import pytest

MAN = r"""
.TH ROPE 1 "2026" "Tools"
.\\" a comment
.de tq
.  br
..
.SH NAME
rope \\- tie \\fIropes\\fR
.SH OPTIONS
.TP
\\fB\\-w\\fR, \\fB\\-\\-wet\\fR
Soak the rope.
It takes \\fBten\\fR minutes.
.IP
Do not dry it.
.TP
.BI \\-n " count"
.B Tie
so many knots.
.if t \\{
not printed
.\\}
.RS 4
.IP \\(bu 2
a bowline
.RE
.SS Notes
.nf
rope -w
  rope -n 2
.fi
.br
See
.BR knot (7).
""".replace("\\\\", "\\")
MDOC = """.Dd May 1, 2026
.Dt SPLICE 1
.Os
.Sh NAME
.Nm splice
.Nd join two ropes
.Sh OPTIONS
.Bl -tag -width Ds
.It Fl d Ar depth
Join them at a
.Ar depth .
See
.Xr rope 1 .
.El
"""


def test_a_page_is_as_man_prints_it(document):
    """Terms stand above their definitions; what only typesetters print is left out."""
    found = document("rope.1", MAN)
    assert found.title == "rope(1)"
    assert [(h.level, h.title) for h in found.headings] == [
        (1, "NAME"), (1, "OPTIONS"), (2, "Notes"),
    ]  # fmt: skip
    assert found.text.split("\n\n") == [
        "NAME", "rope - tie ropes", "OPTIONS",
        "-w, --wet\n    Soak the rope. It takes ten minutes.", "    Do not dry it.",
        "-n count\n    Tie so many knots.", "    \u2022 a bowline", "Notes", "rope -w\n  rope -n 2",
        "See knot(7).",
    ]  # fmt: skip


def test_a_page_in_mdoc_has_its_options(document):
    """Macros among the words of a line are no words."""
    found = document("splice.1", MDOC)
    assert found.title == "splice(1)"
    assert "-d depth\n    Join them at a depth. See rope(1)." in found.text


def test_macros_of_a_page_lay_out_its_text(document):
    """Docutils and Pod define their own; what they do above the first section is not printed."""
    text = r"""
.de1 INDENT
. RS \\$1
. nr level +1
..
.de UNINDENT
. RE
..
.de Vb
.nf
..
.de IX
..
.if !\nF .nr F 0
'br\}
.TH KNOT 1
.
.SH OPTIONS
.IX Header OPTIONS
.INDENT 0.0
.TP
.B \-t
Tie a knot.
.UNINDENT
.INDENT 3.5
In a loop.
.UNINDENT
.Vb 1
knot \-t
.fi
"""
    assert document("knot.1", text).text.split("\n\n") == [
        "OPTIONS", "    -t\n        Tie a knot.", "    In a loop.", "knot -t",
    ]  # fmt: skip


TABLES = {
    "pandoc": (
        "tab(@);\nlw(9n) l.\nT{\nKnot:\nT}@T{\nUse:\nT}\n_\nT{\n\\f[C]bowline\\f[R]\nT}@T{\n"
        ".B a loop\nthat holds\nT}\n"
    ),
    "docutils": (
        "center;\n|l|l|.\n_\nT{\nKnot:\nT}\tT{\nUse:\nT}\n_\nT{\nbowline\nT}\tT{\n.sp\na loop\n"
        "that holds\nT}\n_\n"
    ),
    "by hand": "l l.\nKnot:\tUse:\nbowline\ta loop that holds\n",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_has_a_line_for_each_row(document, table):
    """Blocks of text in cells, rules and requests of tbl are not printed."""
    page = f".TH ROPE 1\n.SH KNOTS\nThese:\n.TS\n{table}.TE\n.PP\nNo others.\n"
    assert document("rope.1", page).text.split("\n\n") == [
        "KNOTS", "These:", "Knot: | Use:", "bowline | a loop that holds", "No others.",
    ]  # fmt: skip


def test_two_terms_have_one_definition(document):
    """They stand on one line above it."""
    page = ".TH ROPE 1\n.SH OPTIONS\n.TP\n-x\n.TQ\n-y\nCut it.\n"
    assert document("rope.1", page).text.endswith("-x, -y\n    Cut it.")


def test_a_file_without_macros_is_plain_text(document):
    """A log that was rotated has such a name, too."""
    assert document("server.log.1", "10:02 started\n").text == "10:02 started\n"
