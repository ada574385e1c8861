"""Processes that write to an index in PostgreSQL, each a fork of one that has nothing open."""

import os
import time
from contextlib import closing, suppress

import obstore
from obstore.store import LocalStore, from_url

import clew
from clew.cli import main
from clew.errors import IndexLocked
from clew.extras.cluster.postgres import objects as storage
from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.catalogue import PostgresCatalogue, object_of
from clew.extras.cluster.postgres.connection import Connection
from clew.extras.cluster.postgres.store import PostgresStore
from clew.index import adding
from clew.models.ledger import Request
from clew.testing import models
from tests.cli.conftest import open_with_doubles
from tests.forks import make_process
from tests.index.build import MODELS, RECIPE, contents
from tests.index.reads import ReadsChat
from tests.index.store.corpus import documents
from tests.index.store.deadly import deadly

N_DOCUMENTS, BATCH_CHARACTERS = 30, 1_500
_PASSED_ON = ("AWS_", "CLEW_")


def build(address, state):
    """Bring the index at an address to a state of the corpus, as `clew index` would."""
    wanted = documents(state, N_DOCUMENTS)
    with PostgresStore.create(parse_address(address), RECIPE) as store:
        lock(store)
        gone = sorted(set(store.hashes()) - {document.id for document in wanted})
        if gone:
            store.remove(gone)
        adding.add_documents(store, wanted, MODELS)
        adding.finish_index(store)


def opened(address):
    return PostgresStore.create(parse_address(address), RECIPE)


def commit(store, first, n=1):
    """Add some documents of the corpus."""
    return adding.add_documents(store, documents()[first : first + n], MODELS)


def lock(store):
    """Become the writer; the server notices a little later that the one before was killed."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with suppress(IndexLocked):
            return store.lock()
        time.sleep(0.02)
    return store.lock()


def start(work, *given):
    """Start `work` in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k.startswith(_PASSED_ON)}
    process = make_process(_run, environment, work, *given)
    process.start()
    return process


def _run(environment, work, *given):
    os.environ.update(environment)
    adding.BATCH_CHARACTERS = BATCH_CHARACTERS
    work(*given)


def build_until(address, state, step):
    """Build, and die right before a step: what is asked of the storage or commits."""
    notes = ("note_unused", "note_used", "note_deleted", "add_segment", "add_cached")
    places = [
        *((storage.Objects, name) for name in ("put", "delete")),
        *((PostgresCatalogue, name) for name in notes),
        *((PostgresStore, name) for name in ("_after_commit", "_sweep")),
    ]
    calls = deadly(step, *(getattr(owner, name) for owner, name in places))
    for (owner, name), call in zip(places, calls, strict=True):
        setattr(owner, name, call)
    build(address, state)


def command(words, output):
    """Run a command of the command line, and write into a file what it says."""
    with output.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    main(words, obj=open_with_doubles)


class Telling(ReadsChat):
    """An LLM that writes down what it is asked."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def ask(self, prompt, turns=(), **given):
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{Request(self.name, prompt, tuple(turns)).key().hex()}\n")
        time.sleep(0.01)
        return super().ask(prompt, turns, **given)


def pay(address, path):
    """Index some documents with an LLM that writes down in a file what it is asked."""
    until = time.monotonic() + 120
    while True:
        with suppress(IndexLocked), clew.open(address, models=models(llm=Telling(path))) as found:
            return found.add(documents(0, 15), units=1.0, triples="llm")
        assert time.monotonic() < until


def add_one(address, number):
    """Add one document to an index that may not be there yet, while others do the same."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with suppress(IndexLocked), clew.open(address, models=models()) as found:
            return found.add(documents()[number : number + 1])
        time.sleep(0.05)
    raise AssertionError("it was locked all the time")


def read_often(address, expected):
    """Read an index again and again, while others delete its copies."""
    for _ in range(3):
        assert left(address)[1] == expected


def recorded(address):
    """Return the keys of the replies that the ledger of an index has."""
    with closing(Connection(parse_address(address))) as session:
        there = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'call'"
        if not session.execute(there, (parse_address(address).schema,)).fetchall():
            return set()
        return {bytes(key).hex() for (key,) in session.execute("SELECT key FROM call").fetchall()}


def left(address):
    """Return what an index holds."""
    with PostgresStore(parse_address(address)) as store:
        return contents(store), store.hashes(), store.generation


def check_whole(address):
    """Check that an index is whole, if it is one, and that its objects are there."""
    with closing(PostgresCatalogue(parse_address(address))) as catalogue:
        if not catalogue.is_made():
            return
    held, hashes, _ = left(address)
    assert [d.id for d in held["documents"]] == sorted(hashes)
    assert all(adding.hash_content(d) == hashes[d.id] for d in held["documents"])


def check_objects(address):
    """Check that the storage holds what the database names, and nothing else.

    What can be computed again is named before it is there, and may be missing.
    """
    place, catalogue = parse_address(address), PostgresCatalogue(parse_address(address))
    with closing(catalogue):
        named = {object_of(segment.name) for segment in catalogue.segments()}
        cached = {f"cached/{name}-{n:06d}.safetensors" for name, n in catalogue.list_cached()}
        objects, prefix = (catalogue.meta(name) for name in ("objects", "identity"))
    there = "://" in objects
    store = from_url(objects, client_options={"allow_http": True}) if there else LocalStore(objects)
    below = f"{place.index}-{prefix}/"
    paths = (each["path"] for batch in obstore.list(store, below) for each in batch)
    found = {path.removeprefix(below) for path in paths}
    assert sorted(found - cached) == sorted(named)


def resume(address, state):
    """Go on where a killed run ended; whoever writes sweeps what it left behind."""
    build(address, state)
    with PostgresStore(parse_address(address)) as store:
        lock(store)
