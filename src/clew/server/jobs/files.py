"""The files of a job, in its folder of the home."""

from pathlib import Path

LOCK = "running.lock"  # held by the process of the job
FILES = "files.json"  # names of the files that were uploaded with it
DOCUMENTS = "documents.jsonl"  # that were given as texts
REMOVED = "remove.json"  # the documents and files that it removes
QUESTIONS = "questions"  # of an evaluation, with the suffix that says their format
RUNS = "runs"  # what an evaluation measured
REPORT = "report.json"  # what it reports


def find_job_folder(home: Path, job_id: str) -> Path:
    """Return the folder of a job."""
    return home / "jobs" / job_id


def find_job_log(home: Path, job_id: str, attempt: int) -> Path:
    """Return the log file of an attempt."""
    return find_job_folder(home, job_id) / f"log-{attempt}.txt"
