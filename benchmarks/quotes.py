"""Fit which sentences are quoted, and say how often the answer is in the quotes.

    python benchmarks/quotes.py --indexes FOLDER --train DATASET... [--test DATASET...] [--fit]

A DATASET is a folder that `clew eval` takes; FOLDER has an index of its name for each. What is
fitted on is, with its weight:

    chain    the questions of the training sets that no single document answers, 1
    part     the questions that these are put together from, where a data set has them, .5
    page     questions whose "kind" in a data set says that one statement answers them, 1
    sub      two or more of these steps in one, in words that the steps give, 1
    records  `records.json`: questions about one of several alike records, all of our own words, .1

A sentence holds the answer if it has one of the answers as whole words, and is of a document that
supports it, where any sentence is both. With --fit the weights are fitted and printed as the module
has them, and the shares of what is fitted on are of four folds, by question or set of records;
else the module's own are measured. Shares are of the questions whose context has the answer: how
often the first quote holds it, and any; the last column is the mean number of quotes. Questions of
yes or no count nowhere. Scores repeat to the digit.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

import clew
from clew.answers import quotes
from clew.answers.question import MAX_QUOTES
from clew.answers.sentence_features import SentenceFeatures
from clew.answers.sentence_weights import FITTED, SentenceModel
from clew.answers.sentences import find_sentences, read_sentences
from clew.extras.evaluate.metrics import normalize_answer
from clew.text.questions import is_yes_no

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDS = 4
WEIGHTS = {"chain": 1.0, "part": 0.5, "page": 1.0, "sub": 1.0, "records": 0.1}
PENALTY = 1.0  # of a standardised weight, squared
# Features of the sentence that ends a chain; the others tell one sentence from its neighbours.
ENDS = (
    *("gap", "asked", "kind", "place", "first", "titled words", "same code"),
    *("named", "asks", "subject", "forms", "a number", "a date", "a day", "a place", "a person"),
)
# A step as a part of another: "the company that published A", of "What company published A?".
PHRASES = (
    (r"(?:what|which) (\w+) (?:is|was|are|were) (\w+ed\b.*|in.*|the.*)", r"the \1 that is \2"),
    (r"(?:what|which) (\w+) (?:is|was|are|were) (.*)", r"the \1 of \2"),
    (r"(?:what|which) (\w+(?: \w+)?) (?:did|does|do) (.*)", r"the \1 where \2"),
    (r"(?:what|which) (\w+) (.*)", r"the \1 that \2"),
    (r"(?:who|what) (?:is|was|are|were) (?:the )?(.*)", r"the \1"),
    (r"who (.*)", r"the person who \1"),
    (r"where (?:is|was|are|were|did|does) (.*)", r"the place of \1"),
)
RECORDS = Path(__file__).with_name("records.json")


@dataclass(frozen=True)
class Case:
    """The features of a question's sentences, and which of them hold the answer."""

    kind: str
    group: str  # of what is in one fold
    features: SentenceFeatures
    holds: NDArray[np.bool_]
    passages: Sequence[clew.Passage]

    def choose(self, model: SentenceModel) -> list[int]:
        """Return the rows of the quotes, the first one first."""
        estimated = model.estimate(self.features)
        likely = estimated.shares
        rows = quotes.choose_sentences(self.features, likely, estimated.bridges, MAX_QUOTES)
        sentences = [self.features.sentences[i] for i in rows]
        built = quotes.build_quotes(sentences, likely[rows], self.passages)
        built = quotes.move_answer_first(self.features.question, built)
        ends = [(self.passages[s.place], self.passages[s.place].start + s.end) for s in sentences]
        return [rows[ends.index((each.passage, each.end))] for each in built]


# -- what is asked --------------------------------------------------------------------------------


def read_case(index: clew.Index, row: Mapping[str, Any], kind: str, group: str) -> Case | None:
    """Return what is seen of a question, None where its context is empty or has no answer."""
    question = row["question"]
    context = clew.build_context(index.search(question))
    passages = context.passages
    sentences = find_sentences(passages, index.snapshot())
    answers = [f" {normalize_answer(answer)} " for answer in row["answers"]]
    texts = [f" {normalize_answer(s.text)} " for s in sentences]
    has = np.array([any(answer in text for answer in answers) for text in texts])
    if not has.any() or is_yes_no(question):
        return None
    gold = np.isin([passages[s.place].document_id for s in sentences], row["supporting_ids"])
    reading = read_sentences(question, sentences, passages, index.models, index.snapshot())
    features = SentenceFeatures(question, sentences, reading)
    return Case(kind, group, features, has & gold if (has & gold).any() else has, passages)


