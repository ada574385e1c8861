"""Metrics on one ranked list or one answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, MissingExtra
from clew.evaluate import metrics
from clew.evaluate.rouge import common_length

IDS = st.lists(st.sampled_from("abcdefghij"), max_size=15)
GOLD = st.sets(st.sampled_from("abcdefghijxy"), min_size=1)
KS = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True)
WORDS = st.lists(st.sampled_from("abc"), max_size=9)

ANSWERED = ["EM", "F1 plain", "F1 hotpot", "F1 ket", "Acc", "ROUGE-L"]

# prediction, right answers, and the metrics in this order
PINNED = [
    ("The Eiffel Tower, in Paris.", ["Eiffel Tower"], (0, 2 / 3, 2 / 3, 2 / 3, 1, 4 / 7)),
    ("yes, it is", ["Yes"], (0, 0.5, 0, 0.5, 1, 0.5)),
    ("no", ["yes"], (0, 0, 0, 0, 0, 0)),
    ("1898 and 1959", ["1959", "1898"], (0, 0.5, 0.5, 0.5, 1, 0.5)),
    ("a U.S. state", ["US state"], (1, 1, 1, 1, 1, 1 / 3)),
    ("", ["Paris"], (0, 0, 0, 0, 0, 0)),
    ("no one knows", ["no"], (0, 0.5, 0, 0.5, 1, 0.5)),
]

# ROUGE-L's F-measure, as rouge-score 0.1.2 gives it with its stemmer
ROUGE = [
    ("The explorers were sailing northwards", "An explorer sails north", 4 / 9),
    ("police killed the gunman", "the gunman police killed", 0.5),
    ("Ärzte naïve", "arzt naive", 0),
    ("the end", "THE-END!", 1),
]


def by_definition(ranked: Sequence[str], gold: set[str], ks: Sequence[int]) -> dict[str, float]:
    """Compute the metrics of a ranking as they are written down."""
    ids = list(dict.fromkeys(ranked))
    recalls = [len(gold.intersection(ids[:k])) / len(gold) for k in ks]
    gains = [1 / math.log2(rank + 1) for rank, id_ in enumerate(ids[:10], 1) if id_ in gold]
    ideal = [1 / math.log2(rank + 1) for rank in range(1, min(len(gold), 10) + 1)]
    ranks = [rank for rank, id_ in enumerate(ids[:10], 1) if id_ in gold]
    return {
        **{f"recall@{k}": recall for k, recall in zip(ks, recalls, strict=True)},
        **{f"all@{k}": float(recall == 1) for k, recall in zip(ks, recalls, strict=True)},
        "nDCG@10": sum(gains) / sum(ideal),
        "MRR@10": 1 / ranks[0] if ranks else 0.0,
    }


def test_a_ranking_by_hand() -> None:
    """Gold at ranks 2 and 4 of five, and a third that is missing."""
    found = metrics.ranking(["a", "b", "c", "d", "e"], {"b", "d", "z"}, (1, 2, 5))
    assert list(found) == [
        "recall@1",
        "recall@2",
        "recall@5",
        "all@1",
        "all@2",
        "all@5",
        "nDCG@10",
        "MRR@10",
    ]
    assert [found[f"recall@{k}"] for k in (1, 2, 5)] == pytest.approx([0, 1 / 3, 2 / 3])
    assert found["all@5"] == 0
    assert found["MRR@10"] == 0.5
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["nDCG@10"] == pytest.approx(gain / ideal)


def test_ranks_beyond_the_tenth_count_for_nothing() -> None:
    """Lists of 10 and of 20 documents are measured to the same depth."""
    ids = [str(rank) for rank in range(1, 21)]
    assert metrics.ranking(ids, {"10"}, (20,))["MRR@10"] == 0.1
    beyond = metrics.ranking(ids, {"11"}, (20,))
    assert (beyond["recall@20"], beyond["nDCG@10"], beyond["MRR@10"]) == (1, 0, 0)


def test_all_needs_every_gold_document() -> None:
    """One gold document below the cut makes the question a failure."""
    found = metrics.ranking(["a", "b", "c"], ["a", "c"], (2, 3))
    assert (found["all@2"], found["all@3"]) == (0, 1)


def test_chunks_of_one_document_count_once() -> None:
    """Three chunks of a document take one rank, so the next document is at rank 2."""
    chunks = ["a", "a", "a", "b"]
    assert metrics.distinct(chunks) == ("a", "b")
    found = metrics.ranking(chunks, {"b"}, [2])
    assert (found["recall@2"], found["MRR@10"]) == (1, 0.5)


def test_nothing_ranked_scores_zero() -> None:
    """An empty ranking is a miss and not an error."""
    assert set(metrics.ranking([], {"a"}, (5,)).values()) == {0.0}


@pytest.mark.parametrize(
    "id_", ["", "two words", "Ålesund\t1", "nul\0", "half \ud800", "other 0", "0"]
)
def test_an_id_may_be_any_string(id_: str) -> None:
    """Ids are compared as they are, whatever the library makes of names."""
    assert set(metrics.ranking([id_], [id_], (1,)).values()) == {1.0}
    found = metrics.ranking(["before", id_], [id_, "lost"], (1, 2))
    assert (found["recall@1"], found["recall@2"], found["MRR@10"]) == (0, 0.5, 0.5)


def test_a_ranking_without_gold_or_with_k_below_one_is_refused() -> None:
    """A share of nothing, and a cut before the first rank, have no meaning."""
    with pytest.raises(InputError, match="without gold"):
        metrics.ranking(["a"], set(), (5,))
    with pytest.raises(InputError, match="at least 1, but is 0"):
        metrics.ranking(["a"], {"a"}, (5, 0))


@given(IDS, GOLD, KS)
def test_rankings_are_measured_as_defined(ranked: list[str], gold: set[str], ks: list[int]) -> None:
    """The library's values are those of the definitions, with repeats and missing gold."""
    found = metrics.ranking(ranked, gold, ks)
    expected = by_definition(ranked, gold, ks)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)
    assert all(0 <= value <= 1 for value in found.values())


