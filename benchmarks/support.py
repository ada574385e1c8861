"""Fit the weights of `clew.answers.support` and say how well it tells which questions have answers.

    python benchmarks/support.py --indexes FOLDER --train DATASET... [--test DATASET...]
        [--asked INDEX=FILE]... [--pages FILE]... [--method NAME] [--fit]

A DATASET is a folder that `clew eval` takes; FOLDER has an index of its name for each. FILE has a
question a line, as JSON with "question" and "answerable", for the index of that name. An
unanswerable question is one of these kinds:

    gone     all of its supporting documents are out of the index, with all that only they have
    last     only the one with the answer is: the others are still about the question
             (of alike records, `records.json`, the one that is asked for is `gone`)
    foreign  it is asked of the index of another training set
    asked    FILE says so
    near     a page of `pages` is about its subject, and does not say what is asked
    far      it is about another page of another kind

The pages, contracts to tables, are of our own words. Each is asked in indexes of 1 to 1,000
documents, among those of the first training set: half of them to fit on, the others not. --pages
names a further file of their form to fit on: the weights of the module were fitted with 232
passages of public reading sets, whose questions share few words with them.

A question for which the method finds nothing is left out: its support is 0, whatever the weights.

With --fit the weights are fitted on the training sets, and printed as the module has them; the
rates of the training sets are of five folds by question. `SHARES` are the weights of the kinds.
Records weigh .3 and `last` .15, both for quotes alone, whose model takes the support of the
evidence as the module has it: fit twice. Pages are left out for relevance. Else the weights of the
module are measured.
`refused` is the share below the default of `min_support`. Scores repeat to the digit.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import quotes
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

import clew
from clew import methods
from clew.answers import support
from clew.answers.context import build_context
from clew.answers.question import MIN_SUPPORT
from clew.answers.quotes import choose_quotes
from clew.answers.sentences import find_sentences
from clew.evaluate import load
from clew.index.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.extras.evaluate.datasets import DatasetQuestion
    from clew.models import Models

KINDS = ("late", "words")
FOLDS, BINS = 5, 10
RECORDS = 0.3  # the weight of a question about records
# Weights of what is fitted.
SHARES = {"answerable": 1.0, "gone": 0.5, "foreign": 1.0, "near": 1.0, "far": 1.0}
PAGE = 0.35  # the weight of a question about a page, which is asked at several sizes
MORE = 0.3  # the weight of one about a page of --pages
ANSWERED = 1.3  # times that of one that its page answers: a refusal is worse than a far quote
PAGES = Path(__file__).with_name("pages")
SIZES = (1, 3, 10, 100, 1000)  # documents of an index with a page
MORE_SIZES = (1, 10)  # with one of --pages
FAR = 6  # questions asked of a page that are about others
LAST = 0.15  # the weight of the kind `last`, on which quotes alone are fitted
PENALTY = 0.3  # variance of a standardised weight


@dataclass(frozen=True)
class Seen:
    """The features of one question at one index."""

    dataset: str
    kind: str
    question: str
    of_set: Mapping[str, NDArray[np.float64]]  # by how they were read
    of_each: Mapping[str, NDArray[np.float64]]
    of_quotes: NDArray[np.float64]  # (1, m)
    needed: NDArray[np.float64]  # (n,), 1 for a hit of a supporting document


# -- signs ----------------------------------------------------------------------------------------


def cases(name: str, options: argparse.Namespace) -> Iterator[Seen]:
    """Yield what is seen of the questions of a dataset, and of its unanswerable kinds."""
    dataset = load(find(options.train + options.test, name))
    with clew.open(options.indexes / name) as index:
        whole, models = index.snapshot(), index.models
        documents = whole.layer("document")
        for question in (each for each in dataset.questions if each.supporting_ids):
            gold = documents.rows(question.supporting_ids)
            last = [with_answer(question, gold, documents.texts(gold))]
            kinds = {"answerable": whole, "gone": without(whole, gold)}
            kinds["last"] = without(whole, last)
            for kind, snapshot in kinds.items():
                if seen := read(question.text, snapshot, models, options.method):
                    yield made(name, kind, question.text, seen, question.supporting_ids)
        for other in [path for path in options.train if path.name != name]:
            for question in load(other).questions:
                if seen := read(question.text, whole, models, options.method):
                    yield made(name, "foreign", question.text, seen, ())


def records(options: argparse.Namespace) -> Iterator[Seen]:
    """Yield what is seen of questions about alike records, each there and then gone."""
    sets = json.loads(quotes.RECORDS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, clew.open(f"{folder}/i.clew") as index:
        index.add(
            [d for n, each in enumerate(sets) for d in quotes.documents(n, each, together=False)]
        )
        whole = index.snapshot()
        for n, each in enumerate(sets):
            for i, row in enumerate(each["rows"]):
                name = f"{n}-{i}"
                asked = each["ask"][i % len(each["ask"])].format(
                    **dict(zip("abc", row, strict=False))
                )
                gone = without(whole, whole.layer("document").rows([name]))
                for kind, snapshot in (("answerable", whole), ("gone", gone)):
                    if seen := read(asked, snapshot, index.models, options.method):
                        yield made("records", kind, asked, seen, (name,))


@dataclass(frozen=True)
class Page:
    """A page, with the questions that it answers and others about its subject."""

    name: str
    kind: str
    text: str
    answered: Sequence[str]
    near: Sequence[str]


def read_pages(file: Path) -> Iterator[Page]:
    """Yield the pages of a file: "=== name kind language", the text, then "Q: " and "N: " lines."""
    for block in re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        name, kind, _ = head.split()
        text, questions = re.fullmatch(r"(.*?\n)((?:[QN]: [^\n]*\n)+)", body, re.DOTALL).groups()
        lines = [line.partition(" | ")[0] for line in questions.splitlines()]
        parts = ([line[3:] for line in lines if line[0] == letter] for letter in "QN")
        yield Page(name, kind, text, *parts)


def pages(
    file: Path, name: str, options: argparse.Namespace, sizes: Sequence[int] = SIZES
) -> Iterator[Seen]:
    """Yield what is seen of the questions about pages, in indexes of several sizes."""
    all_pages = list(read_pages(file))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        index_folder = Path(folder, "i.clew")
        shutil.copytree(options.indexes / options.train[0].name, index_folder)
        with clew.open(index_folder) as index:
            others = index.snapshot().layer("document")
            others = others.ids(range(len(others)))
            for page in all_pages:
                Path(folder, page.name).write_text(page.text, encoding="utf-8")
                index.add(Path(folder, page.name))
            whole, models = index.snapshot(), index.models
            documents = whole.layer("document")
            rows = documents.rows(others)
            own = sorted({*range(len(documents))} - {*rows})
            ids = documents.ids(own)
            for page in all_pages:
                mine = [row for row, name in zip(own, ids, strict=True) if page.name in name]
                far = [q for each in all_pages if each.kind != page.kind for q in each.answered]
                far = [q for q in far if len(q.split()) > 4]
                for size in sizes:
                    beside = rng.permutation(rows)[: max(size - len(mine), 0)]
                    snapshot = whole.among(np.array(sorted([*mine, *beside.tolist()])))
                    kinds = {"answerable": page.answered}
                    if size <= 10:  # among more documents some other may answer
                        kinds["near"] = page.near
                        kinds["far"] = rng.choice(far, FAR, replace=False).tolist()
                    for kind, questions in kinds.items():
                        for question in questions:
                            if seen := read(question, snapshot, models, options.method):
                                yield made(f"{name} {size}", kind, question, seen, ())


def asked(given: str, options: argparse.Namespace) -> Iterator[Seen]:
    """Yield what is seen of the questions in a file."""
    name, _, file = given.partition("=")
    with clew.open(options.indexes / name) as index:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = "answerable" if row["answerable"] else "asked"
            if seen := read(row["question"], index.snapshot(), index.models, options.method):
                yield made(name, kind, row["question"], seen, ())


def without(snapshot: Snapshot, documents: Sequence[int]) -> Snapshot:
    """Return the snapshot as if documents had never been added."""
    assert snapshot.among is not None  # noqa: S101 -- it is of a store
    return snapshot.among(np.setdiff1d(np.arange(len(snapshot.document_layer)), documents))


def find(paths: Sequence[Path], name: str) -> Path:
    """Return the path of the dataset of that name."""
    return next(path for path in paths if path.name == name)


def with_answer(question: DatasetQuestion, rows: Sequence[int], texts: Sequence[str]) -> int:
    """Return the last of some documents in which an answer stands, else the last."""
    holds = [
        any(answer.casefold() in text.casefold() for answer in question.answers) for text in texts
    ]
    return next((row for row, has in zip(rows[::-1], holds[::-1], strict=True) if has), rows[-1])


Read = tuple[dict[str, support.Features], tuple[str, ...], NDArray[np.float64]]


def read(question: str, snapshot: Snapshot, models: Models, method: str) -> Read | None:
    """Return the signs that are read either way, and the documents of the hits, None without."""
    evidence = methods.load(method)().retrieve(question, snapshot, models)
    if not evidence.hits:
        return None
    rows = snapshot.layer("chunk").rows([hit.chunk_id for hit in evidence.hits])
    signs = {}
    for kind in KINDS:
        embedder = snapshot.recipe["embedder"] if kind == "late" else "another one"
        other = replace(snapshot, recipe={**snapshot.recipe, "embedder": embedder})
        signs[kind] = support.Features(question, other, models, rows)
    evidence = support.judge_evidence(evidence, snapshot, models)
    passages = build_context(evidence).passages
    sentences = find_sentences(passages, snapshot)
    _, of_quotes = choose_quotes(question, sentences, passages, models, snapshot)
    if of_quotes is None or evidence.support is None:
        return None
    told = support.read_quotes(evidence.support, of_quotes)
    return signs, tuple(hit.document_id for hit in evidence.hits), told[None]


def made(name: str, kind: str, question: str, found: Read, needed: Sequence[str]) -> Seen:
    """Return what is kept of what was read."""
    signs, documents, of_quotes = found
    return Seen(
        dataset=name,
        kind=kind,
        question=question,
        of_set={each: signs[each].of_set() for each in KINDS},
        of_each={each: signs[each].of_chunks() for each in KINDS},
        of_quotes=of_quotes,
        needed=np.isin(documents, list(needed)).astype(float),
    )


# -- fitting --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Signs (n, m) with the truth and the weight of each (n,), and the fold of its question."""

    signs: NDArray[np.float64]
    truth: NDArray[np.float64]
    weights: NDArray[np.float64]
    folds: NDArray[np.intp]

    def part(self, chosen: NDArray[np.bool_]) -> Sample:
        """Return some rows."""
        return Sample(*(each[chosen] for each in vars(self).values()))


