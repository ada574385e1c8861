"""`clew ask`, `clew search`, and the file of a conversation."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli import options, render
from clew.cli.plain import echo_json, to_json
from clew.cli.program import REFUSED, GroupedCommand
from clew.cli.writing import AnswerWriter
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Exchange


@click.command("ask", cls=GroupedCommand)
@click.argument("question")
@options.question_options("answer")
@options.paid_options
@options.reader
@options.flag("--anyway", "Refuse nothing: the same as --threshold 0.")
@options.text(
    "--history FILE",
    "A conversation: QUESTION follows the turns in FILE, and goes there with its answer.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@options.json
@click.pass_obj
def run_ask(
    opener: options.Opener,
    question: str,
    asked: options.QuestionOptions,
    paid: options.PaidModels,
    reader: str | None,
    history: Path | None,
    *,
    anyway: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION, with citations and the thread that led there.

    Without an LLM the answer quotes the sentences that support it best, below a short answer where
    one is likely enough. A citation names a file
    and the line in it, [1] docs/fram.md:12, or the page or section of a file without lines; with
    --json also the range of characters. A question that was asked before costs nothing again. On a
    terminal an LLM's answer is shown while it is written.

    Where nothing in the index answers QUESTION, as far as can be told, the nearest passages are
    shown as such, and the exit status is 5.
    """
    unrefused = {"min_support": 0.0} if anyway else {}
    whole = asked.build_question(question, paid.budget, history=read_turns(history), **unrefused)
    writing = (
        AnswerWriter() if paid.llm and not (reader or as_json) and sys.stdout.isatty() else None
    )
    with asked.open_index(opener, paid, reader) as index, writing or nullcontext():
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
@options.question_options("search")
@options.paid_options
@options.json
@click.pass_obj
def run_search(
    opener: options.Opener,
    text: str,
    asked: options.QuestionOptions,
    paid: options.PaidModels,
    *,
    as_json: bool,
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


def read_turns(path: Path | None) -> tuple[Exchange, ...]:
    """Return the turns in a file, none where it is not there. Raises InputError."""
    if path is None or not path.exists():
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as a conversation: {error}") from error
    from clew.types import Exchange

    turns = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turn = json.loads(line)
            asked, said = turn["question"], turn["answer"]
        except (ValueError, RecursionError, KeyError, TypeError):
            asked = said = None
        if not (isinstance(asked, str) and isinstance(said, str)):
            raise InputError(
                f"{path}, line {number}, is no turn of a conversation: write each as one JSON"
                f' object such as {{"question": "Who?", "answer": "He."}}'
            )
        turns.append(Exchange(asked, said))
    return tuple(turns)


def write_turn(path: Path, question: str, answer: str) -> None:
    """Write a turn at the end of a file. Raises InputError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{to_json({'question': question, 'answer': answer})}\n")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
