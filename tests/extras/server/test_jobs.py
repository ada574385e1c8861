"""Jobs: from an upload to an answer, in order, side by side, cancelled, killed, resumed."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial

import httpx2
import pytest

import clew
from clew import errors
from clew.extras.server.indexes import Indexes
from clew.extras.server.jobs.queue import JobQueue, find_job_folder
from clew.extras.server.keys import Keys
from clew.index.recipe import Settings
from clew.models.loading import Specs
from clew.text.chunking import Chunking
from tests.extras.server.served import API, ended, events, long_text, until

NOTES = {
    "fram.md": "# The Fram\n\nColin Archer built the Fram for Fridtjof Nansen in 1892.",
    "people/archer.md": "# Colin Archer\n\nColin Archer was a naval architect, born in Larvik.",
}
MANY = {f"n{i}.md": long_text(i) for i in range(8)}  # a commit each


def upload(client, notes, index="notes", **params):
    files = [("files", (name, text.encode())) for name, text in notes.items()]
    return client.post(f"{API}/indexes/{index}/documents", files=files, params=params)


def queued(client, notes, **given):
    taken = upload(client, notes, **given)
    assert taken.status_code == 202, taken.text
    return taken.json()["id"]


def add_job(client, kind, options=None, index="notes", **params):
    body = {"kind": kind, "options": options or {}}
    return client.post(f"{API}/indexes/{index}/jobs", json=body, params=params)


def is_committed(client, job_id):
    """Say whether a job has committed a document, and is not done."""
    job = client.get(f"{API}/jobs/{job_id}").json()
    assert job["state"] == "running" or job["attempt"] == 0, job
    return bool(job["progress"] and job["progress"]["documents"]) and job


def contents(home, name="notes"):
    """Return what an index holds, as anybody opens it."""
    with home.database() as database:
        folder = Indexes(home.settings, database).find_folder(name)
    with clew.open(folder, specs=Specs(embedder="gated")) as index:
        assert index.check() == []
        return index.documents(), index.digest()


def test_from_an_upload_to_an_answer(started_jobs_home):
    with started_jobs_home.client() as client:
        found = upload(client, NOTES, wait=60)
        assert found.status_code == 200, found.text
        job = found.json()
        assert job["state"] == "done", job
        assert job["result"]["added"]["ids"] == ["notes/fram.md", "notes/people/archer.md"]
        question = {"question": "Where was Colin Archer born?", "min_support": 0}
        asked = client.post(f"{API}/indexes/notes/ask", json=question)
        assert "Larvik" in asked.json()["text"]
        told = events(client, job["id"])
        assert [kind for _, kind, _ in told if kind != "progress"] == ["queued", "running", "done"]
        assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
        for last in (1, len(told) - 1, len(told)):  # a client that lost the stream goes on
            assert events(client, job["id"], **{"Last-Event-ID": str(last)}) == told[last:]
        path = f"{API}/jobs/{job['id']}/events"
        assert client.get(path, headers={"Last-Event-ID": "1; x"}).status_code == 400
        # What came in two requests is what one run over the folder gives.
        again = add_job(client, "index", wait=60).json()
        assert again["result"]["n_unchanged"] == 2
        kept = find_job_folder(started_jobs_home.settings.home, job["id"])
        assert "Traceback" not in (kept / "log-1.txt").read_text()


def test_jobs_of_one_index_run_in_order_and_those_of_two_side_by_side(jobs_home):
    with jobs_home.database() as database:
        Indexes(jobs_home.settings, database).make("other")
    jobs_home.gate.touch()
    with jobs_home.client() as client:
        first, second = queued(client, MANY), queued(client, NOTES)
        until(lambda: is_committed(client, first))
        other = ended(client, queued(client, NOTES, index="other"))
        assert client.get(f"{API}/jobs/{first}").json()["state"] == "running"
        assert client.get(f"{API}/jobs/{second}").json()["state"] == "queued"
        jobs_home.gate.unlink()
        one, two = ended(client, first), ended(client, second)
        assert [one["state"], two["state"], other["state"]] == ["done"] * 3
        assert other["began"] < one["ended"] <= two["began"]
        listed = client.get(f"{API}/jobs", params={"index": "notes"}).json()
        assert [each["id"] for each in listed["items"]] == [second, first]
        assert client.get(f"{API}/jobs", params={"limit": 1}).json()["total"] == 3
        assert client.get(f"{API}/jobs", params={"state": "queued"}).json()["total"] == 0
        assert client.get(f"{API}/jobs", params={"state": "odd"}).status_code == 400


def test_cancelling_keeps_what_is_committed(jobs_home):
    """A job that runs ends behind what it has at hand, one that waits at once."""
    jobs_home.gate.touch()
    with jobs_home.client() as client:
        job_id, waiting = queued(client, MANY), queued(client, NOTES)
        at_once = client.delete(f"{API}/jobs/{waiting}").json()
        assert at_once["state"] == "cancelled"
        until(lambda: is_committed(client, job_id))
        assert client.delete(f"{API}/jobs/{job_id}").json()["cancelling"]
        until(lambda: jobs_home.log(job_id, "asked to end"))
        jobs_home.gate.unlink()
        job = ended(client, job_id)
        assert job["state"] == "cancelled"
        again = client.delete(f"{API}/jobs/{job_id}")
        assert (again.status_code, again.json()["state"]) == (200, "cancelled")
        ids, _ = contents(jobs_home)
        assert ids == [f"notes/n{i}.md" for i in range(3)]
        assert len(ids) == job["result"]["n_documents"]


def test_a_job_that_does_not_end_is_ended(jobs_home):
    jobs_home.gate.touch()
    with jobs_home.client(job_grace_s=0.2) as client:
        job_id = queued(client, MANY)
        until(lambda: is_committed(client, job_id))
        job = jobs_home.job(job_id)
        assert client.delete(f"{API}/jobs/{job_id}").status_code == 200
        assert ended(client, job_id)["state"] == "cancelled"
        with pytest.raises(ProcessLookupError):
            until(lambda: os.kill(job.pid, 0))
    assert contents(jobs_home)[0] == ["notes/n0.md", "notes/n1.md"]


def test_a_killed_process_is_followed_by_another(jobs_home):
    jobs_home.gate.touch()
    with jobs_home.client() as client:
        job_id = queued(client, MANY)
        until(lambda: is_committed(client, job_id))
        os.kill(jobs_home.job(job_id).pid, signal.SIGKILL)
        jobs_home.gate.unlink()
        job = ended(client, job_id)
        assert (job["state"], job["attempt"]) == ("done", 2)
        counts = job["result"]
        assert counts["n_unchanged"] == 2
        assert counts["added"]["n"] + counts["n_unchanged"] == counts["n_documents"] == len(MANY)
        [(_, _, told)] = [each for each in events(client, job_id) if each[1] == "interrupted"]
        assert "SIGKILL" in json.loads(told)["reason"]
        killed = contents(jobs_home)
    files = jobs_home.settings.home / "files"
    with clew.open(files.parent / "w.clew", specs=Specs(embedder="gated")) as index:
        index.add(files / "notes")
        assert (index.documents(), index.digest()) == killed


@pytest.mark.slow
def test_a_job_whose_processes_die_again_and_again_fails(jobs_home):
    """It is begun three times more, and then told with the reason."""
    jobs_home.gate.touch()
    with jobs_home.client() as client:
        job_id = queued(client, MANY)
        pids = set()
        found = partial(jobs_home.job, job_id)
        for _ in range(4):
            job = until(lambda: (j := found()).entered and j.pid not in pids and j)
            pids.add(job.pid)
            os.kill(job.pid, signal.SIGKILL)
        job = ended(client, job_id)
        assert job["state"] == "failed"
        assert job["result"]["error"]["code"] == "interrupted"
        assert "SIGKILL" in job["result"]["error"]["message"]


SERVER = """
import sys
from pathlib import Path
from clew.models.loading import Specs
from clew.extras.server import ServerSettings
from clew.extras.server.run import serve
settings = ServerSettings(home=Path(sys.argv[1]), port=0, specs=Specs(embedder=sys.argv[2]))
serve(settings, lambda address, names: print(address, flush=True))
"""


def test_a_killed_server_leaves_its_jobs_running(jobs_home):
    home = jobs_home.settings.home
    jobs_home.gate.touch()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(home), f"gated:{jobs_home.gate}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = server.stdout.readline().strip()
        with httpx2.Client(base_url=address, timeout=60) as client:
            job_id = queued(client, MANY)
            until(lambda: is_committed(client, job_id))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    assert jobs_home.job(job_id).state == "running"
    with jobs_home.client() as client:
        assert client.get(f"{API}/jobs/{job_id}").json()["state"] == "running"
        jobs_home.gate.unlink()
        job = ended(client, job_id)
        assert (job["state"], job["attempt"]) == ("done", 1)
        assert job["result"]["added"]["n"] == len(MANY)


@pytest.mark.parametrize("stop_jobs", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_server_that_stops(jobs_home, stop_jobs):
    """Its jobs go on; or they end behind what is at hand, and the next server resumes them."""
    jobs_home.gate.touch()
    with jobs_home.client(stop_jobs=stop_jobs) as client:
        job_id = queued(client, MANY)
        until(lambda: is_committed(client, job_id))
        if stop_jobs:
            opening = threading.Timer(0.5, jobs_home.gate.unlink)
            opening.start()
    assert jobs_home.job(job_id).state == ("interrupted" if stop_jobs else "running")
    jobs_home.gate.unlink(missing_ok=True)
    with jobs_home.client() as client:
        job = ended(client, job_id)
        assert job["state"] == "done"
        assert job["attempt"] == (2 if stop_jobs else 1)
        assert job["result"]["n_documents"] == len(MANY)


def test_jobs_have_workers(started_jobs_home):
    found = []
    for workers in (1, 2):
        with started_jobs_home.client(workers=workers) as client:
            job = upload(client, MANY, wait=60).json()
            assert job["state"] == "done"
            assert ("workers" in job["result"]["usage"]["seconds"]) == (workers > 1)
            found.append(contents(started_jobs_home))
            assert client.delete(f"{API}/indexes/notes").status_code == 204
            assert client.post(f"{API}/indexes", json={"name": "notes"}).status_code == 201
    assert found[0] == found[1]


def test_a_job_whose_workers_cannot_be_reached_fails(jobs_home):
    with jobs_home.client(workers="ray:127.0.0.1:9") as client:
        job = upload(client, NOTES, wait=60).json()
    assert job["state"] == "failed"
    assert "Ray cluster" in job["result"]["error"]["message"]
    with pytest.raises(errors.InputError, match="workers must be a number of processes"):
        replace(jobs_home.settings, workers="many")


@pytest.mark.slow
def test_two_servers_over_one_home(jobs_home):
    """One of them looks after the jobs, whichever took them in; when it ends the other one does."""
    with jobs_home.client() as second, jobs_home.client() as first:
        ids = [queued(first, NOTES), queued(second, {"a.md": "Anna sailed north."})]
        assert [ended(first, each)["state"] for each in ids] == ["done", "done"]
        assert [ended(second, each)["attempt"] for each in ids] == [1, 1]
    with jobs_home.client() as third:
        assert upload(third, {"b.md": "Bo stayed at home."}, wait=60).json()["state"] == "done"


def test_a_job_waits_for_a_writer_outside(jobs_home):
    with jobs_home.client() as client:
        assert upload(client, NOTES, wait=60).json()["state"] == "done"
        with jobs_home.index() as outside:
            outside.remove("notes/fram.md")
            job_id = queued(client, {"c.md": "The Fram came back."})
            until(lambda: "waiting" in [e.kind for e in told(jobs_home, job_id)])
            assert client.get(f"{API}/jobs/{job_id}").json()["state"] == "running"
        assert ended(client, job_id)["state"] == "done"
        assert contents(jobs_home)[0] == ["notes/c.md", "notes/people/archer.md"]


def told(home, job_id):
    with home.database() as database:
        return JobQueue(database).list_events(job_id)


REFUSED = [
    ("extract", {"triples": "llm"}, "this extraction needs an LLM"),
    ("extract", {"units": 2}, "options.units: a number, from 0 to 1, not 2"),
    (
        "extract",
        {"triples": "cooccurrence", "core": 0.5},
        "core is about triples by an LLM, but triples are set to 'cooccurrence'",
    ),
    ("extract", {"methods": ["cleu"]}, "cleu"),
    ("extract", {"llm": "openai:m@http://10.0.0.1/v1"}, "options.llm: Extra inputs"),
    ("index", {"limits": {"seconds": 1e9}}, "options.limits: Extra inputs"),
    ("remove", {}, "name the documents to remove"),
    ("remove", {"where": "date >"}, "date"),
    ("watch", {}, "expected tags: 'index', 'extract', 'remove', 'compact'"),
]


def test_options_are_checked_before_a_job_waits(jobs_home):
    with jobs_home.index() as index:
        index.add(clew.Document(id="a", text="Anna sailed north."))
    with jobs_home.client() as client:
        for kind, options, sentence in REFUSED:
            found = add_job(client, kind, options)
            assert found.status_code == 400
            assert sentence in found.json()["error"]["message"]
        assert client.get(f"{API}/jobs").json() == {"items": [], "total": 0}


def test_extract_and_what_a_new_index_is_made_with(jobs_home):
    with jobs_home.database() as database:
        settings = Settings(chunking=Chunking(size=20, overlap=0))
        Indexes(jobs_home.settings, database).make("cut", settings)
    with jobs_home.client() as client:
        notes = {"a.md": "Colin Archer built the Fram. " * 20}
        assert upload(client, notes, index="cut", wait=60).json()["result"]["n_chunks"] > 5
        done = add_job(client, "extract", {"triples": "cooccurrence"}, index="cut", wait=60).json()
        assert done["result"]["extracted"]["rules"] > 5
    with jobs_home.client() as client:
        job = add_job(client, "index", wait=60).json()
        assert job["result"]["error"]["message"] == "no file was uploaded into 'notes' yet"


def test_who_sees_jobs(jobs_home):
    """Keys see the jobs of their indexes; a key with a filter sees none; reading ends none."""
    with jobs_home.database() as database:
        Indexes(jobs_home.settings, database).make("other")
    with jobs_home.client(jobs=0) as client:
        job_id = queued(client, NOTES)
        client.delete(f"{API}/jobs/{job_id}")
        assert client.get(f"{API}/jobs/nothing").json()["error"]["code"] == "not_found"
    keys = {
        "all": {"scope": "admin"},
        "mine": {"indexes": ("notes",)},
        "others": {"indexes": ("other",), "scope": "write"},
        "bound": {"where": "title = 'x'"},
    }
    headers = {name: jobs_home.key(name, **given)[1] for name, given in keys.items()}
    with jobs_home.client(jobs=0) as client:

        def status(method, path, name):
            return client.request(method, f"{API}{path}", headers=headers[name]).status_code

        for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/events"):
            found = {name: status("GET", path, name) for name in keys}
            assert found == {"all": 200, "mine": 200, "others": 404, "bound": 404}
        totals = {
            name: client.get(f"{API}/jobs", headers=headers[name]).json()["total"] for name in keys
        }
        assert totals == {"all": 1, "mine": 1, "others": 0, "bound": 0}
        assert status("DELETE", f"/jobs/{job_id}", "mine") == 403
        assert status("DELETE", f"/jobs/{job_id}", "others") == 404
        assert status("POST", "/indexes/notes/jobs", "mine") == 403
        assert status("POST", "/indexes/notes/jobs", "others") == 404


def test_an_index_with_a_job_is_not_dropped(jobs_home):
    with jobs_home.client(jobs=0) as client, jobs_home.database() as database:
        indexes, queue = Indexes(jobs_home.settings, database), JobQueue(database)
        running, waiting = queued(client, NOTES), queued(client, {"a.md": "Anna."})
        claimed = queue.claim(1, lambda _: None)
        assert claimed.id == running
        with pytest.raises(clew.ClewError, match="a job of the index 'notes' is running"):
            indexes.drop("notes")
        assert queue.get(waiting).state == "cancelled"
        queue.end(claimed, "done", {})
        indexes.drop("notes")
        assert "notes" not in indexes.list_folders()


def test_a_job_of_a_revoked_key_fails(jobs_home):
    """It would spend what nobody may spend any more."""
    key, header = jobs_home.key("anna", scope="write")
    home = replace(jobs_home, headers=header)
    with home.client(jobs=0) as client:  # it waits
        job_id = queued(client, NOTES)
    with home.database() as database:
        Keys(database).revoke(key.id)
    _, admin = jobs_home.key("root", scope="admin")
    with replace(jobs_home, headers=admin).client() as client:
        job = ended(client, job_id)
        assert job["state"] == "failed"
        assert (
            "the key of this job was revoked: submit it again" in job["result"]["error"]["message"]
        )
