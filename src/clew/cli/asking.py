"""`clew ask`, `chat`, `search` and `hop`, and the file of a conversation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.answers.question import Question
from clew.cli import options, render
from clew.cli.plain import bold, one_line, print_result, say, to_json, wrap_text
from clew.cli.program import REFUSED, GroupedCommand
from clew.errors import InputError

_PROMPT = "> "

if TYPE_CHECKING:
    from clew.base.types import Answer, Evidence, Exchange


_answer_options = options.apply_all(
    [
        options.question_options("answer"),
        options.paid_options,
        options.reader,
        options.flag("--anyway", "Refuse nothing: the same as --threshold 0."),
        options.path("--history FILE", "Conversation to continue, kept in FILE.", is_file=True),
    ]
)


@click.command("ask", cls=GroupedCommand)
@click.argument("question")
@_answer_options
@options.json
@click.pass_obj
def run_ask(
    opener: options.Opener,
    question: str,
    flags: options.QuestionOptions,
    paid: options.PaidModels,
    reader: str | None,
    history: Path | None,
    *,
    anyway: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION, with citations.

    Without an LLM the answer quotes the sentences that support it best, below a short answer if
    their dates decide between two things. A citation names a file and the line in it, [1]
    docs/fram.md:12, or the page or section of a file without lines; with --json also the range of
    characters. A repeated question costs nothing. On a terminal an LLM's answer is streamed.

    If nothing in the index seems to answer QUESTION, the nearest passages are shown instead, and
    the exit status is 5. So it is where no source says any of an LLM's answer: then quotes are
    shown.
    """
    _check_writable(history)
    asked = _build_question(question, flags, paid, read_turns(history), anyway=anyway)
    is_streamed = bool(paid.llm) and not (reader or as_json)
    how = paid.choose_models(flags.reranker, reader)
    with options.open_any(opener, flags.folder, **how) as index:
        answer, is_written = _ask(index, asked, is_streamed=is_streamed)
    shown = partial(render.render_answer, is_written=is_written)
    print_result(answer, map(shown, [answer]), as_json=as_json)
    _keep_turn(history, question, answer.text)
    is_replaced = answer.unsupported and answer.kind != "generated"  # by quotes
    if answer.kind in {"partial", "refused"} or is_replaced:
        sys.exit(REFUSED)


@click.command("chat", cls=GroupedCommand)
@_answer_options
@click.pass_obj
def run_chat(
    opener: options.Opener,
    flags: options.QuestionOptions,
    paid: options.PaidModels,
    reader: str | None,
    history: Path | None,
    *,
    anyway: bool,
) -> None:
    """Answer questions one after another, each as a follow-up of those before.

    A question is a line of standard input; an empty line, or the end of the input, ends the
    conversation. Answers are printed as by 'clew ask'. A budget holds for all of them together.
    """
    from clew.base.types import Exchange

    _check_writable(history)
    turns, is_failed = list(read_turns(history)), False
    is_streamed = bool(paid.llm) and not reader
    how = paid.choose_models(flags.reranker, reader)
    with options.open_any(opener, flags.folder, **how) as index:
        getattr(index, "generation", None)  # raises NotAnIndex before anything is asked
        for text in _read_questions():
            try:
                asked = _build_question(text, flags, paid, turns, anyway=anyway)
                answer, is_written = _ask(index, asked, is_streamed=is_streamed)
            except InputError as error:  # of one question: the conversation goes on
                click.echo(f"clew: {one_line(str(error))}", err=True)
                is_failed = True
                continue
            click.echo(f"{render.render_answer(answer, is_written=is_written)}\n")
            turns.append(Exchange(text, answer.text))
            _keep_turn(history, text, answer.text)
    if is_failed:
        sys.exit(1)


def _build_question(
    text: str,
    flags: options.QuestionOptions,
    paid: options.PaidModels,
    turns: Sequence[Exchange],
    *,
    anyway: bool,
) -> Question:
    unrefused = {"min_support": 0.0} if anyway else {}
    return Question(
        text=text, budget=paid.budget, **{**flags.options, "history": turns, **unrefused}
    )


def _ask(index: options.Opened, question: Question, *, is_streamed: bool) -> tuple[Answer, bool]:
    """Return the answer, and whether its text was printed as it came, which a terminal allows."""
    writing = render.AnswerWriter() if is_streamed and sys.stdout.isatty() else None
    with writing or nullcontext():
        answer = index.ask(question, on_text=writing, on_citation=writing and writing.cite)
    return answer, writing is not None and writing.finish(answer)


