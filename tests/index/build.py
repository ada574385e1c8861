"""Small indexes for tests: in memory where the machine allows, so that syncing costs nothing."""

import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

from clew import testing
from clew.base.types import Document
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.generation import open_snapshot
from clew.index.store.embedded import EmbeddedStore
from clew.index.store.segments import open_segment
from tests import snapshots

MODELS = testing.models()
RECIPE = recipes.Settings().build_recipe(MODELS)


@contextmanager
def scratch():
    """Give a folder that is gone afterwards."""
    ram = Path("/dev/shm")  # noqa: S108 -- a folder of its own is made below
    with tempfile.TemporaryDirectory(dir=ram if ram.is_dir() else None) as folder:
        yield Path(folder)


def create(folder):
    return EmbeddedStore.create(folder, RECIPE)


def add(store, documents, models=MODELS):
    return adding.add_documents(store, documents, models)


def document(name, text, **fields):
    return Document(id=name, text=text, source=f"{name}.txt", **fields)


@contextmanager
def indexed(*documents, models=MODELS, settings=None):
    """Give the snapshot of a new index of `documents`, and the report."""
    with scratch() as folder:
        recipe = (settings or recipes.Settings()).build_recipe(models)
        with EmbeddedStore.create(folder / "index", recipe) as store:
            report = adding.add_documents(store, documents, models)
            snapshot = open_snapshot(store)
            yield snapshot, report
            snapshot.close()


def contents(store):
    """Return all that the newest generation holds, as `snapshots.contents` gives it."""
    with closing(open_snapshot(store)) as snapshot:
        snapshots.check_consistent(snapshot)
        return snapshots.contents(snapshot)


def files(folder, *below):
    """Return the bytes of every file below `folder`, by name."""
    roots = [folder / name for name in below] or [folder]
    paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}


def arrays_of(folder):
    """Return the arrays of the segments of an index, whatever their files are called."""
    return [
        {
            name: (array.dtype.str, array.shape, array.tobytes())
            for name, array in open_segment(path).items()
        }
        for path in sorted((folder / "segments").glob("*"))
    ]


def is_one_sentence(error):
    """Say whether an error's message is one line that a person can read."""
    message = str(error)
    return 20 < len(message) < 400 and "\n" not in message and "Traceback" not in message
