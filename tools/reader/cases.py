"""Read what Clew sees of questions, for `blend.py`: the statements, their features, the support.

    python tools/reader/cases.py SET... --indexes FOLDER --into FOLDER [--last] [--parts]
        [--only FILE]

A SET is a folder with questions.jsonl, as `clew eval` takes, or `pages`, for those of
`benchmarks/pages/fitted.txt`; FOLDER has an index of each name. A question of the kind "near" has
no answer. With --last each question is asked again without the document that has the answer: the
others are still about it. With --parts the steps of a question are asked as well, as in
`benchmarks/quotes.py`. --only is a file of ids, one a line.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import clew
from clew import methods
from clew.answers import support
from clew.answers.context import build_context
from clew.answers.quotes import choose_quotes
from clew.answers.sentence_features import SentenceFeatures
from clew.answers.sentences import find_sentences, read_sentences
from clew.extras.evaluate.metrics import normalize_answer
from clew.text.questions import is_yes_no

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import quotes
import support as gone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from clew.index.snapshot import Snapshot
    from clew.models import Models


@dataclass(frozen=True)
class Seen:
    """A question at an index: what Clew makes of it, and what is true."""

    dataset: str
    id: str
    kind: str  # chain, part, sub, page, records; or "last", "near": nothing answers
    case: quotes.Case  # `holds` is all false where nothing answers
    support: float  # of the quoted answer


def read_case(
    row: Mapping[str, Any], kind: str, snapshot: Snapshot, models: Models, name: str
) -> Seen | None:
    """Return what is seen of a question, None where its context is empty."""
    question = row["question"]
    if is_yes_no(question):
        return None
    evidence = methods.load(methods.DEFAULT)().retrieve(question, snapshot, models)
    if not evidence.hits:
        return None
    evidence = support.judge_evidence(evidence, snapshot, models)
    passages = build_context(evidence).passages
    sentences = find_sentences(passages, snapshot)
    if not sentences:
        return None
    _, of_quotes = choose_quotes(question, sentences, passages, models, snapshot)
    evidence = support.judge_quotes(evidence, of_quotes)
    reading = read_sentences(question, sentences, passages, models, snapshot)
    reading = reading._replace(types=dict(reading.types))
    features = SentenceFeatures(question, sentences, reading)
    holds = np.zeros(len(sentences), dtype=bool)
    if kind not in {"last", "near"}:
        holds = find_holding(row, [s.text for s in sentences])
        gold = np.isin(
            [passages[s.place].document_id for s in sentences], row.get("supporting_ids") or []
        )
        holds = holds & gold if (holds & gold).any() else holds
    features.columns, features.question_features, features.sides, features.chains  # noqa: B018
    case = quotes.Case(kind, row.get("group", row["id"]), features, holds, passages)
    return Seen(name, row["id"], kind, case, float(evidence.support or 0.0))


def find_holding(row: Mapping[str, Any], texts: list[str]) -> NDArray[np.bool_]:
    """Return which texts have an answer, as whole words."""
    answers = [f" {normalize_answer(answer)} " for answer in row["answers"]]
    return np.array([any(a in f" {normalize_answer(t)} " for a in answers) for t in texts])


def read_set(folder: Path, options: argparse.Namespace) -> Iterator[Seen]:
    """Yield the questions of a data set, with their parts if it is one to fit on."""
    name = folder.name
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    only = set(options.only.read_text().split()) if options.only else None
    with clew.open(options.indexes / name) as index:
        whole, models = index.snapshot(), index.models
        documents = whole.layer("document")
        for row in map(json.loads, lines):
            is_near = row.get("kind") == "near"
            if (only and row["id"] not in only) or not (row["answers"] or is_near):
                continue
            if seen := read_case(row, row.get("kind", "chain"), whole, models, name):
                yield seen
            if options.last and row.get("supporting_ids"):
                gold = documents.rows(row["supporting_ids"])
                last = with_answer(row, gold, documents.texts(gold))
                if seen := read_case(row, "last", gone.without(whole, [last]), models, name):
                    yield seen
            if options.parts:
                steps = row.get("decomposition", ())
                for kind, asked in (
                    ("part", quotes.find_parts(steps)),
                    ("sub", quotes.find_chains(steps)),
                ):
                    for n, part in enumerate(asked):
                        own = {"id": f"{row['id']} {kind} {n}", "group": row["id"]}
                        if seen := read_case(part | own, kind, whole, models, name):
                            yield seen


def with_answer(row: Mapping[str, Any], gold: list[int], texts: list[str]) -> int:
    """Return the last supporting document in which an answer stands, else the last."""
    holds = find_holding(row, list(texts))
    return next((r for r, has in zip(gold[::-1], holds[::-1], strict=True) if has), gold[-1])


def read_pages() -> Iterator[Seen]:
    """Yield the questions about the pages of `benchmarks/pages/fitted.txt`, each among all."""
    text = (gone.PAGES / "fitted.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, clew.open(f"{folder}/i.clew") as index:
        asked = []
        for block in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
            head, _, body = block.partition("\n")
            name, _, language = head.split()
            page, questions = re.fullmatch(
                r"(.*?\n)((?:[QN]: [^\n]*\n)+)", body, re.DOTALL
            ).groups()
            Path(folder, name).write_text(page, encoding="utf-8")
            index.add(Path(folder, name))
            if language == "en":
                asked += [(name, line) for line in questions.splitlines()]
        snapshot = index.snapshot()
        for n, (name, line) in enumerate(asked):
            question, _, answer = line[3:].partition(" | ")
            kind = "page" if line[0] == "Q" else "near"
            row = {"id": f"page {n}", "group": name, "question": question, "answers": [answer]}
            if seen := read_case(row, kind, snapshot, index.models, "pages"):
                yield seen


def main() -> None:
    """Read, and keep as pickle."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--only", type=Path)
    options = parser.parse_args()
    options.into.mkdir(exist_ok=True)
    for path in options.sets:
        found = read_pages() if path.name == "pages" else read_set(path, options)
        kept = list(found)
        (options.into / f"{path.name}.pkl").write_bytes(pickle.dumps(kept))
        n = sum(seen.case.holds.any() for seen in kept)
        print(path.name, len(kept), n, flush=True)


if __name__ == "__main__":
    main()
