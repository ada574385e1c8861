"""Index made documents by workers, in a process that may be killed: what it does is its argument.

It prints how many documents are done with whenever that changes, and at the end what was done.
"""

import json
import sys

import clew
from clew.cli.progress import handle_stop
from clew.extras.cluster.workers import ray
from clew.index import adding
from clew.testing import small_documents

NAMES = ["Ada Quist", "Bo Dahl", "Cape Evans", "Dumont", "Elephant Island", "Fram"]


def text(i):
    """Return a text of about 400 characters, with names that others have too."""
    return " ".join(
        f"{NAMES[(i * j) % 6]} came to Port {i * j % 17} in {1900 + i} with cargo {i} {j}."
        for j in range(1, 8)
    )


def documents(n, refused):
    """Return documents, of which some have words that the embedder refuses."""
    for i in range(n):
        words = "Gunpowder was there. " if i in refused else ""
        yield clew.Document(id=f"{i}", text=words + text(i), source=f"{i}.txt")


def main(folder, workers, specs, n=0, batch=800, refused=(), twice=None, patience=None, **options):
    adding.BATCH_CHARACTERS = batch
    if patience is not None:
        ray.LOOK_S, ray.GONE_S = patience
    given = list(documents(n, refused) if n else small_documents())
    if twice is not None:
        given.insert(twice, given[0])

    def tell(done):
        print(done, flush=True)  # noqa: T201 -- the test reads it

    with (
        clew.open(folder, specs=clew.models.loading.Specs(**specs)) as opened,
        handle_stop() as stop,
    ):
        try:
            added = opened.add(given, workers=workers, on_progress=tell, stop=stop, **options)
        except clew.errors.ClewError as error:
            sys.exit(f"{type(error).__name__}: {error}")
    print(json.dumps(added.report.added))  # noqa: T201 -- the same


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
