"""`clew ask`, `search`, `hop`, `verify` and `classify`, and conversation files."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.answers.question import ClassifyOptions, Question
from clew.cli import options, render
from clew.cli.plain import align, bold, count_more, dim, one_line, print_result, to_json, wrap_text
from clew.cli.program import REFUSED, SKIPPED, GroupedCommand
from clew.errors import InputError
from clew.text.normalize import label_key, title_head
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.base.proofs import Verified
    from clew.base.types import Classified, Evidence, Exchange, Usage

Classify = Callable[[str], "Classified"]

_MOST_NOTES = 3  # of a file
_MOST_HITS = 2


@click.command("ask", cls=GroupedCommand)
@click.argument("question")
@options.question_options("answer")
@options.paid_options
@options.reader
@options.flag("--anyway", "Refuse nothing: the same as --threshold 0.")
@options.path("--history FILE", "Conversation that QUESTION continues in FILE.", is_file=True)
@options.path("--proof FILE", "Write a proof of the answer for 'clew verify'.", is_file=True)
@options.json
@click.pass_obj
def run_ask(  # noqa: PLR0913 -- one argument for each option
    opener: options.Opener,
    question: str,
    flags: options.QuestionOptions,
    paid: options.PaidModels,
    reader: str | None,
    history: Path | None,
    *,
    proof: Path | None,
    anyway: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION, with citations and the thread that led there.

    Without an LLM the answer quotes the sentences that support it best, below a short answer if
    their dates decide between two things. A citation names a file and the line in it, [1]
    docs/fram.md:12, or the page or section of a file without lines; with --json also the range of
    characters. A repeated question costs nothing. On a terminal an LLM's answer is streamed.

    If nothing in the index seems to answer QUESTION, the nearest passages are shown instead, and
    the exit status is 5.
    """
    for path in filter(None, (history, proof)):
        _check_writable(path)
    unrefused = {"min_support": 0.0} if anyway else {}
    asked = {**flags.options, "history": read_turns(history), **unrefused}
    whole = Question(text=question, budget=paid.budget, **asked)
    is_streamed = paid.llm and not (reader or as_json) and sys.stdout.isatty()
    writing = render.AnswerWriter() if is_streamed else None
    how = paid.choose_models(flags.reranker, reader)
    with options.open_any(opener, flags.folder, **how) as index, writing or nullcontext():
        answer = index.ask(whole, on_text=writing)
        proved = index.prove(answer) if proof else None
    is_written = writing is not None and writing.finish(answer)
    shown = partial(render.render_answer, is_written=is_written)
    print_result(answer, map(shown, [answer]), as_json=as_json)
    if history is not None and answer.text:
        turn = {"question": question, "answer": answer.text}
        _write_file(history, f"{to_json(turn)}\n", "a")
    if proof is not None:
        _write_file(proof, f"{to_json(proved)}\n", "w")
    if answer.kind in {"partial", "refused"}:
        sys.exit(REFUSED)


