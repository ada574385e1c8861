"""`clew plan`: what an extraction by an LLM would cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.base.display.columns import align
from clew.cli import options
from clew.cli.plain import bold, dim, one_line, wrap_text
from clew.cli.program import GroupedCommand
from clew.cli.talk import print_result
from clew.index.options import PlanOptions
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.base.types import CostEstimate, EmbeddingEstimate, Plan, QuestionPlan

_HOUR, _MINUTE = 3600, 60
_HEAD = ("setting", "for", "chunks", "calls", "prompt", "completion", "repairs", "dollars", "time")


@click.command("plan", cls=GroupedCommand)
@click.argument("paths", nargs=-1, metavar="PATH...")
@options.index("Folder of the index: what its ledger has costs nothing.", into=True)
@options.dataset_options
@options.build_options
@options.gather_derived(PlanOptions, "plan", "planned")
@options.paid_options
@options.text("--ask QUESTION", "Say what QUESTION would cost instead, to ask of the index.")
@options.json
@click.pass_obj
def run_plan(  # noqa: PLR0913 -- one argument for each group of options
    opener: options.Opener,
    *,
    paths: tuple[str, ...],
    folder: Path,
    dataset: options.DatasetOptions,
    build: options.BuildOptions,
    planned: Mapping[str, Any],
    paid: options.PaidModels,
    ask: str | None,
    as_json: bool,
) -> None:
    """Estimate what indexing PATH... with an LLM would cost, for each setting, or asking QUESTION.

    Without --probe nothing is sent to the LLM and nothing is written. Prompts are the real ones;
    what the LLM will answer is estimated, and the plan says from what.
    """
    if ask is not None:
        with opener(folder, **build.choose_models(paid)) as opened:
            costs = opened.plan_question(ask)
        print_result(costs, _describe_question(costs), as_json=as_json)
        return
    source, folder = dataset.choose(paths, folder)
    with opener(folder, **build.choose_models(paid)) as opened:
        plan = opened.plan(source, **planned, budget=paid.budget)
    print_result(plan, _describe_plan(plan), as_json=as_json)


def _describe_plan(plan: Plan) -> Iterator[str]:
    counts = {"document": plan.n_documents, "chunk": plan.n_chunks, "token": plan.n_tokens}
    about = ", ".join(format_count(n, what) for what, n in counts.items())
    yield f"{bold(one_line(plan.model) or 'no LLM named')}: {about}"
    yield ""
    rows = align([_HEAD, *map(_estimate_cells, plan.estimates)], left=2)
    yield from (f"  {row}".rstrip() for row in rows)
    yield ""
    yield from (dim(wrap_text(note)) for note in _list_notes(plan))


def _describe_question(plan: QuestionPlan) -> Iterator[str]:
    price = "" if plan.cost_usd is None else f", ~{plan.cost_usd:,.4f} dollars"
    tokens = f"{plan.prompt_tokens:,} tokens of prompts, {plan.completion_tokens:,} of replies"
    calls = format_count(plan.calls, "call")
    yield f"{bold(one_line(plan.model))} by {plan.method}: {calls}, at most {tokens}{price}"
    replies = "1 reply" if plan.n_known == 1 else f"{plan.n_known:,} replies"
    yield dim(f"The ledger has {replies}, which cost nothing.")


def _list_notes(plan: Plan) -> Iterator[str]:
    """Yield what is to be known of the numbers."""
    whole = plan.estimates[-1]
    saved = 1 - whole.prompt_tokens / max(whole.unpacked_prompt_tokens, 1)
    counter = "the model itself" if plan.exact else "cl100k_base"
    yield f"Prompt tokens are counted by {counter}, on the prompts that would be sent."
    yield f"Completion tokens are estimated from {plan.basis}."
    if not plan.core_is_known:
        yield (
            "Which chunks are core is not known before they are indexed: a random sample of as many"
            " stands for them. A core may cost more: its chunks tend to be longer."
        )
    if saved > 0:
        yield f"Short chunks share a prompt: {saved:.0%} fewer prompt tokens for everything."
    if any(plan.n_known.values()):
        units, graph = plan.n_known["units"], plan.n_known["graph"]
        held = f"the units of {units:,} chunks and the triples of {graph:,}"
        yield f"The ledger has {held}, which cost nothing."
    if not whole.repair_tokens:
        yield "Repairs of replies that cannot be used come on top: none are known of."
    if plan.n_useless:
        useless = f"{plan.n_useless:,} of {plan.n_probed:,} probes gave no usable reply"
        yield f"{useless}: this model may not be up to it."
    if plan.embedding is not None:
        yield _describe_vectors(plan.embedding)
    if whole.cost_usd is None:
        yield "The price is not known: give it with --price MODEL=IN,OUT."
    if whole.seconds is None:
        yield "The time is not known before some calls were made: try --probe 5."


def _describe_vectors(estimate: EmbeddingEstimate) -> str:
    price = "at a price that is not known: give it with --price MODEL=IN,0"
    if estimate.cost_usd is not None:
        price = f"for ~{estimate.cost_usd:,.4f} dollars"
    texts = format_count(estimate.n_texts - estimate.n_known, "text")
    others = f"; {estimate.n_known:,} others cost nothing" if estimate.n_known else ""
    return (
        f"Vectors by {one_line(estimate.model)} of chunks, sentences and names come on top:"
        f" ~{estimate.tokens:,} tokens of {texts} {price}{others}. Vectors of what an LLM will find"
        f" are not in this."
    )


def _estimate_cells(estimate: CostEstimate) -> tuple[str, ...]:
    return (
        estimate.setting,
        ", ".join(estimate.methods),
        f"{estimate.n_chunks:,}",
        f"{estimate.calls:,}",
        f"{estimate.prompt_tokens:,}",
        f"~{estimate.completion_tokens:,}",
        f"~{estimate.repair_tokens:,}" if estimate.repair_tokens else "0",
        "unknown" if estimate.cost_usd is None else f"~{estimate.cost_usd:,.4f}",
        "unknown" if estimate.seconds is None else f"~{_format_time(estimate.seconds)}",
    )


def _format_time(seconds: float) -> str:
    if seconds >= _HOUR:
        return f"{seconds / _HOUR:.1f} h"
    return f"{seconds / _MINUTE:.1f} min" if seconds >= _MINUTE else f"{seconds:.0f} s"
