"""Run files: one setting on one dataset, as a head and a line for each question.

The head has everything that decides the lines below it. A line is written as soon as its question
is measured, so a run that was killed goes on where it stood. A setting that is measured in another
way, as on a newer index, has another head in the same file, and the last head's lines are the run.
Equal runs give equal bytes, but for seconds.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clew.base.display.shown import plain
from clew.base.types import Scalar
from clew.errors import InputError, suggest
from clew.extras.evaluate.datasets import About, DatasetQuestion
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Scoring, Setting
from clew.extras.evaluate.summary import Found, Row

FORMAT = 1
SUFFIX = ".jsonl"
CONTEXTS = "contexts"  # the folder of what the questions of runs were given
_FILE_START = b'{"clew_run": '
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_MAX_NAME = 80  # characters of a file's name, but for its digest and suffix

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The settings that determine the rows of a run, and the cost of its index."""

    dataset: About
    setting: Setting
    parameters: Mapping[str, Scalar]  # all that the method has, those of the setting among them
    scoring: Scoring
    answers: bool = False  # whether the questions were answered too
    prompt: str = ""  # for these, in place of the short one
    judged: tuple[str, ...] = ()  # metrics that a judge gave
    models: Mapping[str, str] = field(default_factory=dict)  # names by what they do
    prompts: Mapping[str, str] = field(default_factory=dict)  # versions by name, where any is used
    versions: Mapping[str, str] = field(default_factory=dict)  # of Clew and what it stands on
    index: Mapping[str, Any] = field(default_factory=dict)  # recipe, generation, rows by layer,
    # and the SHA-256 of its documents' ids and hashes
    index_cost: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The content of a run file."""

    file: Path
    head: Head
    rows: tuple[Row, ...]  # one for each question that was measured


def file_name(label: str) -> str:
    """Return the file name of a setting: its label, safe for any file system."""
    return f"{safe_name(label)}{SUFFIX}"


def safe_name(label: str) -> str:
    """Return a label as the name of a file or folder, safe for any file system."""
    name = label.replace(" ", "-")
    if _UNSAFE.search(name) or len(name) > _MAX_NAME or name.startswith("."):
        digest = sha256(label.encode()).hexdigest()[:8]
        name = f"{_UNSAFE.sub('-', name).lstrip('.')[:_MAX_NAME]}-{digest}"
    return name


def resume(file: Path, head: Head, questions: Iterable[DatasetQuestion]) -> tuple[Row, ...]:
    """Make a run the last of its file, and return the rows that the file has for `questions`.

    These are rows below a head that differs in nothing but the questions and the cost of the index.
    They are moved below the new head, and all others stay where they are. A last line that was not
    finished is dropped, and so are questions that failed: they are asked again. Raises InputError
    for a file that is no run.
    """
    data = file.read_bytes() if file.exists() else b""
    torn = b"\n" not in data and _FILE_START.startswith(data[: len(_FILE_START)])
    digests = {question.id: question.digest for question in questions}
    before: list[bytes] = []
    lines: list[bytes] = []
    mine: dict[str, Row] = {}
    for run, written in [] if torn else _read_sections(file):
        same = _deciding_fields(run.head) == _deciding_fields(head)
        others = []
        for row, line in zip(run.rows, written, strict=True):
            if not same or digests.get(row.question_id) != row.question_digest:
                others.append(line)
            elif not row.is_failed:
                mine[row.question_id] = row
                lines.append(line)
        before += [_line(_head_record(run.head)), *others] if others else []
    content = b"".join([*before, _line(_head_record(head)), *lines])
    if content != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.new")  # what stood there is lost once that is written
        new.write_bytes(content)
        new.replace(file)
    return tuple(mine.values())


def append(file: Path, row: Row) -> None:
    """Append a row to a run file, from which an interrupted run resumes."""
    with file.open("ab") as stream:
        stream.write(_line(_row_record(row)))


def append_found(file: Path, row: Row, found: Found) -> None:
    """Append a question's context to the file of the run's name in the folder `contexts`.

    Of a question that was asked twice, as after a kill, the last line counts.
    """
    context, evidence = found.context, found.evidence
    record = {
        "question_id": row.question_id,
        "question": found.question.text,
        "chunk_ids": [hit.chunk_id for hit in evidence.hits] if evidence else [],
        "context": context.text if context else "",
        "evidence": evidence and plain(evidence),
        "answer": row.answer,
        "calls": [
            {
                "model": each.model,
                "prompt": each.prompt.version,
                "system": each.prompt.system,
                "user": each.prompt.user,
                "reply": each.reply.text,
                "error": each.reply.error,
            }
            for each in found.exchanges
        ],
    }
    place = file.parent / CONTEXTS / file.name
    place.parent.mkdir(exist_ok=True)
    with place.open("ab") as stream:
        stream.write(_line(record))


def read_run(file: Path) -> Run:
    """Read the last run of a file, ignoring an unfinished last line.

    Raises InputError where it is not a run, naming the line.
    """
    return _read_sections(file)[-1][0]


def _read_sections(file: Path) -> list[tuple[Run, list[bytes]]]:
    """Read the runs of a file, of which there is at least one, and the lines of their rows."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    if not lines or not lines[0].startswith(_FILE_START):
        raise InputError(f"{file} is not a run file: give one written by 'clew eval --runs'")
    runs: list[tuple[Head, dict[str, Row], list[bytes]]] = []
    for number, line in enumerate(lines, 1):
        place = f"{file}, line {number}"
        if line.startswith(_FILE_START):
            if not line.startswith(_FILE_START + str(FORMAT).encode() + b","):
                raise InputError(f"{file} was written by another version of Clew: measure again")
            runs.append((_read_line(line, Head, place), {}, []))
            continue
        head, rows, written = runs[-1]
        row = _read_line(line, Row, place, label=head.setting.label)
        if row.question_id in rows:
            raise InputError(
                f"{file}: the question {row.question_id!r} occurs twice: delete one line"
            )
        rows[row.question_id] = row
        written.append(line + b"\n")
    return [
        (Run(file=file, head=head, rows=tuple(rows.values())), written)
        for head, rows, written in runs
    ]


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Read the runs in files and folders, sorted by name. Raises InputError if none."""
    files = [
        file
        for path in paths
        for file in (sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path])
    ]
    if not files:
        raise InputError("there is no run: give files or folders written by 'clew eval --runs'")
    return [read_run(file) for file in dict.fromkeys(files)]


def report_of(runs: Sequence[Run], baseline: str = "") -> Report:
    """Return the report of finished runs on one dataset, compared with `baseline`.

    That is by default the first. Where labels are equal, the names of the folders tell them apart.
    Raises InputError for runs that no report can hold together, naming two of them.
    """
    _check(runs)
    runs = _distinguish_labels(runs)
    labels = [run.head.setting.label for run in runs]
    if baseline and baseline not in labels:
        near = suggest(baseline, labels)
        raise InputError(f"there is no run {baseline!r}{near}: choose one of {', '.join(labels)}")
    runs = sorted(runs, key=lambda run: run.head.setting.label != (baseline or labels[0]))
    heads = [run.head for run in runs]
    by_id = [{row.question_id: row for row in run.rows} for run in runs]
    for run, rows in zip(runs, by_id, strict=True):
        if rows.keys() != by_id[0].keys():
            raise InputError(f"{runs[0].file} and {run.file} cannot be compared: questions differ")
    costs = {head.setting.label: head.index_cost for head in heads}
    shared = all(cost == heads[0].index_cost for cost in costs.values())
    flat = {f"{name} of {label}": v for label, cost in costs.items() for name, v in cost.items()}
    return Report(
        dataset=heads[0].dataset,
        settings=tuple(head.setting for head in heads),
        scoring=heads[0].scoring,
        rows=tuple(rows[id_] for id_ in by_id[0] for rows in by_id),  # as `evaluate` makes them
        index_cost=heads[0].index_cost if shared else flat,
        index_costs={} if shared else costs,
        models=_distinct({head.setting.label: head.models for head in heads}),
        versions=_distinct({head.setting.label: head.versions for head in heads}),
    )


# -- checks ---------------------------------------------------------------------------------------


def _check(runs: Sequence[Run]) -> None:
    """Raise InputError for unfinished runs, or a mix of datasets, scorings or judges."""
    if not runs:
        raise InputError("there is no run to report")
    for run in runs:
        n_rows, n_questions = len(run.rows), run.head.dataset.n_questions
        if n_rows != n_questions:
            raise InputError(
                f"{run.file} has {n_rows} of {n_questions} questions: "
                f"give its 'clew eval' command again to finish it"
            )
    _check_alike(runs, _comparable)
    _check_alike([run for run in runs if run.head.models.get("judge")], _judging)


def _check_alike(runs: Sequence[Run], describe: Callable[[Head], dict[str, Any]]) -> None:
    """Raise InputError for a run whose head is described otherwise than the first one's."""
    for run in runs[1:]:
        one, other = describe(runs[0].head), describe(run.head)
        for name in {**one, **other}:
            a, b = one.get(name, "not there"), other.get(name, "not there")
            if a != b:
                raise InputError(
                    f"{runs[0].file} and {run.file} cannot be compared: "
                    f"{name} is {a!r:.80} in one and {b!r:.80} in the other"
                )