@click.command("verify", cls=GroupedCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@options.usual
def run_verify(opener: options.Opener, file: Path, folder: Path, *, as_json: bool) -> None:
    """Check the quotes of an answer by FILE, which 'clew ask --proof' wrote.

    A quote is unchanged, has moved to another place or document, or is gone. Sentences of the
    answer that no quote supports are listed too. The exit status is 1 if a quote is gone or a
    sentence is not supported.
    """
    with options.open_any(opener, folder) as index:
        verified = index.verify(file)
    print_result(verified, _describe_verified(verified), as_json=as_json)
    if not verified.is_sound:
        sys.exit(1)


def _describe_verified(verified: Verified) -> Iterator[str]:
    yield bold(one_line(verified.question))
    for text in filter(None, (verified.short, verified.text)):
        yield wrap_text(text, first="  ", rest="  ")
    for each in verified.quotes:
        place = f"  {one_line(each.place)}" if each.document_id else ""
        changed = dim("  (the document has changed)") if each.is_changed else ""
        yield f"[{each.number}] {each.state}{place}{changed}"
        if each.state == "gone":
            yield wrap_text(each.quote, first="    ", rest="    ")
    for sentence in verified.unsupported:
        yield wrap_text(f"No quote holds: {sentence}", rest="  ")
    if not (verified.quotes or verified.unsupported):
        yield "The answer quotes nothing, so there is nothing to verify."


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

    The graph that a method followed, and tables of entities and relations, come first, if there are
    any. Scores rank the chunks of one search and cannot be compared between methods; relevance can:
    the probability that an answer needs the chunk.
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


def _check_writable(path: Path) -> None:
    """Raise InputError if a file cannot be written, before anything is paid for."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: permission denied")


def _write_file(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


# -- labels of texts -----------------------------------------------------------------------------


@click.command("classify", cls=GroupedCommand)
@click.argument("text", required=False)
@options.path("--file FILE", "Classify the texts of FILE: JSON lines, or a WOS or IFS-Rel folder.")
@options.add_derived_options(ClassifyOptions, "classify", "classifying")
@options.text("--method", "Retrieval method: 'clew methods'.", default="hybrid")
@options.param("chunks=20")
@options.reranker
@options.where
@options.index()
@options.paid_options
@options.number("--context-tokens N", "Tokens of the LLM's context, at most.", default=4_000)
@options.flag("--json", "Print JSON, of a FILE a line for each text.", "as_json")
@click.pass_obj
def run_classify(  # noqa: PLR0913 -- one argument for each option
    opener: options.Opener,
    text: str | None,
    *,
    file: Path | None,
    classifying: Mapping[str, Any],
    method: str,
    given: Sequence[str],
    reranker: str | None,
    filters: Sequence[str],
    folder: Path,
    paid: options.PaidModels,
    context_tokens: int,
    as_json: bool,
) -> None:
    """Give TEXT, or each text of a file, one of the labels that indexed texts have.

    Index some texts with labels first: JSON lines with "text" and "label", or a table with such
    columns; one text for each label will do. Of a FILE that has labels itself, the share of right
    ones comes at the end. A line that cannot be read is named, and the rest goes on.
    """
    if (text is None) == (file is None):
        raise click.UsageError("give TEXT or --file FILE")
    parameters, where = options.parse_parameters(method, given), options.join_filters(filters)
    with opener(folder, **paid.choose_models(reranker)) as index:

        def classify(each: str) -> Classified:
            return index.classify(
                each,
                method=method,
                context_tokens=context_tokens,
                where=where,
                budget=paid.budget,
                **{**classifying, **parameters},
            )

        if file is not None:
            _classify_file(file, classifying["label"], classify, as_json=as_json)
        else:
            result = classify(str(text))
            print_result(result, _describe_label(result), as_json=as_json)


def _classify_file(file: Path, label: str, classify: Classify, *, as_json: bool) -> None:
    """Print the label of each text in a file, then the accuracy and the costs."""
    from clew import plugins, readers
    from clew.base.types import Document, Skipped, Usage
    from clew.cli.building import warn_skipped
    from clew.cli.progress import show_count

    document_label = plugins.load("classifiers", "labels", "'classify'").document_label
    labelled = plugins.find_usable("datasets", "labelled")
    items = list((labelled and labelled(file, "test")) or readers.read([file]))
    documents = [item for item in items if isinstance(item, Document)]
    skipped = [item for item in items if isinstance(item, Skipped)]
    warn_skipped(skipped)
    if not documents:
        raise InputError(f"there is no text to classify in {str(file)!r}")
    done: list[tuple[str, Classified]] = []  # behind the label of its line, empty for none
    usage, notes = Usage(), Counter[str]()
    shown = nullcontext() if sys.stdout.isatty() else show_count("asking")
    with shown as on_progress:
        for document in documents:
            result = classify(title_head(document.title, document.text) + document.text)
            done.append((document_label(document, label), result))
            usage += result.usage
            notes.update(_collect_notes(result))
            tell = _to_json_line if as_json else _describe_text
            click.echo(tell(document.id, *done[-1]))
            if on_progress is not None:
                on_progress(len(done), len(documents))
    scores = compute_scores(done)
    if as_json:
        click.echo(to_json({"texts": len(done), **scores, "usage": usage.to_dict()}))
    else:
        click.echo("\n".join(_summarize(len(done), scores, notes, usage)))
    if skipped:
        sys.exit(SKIPPED)


def compute_scores(done: Sequence[tuple[str, Classified]]) -> dict[str, float]:
    """Return the metrics over the texts with known labels, none if there are none."""
    from statistics import fmean

    by_label: dict[str, list[bool]] = {}
    for right, result in done:
        if right:
            is_right = label_key(right) == label_key(result.label)
            by_label.setdefault(label_key(right), []).append(is_right)
    if not by_label:
        return {}
    return {
        "accuracy": fmean(chain.from_iterable(by_label.values())),
        "macro_recall": fmean(map(fmean, by_label.values())),
        "out_of_set": fmean(result.out_of_set for right, result in done if right),
    }


def _summarize(
    n: int, scores: Mapping[str, float], notes: Counter[str], usage: Usage
) -> Iterator[str]:
    """Yield a blank line, the metrics, the most frequent notes, and the costs."""
    metrics = [f"{name.replace('_', ' ')} {value:.3f}" for name, value in scores.items()]
    yield ""
    yield ", ".join([bold(format_count(n, "text")), *metrics])
    for note, n_texts in notes.most_common(_MOST_NOTES):
        yield _format_note(f"{note} ({format_count(n_texts, 'text')})")
    yield from count_more(len(notes) - _MOST_NOTES)
    yield from render.render_costs(usage)


def _to_json_line(document_id: str, right: str, result: Classified) -> str:
    values = {name: getattr(result, name) for name in ("label", "out_of_set", "candidates", "said")}
    truth = {"right": right} if right else {}
    return to_json({"id": document_id, **values, "notes": _collect_notes(result), **truth})


def _describe_text(document_id: str, right: str, result: Classified) -> str:
    reply = f" (the LLM said {result.said!r})" if result.out_of_set else ""
    is_wrong = right and label_key(right) != label_key(result.label)
    instead = f" (right: {right})" if is_wrong else ""
    return one_line(f"{document_id}: {result.label}{reply}{instead}")


def _describe_label(result: Classified) -> Iterator[str]:
    """Yield the label, or the LLM's reply if it is none, candidates, hits, notes and costs."""
    yield bold(one_line(result.label))
    if result.out_of_set:
        yield wrap_text(f"The LLM said {result.said!r}.", max_lines=3)
    rows = [(f"{score:.3f}", label) for label, score in result.candidates]
    if rows:
        names = f"names weigh {result.name_weight:.2f}, what was found {1 - result.name_weight:.2f}"
        yield from ("", f"{bold('Candidates')}, {names}", align(rows))
    hits = result.evidence.hits[:_MOST_HITS]
    if hits:
        yield from ("", bold("What was found"), *starmap(render.render_hit, enumerate(hits, 1)))
    notes = [_format_note(note) for note in _collect_notes(result)]
    for block in filter(None, (notes, [*render.render_costs(result.usage)])):
        yield from ("", *block)


def _collect_notes(result: Classified) -> list[str]:
    return [*result.evidence.notes, *result.notes]


def _format_note(note: str) -> str:
    return wrap_text(note, first="Note: ", rest="      ")
