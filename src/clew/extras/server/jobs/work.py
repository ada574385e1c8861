"""The work of each kind of job."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from clew import Added, Budget, Index
from clew.base.types import Document
from clew.errors import InputError
from clew.extras.server import files
from clew.extras.server.jobs.options import KINDS, ExtractOptions, IndexOptions, RemoveOptions
from clew.extras.server.jobs.queue import DOCUMENTS, FILES, REMOVED, Job
from clew.filters import to_filter
from clew.progress import Progress
from clew.stopping import Stop

_MOST = 1_000  # ids, and skipped files, that are named one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTask:
    """The resources of a running job."""

    job: Job
    index: Index
    folder: Path  # of the job
    uploads: Path  # the folder of the index's uploaded files
    budget: Budget
    stop: Stop
    tell: Callable[[str, Mapping[str, Any]], None]


def do_job(task: JobTask, progress: Progress) -> dict[str, Any]:
    """Run a job, and return its result."""
    options = KINDS[task.job.kind].model_validate(dict(task.job.options))
    if isinstance(options, IndexOptions):
        return _report_added(task, _add_sent(task, options, progress))
    if isinstance(options, ExtractOptions):
        return _report_added(task, _add([], task, options, progress))
    if isinstance(options, RemoveOptions):
        return _remove(task, options, progress)
    progress.stage = "compacting"
    before = _measure_size(task.index.folder)
    task.index.compact()
    return {"size_bytes_before": before, "size_bytes": _measure_size(task.index.folder)}


def _add_sent(task: JobTask, options: IndexOptions, progress: Progress) -> Added:
    given = task.folder / DOCUMENTS
    if given.exists():
        with given.open(encoding="utf-8") as lines:
            documents = (Document(**json.loads(line)) for line in lines)
            return _add(documents, task, options, progress)
    path, names = task.folder / FILES, options.files
    which: dict[str, Any] = {}
    if path.exists():
        names = json.loads(path.read_text(encoding="utf-8"))
    if names:
        missing = next((each for each in names if not (task.uploads / each).is_file()), None)
        if missing is not None:
            raise InputError(f"no file {missing!r:.200} was uploaded into {task.job.name!r}")
        which = {"changed": [task.uploads / name for name in names], "prune": False}
    elif not task.uploads.is_dir():
        raise InputError(f"no file was uploaded into {task.job.name!r} yet")
    which = {**options.arguments("upload"), **which, "gitignore": False}
    return _add(task.uploads, task, options, progress, **which)


def _add(
    source: Path | list[Path] | Iterator[Document],
    task: JobTask,
    options: ExtractOptions,
    progress: Progress,
    **more: Any,  # noqa: ANN401 -- options of `Index.add`
) -> Added:
    return task.index.add(
        source,
        budget=task.budget,
        progress=progress,
        stop=task.stop,
        workers=task.job.run.get("workers", 1),  # which jobs of earlier releases lack
        **{**options.arguments(), **more},
    )


def _report_added(task: JobTask, added: Added) -> dict[str, Any]:
    """Add an event for each skipped input, and return the report of `Index.add`."""
    report = added.report
    for each in report.skipped[:_MOST]:
        reason = each.reason.replace("see --text-column", "see the option text_column")
        reason = reason.replace("--ocr", "the option ocr")
        task.tell("skipped", {"source": each.source, "line": each.line, "reason": reason})
    names = ("added", "changed", "restored", "restated", "renamed", "gone")
    ids = {name: getattr(report, name) for name in names}
    ids["renamed"] = list(report.renamed.values())
    return {
        **{name: {"n": len(own), "ids": own[:_MOST]} for name, own in ids.items()},
        "n_unchanged": report.n_unchanged,
        "n_skipped": len(report.skipped),
        "partly": {"n": len(report.partly), "notes": dict(islice(report.partly.items(), _MOST))},
        "pruned": report.pruned,
        "left_out": dict(report.left_out),
        "stopped": report.stopped,
        "extracted": added.extracted.to_dict(),
        "usage": added.usage.to_dict(),
        "n_documents": added.n_documents,
        "n_chunks": added.n_chunks,
    }


def _remove(task: JobTask, options: RemoveOptions, progress: Progress) -> dict[str, Any]:
    progress.stage = "removing"
    path = task.folder / REMOVED
    if path.exists():  # a process before this one may have removed some of them
        removal = files.Removal(**json.loads(path.read_text(encoding="utf-8")))
    else:
        ids = task.index.documents(*options.documents, where=to_filter(options.where))
        removal = files.plan_removal(task.index.snapshot(), task.uploads, ids)
        _write_whole(path, json.dumps(removal.to_dict()))
    files.remove_documents(task.index, task.uploads, removal)
    return removal.to_dict()


def _write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)


def _measure_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