def _judging(head: Head) -> dict[str, Any]:
    """Return a judge's model, and the versions of its prompts by name."""
    versions = {name: v for name, v in head.prompts.items() if name.startswith("judge_")}
    return {"judge": head.models["judge"], **versions}


def _comparable(head: Head) -> dict[str, Any]:
    scoring = {f"scoring.{name}": value for name, value in asdict(head.scoring).items()}
    counted = {f"dataset.{name}": getattr(head.dataset, name) for name in ("n_questions", "digest")}
    return {**counted, "index.documents": head.index.get("documents"), **scoring}


def _deciding_fields(head: Head) -> dict[str, Any]:
    """Return what decides the row of a question: all but which questions, and costs."""
    record = _plain(_head_record(head))
    del record["index_cost"], record["dataset"]
    return record


def _distinguish_labels(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with distinct labels."""
    labels = [run.head.setting.label for run in runs]
    by_label: dict[str, Run] = {}
    for run, own in zip(runs, labels, strict=True):
        label, result = own, run
        if labels.count(own) > 1:
            label = f"{own} ({run.file.resolve().parent.name})"
            head = replace(run.head, setting=replace(run.head.setting, name=label))
            result = replace(run, head=head, rows=tuple(replace(r, label=label) for r in run.rows))
        if label in by_label:
            first = by_label[label].file
            raise InputError(f"{first} and {run.file} are both {label!r}: leave one out")
        by_label[label] = result
    return list(by_label.values())


def _distinct(by_label: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return each field's value; if runs differ, all values with their labels."""
    users: dict[str, dict[str, list[str]]] = {}
    for label, values in by_label.items():
        for name, value in values.items():
            users.setdefault(name, {}).setdefault(value, []).append(label)
    return {
        name: "; ".join(f"{value} ({', '.join(labels)})" for value, labels in uses.items())
        if len(uses) > 1
        else next(iter(uses))
        for name, uses in users.items()
    }


# -- JSON -----------------------------------------------------------------------------------------


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode(errors="replace") + b"\n"


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record as it is read back from a file."""
    plain: dict[str, Any] = json.loads(_line(record))
    return plain


def _head_record(head: Head) -> dict[str, Any]:
    return {"clew_run": FORMAT, "label": head.setting.label, **asdict(head)}


def _row_record(row: Row) -> dict[str, Any]:
    record = asdict(row)
    del record["label"]
    return record


def _read_line(line: bytes, kind: type[T], place: str, **more: str) -> T:
    """Return the head or the row of a line. Raises InputError for a line of anything else."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(f"{place}: must be a JSON object")
    try:
        return msgspec.convert({**record, **more}, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
