"""The terms of search, and where they stand."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.analyze import MARKS, STOP_WORDS, fold, is_uncased, term_set, term_spans, terms

TEXT = st.lists(
    st.text(max_size=10)
    | st.sampled_from(
        [
            "Scott's ",
            "_Fram_ ",
            "_a_",
            "dogs’ ",
            "the ",
            "1910 ",
            "x-ray- ",
            "北京大学",
            "กรุงเทพ ",
            "ﬁ",
        ]
    )
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Fram left Oslo", ["fram", "left", "oslo"]),
        ("Scott's dogs' diary", ["scott", "dogs", "diary"]),
        ("Scott’s", ["scott"]),
        ("O'Brien", ["o'brien"]),
        ("_the big_ __Fram__ snake_case _", ["big", "fram", "snake_case"]),
        ("x-ray well-known tail-- end-", ["x-ray", "well-known", "tail", "end"]),
        ("night--the owl--'tis IN--_the_", ["night", "owl", "tis"]),
        ("the ''World'' rock-'n'-roll", ["world", "rock", "roll"]),
        ("in 1910, 7 ships, B-52", ["1910", "7", "ships", "b-52"]),
        ("a I x ?", []),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Ｆｒａｍ ﬁlm ①", ["fram", "film", "1"]),
        ("Fram fram FRAM", ["fram", "fram", "fram"]),
        ("北京大学", ["北京", "京大", "大学"]),
        ("在 Oslo市", ["在", "oslo", "市"]),
        ("トム", ["トム"]),
        ("กรุงเทพ", ["กรุ", "รุง", "ุงเ", "งเท", "เทพ"]),
        ("ดี", ["ดี"]),
        ("한라산은 한라산의 한라산", ["한라산", "한라산", "한라산"]),
        ("개통되었다 개통했나요 돈이", ["개통", "개통", "돈이"]),
        ("काठमांडू है", ["काठमांडू", "है"]),
        ("كِتَاب كتاب", ["كتاب", "كتاب"]),
        ("Cafe\u0301 café", ["cafe", "cafe"]),
        (
            "José Núñez, Łódź, Søren, Πειραιάς, ёлка",
            ["jose", "nunez", "lodz", "soren", "πειραιασ", "елка"],
        ),
        ("чай", ["чай"]),
        ("l’architecte d'Orsay qu'il", ["architecte", "orsay", "il"]),
        ("dell'Arte L'Oréal D'Angelo", ["arte", "oreal", "angelo"]),
        ("Who leads IT? It does.", ["leads", "it"]),
        ("IT's for US, the U.S. and WHO", ["it", "us", "us", "who"]),
        ("GIVE IT TO US, WHO ARE HERE NOW, BEFORE IT ENDS", ["ends"]),
        ("C#, c++ and AT&T, R&D, e.g. J.R.R. T.", ["c#", "c++", "at&t", "r&d", "jrr"]),
        ("a.b.c foo.bar 1.a", ["abc", "foo", "bar", "1"]),
        ("0-က 5-年", ["0", "က", "5", "年"]),
        ("", []),
    ],
)
def test_terms_of_a_text(text, expected):
    """Terms are folded words without stop words, endings and marks; numbers stay."""
    assert terms(text) == expected


def test_stop_words():
    """Every stop word is one that a text can give."""
    assert all(word == fold(word) and word.isalpha() for word in STOP_WORDS)
    assert terms(" ".join(STOP_WORDS).upper()) == []


@given(TEXT)
def test_spans_slice_back(text):
    """The characters at a span are the term, as it was written."""
    previous = 0
    for term, start, end in term_spans(text):
        assert previous <= start < end <= len(text)
        written = text[start:end].replace(".", "")  # "U.S." is "us"
        assert fold(written).startswith(term)
        assert len(term) > 0
        assert term not in STOP_WORDS or term.upper() in written  # "US"
        previous = start
    for term, start, end in term_spans(text):
        # Not the half of a Thai word that a pair may be, nor "US", which what is around it tells.
        if text[start].isalnum() and term not in STOP_WORDS:
            assert term in terms(text[start:end])


@pytest.mark.parametrize(
    ("text", "uncased"),
    [
        ("Fram", False),
        ("Αθήνα", False),
        ("1910", False),
        ("北京", True),
        ("مصر", True),
        ("", False),
    ],
)
def test_scripts_without_capitals(text, uncased):
    """Only letters that have no case at all count as uncased."""
    assert is_uncased(text) is uncased


def test_marks_are_marks_or_letters():
    """The list of marks holds no punctuation or symbol, so words still end where they end."""
    inside = re.compile(f"[{MARKS}]")
    found = {unicodedata.category(c)[0] for c in map(chr, range(0x3000)) if inside.match(c)}
    assert found <= {"M", "L", "N", "S", "P", "C"}
    danda, comma, stop = "।", "،", "۔"
    assert not any(inside.match(c) for c in (danda, comma, stop, " ", "-", "."))
    hindi = [chr(i) for i in range(0x900, 0x980) if unicodedata.category(chr(i))[0] == "M"]
    assert all(inside.match(c) for c in hindi)


@pytest.mark.parametrize("filler", ["-", "'", "a-", "é", "中", "\u0301"])
def test_hostile_words_take_linear_time(filler):
    """A word of 100,000 hyphens is read in a moment."""
    assert len(terms("a" + filler * 100_000 + "b")) <= 100_001


_PIECES = st.sampled_from(
    "IT it US us U.S. who WHO's the Fram of C# AT&T l'an Straße 東京 서울은 1920".split()
)


@given(
    st.lists(st.tuples(_PIECES, st.sampled_from([" ", ", ", ".", "-", "\n", "'s "])), max_size=9)
)
def test_a_set_of_terms_is_that_of_the_list(parts):
    """The shorter way to the distinct terms leads to the same ones, acronyms included."""
    text = "".join(piece + gap for piece, gap in parts)
    assert term_set(text) == frozenset(terms(text))