def _read_questions() -> Iterator[str]:
    """Yield the lines of standard input up to an empty one, typed or echoed behind a prompt."""
    is_typed = sys.stdin.isatty()
    if is_typed:
        with suppress(ImportError):  # Windows has none
            import readline  # noqa: F401 -- it lets `input` edit a line and recall those before
        say("Ask a question; an empty line ends the conversation.", err=True)
    while True:
        try:
            line = input(_PROMPT if is_typed else "").strip("\ufeff \t\r")
        except (EOFError, KeyboardInterrupt):
            return
        except UnicodeError as error:
            raise InputError(f"standard input cannot be read as questions: {error}") from error
        if not line:
            return
        if not is_typed:
            click.echo(bold(f"{_PROMPT}{one_line(line)}"))
        yield line


@click.command("search", cls=GroupedCommand)
@click.argument("text", metavar="QUERY")
@options.question_options("search")
@options.paid_options
@options.json
@click.pass_obj
def run_search(
    opener: options.Opener,
    text: str,
    flags: options.QuestionOptions,
    paid: options.PaidModels,
    *,
    as_json: bool,
) -> None:
    """Show the chunks that a method finds for QUERY, best first.

    Answers of a graph, and tables of entities and relations, come first, if there are any; --json
    has the whole graph. Scores rank the chunks of one search and cannot be compared between
    methods; relevance can: the probability that an answer needs the chunk.
    """
    with options.open_any(opener, flags.folder, **paid.choose_models(flags.reranker)) as index:
        evidence = index.search(Question(text=text, budget=paid.budget, **flags.options))
    print_result(evidence, map(render.render_evidence, [evidence]), as_json=as_json)


@click.command("hop", cls=GroupedCommand)
@click.argument("start", metavar="ID|NAME")
@options.text("--query TEXT", "What is looked for: passages like it come first.", default="")
@click.option("--chunks", type=click.IntRange(1), default=5, show_default=True, help="Passages.")
@options.where
@options.usual
def run_hop(
    opener: options.Opener,
    start: str,
    folder: Path,
    *,
    query: str,
    chunks: int,
    filters: Sequence[str],
    as_json: bool,
) -> None:
    """Show the next passages from a passage, a document or an entity, and why.

    Each is from another document and shares an entity with the start. No LLM is called, so an agent
    can move from passage to passage at no cost.
    """
    where = options.join_filters(filters)
    with opener(folder) as index:
        evidence = index.hop(start, query=query, chunks=chunks, where=where)
    print_result(evidence, _describe_hops(evidence), as_json=as_json)


def _describe_hops(evidence: Evidence) -> Iterator[str]:
    for hit, path in zip(evidence.hits, evidence.paths, strict=True):
        entity, *sentence = [step.text for step in path.steps[1:-1]]
        yield f"{bold(one_line(hit.chunk_id))}  {one_line(hit.head)}"
        yield wrap_text(f"{entity}: {''.join(sentence) or 'its title'}", first="  ", rest="  ")
    yield from map(one_line, evidence.notes)


def read_turns(path: Path | None) -> tuple[Exchange, ...]:
    """Return the turns in a file, none if it does not exist. Raises InputError."""
    if path is None or not path.exists():
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as a conversation: {error}") from error
    from clew.base.types import Exchange

    turns = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turn = json.loads(line)
            question, answer = turn["question"], turn["answer"]
        except (ValueError, RecursionError, KeyError, TypeError):
            question = answer = None
        if not (isinstance(question, str) and isinstance(answer, str)):
            raise InputError(
                f"{path}, line {number}, is not a turn of a conversation: write each as one JSON"
                f' object such as {{"question": "Who?", "answer": "He."}}'
            )
        turns.append(Exchange(question, answer))
    return tuple(turns)


def _keep_turn(history: Path | None, question: str, answer: str) -> None:
    """Append a turn to the file of a conversation, if there is one."""
    if history is not None:
        turn = {"question": question, "answer": answer}
        try:
            with history.open("a", encoding="utf-8") as file:
                file.write(f"{to_json(turn)}\n")
        except OSError as error:
            raise InputError(f"{history} cannot be written: {error.strerror}") from error


def _check_writable(path: Path | None) -> None:
    """Raise InputError if a file cannot be written, before anything is paid for."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: permission denied")
