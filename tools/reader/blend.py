"""Measure what a trained reader adds to Clew's own choice of the quoted statement.

    python tools/reader/blend.py score CASES... --reader FOLDER --base FOLDER --into FOLDER
        [--statements 20] [--bridges 3] [--window 440]
    python tools/reader/blend.py compare --cases FOLDER --scores FOLDER --models FILE
        --train NAME... [--test NAME...] [--statements 20] [--bridges 3] [--features NAME...]

`cases.py` writes CASES, `export.py` the reader. The likeliest statements of a question are read,
then those linked to the likeliest bridges behind these. A softmax over them with `FEATURES` gives
their likelihood anew; its weights are fitted on the training sets alone, and the rates of these
are of five folds by question. Without --test these rates are all that is printed.

Printed are the share of questions whose first quote holds the answer, and of those with any quote
that does, today and blended, with the difference and its interval of 95 % (bootstrap of pairs);
then how well the support tells these questions from the same ones without the document that has
the answer (AUROC).
"""

from __future__ import annotations

import argparse
import pickle
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cases import Seen, quotes  # also for `pickle`, which has it as of the program that wrote it
from judge import Judge
from scipy.optimize import minimize
from scipy.stats import rankdata

from clew.answers.sentence_weights import FITTED, Likelihood, SentenceModel, _weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pair = tuple[Seen, "Scored"]

FOLDS, DRAWS, PENALTY = 5, 10_000, 0.05
WEIGHTS = {"chain": 1.0, "part": 0.4, "sub": 0.4, "page": 1.0}
FEATURES = {
    "share": "Clew's own likelihood, its logarithm",
    "holds": "the logit of a statement by itself",
    "behind": "how much higher it is behind the bridges",
    "chain": "the same, times the probability that one statement does not answer",
    "supports": "the logit of supporting the answer",
    "passage": "that of the passage",
}


# -- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    """What the reader makes of c candidates of a question, alone and behind k bridges."""

    rows: NDArray[np.intp]
    holds: Floats
    supports: Floats
    passage: Floats
    bridges: NDArray[np.intp]
    behind: Floats  # (k, c) holds, nan where no name links the two
    behind_passage: Floats
    prior: Floats  # (k, c) the share of a pair among all pairs, by Clew's own model
    seconds: float  # of CPU


def score(seen: Seen, judge: Judge, n_statements: int, n_bridges: int) -> Scored:
    """Return what the reader makes of a question."""
    features = seen.case.features
    started = time.process_time()
    rows = np.argsort(-FITTED.estimate(features).shares, kind="stable")[:n_statements]
    sentences = features.sentences
    [alone] = judge.judge(features.question, [""], sentences, [rows.tolist()])
    bridges, prior = find_bridges(seen, rows, n_bridges)
    linked = [rows[each > 0].tolist() for each in prior]
    texts = [sentences[b].said for b in bridges]
    judged = judge.judge(features.question, texts, sentences, linked)
    none = np.zeros((0, len(rows)))
    return Scored(
        rows,
        *(each[rows] for each in (alone.holds, alone.supports, alone.passage)),
        np.array(bridges, dtype=np.intp),
        np.array([each.holds[rows] for each in judged]) if judged else none,
        np.array([each.passage[rows] for each in judged]) if judged else none,
        prior,
        time.process_time() - started,
    )


def find_bridges(seen: Seen, rows: NDArray[np.intp], most: int) -> tuple[list[int], Floats]:
    """Return the likeliest bridges, and (k, c) the shares of their pairs with candidates."""
    features = seen.case.features
    chains = features.chains
    if features.sides or not len(chains.answers):
        return [], np.zeros((0, len(rows)))
    logits = _weigh({name: chains.column(name, features) for name in FITTED.pair}, FITTED.pair)
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    inside = np.isin(chains.answers, rows)
    mass = np.bincount(chains.bridges, weights=shares * inside, minlength=len(features.sentences))
    bridges = [int(b) for b in np.argsort(-mass, kind="stable")[:most] if mass[b] > 0]
    prior = np.zeros((len(bridges), len(features.sentences)))
    for k, b in enumerate(bridges):
        mine = chains.bridges == b
        prior[k, chains.answers[mine]] = shares[mine]
    return bridges, prior[:, rows]


