"""Metrics of one ranked list, answer or labels, from 0 to 1. `summary` takes the means.

Ranking metrics are defined as by trec_eval, over documents: of repeated ids, as a list of chunks
gives, the first counts. Answer metrics are SQuAD's (Rajpurkar et al. 2016,
arXiv:1606.05250) and ROUGE-L, the best over the right answers; an empty prediction scores 0.
Coverage is KET-RAG's (Huang et al. 2025, arXiv:2502.09304). The ranking metrics are our own because
the packages of trec_eval have no wheel for ARM Linux; a test compares the two.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from clew.base.runtime.lazy import needs
from clew.errors import InputError

YesNo = Literal["plain", "hotpot", "ket"]

DEEPEST = 10  # what nDCG looks at, whatever the cut-offs

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def distinct(ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids without repeats, in order of first occurrence."""
    return tuple(dict.fromkeys(ids))


def ranking(
    ranked_ids: Iterable[str], gold: Collection[str], ks: Iterable[int]
) -> dict[str, float]:
    """Return recall@k and all@k for each of `ks`, nDCG@10 and MRR@10 of a ranking, in this order.

    all@k is 1 where every gold document is among the first k, else 0. In nDCG a gold document has
    the gain 1. A gold document that the corpus lacks counts as one that was not found. Raises
    InputError without gold or for a k below 1.
    """
    cuts, relevant = tuple(dict.fromkeys(ks)), set(gold)
    if not relevant:
        raise InputError("a question without gold documents has no ranking metric")
    if min(cuts, default=1) < 1:
        raise InputError(f"k must be at least 1, but is {min(cuts)}")
    ids = distinct(ranked_ids)
    found = {k: len(relevant.intersection(ids[:k])) for k in cuts}
    ranks = [rank for rank, id_ in enumerate(ids[:DEEPEST], 1) if id_ in relevant]
    best = range(1, min(len(relevant), DEEPEST) + 1)
    return {
        **{f"recall@{k}": n / len(relevant) for k, n in found.items()},
        **{f"all@{k}": float(n == len(relevant)) for k, n in found.items()},
        "nDCG@10": _sum_gains(ranks) / _sum_gains(best),
        "MRR@10": 1 / ranks[0] if ranks else 0.0,
    }


def _sum_gains(ranks: Iterable[int]) -> float:
    """Return the discounted cumulative gain of relevant documents at these ranks."""
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)


def answer_scores(prediction: str, answers: Sequence[str]) -> dict[str, float]:
    """Return EM, F1 with and without the yes/no rule, Acc and ROUGE-L of an answer.

    Raises InputError where a right answer is empty, MissingExtra as `rouge_l` does.
    """
    return {
        "EM": exact_match(prediction, answers),
        **{f"F1 {rule}": f1(prediction, answers, rule) for rule in _BARRED},
        "Acc": contains(prediction, answers),
        "ROUGE-L": rouge_l(prediction, answers),
        "ROUGE-L precision": rouge_l(prediction, answers, precision=True),
    }


