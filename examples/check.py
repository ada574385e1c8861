"""Check the example corpus: the articles in ``polar/``, ``questions.jsonl`` and ``ships.tsv``.

Run ``python examples/check.py``. Problems are printed one a line, and the exit
status is 1 when there are any; otherwise a short summary is printed.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MIN_ARTICLES = 110
MIN_WORDS, MAX_WORDS = 80, 150
MIN_SENTENCES, MAX_SENTENCES = 4, 8
EXPECTED_TYPES = {"bridge": 18, "comparison": 10, "compositional": 12}
EXPECTED_HOPS = {2: 24, 3: 11, 4: 5}
FIELDS = {"id", "question", "answers", "type", "hop_count", "supporting_ids", "gold_sentences"}
TRIPLE_FIELDS = ["subject", "relation", "object"]
NOT_A_NAME = {"yes", "no"}
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.) (?=[^\W\d_a-z])")


def slug(title: str) -> str:
    """Return the ASCII file stem that belongs to a title."""
    text = title.lower().replace("ø", "o").replace("æ", "ae").replace("ß", "ss")
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def check_article(path: Path, text: str) -> list[str]:
    """Return the problems of one article."""
    lines = text.rstrip("\n").split("\n")
    name = path.name
    if len(lines) < 3 or not lines[0].startswith("# ") or lines[1]:
        return [f"{name}: must open with '# Title' and a blank line"]
    problems = []
    if path.stem != slug(lines[0][2:]):
        problems.append(f"{name}: file name should be {slug(lines[0][2:])}.md")
    paragraphs = [line for line in lines[2:] if line]
    if not 1 <= len(paragraphs) <= 2:
        problems.append(f"{name}: {len(paragraphs)} paragraphs, expected 1 or 2")
    words = sum(len(paragraph.split()) for paragraph in paragraphs)
    if not MIN_WORDS <= words <= MAX_WORDS:
        problems.append(f"{name}: {words} words, expected {MIN_WORDS}-{MAX_WORDS}")
    sentences = sum(len(SENTENCE_END.split(paragraph)) for paragraph in paragraphs)
    if not MIN_SENTENCES <= sentences <= MAX_SENTENCES:
        problems.append(f"{name}: {sentences} sentences, expected {MIN_SENTENCES}-{MAX_SENTENCES}")
    return problems


def check_question(item: dict[str, Any], documents: dict[str, str]) -> list[str]:
    """Return the problems of one question, given the articles by identifier."""
    name = item.get("id", "?")
    if set(item) != FIELDS:
        return [f"{name}: fields are {sorted(item)}"]
    problems = []
    supporting: list[str] = item["supporting_ids"]
    if len(supporting) != item["hop_count"] or len(set(supporting)) != len(supporting):
        problems.append(f"{name}: {len(supporting)} supporting documents for {item['hops']} hops")
    problems += [f"{name}: no such document: {doc}" for doc in supporting if doc not in documents]
    covered = set()
    for gold in item["gold_sentences"]:
        covered.add(gold["document"])
        if gold["document"] not in supporting:
            problems.append(
                f"{name}: gold sentence from {gold['document']}, which is not supporting"
            )
        if gold["text"] not in documents.get(gold["document"], ""):
            problems.append(
                f"{name}: gold sentence not found in {gold['document']}: {gold['text']}"
            )
    problems += [f"{name}: no gold sentence for {doc}" for doc in supporting if doc not in covered]
    answers: list[str] = item["answers"]
    if not answers or not all(answers):
        problems.append(f"{name}: empty answer")
    is_verdict = item["type"] == "comparison" and all(a.lower() in NOT_A_NAME for a in answers)
    text = "\n".join(documents.get(doc, "") for doc in supporting).lower()
    if not is_verdict and not any(answer.lower() in text for answer in answers):
        problems.append(f"{name}: no answer occurs in a supporting document")
    return problems


def check_triples(lines: list[str], documents: dict[str, str]) -> list[str]:
    """Return the problems of the knowledge graph: both names of a triple stand in one article."""
    header, *rows = [line.split("\t") for line in lines]
    problems = [] if header == TRIPLE_FIELDS else [f"ships.tsv: its header is {header}"]
    wrong = [row for row in rows if len(row) != len(TRIPLE_FIELDS) or not all(row)]
    if wrong:
        return [*problems, *(f"ships.tsv: not three columns: {row}" for row in wrong)]
    triples = Counter(map(tuple, rows))
    problems += [f"ships.tsv: not unique: {triple}" for triple, n in triples.items() if n > 1]
    return problems + [
        f"ships.tsv: no article has both {subject} and {object_}"
        for subject, _, object_ in triples
        if not any(subject in text and object_ in text for text in documents.values())
    ]


def main() -> int:
    """Check everything, print the outcome and return the exit status."""
    paths = sorted((HERE / "polar").glob("*.md"))
    documents = {f"polar/{path.name}": path.read_text(encoding="utf-8") for path in paths}
    problems: list[str] = []
    if len(paths) < MIN_ARTICLES:
        problems.append(f"only {len(paths)} articles, expected at least {MIN_ARTICLES}")
    for path in paths:
        problems += check_article(path, documents[f"polar/{path.name}"])

    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    items: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for item in items:
        problems += check_question(item, documents)
    for key in ("id", "question"):
        repeated = [value for value, n in Counter(item[key] for item in items).items() if n > 1]
        problems += [f"{key} not unique: {value}" for value in repeated]
    triples = (HERE / "ships.tsv").read_text(encoding="utf-8").splitlines()
    problems += check_triples(triples, documents)
    types = Counter(item["type"] for item in items)
    hops = Counter(item["hop_count"] for item in items)
    if types != EXPECTED_TYPES:
        problems.append(f"questions per type: {dict(types)}, expected {EXPECTED_TYPES}")
    if hops != EXPECTED_HOPS:
        problems.append(f"questions per hop count: {dict(hops)}, expected {EXPECTED_HOPS}")

    for problem in problems:
        print(problem)
    if not problems:
        bodies = (text.split("\n", 1)[1] for text in documents.values())
        words = sum(len(body.split()) for body in bodies)
        counted = f"{len(items)} questions, {len(triples) - 1} triples"
        print(f"ok: {len(paths)} articles, {words} words, {counted}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
