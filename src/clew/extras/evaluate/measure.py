"""Measure methods on an index by one protocol: search, answer, judge, and record the runs."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import clew
from clew import methods
from clew.answers.method import build_method
from clew.answers.pipeline import shorten_question
from clew.answers.question import Question
from clew.base.types import Scalar
from clew.errors import BudgetSpent, InputError
from clew.extras.evaluate import labels, run_files
from clew.extras.evaluate.evaluation import Progress, Respond, Search, evaluate
from clew.extras.evaluate.formats.labelled import FORMAT as LABELS
from clew.extras.evaluate.llm_judge import METRICS, LLMJudge
from clew.extras.evaluate.metrics import DEEPEST
from clew.extras.evaluate.settings import Scoring, Setting
from clew.models import find_wording, prompts
from clew.models.recorded_llm import recorded

if TYPE_CHECKING:
    from clew.api import Index
    from clew.base.types import Answer, Document, Evidence
    from clew.extras.evaluate.datasets import Dataset
    from clew.extras.evaluate.report import Report
    from clew.filters import Filter
    from clew.methods import Method
    from clew.models import LLM
    from clew.models.budget import Budget

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGES = ("numpy", "scipy", "snowballstemmer")  # that figures come from
_LAYERS = ("document", "chunk", "triple")  # whose rows a run counts
_SHORT = "short_answer"  # the prompt for an answer from a context


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """What is measured and how, for every setting alike."""

    settings: tuple[Setting, ...]
    scoring: Scoring = field(default_factory=Scoring)
    common: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    # parameters of all rows of a method, by its name
    answers: bool = False
    answer_llm: str | None = None  # a spec; without one the index's LLM answers, if it has one
    prompt: str = ""  # for its answers from a context, in place of the short one
    judge: str | None = None  # the spec of an LLM
    judged: tuple[str, ...] = ("judge",)  # the metrics that it gives
    where: Filter | None = None  # which documents are searched
    exact: bool = False  # nothing of what is nearest is missed, in a large index either

    def parameters(self, setting: Setting) -> dict[str, Scalar]:
        """Return the parameters of a setting's method.

        A method that counts in chunks is asked for as many as the largest cut-off, or nDCG, needs,
        if it returns fewer by itself; a paper's variant returns as many as the paper says.
        """
        kind = methods.load(setting.method)
        counted = methods.get_limits(kind).chunks
        needed = max((*self.scoring.ks, DEEPEST))
        keeps = not counted or methods.is_preset(setting.method)
        return {
            **({} if keeps else {counted: max(needed, getattr(kind(), counted))}),
            **self.common.get(setting.method, {}),
            **setting.parameters,
        }

    def build(self, setting: Setting) -> Method:
        """Return a setting's method with all its parameters."""
        return build_method(setting.method, self.parameters(setting), self.scoring.context_tokens)


def check_protocol(protocol: Protocol) -> None:
    """Raise InputError or UnknownMethod for settings that cannot be measured."""
    if protocol.judge is not None:
        unknown = [metric for metric in protocol.judged if metric not in METRICS]
        if unknown or not protocol.judged:
            what = repr(unknown[0]) if unknown else "nothing"
            raise InputError(f"a judge gives {', '.join(METRICS)}, not {what}")
        if not protocol.answers:
            raise InputError("a judge needs answers: enable answering too")
    for each in protocol.settings:
        parameters = protocol.parameters(each)
        method = build_method(each.method, parameters)
        wanted = parameters.get(methods.get_limits(type(method)).tokens)
        room = protocol.scoring.context_tokens
        if isinstance(wanted, int) and wanted > room:
            raise InputError(
                f"{each.method} fills contexts of {wanted:,} tokens, but the limit is "
                f"{room:,}: raise --context-tokens"
            )