def write_scores(options: argparse.Namespace) -> None:
    """Read all questions with the reader."""
    judge = Judge(options.reader, options.base / "tokenizer.json", options.window)
    options.into.mkdir(exist_ok=True)
    for path in options.cases:
        kept = pickle.loads(path.read_bytes())  # noqa: S301 -- written by `cases.py`
        todo = [s for s in kept if s.kind in options.kinds]
        found = {(s.id, s.kind): score(s, judge, options.statements, options.bridges) for s in todo}
        into = options.into / path.name
        known = pickle.loads(into.read_bytes()) if into.exists() else {}  # noqa: S301
        into.write_bytes(pickle.dumps(known | found))
        spent = np.median([each.seconds for each in found.values()]) if found else 0
        print(path.name, len(found), f"{1000 * spent:.0f} ms of CPU, median", flush=True)


# -- blending -------------------------------------------------------------------------------------


def make_features(
    seen: Seen, scored: Scored, used: Sequence[str], model: SentenceModel = FITTED
) -> Floats:
    """Return the (c, m) features `used` of the candidates.

    What the reader makes of one behind its bridges is the mean over these, by their probability.
    """
    features = seen.case.features
    shares = model.estimate(features).shares[scored.rows]
    way = float(1 / (1 + np.exp(-_weigh(features.question_features, model.way))))
    holds = fill(scored.holds)
    gain, _ = find_gain(scored, holds)
    columns = {
        "share": np.log(shares + 1e-9),
        "holds": holds,
        "behind": gain,
        "chain": gain * (1 - way),
        "supports": fill(scored.supports),
        "passage": fill(scored.passage),
    }
    return np.stack([columns[name] for name in used], axis=1)


def fill(each: Floats) -> Floats:
    """Return logits with the lowest one where nothing was read."""
    return np.nan_to_num(each, nan=-8.0 if np.isnan(each).all() else float(np.nanmin(each)))