def normalize_answer(text: str) -> str:
    """Lower-case, delete ASCII punctuation, drop the words a, an and the, collapse spaces."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def is_yes_no(answers: Sequence[str]) -> bool:
    """Check whether a gold answer is yes or no, which a text may contain by chance."""
    return not {"yes", "no"}.isdisjoint(normalize_answer(a) for a in answers)


def contains(prediction: str, answers: Sequence[str]) -> float:
    """Return 1 if the normalized prediction contains a gold answer, else 0.

    Clue-RAG's Acc, and of a context KET's coverage. A substring, not a word: "no" is contained in
    "I do not know".
    Raises InputError where an answer is empty.
    """
    given = normalize_answer(prediction)
    return float(any(answer in given for answer in _normalize_answers(answers)))


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """Return 1 if the normalized prediction equals a gold answer, else 0.

    Raises InputError where an answer is empty.
    """
    return float(normalize_answer(prediction) in _normalize_answers(answers))


def f1(prediction: str, answers: Sequence[str], yes_no: YesNo = "plain") -> float:
    """Return the best F1 of the prediction's tokens with a gold answer's, as multisets.

    `yes_no` says which pairs score 0 although they share tokens: 'plain' none; 'hotpot' (the
    official script of HotpotQA and 2Wiki) those that differ where either is yes, no or noanswer;
    'ket' (KET-RAG's script) those whose prediction is yes, no or "insufficient information" and
    differs, or whose answer is yes or no and is not in the prediction.
    Raises InputError where an answer is empty or the rule unknown.
    """
    if yes_no not in _BARRED:
        raise InputError(f"no yes/no rule {yes_no!r}. Hint: one of {', '.join(_BARRED)}")
    given, scores = normalize_answer(prediction), [0.0]
    for answer in _normalize_answers(answers):
        if not _BARRED[yes_no](given, answer):
            tokens, wanted = given.split(), answer.split()
            shared = sum((Counter(tokens) & Counter(wanted)).values())
            scores.append(2 * shared / (len(tokens) + len(wanted)))
    return max(scores)


def rouge_l(prediction: str, answers: Sequence[str], *, precision: bool = False) -> float:
    """Return the best ROUGE-L F-measure with a gold answer, as in GraphRAG-Bench.

    ROUGE-L (Lin 2004, aclanthology.org/W04-1013) as the package rouge-score computes it, 0 where
    there are no words. These are runs of a to z and of digits in lower case, those of more than
    three letters stemmed by Porter's algorithm. The `precision`, the common part as a share of the
    prediction, is ROUGE-L as AGRAG's paper prints it.

    Raises InputError where an answer is empty, MissingExtra where the stemmer is not installed.
    """
    _normalize_answers(answers)
    given, scores = _stems(prediction), []
    for answer in answers:
        wanted = _stems(answer)
        common, length = common_length(given, wanted), len(given) + len(wanted) or 1
        scores.append(common / (len(given) or 1) if precision else 2 * common / length)
    return max(scores)


def _normalize_answers(answers: Sequence[str]) -> list[str]:
    if isinstance(answers, str) or not answers:
        raise InputError(f"answers must be a list with at least one text, but are {answers!r}")
    normalized = [normalize_answer(answer) for answer in answers]
    if "" in normalized:
        empty = answers[normalized.index("")]
        raise InputError(f"the right answer {empty!r} is empty once normalised: any text matches")
    return normalized


def _differ_hotpot(given: str, answer: str) -> bool:
    return given != answer and not {"yes", "no", "noanswer"}.isdisjoint((given, answer))


def _differ_ket(given: str, answer: str) -> bool:
    refused = given in {"yes", "no", "insufficient information"} and given != answer
    return refused or (answer in {"yes", "no"} and answer not in given)


_BARRED: Mapping[YesNo, Callable[[str, str], bool]] = {
    "plain": lambda _given, _answer: False,
    "hotpot": _differ_hotpot,
    "ket": _differ_ket,
}


_WORD = re.compile("[a-z0-9]+")
_MIN_STEM_LENGTH = 3  # letters of a word that is not stemmed


def common_length(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of `a` and `b`.

    Bit-parallel (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"): bit i of `row` is 0
    where the common part with a[: i + 1] is longer than that with a[:i], and each item of `b` takes
    a few operations on one whole number of len(a) bits.
    """
    places: dict[Hashable, int] = {}
    for i, item in enumerate(a):
        places[item] = places.get(item, 0) | 1 << i
    every = (1 << len(a)) - 1
    row = every
    for item in b:
        met = row & places.get(item, 0)
        row = (row + met | row - met) & every
    return len(a) - row.bit_count()


def _stems(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [_stem(word) if len(word) > _MIN_STEM_LENGTH else word for word in words]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    with needs("snowballstemmer", "eval", "ROUGE-L"):
        import snowballstemmer
    stem: str = snowballstemmer.stemmer("porter").stemWord(word)
    return stem
