"""A context: numbered passages, never more tokens than the budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.context import build_context, written
from clew.errors import InputError
from clew.text import tokens
from tests.answers.evidence import evidence, hit

# What breaks token arithmetic: several tokens per character, marks, long runs, wide scripts.
HARD = st.sampled_from(
    ["👩‍🚀", "é", "ẍ̧", "南極", " ", "\n\n", "a" * 40, "<|endoftext|>", "[2] ", "\x00"]
)
WORDS = st.sampled_from(["the", "Fram", "left", "Oslo.", "In", "1893", "Antarctica"])
TEXTS = st.lists(st.one_of(HARD, WORDS.map(lambda w: w + " ")), min_size=1, max_size=40).map(
    "".join
)
TITLES = st.one_of(st.just(""), TEXTS, st.just("A title of many words " * 20))
HITS = st.lists(
    st.builds(
        lambda i, text, title, start: hit(f"d{i}", text, title=title, start=start),
        st.integers(0, 9),
        TEXTS,
        TITLES,
        st.integers(0, 1000),
    ),
    max_size=5,
)


@given(HITS, st.one_of(st.integers(1, 30), st.integers(1, 400)))
def test_a_context_keeps_its_promises(hits, budget):
    """For any texts and budget: it fits, counts from 1 in order, and its ranges slice right."""
    found = build_context(evidence(*hits), budget_tokens=budget)
    assert tokens.count(found.text) == found.n_tokens <= budget == found.budget_tokens
    assert [p.number for p in found.passages] == list(range(1, len(found.passages) + 1))
    for of, passage in zip(hits, found.passages, strict=False):
        assert passage.chunk_id == of.chunk_id
        assert passage.start == of.start
        assert passage.text == of.text[: passage.end - passage.start] != ""
        assert written(passage) in found.text
    assert all(p.text == of.text for of, p in zip(hits[1:], found.passages[1:], strict=False))


def test_passages_stand_in_order_behind_numbers_and_titles():
    """A passage is its number and title on one line, its text below, a blank line between two."""
    found = build_context(
        evidence(hit("a", "Fram left Oslo.", title="The\n Fram"), hit("b", "Oslo is a city."))
    )
    assert found.text == "[1] The Fram\nFram left Oslo.\n\n[2]\nOslo is a city."
    assert found.n_tokens == tokens.count(found.text)


def test_all_that_fits_is_there():
    """The budget of two whole passages holds both; one token less holds the first."""
    hits = evidence(hit("a", "Fram left Oslo in 1893."), hit("b", "Oslo is a city in Norway."))
    both = build_context(hits)
    assert len(both.passages) == 2
    exact = build_context(hits, budget_tokens=both.n_tokens)
    assert exact.text == both.text
    less = build_context(hits, budget_tokens=both.n_tokens - 1)
    assert [p.document_id for p in less.passages] == ["a"]
    assert less.passages[0].text == "Fram left Oslo in 1893."


def test_only_the_first_passage_is_cut():
    """A first hit that does not fit is cut to the budget, and its range says so."""
    text = "Fram left Oslo in 1893 with thirteen men and five years of food. " * 30
    found = build_context(evidence(hit("a", text, start=7), hit("b", "Short.")), budget_tokens=50)
    [passage] = found.passages
    assert 45 <= found.n_tokens <= 50
    assert passage.end - passage.start == len(passage.text) < len(text)
    assert text.startswith(passage.text)
    assert passage.start == 7


def test_the_first_passage_that_does_not_fit_ends_the_context():
    """A later, shorter hit does not jump the queue: the order is the method's."""
    hits = evidence(hit("a", "Fram left Oslo."), hit("b", "word " * 200), hit("c", "Short."))
    found = build_context(hits, budget_tokens=100)
    assert [p.document_id for p in found.passages] == ["a"]


def test_a_title_longer_than_the_budget_leaves_the_text_its_room():
    """A huge title is left out rather than the passage."""
    long = hit("a", "Fram left Oslo in 1893.", title="An endless heading " * 200)
    found = build_context(evidence(long), budget_tokens=30)
    assert [p.text for p in found.passages] == ["Fram left Oslo in 1893."]
    assert found.n_tokens <= 30


def test_nothing_found_is_an_empty_context():
    """No hits, and a budget without room for a word, give no passage and no text."""
    assert build_context(evidence()).text == ""
    tiny = build_context(evidence(hit("a", "Fram left Oslo.")), budget_tokens=1)
    assert (tiny.passages, tiny.text, tiny.n_tokens) == ((), "", 0)


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_below_one_is_refused(budget):
    """No budget is a mistake, not an empty context."""
    with pytest.raises(InputError, match=f"at least 1 token, not {budget}"):
        build_context(evidence(hit("a", "Fram.")), budget_tokens=budget)
