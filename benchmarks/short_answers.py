"""Fit which span of the quotes is the short answer, and say how often one is given and right.

    python benchmarks/short_answers.py --indexes FOLDER --train DATASET... [--test DATASET...]
        [--fit]

A DATASET is a folder that `clew eval` takes; FOLDER has an index of its name for each. The weights
are fitted on the questions of the training sets, and on the parts that these are put together from,
where a data set has them, which count .7. A span is right if it is one of the answers by SQuAD's
normalisation, or has an F1 of .8 with it; the questions of a data set that are asked for yes or no,
or compare two things, are answered by rules, which are counted here.

EM and F1 are over all questions, those without a short answer 0. With --fit the weights are fitted
and printed, and what is fitted on is answered by models of five folds, by question.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from quotes import find_parts, parse_options
from scipy.optimize import minimize

import clew
from clew.asking.answer_spans import SpanSigns
from clew.asking.comparisons import compare_sides
from clew.asking.quotes import choose_quotes
from clew.asking.sentences import find_sentences
from clew.asking.short_answer import asks_for_span, name_compared
from clew.asking.span_weights import FITTED, SpanModel, read_confidence, share_scores
from clew.asking.support import judge_quotes
from clew.evaluate.metrics import exact_match, f1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDS, RIGHT = 5, 0.8
WEIGHTS = {"whole": 1.0, "part": 0.7}
PENALTY = 1.0  # of a standardised weight, squared


@dataclass(frozen=True)
class Case:
    """A question, what a comparison gives, and the signs of the spans."""

    row: Mapping[str, Any]
    kind: str  # "whole" or "part"
    signs: SpanSigns
    support: float | None
    read: list[dict[str, float]]
    compared: str | None  # its answer
    compares: bool  # whether it asks for yes, no or one of two names
    given: list[dict[str, float]]  # EM and F1 of each span

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each span is right."""
        return np.array([max(each["EM"], each["F1"]) >= RIGHT for each in self.given], dtype=bool)

    def answer(self, model: SpanModel) -> tuple[float, dict[str, float]]:
        """Return the probability and the scores of the short answer, 0 where there is none."""
        none = {"EM": 0.0, "F1": 0.0}
        if self.compared is not None:
            return model.compared, score_text(self.compared, self.row["answers"])
        if not self.read:
            return 0.0, none
        best, about = self.choose(model)
        return model.estimate(about), self.given[best]

    def choose(self, model: SpanModel) -> tuple[int, dict[str, float]]:
        """Return the best span, and what tells that it is right."""
        spans, scores = self.signs.spans, model.score(self.read)
        return read_confidence(spans, scores, self.read, self.support)