def sample(seen: Sequence[Seen], kind: str, what: str) -> Sample:
    """Return the signs of all training questions, of their hits, or of their quotes."""
    names = sorted({each.question for each in seen})
    drawn = np.random.default_rng(0).permutation(len(names)) % FOLDS
    fold = dict(zip(names, drawn.tolist(), strict=True))
    used = [each for each in seen if is_fitted_on(each, what)]
    signs = [read_signs(each, kind, what) for each in used]
    truth = [
        each.needed if what == "relevance" else np.array([each.kind == "answerable"])
        for each in used
    ]
    sizes = [len(each) for each in truth]
    shares = SHARES | {"last": LAST}
    parts = {"records": RECORDS, "fitted": PAGE, "more": MORE}
    sources = [each.dataset.split()[0] for each in used]
    weights = [
        shares[each.kind]
        * parts.get(source, 1)
        * (ANSWERED if source in ("fitted", "more") and each.kind == "answerable" else 1)
        for each, source in zip(used, sources, strict=True)
    ]
    return Sample(
        np.concatenate(signs),
        np.concatenate(truth).astype(float),
        np.repeat(weights, sizes),
        np.repeat([fold[each.question] for each in used], sizes),
    )


def is_fitted_on(seen: Seen, what: str) -> bool:
    """Say whether a question of a training set is one that a model is fitted on."""
    if what == "quotes":
        return seen.kind in SHARES or seen.kind == "last"
    only = {"records"} if what == "support" else {"records", "fitted", "more"}
    return seen.kind in SHARES and seen.dataset.split()[0] not in only


