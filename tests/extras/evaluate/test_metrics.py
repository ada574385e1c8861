"""Metrics on one ranked list or one answer."""

import math
import sys

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, MissingExtra
from clew.extras.evaluate import metrics
from clew.extras.evaluate.metrics import common_length

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


def by_definition(ranked, gold, ks):
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


def test_rankings_by_hand():
    """Gold at ranks 2 and 4 of five, and a third that is missing."""
    found = metrics.ranking(["a", "b", "c", "d", "e"], {"b", "d", "z"}, (1, 2, 5))
    names = "recall@1 recall@2 recall@5 all@1 all@2 all@5 nDCG@10 MRR@10"
    assert " ".join(found) == names
    assert [found[f"recall@{k}"] for k in (1, 2, 5)] == pytest.approx([0, 1 / 3, 2 / 3])
    assert found["all@5"] == 0
    assert found["MRR@10"] == 0.5
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["nDCG@10"] == pytest.approx(gain / ideal)
    found = metrics.ranking(["a", "b", "c"], ["a", "c"], (2, 3))
    assert (found["all@2"], found["all@3"]) == (0, 1)
    chunks = ["a", "a", "a", "b"]
    assert metrics.distinct(chunks) == ("a", "b")
    found = metrics.ranking(chunks, {"b"}, [2])
    assert (found["recall@2"], found["MRR@10"]) == (1, 0.5)
    assert set(metrics.ranking([], {"a"}, (5,)).values()) == {0.0}
    ids = [str(rank) for rank in range(1, 21)]
    assert metrics.ranking(ids, {"10"}, (20,))["MRR@10"] == 0.1
    beyond = metrics.ranking(ids, {"11"}, (20,))
    assert (beyond["recall@20"], beyond["nDCG@10"], beyond["MRR@10"]) == (1, 0, 0)
    with pytest.raises(InputError, match="without gold"):
        metrics.ranking(["a"], set(), (5,))
    with pytest.raises(InputError, match="at least 1, but is 0"):
        metrics.ranking(["a"], {"a"}, (5, 0))


@pytest.mark.parametrize(
    "id_", ["", "two words", "Ålesund\t1", "nul\0", "half \ud800", "other 0", "0"]
)
def test_an_id_may_be_any_string(id_):
    assert set(metrics.ranking([id_], [id_], (1,)).values()) == {1.0}
    found = metrics.ranking(["before", id_], [id_, "lost"], (1, 2))
    assert (found["recall@1"], found["recall@2"], found["MRR@10"]) == (0, 0.5, 0.5)


@given(IDS, GOLD, KS)
def test_rankings_are_measured_as_defined(ranked, gold, ks):
    found = metrics.ranking(ranked, gold, ks)
    expected = by_definition(ranked, gold, ks)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)
    assert all(0 <= value <= 1 for value in found.values())


@given(IDS, GOLD, KS)
def test_rankings_are_measured_as_by_trec_eval(ranked, gold, ks):
    """Recall, nDCG@10 and MRR@10 by ir-measures, which has trec_eval's own code."""
    ids = list(dict.fromkeys(ranked))
    run = {"q": {id_: float(len(ids) - rank) for rank, id_ in enumerate(ids)}}
    measures = {f"recall@{k}": ir_measures.R @ k for k in ks}
    measures |= {"nDCG@10": ir_measures.nDCG @ 10, "MRR@10": ir_measures.RR @ 10}
    relevant = {"q": dict.fromkeys(sorted(gold), 1)}
    oracle = ir_measures.calc_aggregate(list(measures.values()), relevant, run)
    found = metrics.ranking(ranked, gold, ks)
    for name, measure in measures.items():
        assert found[name] == pytest.approx(oracle[measure]), name


@given(GOLD)
def test_the_ideal_ranking_is_perfect(gold):
    found = metrics.ranking([*sorted(gold), "other"], gold, (len(gold), 20))
    assert found == pytest.approx(dict.fromkeys(found, 1.0))


