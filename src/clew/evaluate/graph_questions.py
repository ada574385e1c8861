"""Questions about a knowledge graph, and how well a method ranks their answers.

| a file is | a line has |
|---|---|
| `.txt`, as MetaQA has it | `what does [Joe Thomas] appear in`, a tab, answers parted by a bar |
| `.jsonl`, or `.json` with a list | "question", "answers" (or "answer"), perhaps "topic_entity" |

Objects may also have "id", "hops" or "hop_count", "type", and as gold triples "evidences", lists of
subject, relation and object, as 2WikiMultiHopQA has them. Names are compared by their keys.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.text.keys import name_key
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from clew.types import Evidence, EvidenceGraph

GRAPH_METRICS = ("hits@1", "hits@5", "recall", "gold triples")

_TOPIC = re.compile(r"\[([^\[\]]+)\]")
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuestion:
    """A question with the names that answer it."""

    id: str
    text: str
    answers: tuple[str, ...]
    topic: str = ""  # the entity that it names, where that is known: no answer
    group: str = ""  # such as "2 hops"
    gold: tuple[tuple[str, str, str], ...] = ()  # triples


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """What a method has for some questions: means, and the median of what it took."""

    method: str
    group: str  # "all" for all questions
    n: int
    means: Mapping[str, float]  # by metric; only those that apply to some question
    milliseconds: float
    facts: float


def load_graph_questions(path: Path) -> list[GraphQuestion]:
    """Return the questions of a file. Raises InputError for one that cannot be read, with why."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as questions: {error}") from None
    if path.suffix.lower() == ".txt":
        found = [_of_text(path, n, line) for n, line in _lines(text)]
    elif path.suffix.lower() == ".json":
        items = _json(path, 1, text)
        if not isinstance(items, list):
            raise InputError(f"{path} holds no list of questions")
        found = [_of_object(path, n, item) for n, item in enumerate(items, 1)]
    else:
        found = [_of_object(path, n, _json(path, n, line)) for n, line in _lines(text)]
    if not found:
        raise InputError(f"{path} holds no questions")
    return found


def measure_graph(
    search: Callable[[str, str], Evidence], questions: Sequence[GraphQuestion], method: str
) -> list[GraphRow]:
    """Return how a method does on each group of questions, and on all.

    `search` gives the evidence of a text by a method. Answers are ranked as the evidence does it,
    else as its facts stand; recall is the share of the answers that the evidence holds.
    """
    rows: dict[str, list[tuple[dict[str, float], float, int]]] = {}
    for question in questions:
        begin = time.perf_counter()
        graph = search(question.text, method).graph
        took = 1000 * (time.perf_counter() - begin)
        row = score_graph(question, graph), took, len(graph.facts) if graph else 0
        for group in dict.fromkeys((question.group or _ALL, _ALL)):
            rows.setdefault(group, []).append(row)
    order = sorted(rows, key=lambda group: (group == _ALL, group))
    return [_summed(method, group, rows[group]) for group in order]


def score_graph(question: GraphQuestion, graph: EvidenceGraph | None) -> dict[str, float]:
    """Return the metrics of one question; nothing found scores 0 in all that apply."""
    wanted = set(map(name_key, question.answers))
    topic = name_key(question.topic)
    ends = [end for f in (graph.facts if graph else ()) for end in (f.subject, f.object)]
    ranked = [each.id for each in graph.answers] if graph else []
    order = [key for key in dict.fromkeys(ranked or ends) if key != topic]
    scores = {
        "hits@1": float(not wanted.isdisjoint(order[:1])),
        "hits@5": float(not wanted.isdisjoint(order[:5])),
        "recall": len(wanted.intersection({*ends, *ranked})) / len(wanted),
    }
    if question.gold:
        facts = graph.facts if graph else ()
        held = {(f.subject, _relation(f.relation), f.object) for f in facts}
        gold = {(name_key(s), _relation(r), name_key(o)) for s, r, o in question.gold}
        scores["gold triples"] = len(gold & held) / len(gold)
    return scores


def _summed(
    method: str, group: str, rows: Sequence[tuple[Mapping[str, float], float, int]]
) -> GraphRow:
    known = {m: [scores[m] for scores, _, _ in rows if m in scores] for m in GRAPH_METRICS}
    return GraphRow(
        method=method,
        group=group,
        n=len(rows),
        means={metric: statistics.fmean(values) for metric, values in known.items() if values},
        milliseconds=statistics.median(took for _, took, _ in rows),
        facts=statistics.median(n for _, _, n in rows),
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


def _of_text(path: Path, line: int, text: str) -> GraphQuestion:
    asked, _, answers = text.partition("\t")
    return _question(path, line, {"question": asked, "answers": answers.split("|")})


def _of_object(path: Path, line: int, item: object) -> GraphQuestion:
    if not isinstance(item, dict):
        raise InputError(f"{path}, line {line}: is not a JSON object")
    return _question(path, line, item)


def _question(path: Path, line: int, item: Mapping[str, Any]) -> GraphQuestion:
    text = item.get("question")
    answers = item.get("answers", item.get("answer"))
    answers = [answers] if isinstance(answers, str) else answers
    names = [str(name).strip() for name in answers] if isinstance(answers, list) else []
    names = [name for name in names if name_key(name)]
    if not isinstance(text, str) or not text.strip() or not names:
        raise InputError(f"{path}, line {line}: has no 'question' with 'answers'")
    named = _TOPIC.search(text)
    topic = item.get("topic_entity") or (named[1] if named else "")
    hops = item.get("hops", item.get("hop_count"))
    return GraphQuestion(
        id=str(item.get("id", item.get("_id", line))),
        text=collapse(_TOPIC.sub(r"\1", text)),
        answers=tuple(names),
        topic=str(topic),
        group=f"{hops} hops" if "hops" in item else str(item.get("type") or ""),
        gold=_gold(path, line, item.get("evidences") or ()),
    )


def _gold(path: Path, line: int, triples: object) -> tuple[tuple[str, str, str], ...]:
    found = []
    for triple in triples if isinstance(triples, list | tuple) else [triples]:
        if not isinstance(triple, list | tuple) or len(triple) != 3:
            raise InputError(f"{path}, line {line}: its 'evidences' are not lists of three texts")
        found.append((str(triple[0]), str(triple[1]), str(triple[2])))
    return tuple(found)
