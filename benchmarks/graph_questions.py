"""Evaluate the ranking of answers to questions about a knowledge graph.

    python -m benchmarks.graph_questions questions.txt --index graph.clew --methods paths,bubble

| a file is | a line has |
|---|---|
| `.txt`, as MetaQA has it | `what does [Joe Thomas] appear in`, a tab, answers parted by a bar |
| `.jsonl`, or `.json` with a list | "question", "answers" (or "answer"), perhaps "topic_entity" |

Objects may also have "id", "hops" or "hop_count", "type", and as gold triples "evidences", lists of
subject, relation and object, as 2WikiMultiHopQA has them. Names are compared by their keys.
"""

import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

import clew
from clew import methods
from clew.answers.question import Question
from clew.base.types import Answer, Evidence, Scalar
from clew.cli import options
from clew.cli.plain import align, one_line, print_result
from clew.errors import ClewError, InputError
from clew.extras.evaluate.cli import measuring
from clew.extras.evaluate.metrics import contains, normalize_answer
from clew.models.run import evaluating
from clew.text.keys import name_key
from clew.text.normalize import collapse

GRAPH_METRICS = ("hits@1", "hits@5", "recall", "gold triples", "answered")
_METRICS = ("hits@1", "hits@5", "gold triples")  # nothing else ranks entities, or states triples

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_ALL_GROUP = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuestion:
    """A question with the names of its answers."""

    id: str
    text: str
    answers: tuple[str, ...]
    topic: str = ""  # the entity that it names, where that is known: no answer
    group: str = ""  # such as "2 hops"
    gold: tuple[tuple[str, str, str], ...] = ()  # triples


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """The results of a method on some questions: mean scores and cost."""

    method: str
    group: str  # "all" for all questions
    n: int
    means: Mapping[str, float]  # by metric; only those that apply to some question
    milliseconds: float  # of a search, the median
    facts: float  # the median
    llm_calls: float = 0.0  # of a search and its answer, the mean; replies on record are none
    tokens: float = 0.0  # of these calls, the mean
    notes: Mapping[str, int] = field(default_factory=dict)  # of how many questions each is true


@dataclass(frozen=True, slots=True)
class _GraphQuestionResult:
    """The result of one question."""

    scores: Mapping[str, float]
    milliseconds: float
    facts: int
    llm_calls: int
    tokens: int
    notes: tuple[str, ...]
    has_graph: bool