@given(GOLD)
def test_the_ideal_ranking_is_perfect(gold: set[str]) -> None:
    """With the gold documents in front all metrics are 1."""
    found = metrics.ranking([*sorted(gold), "other"], gold, (len(gold), 20))
    assert found == pytest.approx(dict.fromkeys(found, 1.0))


def test_a_ranking_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library there is a hint what to install."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"clew\[eval\]"):
        metrics.ranking(["a"], {"a"}, (987,))  # a cut-off that is in no cache


@pytest.mark.parametrize(("prediction", "answers", "expected"), PINNED)
def test_answer_metrics_are_as_pinned(
    prediction: str, answers: list[str], expected: tuple[float, ...]
) -> None:
    """Worked examples keep their values, and all rules for yes and no are there at once."""
    found = metrics.answer_scores(prediction, answers)
    assert list(found) == ANSWERED
    assert tuple(found.values()) == pytest.approx(expected)


@pytest.mark.parametrize(("prediction", "answer", "expected"), ROUGE)
def test_rouge_l_is_that_of_its_package(prediction: str, answer: str, expected: float) -> None:
    """Stems are compared in order, in lower case, and no letters but a to z count."""
    assert metrics.rouge_l(prediction, [answer]) == pytest.approx(expected)


def test_rouge_l_takes_the_nearest_right_answer() -> None:
    """A second right answer can only help."""
    assert metrics.rouge_l("the old harbour", ["a lighthouse", "harbour"]) == 0.5


def test_rouge_l_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the stemmer there is a hint what to install."""
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(MissingExtra, match=r"clew\[eval\]"):
        metrics.rouge_l("unheardofword", ["unheardofword"])


@given(WORDS, WORDS)
def test_the_longest_common_part_is_that_of_the_table(a: list[str], b: list[str]) -> None:
    """Whole-number arithmetic gives what the usual table gives."""
    lengths = [[0] * (len(b) + 1)]
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(lengths[-1][j] + 1 if x == y else max(lengths[-1][j + 1], row[j]))
        lengths.append(row)
    assert common_length(a, b) == lengths[-1][-1] == common_length(b, a)


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
    for metric in (metrics.exact_match, metrics.contains, metrics.f1, metrics.rouge_l):
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
