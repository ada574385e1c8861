"""The options of `clew eval`, and the protocol that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.answers.question import OPTIONS
from clew.cli import options
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.base.types import Scalar
    from clew.extras.evaluate.measure import Protocol

_REPORTED = ("dense", "bm25")  # what a written report always compares with


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """The options as they were given."""

    names: str
    given: tuple[str, ...]
    grids: tuple[str, ...]
    into: Path | None
    split: str | None
    filters: tuple[str, ...]
    exact: bool
    limit: int | None
    sample: int | None
    corpus: Path | None
    ks: str
    context_tokens: int
    answers: bool
    answer_llm: str | None
    answer_tokens: int | None
    judge: str | None
    judged: str | None
    runs: Path | None
    peers: tuple[Path, ...]
    reports: tuple[Path, ...]
    plot: Path | None
    metrics: str | None
    contexts: bool
    concurrency: int
    rows: bool
    reranker: str | None


report_option = options.several(
    "--report FILE", "Also write a .md or .html report", "reports", type=click.Path(path_type=Path)
)
given_option = options.several(
    "--param METHOD.NAME=VALUE", "Method parameter, such as clue.depth=2", "given"
)
context_option = options.number(
    "--context-tokens N", "Tokens of context for coverage and answers.", default=4_000
)
evaluation_options = options.gather_options(
    [
        options.text(
            "--methods A,B,...",
            "The others are compared with the first.",
            "names",
            default="dense,bm25,hybrid,pagerank,clue,walk",
        ),
        given_option,
        options.several(
            "--grid METHOD.NAME=V1,V2,...",
            "Also measure these values, in all combinations",
            "grids",
        ),
        options.path("--index FOLDER", "Index of the corpus. [default: <data set>.clew]", "into"),
        options.text("--split S", "Only the questions of this split."),
        options.where,
        options.derive_option("exact", OPTIONS["exact"]),
        options.text("--limit N", "Only the first N questions.", type=int),
        options.text("--sample N", "Only N questions, drawn at random by --seed.", type=int),
        options.path("--corpus PATH", "File or folder of the documents, if not in the data set."),
        options.text("--ks K,...", "Cut-offs.", default="2,5,10"),
        context_option,
        options.flag("--answers", "Also answer, and measure EM, F1 and accuracy."),
        options.text("--answer-llm SPEC", "LLM that only writes the answers; implies --answers."),
        options.number("--answer-tokens N", "Tokens of an LLM's answer, at most. [default: 512]"),
        options.text("--judge SPEC", "LLM that judges the answers."),
        options.text(
            "--judge-metrics A,B,...",
            "Of judge, graded, correctness, answer coverage and faithfulness. [default: judge]",
            "judged",
        ),
        options.path("--runs FOLDER", "Write a file for each setting; continue an earlier run."),
        options.flag("--contexts", "With --runs, keep chunks, contexts, prompts and replies too."),
        options.several(
            "--peers FILE", "Another system's ranking", "peers", type=click.Path(path_type=Path)
        ),
        report_option,
        options.path("--plot FILE", "Plot a grid of one or two parameters as .svg or .png."),
        options.text("--metrics A,B,...", "Metrics of the plot. [default: recall, coverage]"),
        options.flag("--rows", "Put each question's scores in the JSON too."),
        options.number("--concurrency N", "Questions asked at once.", default=1),
        options.reranker,
    ],
    "flags",
    EvaluationOptions,
)
paid_options = options.gather_options(
    [
        options.number(
            "--seed N", "Seed of resampling, --sample and, if given, LLMs. [default: 0]", least=0
        ),
        *options.PAID_OPTIONS,
        *options.DRAWN_OPTIONS,
    ],
    "paid",
    dict,
)


def check_combination(
    flags: EvaluationOptions, paid: Mapping[str, object], *, as_json: bool
) -> None:
    """Raise UsageError for an option that needs another one."""
    answers = flags.answers or flags.answer_llm is not None
    capped = flags.answer_tokens is not None
    bounded = paid["budget_tokens"] is not None or paid["budget_usd"] is not None
    llms = any((paid["llm"], flags.answer_llm, flags.judge))
    for given, needed, sentence in (
        (flags.contexts, flags.runs is not None, "--contexts goes with --runs."),
        (flags.rows, as_json, "--rows goes with --json."),
        (flags.metrics is not None, flags.plot is not None, "--metrics goes with --plot."),
        (flags.judge is not None, answers, "--judge needs --answers or --answer-llm."),
        (flags.judged is not None, flags.judge is not None, "--judge-metrics goes with --judge."),
        (capped, answers, "--answer-tokens needs --answers or --answer-llm."),
        (bounded, llms, "A budget needs an LLM: --llm, --answer-llm or --judge."),
    ):
        if given and not needed:
            raise click.UsageError(sentence)
    if flags.runs is not None and flags.runs.exists() and not flags.runs.is_dir():
        raise InputError(f"--runs takes a folder, and {flags.runs} is a file: name another one")


def check_reports(files: Sequence[Path]) -> None:
    """Raise InputError for a report that could not be written, before anything is measured."""
    if files:
        from clew.extras.evaluate.pages.page import check_page

        for file in files:
            check_page(file)


def build_protocol(flags: EvaluationOptions, seed: int) -> Protocol:
    """Return what the options ask for. Raises InputError, so that nothing is indexed in vain."""
    from clew.extras.evaluate.measure import Protocol, check_protocol
    from clew.extras.evaluate.settings import Scoring, Setting, grid

    names = options.split_list(flags.names)
    if not names:
        raise InputError("--methods names no method: see 'clew methods'")
    if len(names) < sum(bool(part.strip()) for part in flags.names.split(",")):
        raise InputError(f"--methods takes different methods, not {flags.names!r}")
    names += [name for name in _REPORTED if flags.reports and name not in names]
    varied = _parse_grids(flags.grids)
    methods = list(dict.fromkeys((*names, *varied)))
    check_given(flags.given, methods, varied)
    settings = [Setting(name) for name in names]
    settings += [each for method, values in varied.items() for each in grid(method, values)]
    capped = {} if flags.answer_tokens is None else {"answer_tokens": flags.answer_tokens}
    protocol = Protocol(
        settings=tuple(settings),
        scoring=Scoring(
            ks=_parse_cuts(flags.ks), context_tokens=flags.context_tokens, seed=seed, **capped
        ),
        common={name: method_settings(name, flags.given) for name in methods},
        answers=flags.answers or flags.answer_llm is not None,
        answer_llm=flags.answer_llm,
        judge=flags.judge,
        judged=("judge",) if flags.judged is None else tuple(options.split_list(flags.judged)),
        where=options.join_filters(flags.filters),
        exact=flags.exact,
    )
    check_protocol(protocol)
    return protocol


def check_given(
    given: Sequence[str], methods: Sequence[str], varied: Mapping[str, Mapping[str, object]]
) -> None:
    """Raise InputError for a --param of no method that is measured, or one that a grid varies."""
    for text in given:
        name, _, _ = text.partition("=")
        method, dot, parameter = name.partition(".")
        if not dot or method not in methods:
            known = ", ".join(methods)
            raise InputError(f"--param takes METHOD.NAME=VALUE, METHOD of {known}, not {text!r}")
        if parameter in varied.get(method, ()):
            raise InputError(f"--param and --grid both set {name}: choose one of them")


def method_settings(method: str, given: Sequence[str]) -> dict[str, Scalar]:
    """Return the parameters that --param sets in all rows of a method."""
    prefix = f"{method}."
    mine = [text.removeprefix(prefix) for text in given if text.startswith(prefix)]
    return options.parse_parameters(method, mine)


def _parse_grids(grids: Sequence[str]) -> dict[str, dict[str, list[Scalar]]]:
    """Return the values that --grid names, by method and parameter."""
    varied: dict[str, dict[str, list[Scalar]]] = {}
    for text in grids:
        name, _, values = text.partition("=")
        method, _, parameter = name.partition(".")
        texts = [value.strip() for value in values.split(",")]
        if not (method and parameter and all(texts)):
            raise InputError(f"--grid takes METHOD.NAME=V1,V2,..., not {text!r}")
        parsed = (options.parse_parameters(method, [f"{parameter}={each}"]) for each in texts)
        typed = [values[parameter] for values in parsed]
        if len(set(typed)) < len(typed):
            raise InputError(f"--grid takes different values, not {text!r}")
        if parameter in varied.setdefault(method, {}):
            raise InputError(f"--grid names {name} twice: give all its values together")
        varied[method][parameter] = typed
    return varied


def _parse_cuts(ks: str) -> tuple[int, ...]:
    try:
        cuts = tuple(int(k) for k in ks.split(","))
    except ValueError:
        cuts = ()
    if not cuts or min(cuts) < 1 or len(set(cuts)) < len(cuts):
        raise InputError(f"--ks takes different whole numbers from 1, such as 2,5,10, not {ks!r}")
    return cuts