def read_signs(seen: Seen, kind: str, what: str) -> NDArray[np.float64]:
    """Return the signs of a question for a model."""
    if what == "quotes":
        return seen.of_quotes
    return seen.of_each[kind] if what == "relevance" else seen.of_set[kind]


def fitted(given: Sample, signs: tuple[str, ...]) -> support.LogisticModel:
    """Return the logistic model of most penalised likelihood, its signs standardised for that."""
    mean, scale = given.signs.mean(axis=0), given.signs.std(axis=0) + 1e-9
    standard = (given.signs - mean) / scale

    def loss(b: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = standard @ b[1:] + b[0]
        error = given.weights * (1 / (1 + np.exp(-z)) - given.truth)
        value = (given.weights * (np.logaddexp(0, z) - given.truth * z)).sum()
        gradient = np.concatenate([[error.sum()], standard.T @ error + b[1:] / PENALTY])
        return value + b[1:] @ b[1:] / (2 * PENALTY), gradient

    b = minimize(loss, np.zeros(len(mean) + 1), jac=True, method="L-BFGS-B").x
    weights = b[1:] / scale
    return support.LogisticModel(
        features=signs,
        weights=tuple(round(float(each), 3) for each in weights),
        constant=round(float(b[0] - weights @ mean), 3),
    )


def crossed(given: Sample, signs: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the probability of each row by a model that was fitted on the other folds."""
    found = np.zeros(len(given.truth))
    for fold in range(FOLDS):
        mine = given.folds == fold
        model = fitted(given.part(~mine), signs)
        found[mine] = model.compute_probabilities(given.signs[mine])
    return found


# -- figures --------------------------------------------------------------------------------------


def auroc(yes: NDArray[np.float64], no: NDArray[np.float64]) -> float:
    """Return how often one of `yes` is above one of `no`, ties counting half."""
    ranks = rankdata(np.concatenate([yes, no]))[: len(yes)]
    return float((ranks.sum() - len(yes) * (len(yes) + 1) / 2) / (len(yes) * len(no)))


def calibration(
    found: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    bins = np.minimum((found * BINS).astype(int), BINS - 1)
    gaps = [abs((weights * (found - truth))[bins == each].sum()) for each in range(BINS)]
    return float(sum(gaps) / weights.sum())


def report(seen: Sequence[Seen], kind: str, scores: NDArray[np.float64], threshold: float) -> None:
    """Print a row for each dataset and kind of question."""
    print(f"| {kind} | questions | AUROC | refused |\n|---|---:|---:|---:|")
    for name in dict.fromkeys(each.dataset for each in seen):
        mine = [i for i, each in enumerate(seen) if each.dataset == name]
        kinds = dict.fromkeys(seen[i].kind for i in mine)
        by = {k: scores[[i for i in mine if seen[i].kind == k]] for k in kinds}
        for k, found in by.items():
            above = "" if k == "answerable" else f"{auroc(by['answerable'], found):.3f}"
            refused = f"{(found < threshold).mean():.3f}"
            print(f"| {name}: {k} | {len(found)} | {above} | {refused} |")
        parts = {k: found for k, found in by.items() if k in SHARES}
        weights = [np.full(len(found), SHARES[k] / len(found)) for k, found in parts.items()]
        truth = [np.full(len(found), float(k == "answerable")) for k, found in parts.items()]
        if len(parts) > 1:
            each = (np.concatenate([*given]) for given in (parts.values(), truth, weights))
            print(f"| {name}: calibration error {calibration(*each):.3f} | | | |")
    print()


def measured(
    train: Sequence[Seen], seen: Sequence[Seen], kind: str, what: str, *, fit: bool
) -> None:
    """Print what a model makes of the questions, of all their hits together, or of quotes."""
    models = {"support": support.SUPPORT, "relevance": support.RELEVANCE}
    model = support.QUOTES if what == "quotes" else models[what][kind]
    given = sample(train, kind, what)
    if fit:
        model = fitted(given, model.features)
        print(f"{what}, {kind}: {model}")
    found = crossed(given, model.features) if fit else model.compute_probabilities(given.signs)
    yes, no = found[given.truth > 0], found[given.truth == 0]
    error = calibration(found, given.truth, given.weights)
    lowest = np.quantile(yes, 0.03)
    print(
        f"{what}: AUROC {auroc(yes, no):.3f}, ECE {error:.3f}, 3 % of the true below {lowest:.3f}"
    )
    if what != "relevance":
        read = (read_signs(each, kind, what) for each in seen)
        scores = np.array([model.compute_probabilities(each)[0] for each in read])
        scores[[i for i, each in enumerate(train) if is_fitted_on(each, what)]] = found
        report(seen, f"{what}, {kind}", scores, MIN_SUPPORT)  # `seen` begins with `train`


def main() -> None:
    """Read all questions, fit if that is wanted, and print what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--train", nargs="+", type=Path, required=True, metavar="DATASET")
    parser.add_argument("--test", nargs="*", type=Path, default=[], metavar="DATASET")
    parser.add_argument("--asked", action="append", default=[], metavar="INDEX=FILE")
    parser.add_argument("--pages", action="append", default=[], type=Path, metavar="FILE")
    parser.add_argument("--method", default=methods.DEFAULT)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    train = [seen for path in options.train for seen in cases(path.name, options)]
    train += records(options)
    train += pages(PAGES / "fitted.txt", "fitted", options)
    train += [seen for file in options.pages for seen in pages(file, "more", options, MORE_SIZES)]
    test = [seen for path in options.test for seen in cases(path.name, options)]
    test += pages(PAGES / "unseen.txt", "unseen", options)
    test += [seen for given in options.asked for seen in asked(given, options)]
    for kind in KINDS:
        for what in ("support", "relevance"):
            measured(train, [*train, *test], kind, what, fit=options.fit)
    measured(train, [*train, *test], "late", "quotes", fit=options.fit)


if __name__ == "__main__":
    main()
