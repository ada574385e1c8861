"""The network between a process, PostgreSQL and the object storage is slow, paused or gone."""

import threading
import time
from urllib.parse import urlsplit

import pytest

import clew
from clew.errors import StoreError
from clew.extras.cluster.postgres import connection, objects
from clew.extras.cluster.postgres.address import parse_address
from clew.index import adding
from clew.index.generation import compact
from clew.testing import models, small_documents
from tests.extras.cluster.postgres import writers
from tests.extras.cluster.postgres.conftest import index_address
from tests.extras.cluster.postgres.proxy import between
from tests.extras.cluster.postgres.writers import commit, opened
from tests.index.build import is_one_sentence


@pytest.fixture
def storage(s3, monkeypatch, s3_address):
    """Give a proxy before the S3 server, which stores that are opened now go through."""
    parts = urlsplit(s3)
    with between((parts.hostname, parts.port)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        yield proxy


@pytest.fixture
def database(postgres):
    """Give a proxy before PostgreSQL."""
    with between(f"{postgres.pgdata}/.s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
def address(postgres, database, storage, s3_address):
    """Give the address of an index that is not there yet, behind both proxies."""
    name = index_address(postgres, "").partition("?")[0].rpartition("/")[2]
    return f"postgresql://postgres@127.0.0.1:{database.port}/postgres/{name}?objects=s3://bucket/i"


def told(work):
    """Return the one sentence that some work ends with, and how long it took."""
    began = time.perf_counter()
    with pytest.raises(StoreError) as caught:
        work()
    assert is_one_sentence(caught.value)
    return str(caught.value), time.perf_counter() - began


def test_database_that_refuses(address, database):
    """It is said at once."""
    database.cut()
    said, seconds = told(lambda: clew.open(address).search("x"))
    assert "PostgreSQL does not answer" in said
    assert seconds < 5


def test_database_behind_a_network_that_is_gone(address, database, monkeypatch):
    """It is said after the time that a connection may take: ten seconds, two here."""
    assert int(connection.LIBPQ["connect_timeout"]) == 10
    monkeypatch.setitem(connection.LIBPQ, "connect_timeout", "2")
    database.pause()
    said, seconds = told(lambda: clew.open(address).search("x"))
    assert "PostgreSQL does not answer" in said
    assert seconds < 5


def test_database_cut_off_at_a_commit(address, database):
    """What was under way is lost as a whole, and the same process goes on."""
    with opened(address) as store:
        commit(store, 0, 2)
        real = store.cache.objects.put

        def put(name, path):
            real(name, path)
            database.cut()

        store.cache.objects.put = put
        said, _ = told(lambda: commit(store, 2, 2))
        assert "PostgreSQL does not answer" in said
        store.cache.objects.put = real
        database.mend()
        assert sorted(store.hashes()) == ["d00", "d01"]
        writers.lock(store)  # the server notices by itself that the session ended
        commit(store, 2, 2)
    assert sorted(writers.left(address)[1]) == ["d00", "d01", "d02", "d03"]
    writers.check_objects(address)


def test_storage_down_at_a_commit(address, storage):
    """Nothing is committed, nothing torn; readers of what is here go on; then it is again."""
    with opened(address) as store:
        commit(store, 0, 2)
        before = writers.left(address)
        storage.cut()
        said, seconds = told(lambda: commit(store, 2, 2))
        assert "files in s3://bucket/i cannot be written" in said
        assert seconds < 30
        assert writers.left(address) == before
        storage.mend()
        writers.check_objects(address)
        commit(store, 2, 2)
    assert len(writers.left(address)[1]) == 4
    writers.check_objects(address)


def test_questions_while_the_storage_is_down(address, storage):
    """Copies answer, and what is computed from them stays here."""
    with opened(address) as store:
        commit(store, 0, 2)
    storage.cut()
    with clew.open(address, models=models()) as found:
        assert found.search("Who crossed Bakken?").hits
        kept = set(parse_address(address).folder.glob("*/cached/*"))
        assert kept
    with clew.open(address, models=models()) as found:
        assert found.search("Who crossed Bakken?").hits
    assert kept <= set(parse_address(address).folder.glob("*/cached/*"))


def test_storage_that_never_answers(address, storage, monkeypatch):
    """A request that takes longer than it may is given up."""
    monkeypatch.setitem(objects.CLIENT, "timeout", "200ms")
    with opened(address) as store:
        storage.pause()
        said, seconds = told(lambda: commit(store, 0, 2))
        assert "files in s3://bucket/i cannot be written" in said
        assert seconds < 60
        storage.mend()
        commit(store, 0, 2)
    writers.check_objects(address)


def test_objects_that_are_not_to_be_seen_yet(address, storage, monkeypatch, tmp_path):
    """They are asked for again; what does not appear is said to be missing."""
    with opened(address) as store:
        commit(store, 0, 2)
    before = writers.left(address)
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "another machine"))
    asked = []

    def hide(piece):
        line = piece.partition(b"\r\n")[0]
        if line.startswith(b"GET") and b"/segments/" in line and asked.count(line) < n_hidden:
            asked.append(line)
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        return None

    storage.answer, n_hidden = hide, 2
    assert writers.left(address) == before
    assert len(asked) == 2
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "a third machine"))
    monkeypatch.setattr(objects, "WAITS_S", (0.01, 0.01))
    n_hidden = 1_000
    said, _ = told(lambda: writers.left(address))
    assert "is missing in s3://bucket/i" in said


def test_the_storage_is_never_listed(address, storage, monkeypatch, tmp_path):
    """Not by writers, merges, compactions, readers without copies, nor by looking at every byte."""
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", writers.BATCH_CHARACTERS)
    writers.build(address, 0)
    writers.build(address, 1)
    with opened(address) as store:
        compact(store)
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "another machine"))
    with clew.open(address, models=models()) as found:
        assert found.check() == []
        assert found.search("Who crossed Bakken?").hits
        assert found.show()["size_bytes"] > 0
    lines = [line for line in storage.requests if line.endswith(b" HTTP/1.1")]
    others = {line for line in lines if b"/segments/" not in line and b"/cached/" not in line}
    assert others == {b"POST /bucket?delete HTTP/1.1"}
    assert {line.split()[0] for line in lines} == {b"GET", b"HEAD", b"PUT", b"POST"}


@pytest.mark.slow
def test_threads_read_while_one_writes(address):
    """They see whole generations, each no older than the one before."""
    with clew.open(address, models=models()) as found:
        found.add(small_documents()[:2])
        failed, is_done = [], threading.Event()

        def read():
            last = 0
            try:
                while not is_done.is_set():
                    snapshot = found.snapshot()
                    assert snapshot.generation >= last
                    last = snapshot.generation
                    n = len(snapshot.document_layer)
                    assert len(snapshot.document_layer.documents(range(n))) == n
                    assert found.search("the capital").hits
            except BaseException as error:  # noqa: BLE001 -- told by the test
                failed.append(error)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for each in threads:
            each.start()
        for each in small_documents()[2:7]:
            found.add([each])
        found.remove(["comet"])
        is_done.set()
        for each in threads:
            each.join()
    assert failed == []
    assert len(writers.left(address)[1]) == 7 - 1
