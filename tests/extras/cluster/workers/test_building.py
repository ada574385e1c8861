"""Rows that workers make in any order are those that one process makes."""

import random
from concurrent.futures import Future
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import errors, testing
from clew.index import adding
from clew.index.building import build_rows
from clew.index.layers.vectors import embed_names
from clew.models.run import Meter
from clew.stopping import Stop
from clew.testing import HashTokenEmbedder
from tests.index.build import MODELS, create, document, files, scratch
from tests.trials import trials

NAMES = ["Ada Quist", "Bo Dahl", "Cape Evans", "Dumont", "Elephant Island", "Fram"]


class Shuffled:
    """Workers that do what they are given when somebody waits for it, or at any time before."""

    n = 2

    def __init__(self, seed):
        self.random = random.Random(seed)  # noqa: S311
        self.most = self.given = 0

    def submit(self, task, *given):
        self.given += 1
        return _Later(self, task, given)

    def do(self, task, given):
        if task == "names":
            return embed_names(*given, MODELS.embedder)
        *given, stored = given
        return build_rows(*given, REFUSING, Meter(), stored)


class _Later:
    def __init__(self, workers, task, given):
        self.workers, self.task, self.given = workers, task, given
        self.future = Future()

    def is_done(self):
        if not self.future.done() and self.workers.random.random() < 0.5:
            self.do()
        return self.future.done() and self.future.exception() is None

    def result(self):
        if not self.future.done():
            self.do()
        return self.future.result()

    def do(self):
        try:
            self.future.set_result(self.workers.do(self.task, self.given))
        except errors.ModelError as error:
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class Refusing(HashTokenEmbedder):
    """Refuses a text that has a word."""

    def embed_tokens(self, texts):
        if any("Gunpowder" in text for text in texts):
            raise errors.ModelError("this embedder refuses Gunpowder")
        return HashTokenEmbedder.embed_tokens(self, texts)


REFUSING = testing.models(Refusing())


def texts():
    sentence = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(
        lambda names: f"It was {' and '.join(names)} who came."
    )
    return st.lists(st.lists(sentence, min_size=1, max_size=3).map(" ".join), max_size=8)


@trials(5, 200)
@given(texts(), texts(), st.integers(0, 2**32))
def test_the_index_is_the_same_to_the_byte(first, then, seed):
    """Whatever is done first; also where documents change, lose all words and come back."""
    found = []
    for workers in (None, Shuffled(seed)):
        with scratch() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(adding, "BATCH_CHARACTERS", 60)
            with create(folder / "index") as store:
                for texts in (first, then, ["..."], first):
                    documents = [document(f"d{i}", text) for i, text in enumerate(texts)]
                    adding.add_documents(store, documents, MODELS, workers=workers)
            found.append(files(folder / "index"))
    assert found[0] == found[1]


@given(texts(), st.data(), st.integers(0, 2**32))
def test_an_error_comes_behind_the_batches_before_it(texts, data, seed):
    """One of what is read, or of a worker: the same is committed and told as by one process."""
    documents = [document(f"d{i}", text) for i, text in enumerate([*texts, "Ada came."])]
    place = data.draw(st.integers(0, len(documents)))
    wrong = data.draw(st.sampled_from([documents[0], document("x", "Gunpowder is refused.")]))
    documents.insert(max(place, 1), wrong)
    found = []
    for workers in (None, Shuffled(seed)):
        told = []
        with scratch() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(adding, "BATCH_CHARACTERS", 60)
            with (
                create(folder / "index") as store,
                pytest.raises((errors.InputError, errors.ModelError)) as error,
            ):
                adding.add_documents(
                    store, documents, REFUSING, workers=workers, on_progress=told.append
                )
            found.append((files(folder / "index"), told, str(error.value)))
    assert found[0] == found[1]


def test_what_is_at_hand_is_bounded(monkeypatch):
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", 10)
    workers = Shuffled(1)
    read = []

    def documents():
        for i in range(40):
            read.append(i)
            yield document(f"d{i}", f"It was {NAMES[i % 6]} who came.")

    with scratch() as folder, create(folder / "index") as store:
        commit = store.commit

        def counted(rows, hashes):
            workers.most = max(workers.most, len(read) - len(store.hashes()))
            return commit(rows, hashes)

        monkeypatch.setattr(store, "commit", counted)
        adding.add_documents(store, documents(), MODELS, workers=workers)
        assert len(store.hashes()) == 40
    assert workers.most <= 10


def test_a_stop_ends_with_the_batch_at_hand(monkeypatch):
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", 10)
    documents = [document(f"d{i}", f"It was {NAMES[i % 6]} who came.") for i in range(20)]
    stop, done = Stop(), []

    def tell(n):
        done.append(n)
        if len(done) == 3:
            stop.ask()

    with scratch() as folder:
        with create(folder / "index") as store:
            report = adding.add_documents(
                store, documents, MODELS, workers=Shuffled(1), stop=stop, on_progress=tell
            )
            assert report.stopped
            assert len(report.added) == 3
            adding.add_documents(store, documents, MODELS, workers=Shuffled(2))
        with create(folder / "whole") as store:
            adding.add_documents(store, documents, MODELS)
        assert files(folder / "index") == files(folder / "whole")
