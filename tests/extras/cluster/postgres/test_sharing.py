"""Several processes on one index, and several indexes in one database."""

from contextlib import closing

import pytest

import clew
from clew.errors import StoreError
from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.connection import Connection
from clew.testing import models, small_documents
from tests.extras.cluster.postgres import writers
from tests.extras.cluster.postgres.conftest import index_address
from tests.extras.cluster.postgres.writers import commit, opened
from tests.index.build import is_one_sentence


def drop(address):
    """Drop the schema of an index, as an administrator does: whoever reads it has it locked."""
    readers = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'clew' AND pid <> pg_backend_pid()"
    )
    with closing(Connection(parse_address(address))) as session:
        session.execute(readers)
        session.execute("SET lock_timeout = '5s'")
        session.execute(f'DROP SCHEMA "{parse_address(address).schema}" CASCADE')


def test_processes_make_one_index(address):
    """Of several that make the same index and its ledger at once, each finds one index."""
    processes = [writers.start(writers.add_one, address, number) for number in range(3)]
    for each in processes:
        each.join()
    assert [each.exitcode for each in processes] == [0] * 3
    assert sorted(writers.left(address)[1]) == ["d00", "d01", "d02"]
    writers.check_objects(address)


def test_two_indexes_in_one_database(postgres, tmp_path, address):
    """They share neither rows nor locks nor objects, and one stays when the other is dropped."""
    other = index_address(postgres, tmp_path / "objects")
    with opened(address) as one, opened(other) as two:
        commit(one, 0)
        commit(two, 1)
        assert (sorted(one.hashes()), sorted(two.hashes())) == (["d00"], ["d01"])
    drop(other)
    assert sorted(writers.left(address)[1]) == ["d00"]
    writers.check_objects(address)


def test_an_index_made_anew_is_another_one(address):
    """Its rows and arrays are never mixed with copies of the former one of its name."""
    with clew.open(address, models=models()) as before, opened(address) as store:
        before.add(small_documents()[:3])
        old = before.snapshot()
        drop(address)
        with clew.open(address, models=models()) as after:
            after.add(small_documents()[3:6])
            assert sorted(after.documents()) == [d.id for d in small_documents()[3:6]]
            found = after.search("Ola Eriksen").hits
        for work in (store.view, lambda: commit(store, 0), lambda: before.search("Ola Eriksen")):
            with pytest.raises(StoreError, match="was deleted and created again") as caught:
                work()
            assert is_one_sentence(caught.value)
        assert len(old.document_layer) == 3
    assert {each.document_id for each in found} == {d.id for d in small_documents()[3:6]}
    writers.check_objects(address)
