"""Evidence coverage: statements that passages say in other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Context, Passage, Table
from clew.errors import InputError
from clew.extras.evaluate.evidence_coverage import evidence_coverage, passages_of

MARSH = "At dawn a detachment of Company B, commanded by Capt. Marsh, was ambushed at the ferry."
FERRY = "The ferry crossed the river below the agency; Marsh had not seen it before."
STATEMENT = "Capt. Marsh commanded Company B."

WORDS = st.lists(st.sampled_from("river ferry marsh agency dawn company guard".split()), min_size=1)
TEXTS = st.lists(WORDS.map(" ".join), max_size=6)
EVIDENCE = st.lists(WORDS.map(" ".join), min_size=1, max_size=5)


GREEK = "alpha beta gamma delta epsilon zeta eta"
THREE = [STATEMENT, "The agency stood above the river bank.", "Snow fell on Christmas Eve."]
HALVES = ["Capt. Marsh was there.", "They commanded a company."]
TRADER = "Kaed is a Mussulman trader."


@pytest.mark.parametrize(
    ("evidence", "passages", "covered"),
    [
        (THREE, [MARSH, FERRY], 1 / 3),
        # Three quarters of the terms are enough, and one counts once however often it stands.
        (["Alpha, beta, gamma and delta."], ["alpha beta gamma delta"], 1),
        (["Alpha, beta, gamma and delta."], ["alpha beta gamma"], 1),
        (["Alpha, beta, gamma and delta."], ["alpha beta beta alpha"], 0),
        (["Alpha, beta, gamma and delta."], [""], 0),
        ([GREEK], ["alpha beta gamma delta epsilon"], 0),  # 0.71
        ([GREEK], ["alpha beta gamma delta epsilon zeta"], 1),
        # Two of three are less.
        ([TRADER], ["Kaed, a trader of the coast"], 0),
        ([TRADER], ["Kaed the Mussulman was a trader"], 1),
        # The first six characters decide: a passage may have the verb as a noun.
        (["Pioneers were appointed commanders of companies."],
         ["upon his appointment as a commander of companies of pioneers"], 1),
        # A single passage has to say it.
        ([STATEMENT], HALVES, 0),
        ([STATEMENT], [" ".join(HALVES)], 1),
        # Project Gutenberg's underscores around a name hide neither the name nor a stop word.
        (["The Egyptian name is seshesh."],
         ["The instrument is called by its Egyptian name, _the seshesh_."], 1),
        # Stop words alone say nothing, and every text would have them.
        (["It was so."], ["It was so.", MARSH], 0),
        (["It was so.", STATEMENT], [MARSH], 0.5),
        # What a dataset lists twice weighs no more than anything else.
        ([STATEMENT, STATEMENT, "Snow fell early."], [MARSH], 0.5),
        ([STATEMENT], [], 0),
    ],
)  # fmt: skip
def test_the_share_of_statements_by_hand(evidence, passages, covered):
    assert evidence_coverage(evidence, passages) == pytest.approx(covered)


@pytest.mark.parametrize(
    ("evidence", "passages", "message"),
    [
        ([], [MARSH], "at least one text"),
        (STATEMENT, [MARSH], "evidence must be a list"),
        ([STATEMENT], MARSH, "passages must be a list"),
    ],
)
def test_texts_come_in_lists(evidence, passages, message):
    """No evidence has no share, and a bare text would be taken for a list of letters."""
    with pytest.raises(InputError, match=message):
        evidence_coverage(evidence, passages)


@given(EVIDENCE, TEXTS, TEXTS)
def test_more_passages_never_cover_less(evidence, passages, more):
    share = evidence_coverage(evidence, passages)
    assert 0 <= share <= evidence_coverage(evidence, passages + more) <= 1


@given(EVIDENCE, TEXTS, st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(evidence, passages, random):
    share = evidence_coverage(evidence, passages)
    statements, texts = evidence * 2, passages * 2
    random.shuffle(statements)
    random.shuffle(texts)
    assert evidence_coverage(statements, texts) == share
    assert evidence_coverage(evidence, evidence) == 1


def test_a_context_gives_rows_and_passages_with_titles():
    """A row of a table is a text by itself, and a title belongs to its passage."""
    rows = (("Marsh", "commanded", "Company B"), ("Sibley", "governed", "Minnesota"))
    table = Table(name="relations", columns=("subject", "relation", "object"), rows=rows)
    said = {"title": "Capt. Marsh", "text": "He commanded Company B."}
    passage = Passage(number=1, chunk_id="c", document_id="d", source="s", start=0, end=9, **said)
    context = Context(passages=(passage,), text="", n_tokens=0, budget_tokens=100, tables=(table,))
    texts = passages_of(context)
    assert texts == (
        "Marsh commanded Company B",
        "Sibley governed Minnesota",
        "Capt. Marsh\nHe commanded Company B.",
    )
    assert evidence_coverage([STATEMENT], texts[2:]) == 1
