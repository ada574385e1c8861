"""Evidence coverage: statements that passages say in other words."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.evaluate.evidence_coverage import evidence_coverage, passages_of
from clew.types import Context, Passage, Table

MARSH = "At dawn a detachment of Company B, commanded by Capt. Marsh, was ambushed at the ferry."
FERRY = "The ferry crossed the river below the agency; Marsh had not seen it before."
STATEMENT = "Capt. Marsh commanded Company B."

WORDS = st.lists(st.sampled_from("river ferry marsh agency dawn company guard".split()), min_size=1)
TEXTS = st.lists(WORDS.map(" ".join), max_size=6)
EVIDENCE = st.lists(WORDS.map(" ".join), min_size=1, max_size=5)


def test_share_of_statements_by_hand() -> None:
    """Of three statements the passages say one, so a third is covered."""
    evidence = [STATEMENT, "The agency stood above the river bank.", "Snow fell on Christmas Eve."]
    assert evidence_coverage(evidence, [MARSH, FERRY]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("passage", "covered"),
    [
        ("alpha beta gamma delta", 1),
        ("alpha beta gamma", 1),  # 3 of 4
        ("alpha beta beta alpha", 0),  # repeats are one term: 2 of 4
        ("", 0),
    ],
)
def test_three_in_four_terms_cover_a_statement(passage: str, covered: float) -> None:
    """Exactly three quarters are enough, and one term counts once however often it stands."""
    assert evidence_coverage(["Alpha, beta, gamma and delta."], [passage]) == covered


def test_less_than_three_quarters_is_not_enough() -> None:
    """Five terms of seven are 0.71: below 0.75 most of what is found is not said."""
    statement = "alpha beta gamma delta epsilon zeta eta"
    assert evidence_coverage([statement], ["alpha beta gamma delta epsilon"]) == 0
    assert evidence_coverage([statement], ["alpha beta gamma delta epsilon zeta"]) == 1


def test_short_statements_need_every_term() -> None:
    """Two of three terms are less than three quarters."""
    statement = "Kaed is a Mussulman trader."
    assert evidence_coverage([statement], ["Kaed, a trader of the coast"]) == 0
    assert evidence_coverage([statement], ["Kaed the Mussulman was a trader"]) == 1


def test_other_forms_of_a_word_are_the_same() -> None:
    """The first six characters decide: a passage may have the verb as a noun."""
    passage = "upon his appointment as a commander of companies of pioneers"
    assert evidence_coverage(["Pioneers were appointed commanders of companies."], [passage]) == 1


def test_a_single_passage_has_to_say_it() -> None:
    """Two passages that have half of the terms each do not cover a statement together."""
    halves = ["Capt. Marsh was there.", "They commanded a company."]
    assert evidence_coverage([STATEMENT], halves) == 0
    assert evidence_coverage([STATEMENT], [" ".join(halves)]) == 1


def test_emphasis_of_plain_text_books_is_no_part_of_a_word() -> None:
    """Project Gutenberg's underscores around a name hide neither the name nor a stop word."""
    passage = "The instrument is called by its Egyptian name, _the seshesh_."
    assert evidence_coverage(["The Egyptian name is seshesh."], [passage]) == 1


def test_a_statement_without_terms_is_never_covered() -> None:
    """Stop words alone say nothing, and every text would have them."""
    assert evidence_coverage(["It was so."], ["It was so.", MARSH]) == 0
    assert evidence_coverage(["It was so.", STATEMENT], [MARSH]) == 0.5


def test_repeated_statements_count_once() -> None:
    """A statement that the dataset lists twice weighs no more than another."""
    assert evidence_coverage([STATEMENT, STATEMENT, "Snow fell early."], [MARSH]) == 0.5


def test_nothing_retrieved_covers_nothing() -> None:
    """A failed search is a miss and not an error."""
    assert evidence_coverage([STATEMENT], []) == 0


@pytest.mark.parametrize(
    ("evidence", "passages", "message"),
    [
        ([], [MARSH], "at least one text"),
        (STATEMENT, [MARSH], "evidence must be a list"),
        ([STATEMENT], MARSH, "passages must be a list"),
    ],
)
def test_texts_come_in_lists(evidence: list[str], passages: list[str], message: str) -> None:
    """No evidence has no share, and a bare text would be taken for a list of letters."""
    with pytest.raises(InputError, match=message):
        evidence_coverage(evidence, passages)


@given(EVIDENCE, TEXTS, TEXTS)
def test_more_passages_never_cover_less(
    evidence: list[str], passages: list[str], more: list[str]
) -> None:
    """The share is from 0 to 1, and a further passage leaves it or raises it."""
    share = evidence_coverage(evidence, passages)
    assert 0 <= share <= evidence_coverage(evidence, passages + more) <= 1


@given(EVIDENCE, TEXTS, st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(
    evidence: list[str], passages: list[str], random: Random
) -> None:
    """Shuffled and doubled lists have the same share."""
    share = evidence_coverage(evidence, passages)
    statements, texts = evidence * 2, passages * 2
    random.shuffle(statements)
    random.shuffle(texts)
    assert evidence_coverage(statements, texts) == share


@given(EVIDENCE)
def test_every_statement_covers_itself(evidence: list[str]) -> None:
    """A context that quotes all of the evidence covers all of it."""
    assert evidence_coverage(evidence, evidence) == 1


def test_a_context_gives_rows_and_passages_with_titles() -> None:
    """A row of a table is a text by itself, and a title belongs to its passage."""
    table = Table(
        name="relations",
        columns=("subject", "relation", "object"),
        rows=(("Marsh", "commanded", "Company B"), ("Sibley", "governed", "Minnesota")),
    )
    passage = Passage(
        number=1,
        chunk_id="c",
        document_id="d",
        title="Capt. Marsh",
        source="s",
        start=0,
        end=9,
        text="He commanded Company B.",
    )
    context = Context(passages=(passage,), text="", n_tokens=0, budget_tokens=100, tables=(table,))
    texts = passages_of(context)
    assert texts == (
        "Marsh commanded Company B",
        "Sibley governed Minnesota",
        "Capt. Marsh\nHe commanded Company B.",
    )
    assert evidence_coverage([STATEMENT], texts[2:]) == 1
