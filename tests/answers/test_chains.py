"""Answers of two steps: one statement names what the other says the answer about."""

import pytest

import clew
from clew.answers.sentence_features import SentenceFeatures
from clew.answers.sentences import find_sentences, read_sentences
from clew.base.types import Document
from clew.testing import models
from tests.answers.test_quotes import passage

DOCUMENTS = (
    ("Hesper", "Ada Lund built the Hesper for the herring fleet. She carried two masts."),
    ("Ada Lund", "Ada Lund was a shipwright, born at Moss in 1771. She wrote two books."),
    ("Bo Tarn", "Bo Tarn was a whaler, born at Horten in 1790. He never built a ship."),
    ("Moss", "Moss is a town on the fjord with a paper mill."),
    ("Alba", "The Alba was a brig of the mail service, broken up in 1850."),
)
QUESTION = "In which town was the builder of the Hesper born?"


def signs_of(question, *texts, titles=()):
    given = models()
    titles = [*titles, *[""] * len(texts)]
    passages = [passage(n, text, titles[n - 1]) for n, text in enumerate(texts, 1)]
    sentences = find_sentences(passages, None)
    return SentenceFeatures(
        question, sentences, read_sentences(question, sentences, passages, given, None)
    )


def pairs(features):
    texts = [each.said for each in features.sentences]
    chains = features.chains
    return {
        (texts[a], texts[b])
        for a, b in zip(chains.bridges.tolist(), chains.answers.tolist(), strict=True)
    }


def test_a_pair_shares_a_name_that_the_question_does_not_have():
    built, born = "Ada Lund built the Hesper.", "Ada Lund was born at Moss."
    other = "The Hesper sank off Horten."
    features = signs_of("Where was the builder of the Hesper born?", built, born, other)
    assert pairs(features) == {(built, born), (born, built)}


def test_the_title_of_a_passage_links_what_names_it_and_not_what_stands_below_it():
    built, born = "Ada Lund built the Hesper.", "She was born at Moss."
    signs = signs_of(QUESTION, built, born, titles=("Hesper", "Ada Lund"))
    assert (built, born) in pairs(signs)
    assert signs.linking_name(0, 1) == "Ada Lund"
    same = signs_of(QUESTION, "She had two masts.", "She was born.", titles=("Manual", "Manual"))
    assert not len(same.chains.answers)


def test_a_code_links_and_a_name_of_the_sentence_before_does_not():
    order, price = "The Hesper is to get a tw501.", "A tw501 takes 12 days to come."
    assert (order, price) in pairs(signs_of("How long does the Hesper wait?", order, price))
    built = "Ada Lund built the Hesper. She carried two masts."
    signs = signs_of(QUESTION, built, "Ada Lund was born at Moss.")
    assert not [pair for pair in pairs(signs) if pair[0] == "She carried two masts."]


def test_shares_of_pairs_sum_to_one_and_name_the_likeliest_bridge():
    built, also = "Ada Lund built the Hesper.", "Ada Lund sold the Alba."
    features = signs_of(QUESTION, built, also, "Ada Lund was born at Moss.")
    chains = features.chains
    scores = chains.columns["together"]
    shares, bridges = chains.share_bridges(scores, 3)
    assert shares.sum() == pytest.approx(1)
    assert bridges[2] == 0  # it has the name that is asked about


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("chains") / "x.clew") as opened:
        opened.add([Document(id=title, title=title, text=text) for title, text in DOCUMENTS])
        yield opened


def test_the_statement_behind_the_link_answers_and_the_link_explains_it(index):
    answer = index.ask(QUESTION)
    first, second, *_ = answer.citations
    assert first.quote == "Ada Lund was a shipwright, born at Moss in 1771."
    assert second.quote == "Ada Lund built the Hesper for the herring fleet."
    assert (first.link, second.link) == ("", "Ada Lund")
    lines = answer.text.splitlines()
    assert lines[:2] == [f'"{first.quote}"', f'Ada Lund: "{second.quote}"']


def test_a_question_of_one_step_has_a_chain_of_one(index):
    answer = index.ask("Who built the Hesper?")
    assert answer.citations[0].quote == "Ada Lund built the Hesper for the herring fleet."
    assert not any(each.link for each in answer.citations)
