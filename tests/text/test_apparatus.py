"""Contents, indexes and bibliographies, and what looks like them and is none."""

import pytest

from clew.text.apparatus import apparatus_kind, asks_for

LEADERS = "1 Ice . . . . . . . . 3\n2 Ships ....... 12\n2.1 Fram ....... 13\nNotes ..... 200"
NUMBERED = "4. Memcheck\n\n4.1. Overview\n4.2. Errors\n4.2.1. Reads\n\n4.3. Options\n\n5. A"
PAGED = "\n".join(f"The chapter on {word} {n * 7}" for n, word in enumerate("abcdefghij", 1))
INDEX = "\n".join(f"{word}, {12 + n}, {40 + n}-{42 + n}" for n, word in enumerate(
    "access badger cable drift engine fram gale hull".split()
))  # fmt: skip
LABELLED = "\n".join(f"[{n}] A. Author. A title. A journal, 19{70 + n}." for n in range(4))
REFERENCES = "Nansen, F. Farthest North. London, 1897.\nAmundsen, R. The South Pole. 1912."


@pytest.mark.parametrize(
    ("text", "section", "kind"),
    [
        (LEADERS, "", "contents"),
        (NUMBERED, "", "contents"),
        (PAGED, "", "contents"),
        (INDEX, "", "index"),
        (LABELLED, "", "bibliography"),
        (
            "\n".join(rf"\bibitem{{{n}}} A. Author, 19{70 + n}." for n in range(4)),
            "",
            "bibliography",
        ),
        (REFERENCES, "7. References", "bibliography"),
        (REFERENCES, "Literaturverzeichnis", "bibliography"),
        ("access\n\nbadger\n\ncable", "13 Concept Index > A", "index"),
        ("Ice\n\nShips\n\nFram", "Inhaltsverzeichnis", "contents"),
        ("第一章\n\n第二章\n\n第三章", "目次", "contents"),
    ],
)
def test_apparatus(text, section, kind):
    """Lines say it, or a heading does and the lines agree."""
    assert apparatus_kind(text, section) == kind


PROSE = (
    "An index is kept on disk, and every column that a query asks for often should be in one of "
    "them. Without one, each row of the table is read."
)


@pytest.mark.parametrize(
    ("text", "section"),
    [
        (PROSE, "Index"),
        ("access\n\nbadger\n\ncable", "Index > Footnotes"),
        (f"{PROSE}\n\n{PROSE}\n\nCREATE INDEX", "CREATE INDEX"),
        (PROSE, "References"),
        (REFERENCES, ""),
        ("1. Open the lid.\n2. Take it out.\n3. Close it.\n4. Wait.\n5. Go.\n6. Sit.", ""),
        ("1. Flour\n2. Salt\n3. Water\n4. Yeast\n5. Oil\n6. Sugar", ""),
        ("\n".join(f"Ship {name} | {year}" for name, year in zip("abcdefghi", "987654321")), ""),  # noqa: B905
        ("4.1 x 5.8\n105 x 148\n7.4 x 10.5\n2.9 x 4.1\n2.0 x 2.9\n1.5 x 2.0\n1.0 x 1.5", ""),
        (". . . . void main\n. . . . {\n. . . . int i;\n3 . . . . }", ""),
        (f"{PROSE} {PROSE}\n{LABELLED}"[:-40], "Reading"),
        ("\n".join(f"K-{n} | Firm {n} | 04/2029 | EUR {n}250" for n in range(10, 20)), "Contents"),
        ("He sailed in 1893. [1] She did not. [2] They went in 1897. [3]", ""),
        ("", "Index"),
        ("", ""),
    ],
)
def test_no_apparatus(text, section):
    """Prose below a heading of that name, lists and tables stay what they are."""
    assert apparatus_kind(text, section) == ""


def test_what_a_question_asks_for():
    """Whole words, in any case."""
    assert asks_for("What is in the Bibliography?", "bibliography")
    assert asks_for("Show the table of contents", "contents")
    assert not asks_for("What is in the bibliography?", "index")
    assert not asks_for("Which indexing is used?", "index")
