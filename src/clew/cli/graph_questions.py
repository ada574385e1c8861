"""`clew eval graph`: questions about the knowledge graph of an index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.options import Opener, index_option, json_option, listed
from clew.cli.plain import aligned, echo_json
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.evaluate.graph_questions import GraphRow


@click.command("graph")
@click.argument("path", metavar="QUESTIONS", type=click.Path(path_type=Path))
@index_option()
@click.option(
    "--methods",
    "methods_",
    default="paths,paths_plain,bubble",
    show_default=True,
    metavar="NAMES",
    help="Methods that follow triples.",
)
@click.option(
    "--places",
    type=click.Choice(("all", "even", "odd")),
    default="all",
    show_default=True,
    help="Which questions of the file, counted from 0: a half to choose on, a half to report.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many of them.")
@json_option
@click.pass_obj
def graph_questions(
    opener: Opener,
    path: Path,
    folder: Path,
    methods_: str,
    places: str,
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    """Ask QUESTIONS of the graph of an index: how well are their answers ranked?

    QUESTIONS is MetaQA's text, or JSON lines with {"question", "answers"} and perhaps "id",
    "topic_entity", "hops", "type", and "evidences" as 2WikiMultiHopQA has them. Told are hits@1,
    hits@5, the share of the answers that the evidence holds, that of the gold triples, and the
    medians of milliseconds and of facts. No LLM is asked.
    """
    from clew import methods
    from clew.evaluate.graph_questions import load_graph_questions, measure_graph

    chosen = listed(methods_)
    for name in chosen:
        methods.load(name)
    step = slice(None) if places == "all" else slice(places == "odd", None, 2)
    questions = load_graph_questions(path)[step][:limit]
    if not questions:
        raise InputError(f"{path} has no questions at {places} places")
    with opener(folder) as index:
        rows = [
            row
            for name in chosen
            for row in measure_graph(
                lambda text, method: index.search(text, method=method), questions, name
            )
        ]
    if as_json:
        echo_json([asdict(row) for row in rows])
    else:
        click.echo(_table(rows))


def _table(rows: list[GraphRow]) -> str:
    known = list(dict.fromkeys(metric for row in rows for metric in row.means))
    head = ("method", "questions", "n", *known, "facts", "ms")
    cells = [
        (
            row.method,
            row.group,
            f"{row.n:,}",
            *(f"{row.means[m]:.3f}" if m in row.means else "-" for m in known),
            f"{row.facts:g}",
            f"{row.milliseconds:.0f}",
        )
        for row in rows
    ]
    return aligned([head, *cells])