def measure(
    index: Index,
    dataset: Dataset,
    protocol: Protocol,
    *,
    folder: Path | None = None,
    contexts: bool = False,
    concurrency: int = 1,
    budget: Budget | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Run the settings of `protocol` on an index of the dataset's corpus; return the report.

    In `folder` each setting has the file of its run; questions that were measured there in the same
    way are not asked again. With `contexts` what each question was given is kept there too, and
    `concurrency` questions are asked at once. Raises InputError as `check_before`, `evaluate` and
    `run_files.resume` do, and BudgetSpent where `budget` has no room for a request: what was
    measured before that stands in the runs.
    """
    answering, judging = check_before(index, protocol, budget)
    judge = None
    if judging is not None:
        judge = LLMJudge(judging, index.models.embedder, protocol.judged)
    about = _describe_index(index, protocol, answering, judge)
    heads = {
        setting.label: replace(_describe(dataset, protocol, setting), **about)
        for setting in protocol.settings
    }
    named = [setting.label for setting in protocol.settings]
    files = {label: folder / run_files.file_name(label) for label in named} if folder else {}
    recorded_rows = {
        (label, row.question_id): row
        for label, file in files.items()
        for row in run_files.resume(file, heads[label], dataset.questions)
    }
    search, respond = _asking(index, dataset, protocol, answering, budget)
    report = evaluate(
        dataset,
        search,
        protocol.settings,
        protocol.scoring,
        on_progress,
        answer=respond if protocol.answers else None,
        judge=judge and _stop_at_budget(judge, budget),
        recorded=recorded_rows,
        on_row=(lambda row: run_files.append(files[row.label], row)) if files else None,
        on_found=(lambda row, found: run_files.append_found(files[row.label], row, found))
        if files and contexts
        else None,
        concurrency=concurrency,
    )
    shown = {name: about[name] for name in ("index_cost", "models", "versions")}
    return replace(report, **shown)


def check_before(
    index: Index, protocol: Protocol, budget: Budget | None = None
) -> tuple[LLM | None, LLM | None]:
    """Raise errors that can be known before anything is paid for, even corpus vectors.

    Returns the LLMs that answer and judge, None where the protocol names none. Raises as
    `check_protocol`; InputError for a spec that names nothing, and a budget in dollars for
    an LLM without a price; EndpointError for an LLM that does not answer.
    """
    check_protocol(protocol)
    specs = protocol.answer_llm, protocol.judge
    llms = [None if each is None else index.load_llm(each, budget=budget) for each in specs]
    own = None if index.models.llm is None else recorded(index.models.llm, budget=budget)
    for llm in (own, *llms):
        if llm is not None:
            llm.complete([])  # a budget in dollars needs a price
            index.reach_llm(llm)
    return llms[0], llms[1]


def _describe(dataset: Dataset, protocol: Protocol, setting: Setting) -> run_files.Head:
    """Return the head fields of a run that do not depend on the index or its models.

    It has every parameter of the method, those left as they are among them.
    """
    method = protocol.build(setting)
    return run_files.Head(
        dataset=dataset.about,
        setting=setting,
        parameters={each.name: getattr(method, each.name) for each in fields(method)},  # type: ignore[arg-type]
        scoring=replace(protocol.scoring, ks=tuple(sorted(protocol.scoring.ks))),
        answers=protocol.answers,
        prompt=protocol.prompt,
        judged=protocol.judged if protocol.judge else (),
    )


def index_cost(index: Index) -> dict[str, Scalar]:
    """Return the size of an index and the cost of building it, by name."""
    layers, spent = index.snapshot().layers, index.spent()
    sizes: dict[str, Scalar] = {f"{name}s": len(layers[name]) for name in _LAYERS}
    if spent is None:
        return {**sizes, **dict.fromkeys(("LLM calls", "tokens", "USD", "seconds"), "unknown")}
    return {
        **sizes,
        "LLM calls": spent.llm_calls,
        **({"LLM calls recorded before": n} if (n := spent.recorded_calls) else {}),
        "tokens": spent.total_tokens,
        "USD": "unknown" if spent.cost_usd is None else round(spent.cost_usd, 6),
        "seconds": round(spent.total_seconds, 3),
        **{f"seconds, {stage}": round(s, 3) for stage, s in spent.seconds.items()},
    }


def _asking(
    index: Index, dataset: Dataset, protocol: Protocol, answering: LLM | None, budget: Budget | None
) -> tuple[Search, Respond]:
    """Return the search and the answer function; the answer reuses the search's evidence."""
    scoring = protocol.scoring
    is_labelled = dataset.format == LABELS
    local = threading.local()  # an answer is asked for in the thread that searched

    def search(question: str, setting: Setting) -> Evidence:
        evidence = index.search(
            Question(
                text=shorten_question(question) if is_labelled else question,
                method=setting.method,
                parameters=protocol.parameters(setting),
                context_tokens=scoring.context_tokens,
                where=protocol.where,
                exact=protocol.exact,
                budget=budget,
            )
        )
        local.evidence = evidence
        return evidence

    def answer(_question: str, _setting: Setting) -> Answer:
        evidence: Evidence = local.evidence
        if answering is not None:  # one reader for all, also where a method has an answer itself
            evidence = replace(evidence, answer=None)
        if protocol.prompt and evidence.prompt == _SHORT:
            evidence = replace(evidence, prompt=protocol.prompt)
        return index.answer(
            evidence,
            context_tokens=scoring.context_tokens,
            answer_tokens=scoring.answer_tokens,
            llm=answering,
            budget=budget,
            style="short",  # as exact match and F1 expect it
        )

    def classify(_question: str, _setting: Setting) -> Answer:
        texts = cast("Sequence[Document]", dataset.corpus)  # as `load_labelled` makes them
        models = index.models if answering is None else replace(index.models, llm=answering)
        return labels.choose_label(local.evidence, texts, models, scoring.context_tokens, budget)

    respond = classify if is_labelled else answer
    return _stop_at_budget(search, budget), _stop_at_budget(respond, budget)


def _stop_at_budget(ask: Callable[P, T], budget: Budget | None) -> Callable[P, T]:
    """Wrap `ask` to end the evaluation when the budget is exhausted.

    A method takes another way then, which is not the one that is to be measured.
    """

    def ask_within_budget(*args: P.args, **options: P.kwargs) -> T:
        given = ask(*args, **options)
        if budget is not None and budget.refused:
            raise BudgetSpent(budget.refused)
        return given

    return ask_within_budget


def _describe_index(
    index: Index, protocol: Protocol, answering: LLM | None, judge: LLMJudge | None
) -> dict[str, Any]:
    """Return the head fields, see `Head`, that describe the index and the models."""
    snapshot, models = index.snapshot(), index.models
    llms = {
        "llm": models.llm,
        "answer": (answering or models.llm) if protocol.answers else None,
        "judge": judge.llm if judge else None,
    }
    wording = next(filter(None, map(find_wording, llms.values())), None)  # one for all
    names = {role: llm.name for role, llm in llms.items() if llm is not None}
    versions = {"clew": clew.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):  # of an extra that these metrics do without
            versions[name] = version(name)
    return {
        "models": {
            "embedder": models.embedder.name,
            "tagger": models.tagger.name,
            "reranker": models.reranker.name,
            **names,
        },
        "prompts": {**prompts.prompt_versions(), **(wording.versions if wording else {})}
        if names
        else {},
        "versions": versions,
        "index": {
            "recipe": dict(snapshot.recipe),
            "generation": snapshot.generation,
            **({"where": str(protocol.where)} if protocol.where is not None else {}),
            **({"exact": True} if protocol.exact else {}),
            "documents": index.digest(),
            "rows": {name: len(snapshot.layers[name]) for name in _LAYERS},
        },
        "index_cost": index_cost(index),
    }
