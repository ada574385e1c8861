"""PostgreSQL is killed and starts again, or ends a session; what was committed is kept."""

import random
import time
from contextlib import closing

import pytest

import clew
from clew.errors import IndexLocked, StoreError
from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.connection import Connection
from clew.testing import models, small_documents
from tests.extras.cluster.postgres import writers
from tests.extras.cluster.postgres.conftest import index_address, kill, started
from tests.extras.cluster.postgres.writers import commit, opened
from tests.index.build import is_one_sentence
from tests.index.store.corpus import documents

QUESTION = "Who built the Comet?"


@pytest.fixture(scope="module")
def server():
    """Give a server that may be killed, as long as it runs again afterwards."""
    with started() as found:
        yield found


@pytest.fixture
def new(server, tmp_path, monkeypatch):
    """Give addresses of indexes that are not there yet."""
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    return lambda: index_address(server, tmp_path / "objects")


@pytest.fixture
def folder(tmp_path):
    """Give a folder of texts."""
    made = tmp_path / "texts"
    made.mkdir()
    for each in documents(n=40):
        if each.text.startswith("..."):
            continue  # of which no command makes a document
        (made / f"{each.id}.txt").write_text(each.text * 3, encoding="utf-8")
    return made


def run_index(folder, address, output, *, kill_after=None, server=None):
    """Run `clew index`, during which the server may die; return the exit status and the output."""
    words = ["index", str(folder), "--into", address]
    process = writers.start(writers.command, words, output)
    if server is not None:
        process.join(kill_after)
        kill(server)
    process.join(60)
    if server is not None:
        server.ensure_postgres_running()
    assert process.exitcode is not None
    return process.exitcode, output.read_text(encoding="utf-8")


def kill_servers(server, new, folder, tmp_path, n, seed):
    rng = random.Random(seed)  # noqa: S311 -- instants need no secrecy
    whole, output, hit, tries = new(), tmp_path / "output", 0, 0
    began = time.perf_counter()
    assert run_index(folder, whole, output)[0] == 0
    duration = time.perf_counter() - began
    expected = writers.left(whole)[0]
    while tries < n or (hit <= n // 3 and tries < 4 * n):
        tries += 1
        address, instant = new(), rng.uniform(0.2, 0.9) * duration
        status, said = run_index(folder, address, output, kill_after=instant, server=server)
        if not status:  # it ended before: the machine is less busy than it was
            duration *= 0.7
        if status:
            hit += 1
            assert "Traceback" not in said
            last = said.splitlines()[-1]
            assert is_one_sentence(last)
            assert "PostgreSQL does not answer" in last
        writers.check_whole(address)
        assert run_index(folder, address, output)[0] == 0
        assert writers.left(address)[0] == expected
        writers.check_objects(address)
    assert hit > n // 3


@pytest.mark.slow
def test_server_killed_during_a_run(server, new, folder, tmp_path):
    """The command ends with one sentence, and goes on to the same index once the server is back."""
    kill_servers(server, new, folder, tmp_path, 2, seed=3)


@pytest.mark.slow
def test_server_killed_at_many_instants(server, new, folder, tmp_path):
    """As above, at thirty instants."""
    kill_servers(server, new, folder, tmp_path, 30, seed=4)


def test_readers_outlive_the_server(server, new):
    """An index that was open answers again, from the same generation, and says why it did not."""
    with clew.open(new(), models=models()) as index:
        index.add(small_documents())
        before, snapshot = index.search(QUESTION), index.snapshot()
        texts = snapshot.document_layer.documents([0, 1, 2])
        kill(server)
        with pytest.raises(StoreError, match="PostgreSQL does not answer") as caught:
            index.search(QUESTION)
        assert is_one_sentence(caught.value)
        server.ensure_postgres_running()
        assert index.search(QUESTION).hits == before.hits
        assert snapshot.document_layer.documents([0, 1, 2]) == texts
        assert index.remove(["comet"]) == ["comet"]  # and it writes again
        assert len(index) == len(small_documents()) - 1


def test_what_was_read_is_never_mixed(server, new):
    """A generation whose session ended is not read on from another one."""
    address = new()
    with clew.open(address, models=models()) as index:
        index.add(small_documents())
        old = index.snapshot()
        kill(server)
        server.ensure_postgres_running()
        with clew.open(address, models=models()) as other:
            other.remove(["comet"])
        for _ in range(2):
            with pytest.raises(StoreError, match="ask again") as caught:
                old.document_layer.documents([0])
            assert is_one_sentence(caught.value)
        assert "comet" not in index
        assert index.search(QUESTION).hits


@pytest.fixture
def end_lease(server):
    """Give what ends the session that holds the lease of an index, as an administrator does."""

    def end(address):
        locks = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        with closing(Connection(parse_address(address))) as session:
            assert session.execute(locks).fetchall() == [(True,)]
        time.sleep(0.2)

    return end


def test_a_lost_lease_ends_a_writer(new, end_lease):
    """It cannot commit any more where another took it, and goes on where nobody did."""
    address = new()
    with opened(address) as zombie, opened(address) as other:
        commit(zombie, 0)
        end_lease(address)
        commit(other, 1)
        with pytest.raises(IndexLocked):
            commit(zombie, 2)
        commit(other, 3)
        assert sorted(other.hashes()) == ["d00", "d01", "d03"]
        other.close()
        with pytest.raises(StoreError, match="another process wrote") as caught:
            commit(zombie, 2)
        assert is_one_sentence(caught.value)
        commit(zombie, 4)  # what it was told is read by then
    assert sorted(writers.left(address)[1]) == ["d00", "d01", "d03", "d04"]
    writers.check_objects(address)
    address = new()
    with opened(address) as store:
        commit(store, 0)
        end_lease(address)
        commit(store, 1)
    assert sorted(writers.left(address)[1]) == ["d00", "d01"]
    writers.check_objects(address)


def test_an_upload_behind_a_lost_lease_is_deleted(new, end_lease, monkeypatch):
    """It has a name of its own, overwrites nothing, and the writers that come delete it."""
    address = new()
    with opened(address) as zombie, opened(address) as other:
        commit(zombie, 0)
        objects = zombie.cache.objects
        put = objects.put

        def put_late(name, path):
            end_lease(address)
            commit(other, 1)  # whose sweep finds nothing to delete yet
            put(name, path)

        monkeypatch.setattr(objects, "put", put_late)
        with pytest.raises(StoreError):
            commit(zombie, 2)
    assert sorted(writers.left(address)[1]) == ["d00", "d01"]
    with pytest.raises(AssertionError):
        writers.check_objects(address)
    writers.resume(address, 0)
    writers.check_objects(address)
