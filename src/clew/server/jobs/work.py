"""The work of each kind of job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.filters import to_filter
from clew.readers.walk import Columns
from clew.server import files
from clew.server.jobs.files import DOCUMENTS, FILES, REMOVED
from clew.server.jobs.options import (
    KINDS,
    EvaluateOptions,
    ExtractOptions,
    IndexOptions,
    RemoveOptions,
)
from clew.types import Document, Skipped

if TYPE_CHECKING:
    from clew.api import Added, Index
    from clew.models.budget import Budget
    from clew.progress import Progress
    from clew.stopping import Stop

_MOST = 1_000  # ids, and skipped files, that are named one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTask:
    """What a job works with."""

    index: Index
    kind: str
    options: Mapping[str, Any]
    folder: Path  # of the job
    uploads: Path  # the folder of the index's uploaded files
    name: str  # of the index
    budget: Budget
    workers: int | str
    stop: Stop
    tell: Callable[[str, Mapping[str, Any]], None]


def do_job(task: JobTask, progress: Progress) -> dict[str, Any]:
    """Do the work of a job, and return its result."""
    options = KINDS[task.kind].model_validate(dict(task.options))
    if isinstance(options, IndexOptions):
        return _report_added(task, _add_sent(task, options, progress))
    if isinstance(options, ExtractOptions):
        return _report_added(task, _add([], task, options, progress))
    if isinstance(options, RemoveOptions):
        return _remove(task, options, progress)
    if isinstance(options, EvaluateOptions):
        from clew.server.jobs.evaluation import run_evaluation

        def report(done: int, total: int) -> None:
            progress.stage, progress.chunks = "asking", (done, total)

        return run_evaluation(task.index, options, task.folder, task.budget, report)
    progress.stage = "compacting"
    before = _measure_size(task.index.folder)
    task.index.compact()
    return {"size_bytes_before": before, "size_bytes": _measure_size(task.index.folder)}


def _add_sent(task: JobTask, options: IndexOptions, progress: Progress) -> Added:
    given = task.folder / DOCUMENTS
    if given.exists():
        return _add(_read_documents(given), task, options, progress)
    only: dict[str, Any] = {"prune": options.prune}
    named, names = task.folder / FILES, options.files
    if named.exists():
        names = json.loads(named.read_text(encoding="utf-8"))
    if names:
        missing = next((each for each in names if not (task.uploads / each).is_file()), None)
        if missing is not None:
            raise InputError(f"no file {missing!r:.200} was uploaded into {task.name!r}")
        only = {"changed": [task.uploads / name for name in names]}
    elif not task.uploads.is_dir():
        raise InputError(f"no file was uploaded into {task.name!r} yet")
    columns = Columns(text=options.text_column, title=options.title_column, id=options.id_column)
    return _add(
        task.uploads,
        task,
        options,
        progress,
        exclude=options.exclude,
        gitignore=False,
        columns=columns,
        **only,
    )


def _add(
    source: Path | list[Path] | Iterator[Document],
    task: JobTask,
    options: ExtractOptions,
    progress: Progress,
    **more: Any,  # noqa: ANN401 -- options of `Index.add`
) -> Added:
    return task.index.add(
        source,
        methods=options.methods,
        again=options.again,
        budget=task.budget,
        progress=progress,
        stop=task.stop,
        workers=task.workers,
        **options.extraction(),
        **more,
    )


def _read_documents(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            given = json.loads(line)
            yield Document(
                id=given["id"], text=given["text"], title=given["title"], metadata=given["metadata"]
            )


def _report_added(task: JobTask, added: Added) -> dict[str, Any]:
    """Add an event for each skipped input, and return the report of `Index.add`."""
    report = added.report
    for each in report.skipped[:_MOST]:
        task.tell("skipped", _describe_skipped(each))
    ids = {
        "added": report.added,
        "changed": report.changed,
        "restored": report.restored,
        "restated": report.restated,
        "renamed": list(report.renamed.values()),
        "gone": report.gone,
    }
    return {
        **{name: {"n": len(found), "ids": found[:_MOST]} for name, found in ids.items()},
        "n_unchanged": report.n_unchanged,
        "n_skipped": len(report.skipped),
        "pruned": report.pruned,
        "left_out": dict(report.left_out),
        "stopped": report.stopped,
        "extracted": added.extracted.to_dict(),
        "usage": added.usage.to_dict(),
        "n_documents": added.n_documents,
        "n_chunks": added.n_chunks,
    }


def _describe_skipped(each: Skipped) -> dict[str, Any]:
    reason = each.reason.replace("see --text-column", "see the option text_column")
    return {"source": each.source, "line": each.line, "reason": reason}


def _remove(task: JobTask, options: RemoveOptions, progress: Progress) -> dict[str, Any]:
    progress.stage = "removing"
    chosen = task.folder / REMOVED
    if chosen.exists():  # a process before this one may have removed some of them
        removal = files.Removal(**json.loads(chosen.read_text(encoding="utf-8")))
    else:
        ids = task.index.documents(*options.documents, where=to_filter(options.where))
        removal = files.plan_removal(task.index.snapshot(), task.uploads, ids)
        new = chosen.with_suffix(".new")
        new.write_text(json.dumps(removal.to_dict()), encoding="utf-8")
        new.replace(chosen)
    files.remove_documents(task.index, task.uploads, removal)
    return removal.to_dict()


def _measure_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