def test_the_extra_of_the_stemmer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(MissingExtra, match=r"clew\[eval\]"):
        metrics.rouge_l("unheardofword", ["unheardofword"])  # a word that is in no cache


@pytest.mark.parametrize(("prediction", "answers", "expected"), PINNED)
def test_answer_metrics_are_as_pinned(prediction, answers, expected):
    found = metrics.answer_scores(prediction, answers)
    assert found.pop("ROUGE-L precision") >= found["ROUGE-L"] / 2
    assert list(found) == ANSWERED
    assert tuple(found.values()) == pytest.approx(expected)


@pytest.mark.parametrize(("prediction", "answer", "expected"), ROUGE)
def test_rouge_l_is_that_of_its_package(prediction, answer, expected):
    """Stems are compared in order, in lower case, and no letters but a to z count."""
    for answers in ([answer], ["a lighthouse", answer]):  # a second one can only help
        assert metrics.rouge_l(prediction, answers) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_the_longest_common_part_is_that_of_the_table(a, b):
    """Whole-number arithmetic gives what the usual table gives."""
    lengths = [[0] * (len(b) + 1)]
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(lengths[-1][j] + 1 if x == y else max(lengths[-1][j + 1], row[j]))
        lengths.append(row)
    assert common_length(a, b) == lengths[-1][-1] == common_length(b, a)


def test_the_precision_of_rouge_l_is_that_of_the_prediction():
    """AGRAG's paper divides by the generated answer alone: its two words of five."""
    given = "the ship Fram was built"
    assert metrics.rouge_l(given, ["Fram built by Archer"], precision=True) == pytest.approx(2 / 5)
    assert metrics.rouge_l(given, ["Fram built by Archer"]) == pytest.approx(4 / 9)
    assert metrics.rouge_l("", ["Fram"], precision=True) == 0
    assert metrics.answer_scores(given, ["Fram built"])["ROUGE-L precision"] == pytest.approx(0.4)


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
def test_ket_rule_for_yes_and_no(prediction, answer, expected):
    """KET-RAG's rule bars short predictions that differ and yes/no answers not contained."""
    assert metrics.f1(prediction, [answer], "ket") == pytest.approx(expected)


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
def test_normalisation_by_hand(text, normal):
    """Only ASCII punctuation goes, and articles go as words."""
    assert metrics.normalize_answer(text) == normal


@given(st.text())
def test_normalised_text_is_its_own_answer(text):
    normal = metrics.normalize_answer(text)
    assert normal == " ".join(normal.split())
    if normal:
        assert metrics.exact_match(text, [text]) == 1
        assert metrics.contains(text, [text]) == 1
        assert metrics.f1(text, [text]) == 1


@pytest.mark.parametrize("answers", [[], [""], ["Paris", "the"], ["?!"], "Paris"])
def test_empty_answers_are_refused(answers):
    """An empty right answer would be found in every text, so it is an error."""
    for metric in (metrics.exact_match, metrics.contains, metrics.f1, metrics.rouge_l):
        with pytest.raises(InputError, match="answer"):
            metric("anything", answers)


def test_answers_are_compared_as_normalised_texts():
    text = "They saw the Eiffel-free... Eiffel Tower!"
    assert metrics.contains(text, ["eiffel tower"]) == 1
    assert metrics.contains("in paris", ["Lyon", "Paris"]) == 1
    assert metrics.contains("in Paris", ["Lyon"]) == 0
    assert metrics.contains("", ["Lyon"]) == 0
    assert metrics.is_yes_no(["Yes."])
    assert metrics.is_yes_no(["no"])
    assert not metrics.is_yes_no(["Norway", "yes and no"])
    with pytest.raises(InputError, match=r"'squad'.*plain, hotpot, ket"):
        metrics.f1("a b", ["b"], "squad")
