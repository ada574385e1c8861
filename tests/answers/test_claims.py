"""Sentences of an LLM's answer are judged by meaning, and by numbers, names and denials."""

import click
import pytest

from benchmarks.claims import HALVES, count, judge
from clew.answers.citations import find_citations
from clew.answers.claims import StatementReader
from clew.answers.context import build_context
from clew.cli import render
from clew.models import Reply
from clew.models.minilm import DIMENSION, MiniLM, read_subwords
from clew.testing import ScriptedLLM
from clew.text.prose import read_prose
from tests.answers.evidence import answer, evidence, hit, models, says, table

CONTRACT = hit(
    "contract",
    "Either party may terminate with immediate effect if the other party is insolvent. "
    "Otherwise the notice is 90 days. The buyer's warehouse is in Rotterdam. "
    "Goods must never be stored outside.",
)
QUESTION = "When may the contract be terminated?"


@pytest.fixture(scope="module")
def reader():
    return StatementReader(MiniLM(threads=1).embed_tokens)


def unsupported(reader, text, *hits, **more):
    context = build_context(evidence(*hits, **more))
    parts = read_prose(text, len(context.passages))
    return find_citations(QUESTION, parts, context, reader).unsupported


def test_few_true_sentences_are_accused_and_few_false_ones_pass(reader):
    """The figures of `benchmarks/claims.py`, all parts together."""
    counts = count([each for half in HALVES for each in judge(half, reader)])
    assert {kind: wrong for kind, (wrong, _) in counts.items() if kind in {"number", "name"}} == {
        "number": 0,
        "name": 0,
    }
    for kind, most in (("true", 0.05), ("false", 0.2)):
        wrong, n = counts[kind]
        assert wrong <= most * n


@pytest.mark.parametrize(
    ("text", "is_supported"),
    [
        ("Immediate termination is possible in case of insolvency [1].", True),
        ("Immediate termination is possible in case of insolvency.", True),
        ("- **Notice:** 90 days [1]", True),
        ("The notice is 60 days [1].", False),
        ("The warehouse of the buyer is in Antwerp [1].", False),
        ("It is not possible to terminate with immediate effect [1].", False),
        ("Goods may be stored outside [1].", False),
        ("The capital of Peru is Lima [1].", False),
        ("The passages do not say who signed it.", True),  # which claims nothing of them
        ("The contract can be ended as follows:", True),
    ],
)
def test_a_sentence_is_judged_by_meaning_and_strictly(reader, text, is_supported):
    assert (unsupported(reader, text, CONTRACT) == ()) == is_supported


NUMBERS = hit(
    "numbers",
    "Marit Holm was born in Eikvik in 1899. She died at Ravnsund in 1974. "
    "The room costs 80 euros a night. Breakfast costs 12 euros. "
    "The north hall has 240 seats. The south hall has 175 seats.",
)


@pytest.mark.parametrize(
    ("text", "is_supported"),
    [
        ("Marit Holm died at the age of 75 years [1].", True),
        ("Marit Holm died at the age of 57 years [1].", False),
        ("Marit Holm died at Ravnsund, in room 75 [1].", False),
        ("Room and breakfast cost 92 euros in total [1].", True),
        ("Room and breakfast cost 93 euros in total [1].", False),
        ("Room and breakfast cost 92 euros [1].", False),
        ("The room costs 68 euros more than breakfast [1].", True),
        ("The room costs 92 euros more than breakfast [1].", False),
        ("The north hall has 65 seats more than the south hall [1].", True),
        ("The north hall has 65 euros more than the south hall [1].", False),
    ],
)
def test_what_is_computed_of_two_numbers_is_said(reader, text, is_supported):
    """If the sentence says that it computes, and both numbers are of one kind."""
    assert bool(unsupported(reader, text, NUMBERS)) != is_supported


def test_a_table_says_it_too_and_is_not_cited(reader):
    rows = table(("Rotterdam", "a port where the buyer has a warehouse"))
    assert unsupported(reader, "The buyer's warehouse is in Rotterdam.", tables=[rows]) == ()


def test_without_packages_words_are_compared_by_their_characters():
    plain = StatementReader(lambda texts: [read_subwords(text, DIMENSION) for text in texts])
    assert unsupported(plain, "Parties may terminate it with immediate effect [1].", CONTRACT) == ()
    assert unsupported(plain, "The capital of Peru is Lima [1].", CONTRACT)


def test_an_answer_that_no_source_says_gives_way_to_quotes():
    """The reader sees why; with a threshold of 0 nothing is refused."""
    given = says("ANSWER: The capital of Peru is Lima [1].")
    found = answer(QUESTION, evidence(CONTRACT), given, min_support=0.2)
    assert found.kind == "quoted"
    assert found.unsupported == ("The capital of Peru is Lima",)
    assert found.evidence.notes[-1] == (
        "no source says what the LLM answered: quoted sentences instead"
    )
    shown = click.unstyle(render.render_answer(found))
    assert shown.startswith(
        "No source says what the LLM answered:\n  The capital of Peru is Lima\n"
    )
    given = says("ANSWER: The capital of Peru is Lima [1].")
    assert answer(QUESTION, evidence(CONTRACT), given).kind == "generated"


VERDICT = {"unsupported": [2, 7]}


def test_an_llm_lists_unsupported_sentences_by_one_more_call():
    """Numbers of no sentence do not count, and neither does a verdict that fails."""
    text = "ANSWER: The notice is 90 days [1]. It may end at once if one party is insolvent [1]."
    llm = ScriptedLLM(text, VERDICT)
    found = answer(QUESTION, evidence(CONTRACT), models(llm=llm), verify="llm")
    assert found.unsupported == ("It may end at once if one party is insolvent.",)
    assert (found.kind, llm.n_left) == ("generated", 0)
    assert "[2] It may end at once" in llm.prompts[1].user
    llm = ScriptedLLM(text, Reply(text="", error="it timed out"))
    found = answer(QUESTION, evidence(CONTRACT), models(llm=llm), verify="llm")
    assert found.unsupported == ()
    assert found.evidence.notes == ("the LLM did not verify its answer (it timed out)",)


@pytest.mark.parametrize(
    ("claim", "is_said"),
    [
        ("Die Kündigungsfrist für den Vertrag ist sonst 90 Tage.", True),
        ("Die Kündigungsfrist für den Vertrag ist sonst 60 Tage.", False),
        ("Das Lager des Käufers ist nach dem Vertrag in Rotterdam.", True),
        ("Die Hauptstadt von Peru ist nach dem Vertrag Lima Norte.", False),
    ],
)
def test_of_another_language_numbers_and_names_are_compared(reader, claim, is_said):
    """Its meaning is not: the embedder was trained on English."""
    assert (unsupported(reader, f"{claim} [1]", CONTRACT) == ()) == is_said
