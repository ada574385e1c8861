"""`clew ask` and `clew search`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from clew.cli import render
from clew.cli.headings import GroupedCommand
from clew.cli.options import (
    Opener,
    PaidModels,
    QuestionOptions,
    flag_option,
    json_option,
    paid_options,
    question_options,
    text_option,
)
from clew.cli.plain import echo_json
from clew.cli.program import REFUSED
from clew.cli.turns import read_turns, write_turn
from clew.cli.writing import AnswerWriter


@click.command("ask", cls=GroupedCommand)
@click.argument("question")
@question_options("answer")
@paid_options
@flag_option("--anyway", "Refuse nothing: the same as --threshold 0.")
@text_option(
    "--history FILE",
    "A conversation: QUESTION follows the turns in FILE, and goes there with its answer.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@json_option
@click.pass_obj
def run_ask(
    opener: Opener,
    question: str,
    asked: QuestionOptions,
    paid: PaidModels,
    history: Path | None,
    *,
    anyway: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION, with citations and the thread that led there.

    Without an LLM the answer quotes the sentences that support it best. A citation names a file
    and the line in it, [1] docs/fram.md:12, or the page or section of a file without lines; with
    --json also the range of characters. A question that was asked before costs nothing again. On a
    terminal an LLM's answer is shown while it is written.

    Where nothing in the index answers QUESTION, as far as can be told, the nearest passages are
    shown as such, and the exit status is 5.
    """
    unrefused = {"min_support": 0.0} if anyway else {}
    whole = asked.build_question(question, paid.budget, history=read_turns(history), **unrefused)
    writing = AnswerWriter() if paid.llm and not as_json and sys.stdout.isatty() else None
    with asked.open_index(opener, paid) as index, writing or nullcontext():
        answer = index.ask(whole, on_text=writing)
    is_written = writing is not None and writing.finish(answer)
    if as_json:
        echo_json(answer)
    else:
        click.echo(render.render_answer(answer, is_written=is_written))
    if history is not None and answer.text:
        write_turn(history, question, answer.text)
    if answer.kind == "refused":
        sys.exit(REFUSED)


@click.command("search", cls=GroupedCommand)
@click.argument("text", metavar="QUERY")
@question_options("search")
@paid_options
@json_option
@click.pass_obj
def run_search(
    opener: Opener, text: str, asked: QuestionOptions, paid: PaidModels, *, as_json: bool
) -> None:
    """Show the chunks that a method finds for QUERY, best first.

    The graph that a method followed, and tables of entities and relations, come before them where
    there are such. Scores order the chunks of one search; they do not compare between methods. The
    relevance of a chunk does: how probably an answer needs it.
    """
    with asked.open_index(opener, paid) as index:
        evidence = index.search(asked.build_question(text, paid.budget))
    if as_json:
        echo_json(evidence)
    else:
        click.echo(render.render_evidence(evidence))
