"""A home in PostgreSQL is one home for servers of several machines."""

import time
from contextlib import ExitStack, contextmanager

import pytest
from starlette.testclient import TestClient

from clew.errors import InputError
from clew.extras.cluster.postgres.connection import ConnectionLost
from clew.extras.server import ServerSettings, application
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.server.process_locks import ProcessLock, is_alive
from clew.extras.server.spending import KeySpending
from clew.index.store.opening import describe_place, folder_of
from clew.models.budget import Bill

BASE = "http://localhost:8765"
API = "/api/v1"


@pytest.fixture
def homes(address, monkeypatch, tmp_path):
    """Give the folders of one home on two machines."""
    found = []
    for machine in "ab":
        monkeypatch.setenv("CLEW_CACHE", str(tmp_path / machine))
        found.append(folder_of(address))
    return found


@contextmanager
def server(home):
    settings = ServerSettings(home=home)
    with TestClient(application(settings), base_url=BASE) as client:
        yield client


def ended(client, job_id):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        job = client.get(f"{API}/jobs/{job_id}").json()
        if job["state"] in {"done", "failed"}:
            return job
        time.sleep(0.05)
    pytest.fail("the job did not end")


def test_keys_and_spending_are_shared(homes):
    """A key of one machine opens the other's door, and its budget is one."""
    with ExitStack() as stack:
        database = [ServerDatabase(home) for home in homes]
        alive = [ProcessLock(home) for home in homes]
        for each in database:
            stack.callback(each.close)
        key, text = Keys(database[0]).add("nightly", KeyOptions(tokens=100))
        assert Keys(database[1]).find(text) == key
        spending = [KeySpending(*each) for each in zip(database, alive, strict=True)]
        number = spending[0].set_aside(key, Bill(80, 0.5))
        assert spending[1].set_aside(key, Bill(80, 0.5)) is None  # others must be waited for
        spending[0].settle(number, Bill(10, 0.1))
        assert spending[1].sum_of_key(key.id)["tokens"] == 10
        spending[1].set_aside(key, Bill(80, 0.5))
        assert is_alive(homes[0], alive[1].name)
        alive[1].end()
        time.sleep(0.2)
        assert not is_alive(homes[0], alive[1].name)
        spending[0].settle_dead()  # what a dead process had set aside counts as spent
        assert spending[0].sum_of_key(key.id)["tokens"] == 90
        Keys(database[1]).revoke("nightly")
        assert Keys(database[0]).find(text) is None
        alive[0].end()


def test_a_sign_in_is_of_all_servers(homes):
    """A session with its person is known to each, and is begun by one of them."""
    with ExitStack() as stack:
        database = [ServerDatabase(home) for home in homes]
        for each in database:
            stack.callback(each.close)
        one, other = map(Keys, database)
        key, _ = one.add("staff", KeyOptions())
        text = one.begin_session(key, seconds=60, user="anna@example.org", once="secret")
        assert other.find_by_session(text) == (key, "anna@example.org")
        with pytest.raises(InputError, match="was begun by this already"):
            other.begin_session(key, seconds=60, once="secret")
        other.begin_session(key)
        one.end_session(text)
        assert other.find_by_session(text) is None


def test_what_one_server_makes_another_serves(homes):
    """An index that is made and written by one machine is asked at another, which runs no job."""
    with server(homes[0]) as one, server(homes[1]) as other:
        assert one.post(f"{API}/indexes", json={"name": "notes"}).status_code == 201
        given = {"documents": [{"id": "a", "text": "Mira Toll lit the beacon of Verle."}]}
        told = one.post(f"{API}/indexes/notes/documents", json=given)
        job = ended(other, told.json()["id"])
        assert job["state"] == "done", job
        found = other.post(f"{API}/indexes/notes/search", json={"query": "Who lit the beacon?"})
        assert [hit["document_id"] for hit in found.json()["hits"]] == ["a"]
        assert other.delete(f"{API}/indexes/notes").status_code in {200, 204}
        assert one.get(f"{API}/indexes/notes").status_code == 404


def test_jobs_run_where_their_files_are(homes):
    """A machine takes no job of another one, and all are listed by both."""
    with ExitStack() as stack:
        database = [ServerDatabase(home) for home in homes]
        for each in database:
            stack.callback(each.close)
        queues = [JobQueue(each) for each in database]
        given = {"name": "n", "folder": homes[0], "kind": "compact", "key": "", "options": {}}
        for number in "12":
            queues[0].add(number, **given, run={})
        assert queues[1].claim(4, lambda _: None) is None
        assert queues[0].claim(4, lambda _: None).id == "1"
        assert [job.id for job in queues[0].list_running()] == ["1"]
        assert queues[1].list_running() == []
        assert [job.id for job in queues[1].list_jobs(None)[0]] == ["2", "1"]
        assert queues[1].list_jobs([])[1] == 0
        assert queues[1].cancel("2").state == "cancelled"


def test_while_postgresql_is_away(homes, monkeypatch):
    """A request gets 503 and one sentence, which tells who is no admin no address."""
    with ExitStack() as stack:
        database = ServerDatabase(homes[0])
        stack.callback(database.close)
        _, text = Keys(database).add("reader", KeyOptions())
        client = stack.enter_context(server(homes[0]))
        headers = {"Authorization": f"Bearer {text}"}
        assert client.get(f"{API}/indexes", headers=headers).status_code == 200

        def away(*_):
            raise ConnectionLost(
                f"PostgreSQL does not answer at {describe_place(homes[0])} (gone): try again"
            )

        monkeypatch.setattr("clew.extras.server.indexes.Indexes.list_folders", away)
        reply = client.get(f"{API}/indexes/notes", headers=headers)
        assert reply.status_code == 503
        assert reply.json()["error"] == {
            "code": "store_unavailable",
            "message": "the storage of the server does not answer now: try again later",
        }


def test_other_addresses_are_no_folders():
    """An index is a folder or in PostgreSQL; what looks like another address makes no folder."""
    with pytest.raises(
        InputError, match="an index must be a folder or postgresql://.*, not mysql://"
    ):
        folder_of("mysql://db.example/x/y")
