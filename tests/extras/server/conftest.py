"""Servers over small indexes, in process and on a free port, and an LLM that says what it is to."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from starlette.testclient import TestClient

import clew
from clew import plugins
from clew.base.types import Figure
from clew.extras.files.figures import hash_picture
from clew.extras.server import ServerSettings, application
from clew.extras.server.database import ServerDatabase
from clew.extras.server.indexes import Indexes
from clew.extras.server.jobs import driver
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.server.process_locks import ProcessLock
from clew.extras.server.serving import make_config
from clew.models import RecordedLLM
from clew.models.loading import Specs
from clew.testing import ScriptedChat, models, small_documents
from tests.extras.server import nursery
from tests.extras.server.every import DRAWING
from tests.extras.server.served import ENTRY_POINTS, MODULE, JobHome
from tests.installed import install
from tests.loopback import on_loopback

BASE = "http://localhost:8765"


def open_small(folder, **given):
    """Open an index as a server does, with models that need no files unless others are named."""
    specs = given.get("specs") or clew.Specs()
    named = None if specs.embedder else models()
    return clew.open(folder, models=named, specs=specs, settings=given.get("settings"))


@dataclass(frozen=True)
class Home:
    """A home, its settings, and a way to make keys."""

    settings: ServerSettings

    @property
    def folder(self):
        return self.settings.home

    def key(self, name="k", **options):
        database = ServerDatabase(self.folder)
        try:
            _, text = Keys(database).add(name, KeyOptions(**options))
        finally:
            database.close()
        return {"Authorization": f"Bearer {text}"}

    def client(self, opener=open_small, **changes):
        settings = replace(self.settings, **changes)
        return TestClient(
            application(settings, opener), base_url=BASE, raise_server_exceptions=False
        )

    @contextmanager
    def serving(self, opener=open_small, **changes):
        settings = replace(self.settings, **changes)
        with on_loopback(make_config(application(settings, opener), settings)) as address:
            yield address


@pytest.fixture(scope="session")
def _small_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "small.clew"
    documents = [
        replace(each, metadata={"group": "hidden" if i % 3 == 0 else "open"})
        for i, each in enumerate(small_documents())
    ]
    documents = [drawn(each) if each.id == "comet" else each for each in documents]
    with open_small(folder) as index:
        index.add(documents)
    return folder


def drawn(document):
    """Return a document with a picture at its first word."""
    figure = Figure(0, 3, "", hash_picture(DRAWING))
    return replace(document, figures=(figure,), pictures={figure.address: DRAWING})


@pytest.fixture
def home(tmp_path, _small_index):
    """A home without keys that serves `small`, an index of the test's own."""
    folder = shutil.copytree(_small_index, tmp_path / "small.clew")
    return Home(ServerSettings(home=tmp_path / "home", indexes={"small": folder}))


@pytest.fixture
def client(home):
    with home.client() as found:
        yield found


@pytest.fixture
def database(tmp_path):
    """The database of an empty home."""
    found = ServerDatabase(tmp_path / "home")
    yield found
    found.close()


@pytest.fixture
def alive(database):
    """This process, as one of the home's."""
    found = ProcessLock(database.home)
    yield found
    found.end()


@pytest.fixture(scope="session")
def _gated_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, "gated_clew", MODULE, ENTRY_POINTS)
    return folder


@pytest.fixture(scope="session")
def job_paths(_gated_package):
    """Where the processes of jobs find packages."""
    return [str(_gated_package), *filter(None, [os.environ.get("PYTHONPATH")])]


@pytest.fixture
def jobs_home(started_jobs_home, monkeypatch):
    """The same, with processes that are forked from one that has imported what they need."""
    if hasattr(os, "fork"):
        monkeypatch.setattr(driver, "subprocess", nursery)
    return started_jobs_home


@pytest.fixture
def started_jobs_home(tmp_path, _gated_package, job_paths, monkeypatch):
    """A home without keys, and without indexes but `notes`, whose jobs are started as they are."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(job_paths))
    monkeypatch.syspath_prepend(str(_gated_package))
    plugins.read_registered.cache_clear()
    specs = Specs(embedder=f"gated:{tmp_path / 'gate'}")
    home = JobHome(ServerSettings(home=tmp_path / "home", specs=specs, jobs=2))
    with home.database() as database:
        indexes = Indexes(home.settings, database)
        indexes.make("notes")
        indexes.close()
    yield home
    home.end_all()
    plugins.read_registered.cache_clear()


REPLY = "Ola Eriksen built the Comet in Bakken [1]."


def open_with(answer, *, price=(0.0, 0.0)):
    """Return what opens indexes with an LLM that says what `answer` gives for a prompt."""
    chat = ScriptedChat(answer, price=price)

    def opener(folder, **_):
        return clew.open(folder, models=models(llm=RecordedLLM(chat)))

    return chat, opener


def on_answers(said):
    """Return replies to prompts for an answer; other steps get one that is of no use to them."""
    return lambda prompt, _turns: said if prompt.name == "prose_answer" else "no"