def read_dataset(folder: Path, indexes: Path) -> Iterator[Case]:
    """Yield the questions of a data set, their parts, and what is put together from these."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with clew.open(indexes / folder.name) as index:
        for row in map(json.loads, lines):
            kind = row.get("kind", "chain")
            if row["answers"] and (case := read_case(index, row, kind, row["id"])):
                yield case
            steps = row.get("decomposition", ())
            for kind, asked in (("part", find_parts(steps)), ("sub", find_chains(steps))):
                for part in asked:
                    if case := read_case(index, part, kind, row["id"]):
                        yield case


def find_parts(steps: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the steps of a question as questions of their own, each with the answers before it."""
    answers: list[str] = []
    for step in steps:
        text = step["question"]
        for number, answer in enumerate(answers, 1):
            text = text.replace(f"#{number}", answer)
        answers.append(step["answer"])
        supporting = [step["supporting_id"]]
        yield {
            "question": as_question(text),
            "answers": [step["answer"]],
            "supporting_ids": supporting,
        }


def find_chains(steps: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield each run of two steps or more, of which every one needs the one before, as one."""
    for first in range(len(steps) - 1):
        known = {f"#{n}": step["answer"] for n, step in enumerate(steps[:first], 1)}
        for last, step in enumerate(steps[first:], first):
            text = step["question"].strip()
            if last > first and (f"#{last}" not in text or f"#{last}" not in known):
                break
            for name, phrase in known.items():
                text = text.replace(name, phrase)
            if last > first and "#" not in text:
                supporting = [each["supporting_id"] for each in steps[first : last + 1]]
                question = as_question(text)
                answers = [step["answer"]]
                yield {"question": question, "answers": answers, "supporting_ids": supporting}
            if phrase := as_phrase(text):
                known[f"#{last + 1}"] = phrase


def as_question(step: str) -> str:
    """Return a step as a question: one of a subject and its relation is asked in words."""
    subject, between, relation = step.partition(">>")
    return f"What is the {relation.strip()} of {subject.strip()}?" if between else step


def as_phrase(step: str) -> str:
    """Return what a step asks for as a noun phrase, "" where no rule gives one."""
    subject, between, relation = step.partition(">>")
    if between:
        return f"the {relation.strip()} of {subject.strip()}"
    asked = re.sub(r"^(?:in|on|at) ", "", step.rstrip("? "), flags=re.IGNORECASE)
    for pattern, phrase in PHRASES:
        if match := re.fullmatch(pattern, asked, re.IGNORECASE):
            return match.expand(phrase)
    return ""


def read_records() -> Iterator[Case]:
    """Yield the questions about alike records: each a document, then all of a set in one."""
    sets = json.loads(RECORDS.read_text(encoding="utf-8"))
    models = None
    for together in (False, True):
        with (
            tempfile.TemporaryDirectory() as folder,
            clew.open(f"{folder}/i.clew", models=models) as index,
        ):
            models = index.models
            index.add(
                [
                    doc
                    for n, each in enumerate(sets)
                    for doc in documents(n, each, together=together)
                ]
            )
            for n, each in enumerate(sets):
                for i, row in enumerate(each["rows"]):
                    values = dict(zip("abc", row, strict=False))
                    [answer] = [t[1:].format(**values) for t in each["text"] if t[0] == "*"]
                    asked = each["ask"][i : i + 1] if each.get("order") else each["ask"]
                    name = f"{n}" if together else f"{n}-{i}"
                    given = {"answers": [answer], "supporting_ids": [name]}
                    for text in asked:
                        question = given | {"question": text.format(**values)}
                        if case := read_case(index, question, "records", f"set {n}"):
                            yield case


def documents(n: int, each: Mapping[str, Any], *, together: bool) -> list[clew.Document]:
    """Return a set of records as documents."""
    rows = [dict(zip("abc", row, strict=False)) for row in each["rows"]]
    texts = [" ".join(text.lstrip("*").format(**row) for text in each["text"]) for row in rows]
    if together:
        return [clew.Document(id=f"{n}", title="Handbook", text="\n\n".join(texts))]
    return [clew.Document(id=f"{n}-{i}", text=text) for i, text in enumerate(texts)]


# -- fitting --------------------------------------------------------------------------------------


def fit_model(cases: Sequence[Case]) -> SentenceModel:
    """Return the model of most penalised likelihood of the sentences that hold the answers."""
    asked = [case for case in cases if not case.features.sides]
    names = list(cases[0].features.columns)
    single = [case for case in asked if case.kind in {"part", "page", "records"}]
    one = fit_softmax(
        single,
        names,
        [np.stack([case.features.columns[name] for name in names], axis=1) for case in single],
        [case.holds for case in single],
    )
    chained = [
        case
        for case in asked
        if case.kind not in {"part", "page"} and case.holds[case.features.chains.answers].any()
    ]
    names = [*chained[0].features.chains.columns, *ENDS]
    pair = fit_softmax(
        chained,
        names,
        [
            np.stack([case.features.chains.column(name, case.features) for name in names], axis=1)
            for case in chained
        ],
        [case.holds[case.features.chains.answers] for case in chained],
    )
    return SentenceModel(one=one, pair=pair, way=fit_way(cases))


def fit_softmax(
    cases: Sequence[Case],
    names: Sequence[str],
    features: Sequence[Floats],
    holding: Sequence[NDArray[np.bool_]],
) -> dict[str, float]:
    """Return the weights of features, by which what holds the answer stands out of its context."""
    scale = np.concatenate(features).std(axis=0) + 1e-6

    def loss(w: Floats) -> tuple[float, Floats]:
        value, gradient = PENALTY * w @ w, 2 * PENALTY * w
        for case, raw, holds in zip(cases, features, holding, strict=True):
            standard = raw / scale
            scores = standard @ w
            shares = np.exp(scores - scores.max())
            held = np.where(holds, shares, 0.0)
            weight = WEIGHTS[case.kind]
            value -= weight * float(np.log(held.sum() / shares.sum() + 1e-300))
            inside = held / max(float(held.sum()), 1e-300)
            gradient = gradient - weight * standard.T @ (inside - shares / shares.sum())
        return value, gradient

    fitted = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B").x / scale
    return {name: round(float(w), 3) for name, w in zip(names, fitted, strict=True)}


def fit_way(cases: Sequence[Case]) -> dict[str, float]:
    """Return the weights of what tells that one sentence answers a question."""
    cases = [case for case in cases if case.kind != "sub"]
    names = list(cases[0].features.question_features)
    features = np.array(
        [[case.features.question_features[name] for name in names] for case in cases]
    )
    scale = features.std(axis=0) + 1e-6
    scale[0] = 1.0  # of the constant
    features /= scale
    truth = np.array([case.kind != "chain" for case in cases], dtype=np.float64)
    weights = np.array([WEIGHTS[case.kind] for case in cases])

    def loss(w: Floats) -> tuple[float, Floats]:
        z = features @ w
        error = weights * (1 / (1 + np.exp(-z)) - truth)
        value = (weights * (np.logaddexp(0, z) - truth * z)).sum() + 0.5 * w @ w
        return float(value), features.T @ error + w

    fitted = dict(zip(names, minimize(loss, np.zeros(len(names)), jac=True).x / scale, strict=True))
    return {name: round(float(w), 3) for name, w in fitted.items()}


# -- measuring ------------------------------------------------------------------------------------


def measure_folds(cases: Sequence[Case]) -> list[list[int]]:
    """Return the quotes of each case by a model that was fitted on the other folds."""
    groups = sorted({case.group for case in cases})
    drawn = np.random.default_rng(0).permutation(len(groups)) % FOLDS
    fold = dict(zip(groups, drawn.tolist(), strict=True))
    models = [fit_model([c for c in cases if fold[c.group] != f]) for f in range(FOLDS)]
    return [case.choose(models[fold[case.group]]) for case in cases]


def print_shares(name: str, cases: Sequence[Case], chosen: Sequence[Sequence[int]]) -> None:
    """Print how often the first quote holds the answer, how often any does, of how many."""
    by_kind = defaultdict(list)
    for case, rows in zip(cases, chosen, strict=True):
        by_kind[case.kind].append((case.holds[rows[0]], case.holds[rows].any(), len(rows)))
    for kind, held in by_kind.items():
        first, some, n = np.mean(held, axis=0)
        print(f"| {name} | {kind} | {len(held)} | {first:.3f} | {some:.3f} | {n:.1f} |", flush=True)


def parse_options(description: str) -> argparse.Namespace:
    """Return the options of a benchmark that fits weights on data sets."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs="*", default=[])
    parser.add_argument("--fit", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Fit or measure, and print."""
    options = parse_options(__doc__)
    sets = {path.name: list(read_dataset(path, options.indexes)) for path in options.train}
    sets["records.json"] = list(read_records())
    cases = [case for each in sets.values() for case in each]
    names = [name for name, each in sets.items() for _ in each]
    chosen = measure_folds(cases) if options.fit else [case.choose(FITTED) for case in cases]
    print("| questions | kind | n | first | any | quotes |\n|---|---|---:|---:|---:|---:|")
    for name in sets:
        mine = [i for i, each in enumerate(names) if each == name]
        print_shares(name, [cases[i] for i in mine], [chosen[i] for i in mine])
    model = fit_model(cases) if options.fit else FITTED
    for path in options.test:
        found = [case for case in read_dataset(path, options.indexes) if case.kind == "chain"]
        print_shares(path.name, found, [case.choose(model) for case in found])
    if options.fit:
        for name in ("one", "pair", "way"):
            print(f"{name}={getattr(model, name)!r},")


if __name__ == "__main__":
    main()
