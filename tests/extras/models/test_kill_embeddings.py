"""A run that is killed at any instant asks for no vector again that it has received and kept."""

import gc
import os
import random
import threading
from contextlib import closing

import pytest

from clew.base.runtime import sqlite
from clew.extras.models.openai import OpenAIEmbeddings
from clew.models.cache import CachedEmbedder, _key
from clew.testing import HashEmbedder
from tests.models.nursery import nursery, until_done
from tests.models.server import Answer, serving

pytest.importorskip("httpx2")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

TEXTS = [f"Ship number {i} was built in Larvik." for i in range(1500)]
LONGEST_LIFE_S = 0.25
MOST_LIVES = 8  # then a run is left to finish
AT_ONCE = 128  # texts of a request


def embedder_at(url, path):
    paid = OpenAIEmbeddings(
        base_url=url, model="e", concurrency=4, expected_dimension=8, timeout_s=30.0
    )
    return CachedEmbedder(paid, path)


def run(url, path):
    """Embed all texts, in a child that may be killed."""
    assert embedder_at(url, path).embed(TEXTS, kind="document").shape == (len(TEXTS), 8)


class Watching:
    """An endpoint that looks at every request for what its client has kept already."""

    def __init__(self, path):
        self._path = path
        self._lock = threading.Lock()
        self.repeated = self.given = 0

    def respond(self, request):
        texts = request.json["input"]
        with self._lock:
            self.repeated += len(kept(self._path) & set(texts))
            self.given += len(texts)
        rows = HashEmbedder(8).embed(texts, kind="document").tolist()
        return Answer({"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]})


def kept(path):
    """Return the texts whose vectors are in the file."""
    with closing(sqlite.connect(path, wait=5)) as database:
        try:
            keys = {key for (key,) in sqlite.rows(database, "SELECT key FROM vectors")}
        except sqlite.Error:  # there is no table yet
            return set()
    return {text for text in TEXTS if KEYS[text] in keys}


KEYS = {text: _key("e", "document", text) for text in TEXTS}


def test_killed_at_some_instants(tmp_path):
    """Only what was under way is asked for again: at most four requests for each kill."""
    dice = random.Random(7)  # noqa: S311 -- instants need no secrecy
    kills = 0
    with serving() as server, nursery(__name__) as live:
        for campaign in range(2):
            path = tmp_path / f"{campaign}.sqlite"
            server.respond = (watching := Watching(path)).respond
            lives = [dice.uniform(0.02, LONGEST_LIFE_S) for _ in range(MOST_LIVES)]
            killed = until_done(live, server.url, path, lives, 60.0)
            assert watching.repeated == 0
            assert watching.given <= len(TEXTS) + killed * 4 * AT_ONCE
            kills += killed
            gc.collect()
    assert kills > 1
