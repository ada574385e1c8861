"""Filters as texts and as objects: each is the other, and what is wrong is told with its place."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.filters import field, parse, to_filter
from clew.filters.expressions import AllOf, AnyOf, Comparison, Not

NAMES = st.one_of(st.sampled_from(["date", "tags", "list-id", "og:title"]), st.text(min_size=1))
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.floats(allow_nan=False, allow_infinity=False),
)
COMPARISONS = st.one_of(
    st.builds(
        Comparison,
        NAMES.filter(str.strip),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "has", "like"]),
        VALUES,
    ),
    st.builds(
        Comparison,
        NAMES.filter(str.strip),
        st.just("in"),
        st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    ),
)
FILTERS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=8,
)


@given(FILTERS)
def test_the_text_of_a_filter_is_the_filter(one):
    assert parse(str(one)) == one


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("year >= 1893", field("year") >= 1893),
        ("YEAR == 1893", field("YEAR") == 1893),
        ("date < 2024-05", field("date") < "2024-05"),
        ("date < 2024-05-01T12:30Z", field("date") < "2024-05-01T12:30Z"),
        ("date > '2024-05-01'", field("date") > dt.date(2024, 5, 1)),
        ("a = 'it''s'", field("a") == "it's"),
        ('a != "say ""hi"""', field("a") != 'say "hi"'),
        ("a = -1.5e3", field("a") == -1500.0),
        ("a = TRUE or a = null", (field("a") == True) | (field("a") == None)),  # noqa: E711, E712
        ("tags HAS 'x' AND NOT tags has 'y'", field("tags").has("x") & ~field("tags").has("y")),
        ("a in (1, 'b')", field("a").one_of([1, "b"])),
        ("a not in (1)", ~field("a").one_of([1])),
        ("a not like 'x*'", ~field("a").like("x*")),
        ("not not a = 1", field("a") == 1),
        ("`page count` = 3", field("page count") == 3),
        ("`in` = 3 and `a``b` = 1", (field("in") == 3) & (field("a`b") == 1)),
        ("a = 1 and b = 2 or c = 3", ((field("a") == 1) & (field("b") == 2)) | (field("c") == 3)),
        (
            "a = 1 and (b = 2 or c = 3) and d = 4",
            (field("a") == 1) & ((field("b") == 2) | (field("c") == 3)) & (field("d") == 4),
        ),
        ("not (a = 1 or b = 2)", ~((field("a") == 1) | (field("b") == 2))),
        ("größe = 1", field("größe") == 1),
        ("n = 1", field("n") == np.int64(1)),
    ],
)
def test_what_is_written(text, made):
    """`not` binds most, then `and`, then `or`; keywords are written in any case."""
    assert parse(text) == made


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("date >=", "the filter 'date >=' ends where a value is expected"),
        ("", "the filter '' ends where the name of a field is expected"),
        (
            "tags has fram",
            "has 'fram' at character 10 where a value is expected: write 'fram' for a",
        ),
        ("= 3", "has '= 3' at character 1 where the name of a field is expected"),
        ("a 3", "has '3' at character 3 where one of =, !=, <, <=, >, >=, has, like and in is"),
        ("a = 1 b = 2", "has 'b = 2' at character 7 where 'and', 'or' or the end is expected"),
        ("(a = 1", "ends where ')' is expected"),
        ("a in 3", "has '3' at character 6 where '(' is expected"),
        ("a in (3 4)", "has '4)' at character 9 where ',' or ')' is expected"),
        ("a in ()", "has ')' at character 7 where a value is expected"),
        ("a not = 3", "where in, has or like is expected"),
        ("a = 'open", 'has "\'open" at character 5 cannot be read'),
        ("a = 1; drop", "has '; drop' at character 6 cannot be read"),
        ("date = 2024-13", "has '2024-13' at character 8 which is no date"),
        ("a = 1e999", "a field can only be compared with a finite number"),
        ("(" * 60 + "a = 1" + ")" * 60, "is nested too deeply"),
        ("a" * 10_001, "a filter can have at most 10,000 characters, not 10,001"),
        ("not " * 2_000 + "a", "ends where one of"),
    ],
)
def test_what_is_wrong(text, reason):
    with pytest.raises(InputError) as raised:
        parse(text)
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.text(alphabet="ab=<>!()'\"`, \n0123456789.-:+notinhasorliked", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse(text)
    except InputError:
        return
    assert parse(str(found)) == found


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: (field("a") == 1) and (field("b") == 2),
        lambda: bool(field("a") == 1),
        lambda: (field("a") == 1) & 3,
        lambda: (field("a") == 1) | "b = 2",
        lambda: field(3),
        lambda: field(" "),
        lambda: field("a") == [1],
        lambda: field("a").has(float("nan")),
        lambda: field("a") >= object(),
        lambda: to_filter(3),
        lambda: to_filter(field("a")),
    ],
)
def test_mistakes_in_python(mistake):
    """They are told at once, not by a filter that means something else."""
    with pytest.raises(InputError):
        mistake()


def test_parts_are_joined_flat():
    a, b, c = (field(name) == 1 for name in "abc")
    assert (a & b) & c == a & (b & c) == AllOf((a, b, c))
    assert (a | b) | c == a | (b | c) == AnyOf((a, b, c))
    assert ~~a == a
    assert ~(a & b) == Not(AllOf((a, b)))
    assert to_filter("  ") is to_filter(None) is None
    assert to_filter(a) is a