def find_gain(scored: Scored, holds: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return (c,) how much likelier a candidate is behind its bridges, and the best of these."""
    if not len(scored.bridges):
        return np.zeros(len(holds)), np.full(len(holds), -1)
    read = ~np.isnan(scored.behind) & (scored.prior > 0)
    odds = np.where(read, np.nan_to_num(scored.behind) - holds, 0.0)
    weight = np.where(read, scored.prior, 0.0)
    joint = weight * np.exp(odds)
    total = weight.sum(axis=0)
    gain = np.where(total > 0, np.log((joint.sum(axis=0) + 1e-12) / (total + 1e-12)), 0.0)
    best = np.where(total > 0, scored.bridges[joint.argmax(axis=0)], -1)
    return gain, best


def fit(
    pairs: Sequence[Pair], models: Sequence[SentenceModel], used: Sequence[str]
) -> dict[str, float]:
    """Return the weights of most penalised likelihood."""
    given = []
    for (seen, scored), model in zip(pairs, models, strict=True):
        holds = seen.case.holds[scored.rows]
        if holds.any() and not seen.case.features.sides and seen.kind in WEIGHTS:
            given.append((make_features(seen, scored, used, model), holds, WEIGHTS[seen.kind]))
    start = np.array([float(name == "share") for name in used])

    def loss(w: Floats) -> float:
        value = PENALTY * len(given) * float(((w - start) ** 2).sum()) / 20
        for features, holds, weight in given:
            z = features @ w
            z -= z.max()
            shares = np.exp(z)
            value -= weight * float(np.log(shares[holds].sum() / shares.sum() + 1e-12))
        return value

    found = minimize(loss, start, method="L-BFGS-B").x
    return dict(zip(used, found.tolist(), strict=True))


def choose(
    seen: Seen, scored: Scored, weights: Mapping[str, float], model: SentenceModel = FITTED
) -> list[int]:
    """Return the rows of the quotes by the blend."""
    estimated = model.estimate(seen.case.features)
    z = make_features(seen, scored, list(weights), model) @ np.array(list(weights.values()))
    read = np.exp(z - z.max())
    likely = estimated.shares.copy()
    likely[scored.rows] = read / read.sum() * likely[scored.rows].sum()
    bridges = estimated.bridges.copy()
    _, best = find_gain(scored, fill(scored.holds))
    chained = (best >= 0) & (bridges[scored.rows] >= 0)
    bridges[scored.rows[chained]] = best[chained]
    return seen.case.choose(Fixed(Likelihood(likely, bridges)))


@dataclass(frozen=True)
class Fixed:
    """A model that estimates one thing."""

    found: Likelihood

    def estimate(self, features: object) -> Likelihood:  # noqa: ARG002
        """Return it."""
        return self.found


def cross(pairs: Sequence[Pair], run: Callable[[Sequence[int], Sequence[int]], None]) -> None:
    """Run something for each fold: on the rows outside, and those inside."""
    groups = sorted({s.case.group for s, _ in pairs})
    drawn = dict(
        zip(
            groups,
            (np.random.default_rng(0).permutation(len(groups)) % FOLDS).tolist(),
            strict=True,
        )
    )
    for fold in range(FOLDS):
        inside = [i for i, (s, _) in enumerate(pairs) if drawn[s.case.group] == fold]
        outside = [i for i, (s, _) in enumerate(pairs) if drawn[s.case.group] != fold]
        run(outside, inside)


def interval(differences: Floats) -> str:
    """Return a mean with its bootstrap interval."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(differences), (DRAWS, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), [0.025, 0.975])
    return f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def fit_today(cases: Sequence[Seen], file: Path) -> list[SentenceModel]:
    """Return Clew's own model for each question, fitted on the other folds.

    Its weights were fitted on these questions: in the blend they would weigh too much. The models
    are kept in a file, since fitting takes minutes.
    """
    if not file.exists():
        pairs = [(seen, None) for seen in cases]
        models: dict[int, SentenceModel] = {}

        def fold(outside: Sequence[int], inside: Sequence[int]) -> None:
            model = quotes.fit_model([cases[i].case for i in outside])
            models.update(dict.fromkeys(inside, model))

        cross(pairs, fold)
        file.write_bytes(pickle.dumps({cases[i].id: model for i, model in models.items()}))
    kept = pickle.loads(file.read_bytes())  # noqa: S301 -- written above
    return [kept[seen.id] for seen in cases]


def print_quotes(
    name: str,
    pairs: Sequence[Pair],
    models: Sequence[SentenceModel],
    blended: Sequence[Sequence[int]],
) -> None:
    """Print the rates of the questions whose context has the answer."""
    kept = []
    for (seen, _), model, rows in zip(pairs, models, blended, strict=True):
        today = seen.case.choose(model)
        holds = seen.case.holds
        kept.append(
            (
                holds[today[0]],
                holds[rows[0]],
                holds[today].any(),
                holds[rows].any(),
                len(today),
                len(rows),
            )
        )
    a = np.array(kept, dtype=float)
    means = [f"{each:.3f}" for each in a.mean(axis=0)]
    cells = [name, len(a), *means[:2], interval(a[:, 1] - a[:, 0])]
    cells += [*means[2:4], interval(a[:, 3] - a[:, 2]), *means[4:]]
    print("|", " | ".join(map(str, cells)), "|", flush=True)


# -- support --------------------------------------------------------------------------------------


def read_support(seen: Seen, scored: Scored) -> Floats:
    """Return the features of the support.

    They are that of today, and how likely a passage has the answer, at most: by itself, and behind
    a bridge where one is read.
    """
    share = min(max(seen.support, 1e-6), 1 - 1e-6)
    alone = fill(scored.passage)
    behind = alone if np.isnan(scored.behind_passage).all() else scored.behind_passage
    return np.array([np.log(share / (1 - share)), alone.max(), np.nanmax(behind), 1.0])


def fit_support(pairs: Sequence[Pair]) -> Floats:
    """Return logistic weights of the support; the kinds weigh alike."""
    x = np.array([read_support(*pair) for pair in pairs])
    y = np.array([s.kind not in {"last", "near"} for s, _ in pairs], dtype=float)
    w = np.where(y > 0, 0.5 / max(y.sum(), 1), 0.5 / max((1 - y).sum(), 1)) * len(y)

    def loss(b: Floats) -> float:
        z = x @ b
        return float((w * (np.logaddexp(0, z) - y * z)).sum() + 0.5 * (b[:-1] ** 2).sum())

    return minimize(loss, np.zeros(x.shape[1]), method="L-BFGS-B").x


def auroc(yes: Floats, no: Floats) -> float:
    """Return how often one of `yes` is above one of `no`, ties counting half."""
    ranks = rankdata(np.concatenate([yes, no]))[: len(yes)]
    return float((ranks.sum() - len(yes) * (len(yes) + 1) / 2) / (len(yes) * len(no)))


def print_support(name: str, pairs: Sequence[Pair], blended: Floats) -> None:
    """Print the AUROC today and blended, with the interval of the difference by question."""
    kinds = np.array([s.kind in {"last", "near"} for s, _ in pairs])
    use = np.array([s.kind in {"last", "near"} or s.case.holds.any() for s, _ in pairs])
    today = np.array([s.support for s, _ in pairs])
    yes, no = np.flatnonzero(~kinds & use), np.flatnonzero(kinds)
    if len(no) < 5 or len(yes) < 5:
        return
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(1000):
        a, b = rng.choice(yes, len(yes)), rng.choice(no, len(no))
        drawn.append(auroc(blended[a], blended[b]) - auroc(today[a], today[b]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    was, now = auroc(today[yes], today[no]), auroc(blended[yes], blended[no])
    told = f"{now - was:+.3f} [{low:+.3f}, {high:+.3f}]"
    print(f"| {name} | {len(yes)} | {len(no)} | {was:.3f} | {now:.3f} | {told} |", flush=True)


# -- main -----------------------------------------------------------------------------------------


def read_pairs(name: str, options: argparse.Namespace) -> list[Pair]:
    """Return the questions of a set that were read, with their scores."""
    kept = pickle.loads((options.cases / f"{name}.pkl").read_bytes())  # noqa: S301
    scores = pickle.loads((options.scores / f"{name}.pkl").read_bytes())  # noqa: S301
    return [
        (s, cut(scores[s.id, s.kind], options.statements, options.bridges))
        for s in kept
        if (s.id, s.kind) in scores
    ]


def cut(scored: Scored, n: int, k: int) -> Scored:
    """Return what is known of the first n candidates and k bridges."""
    of_one = {name: getattr(scored, name)[:n] for name in ("rows", "holds", "supports", "passage")}
    of_pairs = {
        name: getattr(scored, name)[:k, :n] for name in ("behind", "behind_passage", "prior")
    }
    return replace(scored, **of_one, **of_pairs, bridges=scored.bridges[:k])


def compare(options: argparse.Namespace) -> None:
    """Fit on the training sets, and print all tables."""
    train = {name: read_pairs(name, options) for name in options.train}
    test = {name: read_pairs(name, options) for name in options.test}
    flat = [pair for pairs in train.values() for pair in pairs]
    compare_quotes(flat, test, options)
    compare_support(flat, test)
    spent = [scored.seconds for pairs in (test or train).values() for _, scored in pairs]
    mean, most = 1000 * np.mean(spent), 1000 * np.quantile(spent, 0.95)
    print(f"CPU a question: {mean:.0f} ms, 95 % below {most:.0f} ms")


def compare_quotes(
    flat: list[Pair], test: dict[str, list[Pair]], options: argparse.Namespace
) -> None:
    """Print how often the first quote holds the answer."""
    asked = [p for p in flat if p[0].kind in WEIGHTS and p[0].case.holds.any()]
    asked.sort(key=lambda p: (p[0].dataset, p[0].id))
    models = fit_today([seen for seen, _ in asked], options.models)
    blended: dict[int, list[int]] = {}

    def fold(outside: Sequence[int], inside: Sequence[int]) -> None:
        weights = fit([asked[i] for i in outside], [models[i] for i in outside], options.features)
        blended.update({i: choose(*asked[i], weights, models[i]) for i in inside})

    cross(asked, fold)
    weights = fit(asked, models, options.features)
    print("weights", {name: round(each, 3) for name, each in weights.items()})
    print(
        "| questions | n | first | blended | difference "
        "| shown | blended | difference | quotes | blended |\n|---|" + "---:|" * 9
    )
    for name in dict.fromkeys(seen.dataset for seen, _ in asked):
        for kind in WEIGHTS:
            mine = [i for i, (s, _) in enumerate(asked) if (s.dataset, s.kind) == (name, kind)]
            if mine:
                parts = ([each[i] for i in mine] for each in (asked, models, blended))
                print_quotes(f"{name}, {kind} (fitted, folds)", *parts)
    for name, pairs in test.items():
        mine = [p for p in pairs if p[0].kind not in {"last", "near"} and p[0].case.holds.any()]
        apart = [p for p in mine if not p[0].case.features.sides]
        for label, some in ((name, mine), (f"{name}, without comparisons", apart)):
            if label == name or 0 < len(apart) < len(mine):
                chosen = [choose(*p, weights) for p in some]
                print_quotes(label, some, [FITTED] * len(some), chosen)


def compare_support(flat: list[Pair], test: dict[str, list[Pair]]) -> None:
    """Print how well the support tells questions with an answer from those without."""
    judged = [
        p
        for p in flat
        if p[0].kind in {"last", "near", "chain", "page"}
        and (p[0].kind in {"last", "near"} or p[0].case.holds.any())
    ]
    found = np.zeros(len(judged))

    def fold_support(outside: Sequence[int], inside: Sequence[int]) -> None:
        b = fit_support([judged[i] for i in outside])
        for i in inside:
            found[i] = read_support(*judged[i]) @ b

    cross(judged, fold_support)
    b = fit_support(judged)
    print("support", b.round(3).tolist())
    print(
        "| questions | with an answer | without | AUROC | blended | difference |\n|---|"
        + "---:|" * 5
    )
    print_support("training sets (folds)", judged, found)
    for name, pairs in test.items():
        print_support(name, pairs, np.array([read_support(*p) @ b for p in pairs]))


def main() -> None:
    """Score or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    scoring = commands.add_parser("score")
    scoring.add_argument("cases", nargs="+", type=Path)
    scoring.add_argument("--reader", type=Path, required=True)
    scoring.add_argument("--base", type=Path, required=True)
    scoring.add_argument("--window", type=int, default=440)
    scoring.add_argument("--into", type=Path, required=True)
    scoring.add_argument("--kinds", nargs="+", default=[*WEIGHTS, "last", "near"])
    scoring.set_defaults(run=write_scores)
    comparing = commands.add_parser("compare")
    comparing.add_argument("--cases", type=Path, required=True)
    comparing.add_argument("--scores", type=Path, required=True)
    comparing.add_argument("--models", type=Path, required=True, help="where fits are kept")
    comparing.add_argument("--train", nargs="+", required=True)
    comparing.add_argument("--test", nargs="*", default=[])
    told = "; ".join(f"{name}: {what}" for name, what in FEATURES.items())
    names = list(FEATURES)
    comparing.add_argument("--features", nargs="+", default=names, choices=names, help=told)
    comparing.set_defaults(run=compare)
    for each in (scoring, comparing):
        each.add_argument("--statements", type=int, default=20)
        each.add_argument("--bridges", type=int, default=3)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
