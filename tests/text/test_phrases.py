"""Phrases between names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.analyze import terms
from clew.text.phrases import overlap, phrase_spans, query_type, span_to_nearest

TEXT = st.text(max_size=60) | st.lists(
    st.sampled_from(["sea ", "ice ", "the ", "1910 ", "pack-ice ", "北京大学", "Oslo's ", ", "])
).map("".join)


def phrases(text, *taken):
    spans = [(text.index(name), text.index(name) + len(name)) for name in taken]
    return [text[start:end] for start, end in phrase_spans(text, spans)]


@pytest.mark.parametrize(
    ("text", "taken", "expected"),
    [
        ("old sealing ship", (), ["old sealing ship"]),
        ("the ship of the crew", (), ["ship", "crew"]),
        ("ship, crew", (), ["ship", "crew"]),
        ("ship builder Archer Larvik yard", ("Archer",), ["ship builder", "Larvik yard"]),
        ("winter of 1910 camp", (), ["winter", "1910 camp"]),
        ("Fram's skipper", ("Fram",), ["skipper"]),
        ("北京大学在 Oslo", ("Oslo",), ["北京大学在"]),
        ("what is it?", (), []),
        ("", (), []),
    ],
)
def test_phrases_are_runs_of_terms(text, taken, expected):
    """Stop words, marks and names part them; a touched word belongs to its name."""
    assert phrases(text, *taken) == expected


@given(TEXT, st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted))
def test_phrases_lie_in_order_outside_what_is_taken(text, taken):
    """None overlaps another or a taken span, and each has a term."""
    taken = tuple(taken)
    spans = list(phrase_spans(text, [taken]))
    assert spans == sorted(spans)
    for i, span in enumerate(spans):
        assert not overlap(span, taken)
        assert not any(overlap(span, other) for other in spans[i + 1 :])
        assert terms(text[slice(*span)])


@given(TEXT)
def test_no_term_is_lost(text):
    """Without names every term of a text is in a phrase."""
    found = [term for start, end in phrase_spans(text) for term in terms(text[start:end])]
    assert found == terms(text)


@pytest.mark.parametrize(
    ("phrase", "names", "expected"),
    [
        ((10, 14), [(0, 4), (20, 24)], (0, 14)),
        ((12, 16), [(0, 4), (20, 24)], (12, 24)),
        ((12, 16), [(20, 24), (30, 34)], (12, 24)),
        ((3, 5), [], (3, 5)),
    ],
)
def test_a_phrase_is_bound_to_the_nearest_name(phrase, names, expected):
    """With all that stands between; the first of two names equally near."""
    assert span_to_nearest(phrase, names) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which is older, Fram or Gjøa?", "comparison"),
        ("Are Fram and the Gjøa both ships?", "comparison"),
        ("Did Fram and Gjøa meet?", "default"),
        ("Did any of them see Fram?", "or"),
        ("Who sailed Fram as well as Gjøa?", "and"),
        ("", "default"),
    ],
)
def test_types_that_words_show(question, expected):
    """Names that are joined are compared, by "or" or beside a word that compares."""
    names = [
        (question.index(name), question.index(name) + len(name))
        for name in ("Fram", "Gjøa")
        if name in question
    ]
    assert query_type(question, names) == expected
