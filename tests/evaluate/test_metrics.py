"""Metrics on one ranked list or one answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.evaluate import metrics

IDS = st.lists(st.sampled_from("abcdefghij"), max_size=15)
GOLD = st.sets(st.sampled_from("abcdefghijxy"), min_size=1)
KS = st.integers(1, 12)

# prediction, answers, EM, Acc, F1, F1 where yes and no are strict (hotpot)
PINNED = [
    ("The Eiffel Tower, in Paris.", ["Eiffel Tower"], 0, 1, 0.666667, 0.666667),
    ("yes, it is", ["Yes"], 0, 1, 0.5, 0),
    ("no", ["yes"], 0, 0, 0, 0),
    ("1898 and 1959", ["1959", "1898"], 0, 1, 0.5, 0.5),
    ("a U.S. state", ["US state"], 1, 1, 1, 1),
    ("", ["Paris"], 0, 0, 0, 0),
    ("no one knows", ["no"], 0, 1, 0.5, 0),
]


def test_ranking_metrics_by_hand() -> None:
    """Gold at ranks 2 and 4 of five, and a third that is missing."""
    ranked, gold = ["a", "b", "c", "d", "e"], {"b", "d", "z"}
    assert metrics.recall_at(ranked, gold, 1) == 0
    assert metrics.recall_at(ranked, gold, 2) == pytest.approx(1 / 3)
    assert metrics.recall_at(ranked, gold, 5) == pytest.approx(2 / 3)
    assert metrics.reciprocal_rank(ranked, gold) == 0.5
    found = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg_at(ranked, gold, 10) == pytest.approx(found / ideal)


def test_all_at_needs_every_gold_document() -> None:
    """One gold document below the cut makes the question a failure."""
    assert metrics.all_at(["a", "b", "c"], ["a", "c"], 2) == 0
    assert metrics.all_at(["a", "b", "c"], ["a", "c"], 3) == 1


def test_chunks_of_one_document_count_once() -> None:
    """Three chunks of a document take one rank, so the next document is at rank 2."""
    chunks = ["a", "a", "a", "b"]
    assert metrics.distinct(chunks) == ("a", "b")
    assert metrics.recall_at(chunks, {"b"}, 2) == 1
    assert metrics.reciprocal_rank(chunks, {"b"}) == 0.5


def test_nothing_ranked_scores_zero() -> None:
    """An empty ranking is a miss and not an error."""
    assert metrics.recall_at([], {"a"}, 5) == 0
    assert metrics.all_at([], {"a"}, 5) == 0
    assert metrics.ndcg_at([], {"a"}, 5) == 0
    assert metrics.reciprocal_rank([], {"a"}) == 0


def test_ranking_without_gold_or_with_k_below_one_is_refused() -> None:
    """A share of nothing, and a cut before the first rank, have no meaning."""
    with pytest.raises(InputError, match="without gold"):
        metrics.recall_at(["a"], set(), 5)
    with pytest.raises(InputError, match="at least 1, but is 0"):
        metrics.ndcg_at(["a"], {"a"}, 0)


@given(IDS, GOLD, KS)
def test_ranking_metrics_stay_between_zero_and_one(
    ranked: list[str], gold: set[str], k: int
) -> None:
    """Repeats and long rankings never give more than the perfect score."""
    values = [f(ranked, gold, k) for f in (metrics.recall_at, metrics.all_at, metrics.ndcg_at)]
    values.append(metrics.reciprocal_rank(ranked, gold))
    assert all(0 <= value <= 1 + 1e-12 for value in values)


@given(IDS, GOLD, KS)
def test_recall_grows_with_k(ranked: list[str], gold: set[str], k: int) -> None:
    """Looking further down a ranking loses nothing, and `all` is recall of one."""
    near, far = metrics.recall_at(ranked, gold, k), metrics.recall_at(ranked, gold, k + 1)
    assert near <= far
    assert metrics.all_at(ranked, gold, k) == float(near == 1)


@given(GOLD, KS)
def test_the_ideal_ranking_is_perfect(gold: set[str], k: int) -> None:
    """With the gold documents in front nDCG and MRR are 1."""
    ranked = [*sorted(gold), "other"]
    assert metrics.ndcg_at(ranked, gold, k) == pytest.approx(1)
    assert metrics.reciprocal_rank(ranked, gold) == 1


@given(st.lists(st.tuples(IDS, GOLD), min_size=1, max_size=5))
def test_ranking_metrics_agree_with_ir_measures(cases: list[tuple[list[str], set[str]]]) -> None:
    """The field's reference implementation gives the same numbers."""
    ir = pytest.importorskip("ir_measures")
    qrels, run = {}, {}
    for i, (ranked, gold) in enumerate(cases):
        ids = metrics.distinct(ranked)
        qrels[str(i)] = dict.fromkeys(gold, 1)
        run[str(i)] = {id_: float(len(ids) - place) for place, id_ in enumerate(ids)}
    oracle = {
        (m.query_id, str(m.measure)): m.value
        for m in ir.iter_calc([ir.R @ 2, ir.R @ 5, ir.nDCG @ 10, ir.RR], qrels, run)
    }
    for i, (ranked, gold) in enumerate(cases):
        ours = {
            "R@2": metrics.recall_at(ranked, gold, 2),
            "R@5": metrics.recall_at(ranked, gold, 5),
            "nDCG@10": metrics.ndcg_at(ranked, gold, 10),
            "RR": metrics.reciprocal_rank(ranked, gold),
        }
        for name, value in ours.items():
            assert value == pytest.approx(oracle.get((str(i), name), 0.0)), name


