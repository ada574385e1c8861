"""`clew ask` and `clew search`."""

from __future__ import annotations

import click

from clew.cli import render
from clew.cli.options import Opener, Query, query_options
from clew.cli.plain import echo_json


@click.command()
@click.argument("question")
@query_options
@click.option(
    "--budget-tokens",
    type=click.IntRange(min=1),
    default=4_000,
    show_default=True,
    metavar="N",
    help="Tokens of text that an answer may be made from.",
)
@click.pass_obj
def ask(opener: Opener, question: str, query: Query, budget_tokens: int, *, as_json: bool) -> None:
    """Answer QUESTION, with citations and the thread that led there.

    Without an LLM the answer quotes the sentences that support it best. A citation names a file
    and the range of characters in it: [1] docs/fram.md:138-221.
    """
    with opener(query.folder, specs=query.specs) as index:
        answer = index.ask(
            question, method=query.method, budget_tokens=budget_tokens, **query.parameters
        )
    if as_json:
        echo_json(answer)
    else:
        click.echo(render.answer(answer))


@click.command()
@click.argument("text", metavar="QUERY")
@query_options
@click.pass_obj
def search(opener: Opener, text: str, query: Query, *, as_json: bool) -> None:
    """Show the chunks that a method finds for QUERY, best first.

    Scores order the chunks of one search; they do not compare between methods.
    """
    with opener(query.folder, specs=query.specs) as index:
        evidence = index.search(text, method=query.method, **query.parameters)
    if as_json:
        echo_json(evidence)
    else:
        click.echo(render.search(evidence))