def read_dataset(folder: Path, indexes: Path, *, parts: bool) -> Iterator[Case]:
    """Yield the questions of a data set, and those that they are put together from."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with clew.open(indexes / folder.name) as index:
        for row in filter(lambda row: row["answers"], map(json.loads, lines)):
            yield read_case(index, row, "whole")
            for part in find_parts(row.get("decomposition", ()) if parts else ()):
                yield read_case(index, {**part, "id": row["id"]}, "part")


def read_case(index: clew.Index, row: Mapping[str, Any], kind: str) -> Case:
    """Return what is seen of a question."""
    question = row["question"]
    evidence = index.search(question)
    passages = clew.build_context(evidence).passages
    snapshot = index.snapshot()
    sentences = find_sentences(passages, snapshot)
    quotes, told = choose_quotes(question, sentences, passages, index.models, snapshot)
    signs = SpanSigns(question, quotes, passages, index.models)
    return build_case(row, kind, signs, judge_quotes(evidence, told).support)


def build_case(row: Mapping[str, Any], kind: str, signs: SpanSigns, support: float | None) -> Case:
    """Return what is seen of a question in its quotes."""
    outcome = compare_sides(row["question"], signs.quotes, signs.mentions)
    named = None if outcome is None else name_compared(outcome, signs.quotes, 1.0)
    compares = named is not None or not asks_for_span(signs)
    read = [] if compares else signs.read()
    given = [score_text(span.text, row["answers"]) for span in signs.spans] if read else []
    text = None if named is None else named.text
    return Case(row, kind, signs, support, read, text, compares, given)


def score_text(text: str, answers: Sequence[str]) -> dict[str, float]:
    """Return EM and F1 of a text."""
    return {"EM": exact_match(text, answers), "F1": f1(text, answers)}


# -- fitting --------------------------------------------------------------------------------------


def fit_model(cases: Sequence[Case]) -> SpanModel:
    """Return the model of most penalised likelihood, for the least probability of the module."""
    right = fit_right(
        cases, estimate_folds(cases, lambda some: replace(FITTED, span=fit_spans(some)))
    )
    said = [case.answer(FITTED)[1] for case in cases if case.compared is not None]
    compared = (sum(max(each.values()) >= RIGHT for each in said) + 1) / (len(said) + 2)
    return SpanModel(fit_spans(cases), right, round(compared, 3), FITTED.least)


def estimate_folds(
    cases: Sequence[Case], fit: Callable[[Sequence[Case]], SpanModel]
) -> list[SpanModel]:
    """Return for each case a model that was fitted on the other folds of questions."""
    groups = sorted({case.row["id"] for case in cases})
    drawn = np.random.default_rng(0).permutation(len(groups)) % FOLDS
    fold = dict(zip(groups, drawn.tolist(), strict=True))
    models = [fit([c for c in cases if fold[c.row["id"]] != f]) for f in range(FOLDS)]
    return [models[fold[case.row["id"]]] for case in cases]


def fit_spans(cases: Sequence[Case]) -> dict[str, float]:
    """Return the weights of signs, by which the right spans stand out of all of a question."""
    cases = [case for case in cases if case.right.any()]
    names = sorted({name for case in cases for each in case.read for name in each})
    signs = [np.array([[e.get(n, 0.0) for n in names] for e in case.read]) for case in cases]
    scale = np.concatenate(signs).std(axis=0) + 1e-6

    def loss(w: Floats) -> tuple[float, Floats]:
        value, gradient = PENALTY * float(w @ w), 2 * PENALTY * w
        for case, raw in zip(cases, signs, strict=True):
            standard, weight = raw / scale, WEIGHTS[case.kind]
            shares = share_scores(standard @ w)
            held = np.where(case.right, shares, 0.0)
            value -= weight * float(np.log(held.sum()))
            gradient = gradient - weight * standard.T @ (held / held.sum() - shares)
        return value, gradient

    fitted = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x / scale
    return {name: round(float(w), 3) for name, w in zip(names, fitted, strict=True)}


def fit_right(cases: Sequence[Case], models: Sequence[SpanModel]) -> dict[str, float]:
    """Return the weights of what tells that the best span is right, by models of other folds."""
    found = [(c, c.choose(model)) for c, model in zip(cases, models, strict=True) if c.read]
    names = list(found[0][1][1])
    signs = np.array([[about[name] for name in names] for _, (_, about) in found])
    truth = np.array([float(case.right[best]) for case, (best, _) in found])
    weights = np.array([WEIGHTS[case.kind] for case, _ in found])

    def loss(w: Floats) -> tuple[float, Floats]:
        z = signs @ w
        error = weights * (1 / (1 + np.exp(-z)) - truth)
        value = float((weights * (np.logaddexp(0, z) - truth * z)).sum() + 0.1 * w @ w)
        return value, signs.T @ error + 0.2 * w

    fitted = minimize(loss, np.zeros(len(names)), jac=True).x
    return {name: round(float(w), 3) for name, w in zip(names, fitted, strict=True)}


# -- measuring ------------------------------------------------------------------------------------


def print_scores(name: str, cases: Sequence[Case], models: Sequence[SpanModel]) -> None:
    """Print EM and F1 over all questions, how many are answered, and how many of these are right.

    The last column is how many the likeliest answers are of which four of five are right.
    """
    kinds = defaultdict(list)
    for case, model in zip(cases, models, strict=True):
        probability, scores = case.answer(model)
        told = scores if probability >= model.least else {"EM": 0.0, "F1": 0.0}
        is_right = max(scores["EM"], scores["F1"]) >= RIGHT
        line = (probability, told["EM"], told["F1"], probability >= model.least, is_right)
        asked = "yes, no, compared" if case.compares else "other"
        for kind in (case.kind, f"{case.kind}: {asked}"):
            kinds[kind].append(line)
    for kind, lines in kinds.items():
        _, em, f1, given, right = np.array(lines, dtype=np.float64).T
        n_good = int((given * right).sum())
        ranked = [each[-1] for each in sorted(lines, key=lambda each: -each[0]) if each[0] > 0]
        shares = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
        most = int(max(np.flatnonzero(shares >= RIGHT) + 1, default=0))
        print(
            f"| {name} | {kind} | {len(lines)} | {em.mean():.3f} | {f1.mean():.3f}"
            f" | {int(given.sum())} | {n_good} | {most} |",
            flush=True,
        )


def main() -> None:
    """Fit or measure, and print."""
    options = parse_options(__doc__)
    sets = {
        path.name: list(read_dataset(path, options.indexes, parts=True)) for path in options.train
    }
    cases = [case for each in sets.values() for case in each]
    model = fit_model(cases) if options.fit else FITTED
    models = estimate_folds(cases, fit_model) if options.fit else [FITTED] * len(cases)
    print("| questions | kind | n | EM | F1 | given | right | given at .8 |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    at = 0
    for name, each in sets.items():
        print_scores(name, each, models[at : at + len(each)])
        at += len(each)
    for path in options.test:
        read = list(read_dataset(path, options.indexes, parts=False))
        print_scores(path.name, read, [model] * len(read))
    if options.fit:
        print(model)


if __name__ == "__main__":
    main()
