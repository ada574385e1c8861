"""BEIR: a folder of `corpus.jsonl`, `queries.jsonl` and `qrels`.

corpus.jsonl       {"_id", "title", "text"}
queries.jsonl      {"_id", "text"}
qrels/SPLIT.tsv    query-id, corpus-id and score, below a line with these names

The questions are the queries that the split has lines of. A document counts as supporting where
its score is above 0: grades are not told apart. No document is judged twice for a query.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from clew.errors import InputError
from clew.extras.evaluate.formats.parsed import DatasetQuestion, Parsed
from clew.extras.evaluate.formats.records import records, unique

CORPUS = "corpus.jsonl"
_DEFAULT_SPLIT = "test"


def fits(root: Path) -> bool:
    """Check whether a folder has this format."""
    return (root / "qrels").is_dir() and (root / "queries.jsonl").is_file()


def read(root: Path, split: str | None) -> Parsed:
    """Return the queries with judgements in `split`, in file order.

    Without a split it is `test`, or the only one.
    """
    files = {path.stem: path for path in sorted((root / "qrels").glob("*.tsv"))}
    wanted = split or (next(iter(files)) if len(files) == 1 else _DEFAULT_SPLIT)
    if wanted not in files:
        names = ", ".join(files) or "none"
        raise InputError(f"{root / 'qrels'}: no split {wanted!r}, only {names}")
    queries = {record.id: record for record in unique(records(root / "queries.jsonl"))}
    scores: dict[str, dict[str, float]] = {}
    for place, query, document, score in _judgements(files[wanted]):
        if query not in queries:
            raise InputError(f"{place}: {root / 'queries.jsonl'} lacks the query {query!r}")
        judged = scores.setdefault(query, {})
        if document in judged:
            raise InputError(
                f"{place}: there are two judgements of {document!r} for {query!r}, {score:g} after "
                f"{judged[document]:g}: keep one"
            )
        judged[document] = score
    return Parsed(
        format="beir",
        questions=tuple(
            DatasetQuestion(
                id=id_,
                text=record.text("text"),
                answers=(),
                type="",
                supporting_ids=tuple(d for d, score in scores[id_].items() if score > 0),
                split=wanted,
            )
            for id_, record in queries.items()
            if id_ in scores
        ),
    )


def _judgements(path: Path) -> Iterator[tuple[str, str, str, float]]:
    """Yield location, query, document and score of each line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
    for number, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
        place = f"{path}, line {number}"
        if not any(cell.strip() for cell in row):
            continue
        score = _number(row[2]) if len(row) == 3 else None
        if number == 1:
            if len(row) != 3 or score is not None:
                raise InputError(f"{place}: must be the names query-id, corpus-id and score")
        elif score is None:
            raise InputError(f"{place}: must be a query, a document and a number, split by tabs")
        else:
            yield place, row[0], row[1], score


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
