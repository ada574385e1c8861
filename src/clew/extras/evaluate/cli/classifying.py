"""`clew classify`: a label for a text, or for each text of a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, starmap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.answers.question import Question
from clew.cli import options, render
from clew.cli.building import warn_skipped
from clew.cli.plain import align, bold, count_more, one_line, print_result, to_json, wrap_text
from clew.cli.program import SKIPPED, GroupedCommand
from clew.cli.progress import show_count
from clew.errors import InputError
from clew.text.normalize import label_key, title_head
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.base.types import Usage
    from clew.extras.evaluate.classify import Classified

Classify = Callable[[str], "Classified"]

_MOST_NOTES = 3  # of a file
_MOST_HITS = 2


@click.command("classify", cls=GroupedCommand)
@click.argument("text", required=False)
@options.path("--file FILE", "Classify the texts of FILE: JSON lines, or a WOS or IFS-Rel folder.")
@options.text("--label COLUMN", "Field of the metadata that has the labels.", default="label")
@options.text(
    "--name-weight SHARE",
    "Weight of label names; 0 ignores them. [default: measured]",
    type=click.FloatRange(0, 1),
)
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
    label: str,
    name_weight: float | None,
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
    if not (file or str(text).strip()):
        raise InputError("the text is empty: there is nothing to classify")
    from clew.extras.evaluate.classify import classify_question

    parameters, where = options.parse_parameters(method, given), options.join_filters(filters)
    with opener(folder, **paid.choose_models(reranker)) as index:

        def classify(each: str) -> Classified:
            question = Question(
                text=each,
                method=method,
                parameters=parameters,
                context_tokens=context_tokens,
                where=where,
                budget=paid.budget,
            )
            return classify_question(question, index, label, name_weight)

        if file is not None:
            _classify_file(file, label, classify, as_json=as_json)
        else:
            result = classify(str(text))
            print_result(result, _describe_label(result), as_json=as_json)


def _classify_file(file: Path, label: str, classify: Classify, *, as_json: bool) -> None:
    """Print the label of each text in a file, then the accuracy and the costs."""
    from clew import readers
    from clew.base.types import Document, Skipped, Usage
    from clew.extras.evaluate.classify import document_label
    from clew.extras.evaluate.formats.labelled import read_labelled

    items = list(read_labelled(file, "test") or readers.read([file]))
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
    """Return the metrics on the texts whose lines have a label; none where there are none."""
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
    """Yield the label, what the LLM said where that is none, candidates, hits, notes, costs."""
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