def load_graph_questions(path: Path) -> list[GraphQuestion]:
    """Read the questions of a file. Raises InputError with the reason if one is invalid."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as questions: {error}") from None
    if path.suffix.lower() == ".txt":
        parted = [(n, line.partition("\t")) for n, line in _lines(text)]
        questions = [
            _question(path, n, {"question": question, "answers": answers.split("|")})
            for n, (question, _, answers) in parted
        ]
    elif path.suffix.lower() == ".json":
        items = _json(path, 1, text)
        if not isinstance(items, list):
            raise InputError(f"{path} holds no list of questions")
        questions = [_question(path, n, item) for n, item in enumerate(items, 1)]
    else:
        questions = [_question(path, n, _json(path, n, line)) for n, line in _lines(text)]
    if not questions:
        raise InputError(f"{path} holds no questions")
    return questions


def measure_graph(
    search: Callable[[str, str], Evidence],
    questions: Sequence[GraphQuestion],
    method: str,
    *,
    respond: Callable[[Evidence], Answer] | None = None,
) -> list[GraphRow]:
    """Measure a method on each group of questions, and on all.

    `search` gives the evidence of a text by a method, `respond` an answer from that. A method that
    gives a graph for no question has no metrics of graphs.
    """
    with evaluating():
        results = [_ask(search, question, method, respond) for question in questions]
    left_out = () if any(each.has_graph for each in results) else _METRICS
    groups: dict[str, list[_GraphQuestionResult]] = {}
    for question, each in zip(questions, results, strict=True):
        for group in dict.fromkeys((question.group or _ALL_GROUP, _ALL_GROUP)):
            groups.setdefault(group, []).append(each)
    order = sorted(groups, key=lambda group: (group == _ALL_GROUP, group))
    return [_sum_up(method, group, groups[group], left_out) for group in order]


def score_graph(question: GraphQuestion, evidence: Evidence) -> dict[str, float]:
    """Return the metrics of one question; an empty result scores 0.

    Answers are ranked as the evidence does it, else as its facts stand. Recall is the share of the
    answers among its entities; where it has no graph, of those named in its tables and chunks.
    """
    graph = evidence.graph
    wanted = set(map(name_key, question.answers))
    topic = name_key(question.topic)
    ends = [end for f in (graph.facts if graph else ()) for end in (f.subject, f.object)]
    ranked = [each.id for each in graph.answers] if graph else []
    order = [key for key in dict.fromkeys(ranked or ends) if key != topic]
    if graph:
        held = wanted.intersection({*ends, *ranked})
    else:  # the names that stand in tables and chunks, as whole words
        cells = [cell for table in evidence.tables for row in table.rows for cell in row]
        texts = [*cells, *(hit.text for hit in evidence.hits)]
        text = " | ".join(["", *map(normalize_answer, texts), ""])
        names = (name for name in question.answers if f" {normalize_answer(name)} " in text)
        held = set(map(name_key, names))
    scores = {
        "hits@1": float(not wanted.isdisjoint(order[:1])),
        "hits@5": float(not wanted.isdisjoint(order[:5])),
        "recall": len(held) / len(wanted),
    }
    if question.gold:
        facts = graph.facts if graph else ()
        stated = {(f.subject, _relation(f.relation), f.object) for f in facts}
        gold = {(name_key(s), _relation(r), name_key(o)) for s, r, o in question.gold}
        scores["gold triples"] = len(gold & stated) / len(gold)
    return scores


def _ask(
    search: Callable[[str, str], Evidence],
    question: GraphQuestion,
    method: str,
    respond: Callable[[Evidence], Answer] | None,
) -> _GraphQuestionResult:
    begin = time.perf_counter()
    evidence = search(question.text, method)
    took = 1000 * (time.perf_counter() - begin)
    scores, bills, notes = score_graph(question, evidence), [evidence.usage], evidence.notes
    if respond is not None:
        answer = respond(evidence)
        scores["answered"] = contains(answer.text, question.answers)
        bills.append(answer.usage)
        notes += answer.evidence.notes
    return _GraphQuestionResult(
        scores=scores,
        milliseconds=took,
        facts=len(evidence.graph.facts) if evidence.graph else 0,
        llm_calls=sum(bill.llm_calls for bill in bills),
        tokens=sum(bill.total_tokens for bill in bills),
        notes=tuple(dict.fromkeys(notes)),
        has_graph=evidence.graph is not None,
    )


def _sum_up(
    method: str, group: str, rows: Sequence[_GraphQuestionResult], left_out: Sequence[str]
) -> GraphRow:
    scores = {m: [row.scores[m] for row in rows if m in row.scores] for m in GRAPH_METRICS}
    return GraphRow(
        method=method,
        group=group,
        n=len(rows),
        means={m: statistics.fmean(v) for m, v in scores.items() if v and m not in left_out},
        milliseconds=statistics.median(row.milliseconds for row in rows),
        facts=statistics.median(row.facts for row in rows),
        llm_calls=statistics.fmean(row.llm_calls for row in rows),
        tokens=statistics.fmean(row.tokens for row in rows),
        notes=dict(Counter(note for row in rows for note in row.notes).most_common()),
    )


def _relation(text: str) -> str:
    return collapse(text.replace("_", " ")).casefold()


# -- reading --------------------------------------------------------------------------------------


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip())


def _json(path: Path, line: int, text: str) -> Any:  # noqa: ANN401 -- whatever JSON holds
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}, line {line}: is not valid JSON: {error}") from None


def _question(path: Path, line: int, item: object) -> GraphQuestion:
    if not isinstance(item, dict):
        raise InputError(f"{path}, line {line}: is not a JSON object")
    text = item.get("question")
    answers = item.get("answers", item.get("answer"))
    answers = [answers] if isinstance(answers, str) else answers
    names = [str(name).strip() for name in answers] if isinstance(answers, list) else []
    names = [name for name in names if name_key(name)]
    if not isinstance(text, str) or not text.strip() or not names:
        raise InputError(f"{path}, line {line}: has no 'question' with 'answers'")
    match = _TOPIC.search(text)
    topic = item.get("topic_entity") or (match[1] if match else "")
    hops, triples = item.get("hops", item.get("hop_count")), item.get("evidences") or ()
    gold = []
    for triple in triples if isinstance(triples, list | tuple) else [triples]:
        if not isinstance(triple, list | tuple) or len(triple) != 3:
            raise InputError(f"{path}, line {line}: its 'evidences' are not lists of three texts")
        gold.append((str(triple[0]), str(triple[1]), str(triple[2])))
    return GraphQuestion(
        id=str(item.get("id", item.get("_id", line))),
        text=collapse(_TOPIC.sub(r"\1", text)),
        answers=tuple(names),
        topic=str(topic),
        group=f"{hops} hops" if "hops" in item else str(item.get("type") or ""),
        gold=tuple(gold),
    )


# -- the command ----------------------------------------------------------------------------------


@click.command()
@click.argument("path", metavar="QUESTIONS", type=click.Path(path_type=Path))
@options.text("--methods NAMES", "Methods to measure.", "names", default="paths,paths_plain,bubble")
@measuring.given_option
@options.choice("--places all|even|odd", "Questions at these places, from 0.", default="all")
@options.number("--limit N", "Only the first N of them.")
@options.flag("--answers", "Also answer, and measure whether a right name is in the answer.")
@measuring.context_option
@options.index()
@options.paid_options
@options.json
@click.pass_obj
def run(  # noqa: PLR0913 -- one argument for each option
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
    """Measure how well answers to QUESTIONS are ranked in the graph of an index.

    QUESTIONS is MetaQA's text, or JSON lines with {"question", "answers"} and perhaps "id",
    "topic_entity", "hops", "type", and "evidences" as 2WikiMultiHopQA has them. The table has
    hits@1, hits@5, the share of the answers that the evidence holds, that of the gold triples, and
    the medians of milliseconds and of facts; fallbacks, such as unusable replies of the LLM, are
    listed below it. With --llm, methods use the LLM if they can, it writes the answers of
    --answers, and calls and tokens are counted too.
    """
    parameters = parse_methods(names, given)
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
    words = chain([_build_graph_table(rows)], map(one_line, _describe_graph_rows(rows)))
    print_result(rows, words, as_json=as_json)


def parse_methods(names: str, given: tuple[str, ...]) -> dict[str, dict[str, Scalar]]:
    """Return the parameters that were given, by method."""
    listed = options.split_list(names)
    for name in listed:
        methods.load(name)
    measuring.check_given(given, listed, {})
    return {name: measuring.method_settings(name, given) for name in listed}


def _build_graph_table(rows: list[GraphRow]) -> str:
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


def _describe_graph_rows(rows: list[GraphRow]) -> Iterator[str]:
    """Yield what is true of each method, or of some of its questions."""
    for row in (row for row in rows if row.group == "all"):
        if "hits@1" not in row.means:
            yield f"{row.method} gives no graph: recall is of the names in its tables and chunks"
        yield from (f"{row.method}: {n} of {row.n}: {note}" for note, n in row.notes.items())


if __name__ == "__main__":
    try:
        run(obj=clew.open)
    except ClewError as error:
        sys.exit(f"{type(error).__name__}: {error}")