@pytest.mark.parametrize(("prediction", "answers", "em", "acc", "plain", "hotpot"), PINNED)
def test_answer_metrics_are_as_pinned(
    prediction: str, answers: list[str], em: float, acc: float, plain: float, hotpot: float
) -> None:
    """Worked examples keep their values."""
    assert metrics.exact_match(prediction, answers) == em
    assert metrics.contains(prediction, answers) == acc
    assert metrics.f1(prediction, answers) == pytest.approx(plain, abs=1e-6)
    assert metrics.f1(prediction, answers, "hotpot") == pytest.approx(hotpot, abs=1e-6)


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("yes", "yes", 1),
        ("no", "no way", 0),  # a prediction of no that differs
        ("insufficient information", "information", 0),
        ("maybe yes", "yes", 2 / 3),  # the answer is in the prediction: hotpot gives 0
        ("it is not so", "no", 0),  # no token in common, although "no" is in "not"
        ("noanswer given", "noanswer", 2 / 3),  # noanswer is no special word of this rule
    ],
)
def test_ket_rule_for_yes_and_no(prediction: str, answer: str, expected: float) -> None:
    """KET-RAG's rule bars short predictions that differ and yes/no answers not contained."""
    assert metrics.f1(prediction, [answer], "ket") == pytest.approx(expected)


def test_unknown_yes_no_rule_is_refused() -> None:
    """A rule that does not exist is named beside those that do."""
    with pytest.raises(InputError, match=r"'squad'.*plain, hotpot, ket"):
        metrics.f1("a b", ["b"], "squad")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The U.S.A.", "usa"),
        ("a\tTheory  of\nAn an-swer", "theory of answer"),
        ("Theatre", "theatre"),
        ("the", ""),
        ("Café “Ñandú”", "café “ñandú”"),
    ],
)
def test_normalisation_by_hand(text: str, normal: str) -> None:
    """Only ASCII punctuation goes, and articles go as words."""
    assert metrics.normalize_answer(text) == normal


@given(st.text())
def test_normalised_text_has_no_case_and_single_spaces(text: str) -> None:
    """What is normalised has no outer, double or other white space."""
    normal = metrics.normalize_answer(text)
    assert normal == " ".join(normal.split())


@given(st.text())
def test_an_answer_matches_itself(text: str) -> None:
    """A text that is not empty once normalised is its own perfect answer."""
    if metrics.normalize_answer(text):
        assert metrics.exact_match(text, [text]) == 1
        assert metrics.contains(text, [text]) == 1
        assert metrics.f1(text, [text]) == 1


@pytest.mark.parametrize("answers", [[], [""], ["Paris", "the"], ["?!"], "Paris"])
def test_empty_answers_are_refused(answers: list[str]) -> None:
    """An empty right answer would be found in every text, so it is an error."""
    for metric in (metrics.exact_match, metrics.contains, metrics.f1):
        with pytest.raises(InputError, match="answer"):
            metric("anything", answers)
    with pytest.raises(InputError, match="answer"):
        metrics.covered(answers, "anything")


def test_coverage_is_by_normalised_substring() -> None:
    """Case, punctuation and articles do not hide an answer, and any answer will do."""
    assert metrics.covered(["eiffel tower"], "They saw the Eiffel-free... Eiffel Tower!") == 1
    assert metrics.covered(["Lyon", "Paris"], "in paris") == 1
    assert metrics.covered(["Lyon"], "in Paris") == 0
    assert metrics.covered(["Lyon"], "") == 0


def test_yes_no_questions_are_told_apart() -> None:
    """A question is a yes/no question by its answers, not by its words."""
    assert metrics.is_yes_no(["Yes."])
    assert metrics.is_yes_no(["no"])
    assert not metrics.is_yes_no(["Norway", "yes and no"])
