"""`clew eval graph`: questions about the knowledge graph of an index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.asking.question import Question
from clew.cli import options
from clew.cli.plain import align, one_line
from clew.cli.settings import check_given, context_option, given_option, method_settings
from clew.cli.talk import print_result
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.evaluate.graph_questions import GraphRow
    from clew.types import Evidence, Scalar


@click.command("graph")
@click.argument("path", metavar="QUESTIONS", type=click.Path(path_type=Path))
@options.text(
    "--methods NAMES",
    "Methods that follow triples, or others to compare with.",
    "names",
    default="paths,paths_plain,bubble",
    show_default=True,
)
@given_option
@options.choice(
    "--places all|even|odd",
    "Which questions of the file, counted from 0: a half to choose on, a half to report.",
    default="all",
)
@options.number("--limit N", "At most so many of them.")
@options.flag("--answers", "Also answer, and measure whether a right name is in the answer.")
@context_option
@options.index()
@options.paid_options
@options.json
@click.pass_obj
def measure_graph_questions(  # noqa: PLR0913 -- one argument for each option
    opener: options.Opener,
    *,
    path: Path,
    names: str,
    given: tuple[str, ...],
    places: str,
    limit: int | None,
    answers: bool,
    context_tokens: int,
    folder: Path,
    paid: options.PaidModels,
    as_json: bool,
) -> None:
    """Ask QUESTIONS of the graph of an index: how well are their answers ranked?

    QUESTIONS is MetaQA's text, or JSON lines with {"question", "answers"} and perhaps "id",
    "topic_entity", "hops", "type", and "evidences" as 2WikiMultiHopQA has them. The table has
    hits@1, hits@5, the share of the answers that the evidence holds, that of the gold triples, and
    the medians of milliseconds and of facts; below it stand fallbacks, such as for a reply of the
    LLM that was of no use. With --llm, methods that can use an LLM do, it writes the answers of
    --answers, and calls and tokens are counted too.
    """
    from clew.evaluate.graph_questions import load_graph_questions, measure_graph

    parameters = _parse_methods(names, given)
    step = slice(None) if places == "all" else slice(places == "odd", None, 2)
    questions = load_graph_questions(path)[step][:limit]
    if not questions:
        raise InputError(f"{path} has no questions at {places} places")
    with opener(folder, **paid.choose_models()) as index:

        def search(text: str, method: str) -> Evidence:
            question = Question(
                text=text,
                method=method,
                parameters=parameters[method],
                context_tokens=context_tokens,
                budget=paid.budget,
            )
            return index.search(question)

        respond = partial(index.answer, context_tokens=context_tokens, budget=paid.budget)
        rows = [
            row
            for name in parameters
            for row in measure_graph(search, questions, name, respond=respond if answers else None)
        ]
    words = chain([_build_table(rows)], map(one_line, _describe_rows(rows)))
    print_result(rows, words, as_json=as_json)


def _parse_methods(names: str, given: tuple[str, ...]) -> dict[str, dict[str, Scalar]]:
    """Return the parameters that were given, by method."""
    from clew import methods

    listed = options.split_list(names)
    for name in listed:
        methods.load(name)
    check_given(given, listed, {})
    return {name: method_settings(name, given) for name in listed}


def _build_table(rows: list[GraphRow]) -> str:
    metrics = list(dict.fromkeys(metric for row in rows for metric in row.means))
    called = any(row.llm_calls for row in rows)
    head = ("method", "questions", "n", *metrics, "facts", "ms", *(("calls", "tokens") * called))
    cells = [
        (
            row.method,
            row.group,
            f"{row.n:,}",
            *(f"{row.means[m]:.3f}" if m in row.means else "-" for m in metrics),
            f"{row.facts:g}",
            f"{row.milliseconds:.0f}",
            *((f"{row.llm_calls:.1f}", f"{row.tokens:,.0f}") * called),
        )
        for row in rows
    ]
    return align([head, *cells])


def _describe_rows(rows: list[GraphRow]) -> Iterator[str]:
    """Yield what is true of each method, or of some of its questions."""
    for row in (row for row in rows if row.group == "all"):
        if "hits@1" not in row.means:
            yield f"{row.method} gives no graph: recall is of the names in its tables and chunks"
        yield from (f"{row.method}: {n} of {row.n}: {note}" for note, n in row.notes.items())
