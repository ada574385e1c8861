"""Shards that are asked as one index."""

import os
import signal
from functools import partial

import numpy as np
import pytest

import clew
from clew import errors, methods, plugins, steps, testing
from clew.answers.method import build_method
from clew.extras.cluster.shards.exchange import Describe, SharedQuestion, Towards
from clew.extras.cluster.shards.shard import reply_to_request
from clew.index import recipe as recipes
from clew.index.layers.numbers import hash_texts
from clew.models.cooccurrence import Cooccurrence  # noqa: F401 -- as an index needs it
from clew.shards import Neighbourhood, open_shards, shard_of, split
from clew.testing.small import QUESTIONS
from tests.extras.cluster.shards.small import whole_and_parts
from tests.index.build import MODELS, scratch

ALL_OF_IT = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
FEW = Neighbourhood(chunks=3, units=2, triples=2, around=4)
BY_LLM = {"chain_of_thought", "graphrag_global", "ircot", "raptor"}
WITHOUT_LLM = [n for n in methods.names() if n not in BY_LLM]
OWN = sorted({*methods.list_modules(), *plugins.find_registered("methods")} - BY_LLM)  # no variants
# What one index gathers of one shard differs by method no more than what it gathers of three.
OF_ONE = ("walk", "agrag")


@pytest.fixture(scope="module")
def folder():
    """An index of the small documents, with triples, and the same in one and in three shards."""
    with whole_and_parts(**{"parts-1": 1, "parts-3": 3}) as place:
        yield place


def told(evidence):
    return {
        name: getattr(evidence, name)
        for name in ("hits", "paths", "seeds", "tables", "graph", "support", "notes")
    }


@pytest.fixture(scope="module")
def whole(folder):
    """The index of all documents, which tests only read."""
    with clew.open(folder / "whole", models=MODELS) as index:
        yield index


@pytest.fixture(scope="module")
def gathered(folder):
    """Its one and its three shards, of which everything is gathered."""
    with (
        open_shards(folder / "parts-1", models=MODELS, size=ALL_OF_IT) as one,
        open_shards(folder / "parts-3", models=MODELS, size=ALL_OF_IT) as three,
    ):
        yield {1: one, 3: three}


@pytest.fixture(scope="module")
def parts(folder):
    """The three shards, opened twice, of which a few chunks are gathered."""
    with (
        open_shards(folder / "parts-3", models=MODELS, size=FEW) as shards,
        open_shards(folder / "parts-3", models=MODELS, size=FEW) as others,
    ):
        yield shards, others


@pytest.fixture
def both(whole, gathered):
    """The index, and its three shards, of which everything is gathered."""
    return whole, gathered[3]


@pytest.mark.parametrize(("name", "n"), [*((n, 3) for n in WITHOUT_LLM), *((n, 1) for n in OF_ONE)])
def test_all_of_the_shards_are_the_whole(whole, gathered, name, n):
    """Where a question gathers everything, every method finds what it finds in the whole."""
    for question in QUESTIONS:
        found, same = (each.search(question, method=name) for each in (gathered[n], whole))
        assert told(found) == told(same)


@pytest.mark.parametrize("name", OWN)
def test_any_method_runs_on_a_part(parts, name):
    """Where a question gathers a few chunks, every method finds some of these; twice the same."""
    shards, others = parts
    texts = {each.id: each.text for each in testing.small_documents()}
    for question in QUESTIONS[:3]:
        found = shards.search(question, method=name)
        assert told(found) == told(shards.search(question, method=name))
        assert told(found) == told(others.search(question, method=name))
        assert all(texts[h.document_id][h.start : h.end] == h.text for h in found.hits)


def test_an_answer_cites_the_shards(both):
    answer = both[1].ask("Where was the Comet built?", min_support=0)
    texts = {each.id: each.text for each in testing.small_documents()}
    assert answer.citations
    for cited in answer.citations:
        assert texts[cited.document_id][cited.start : cited.end] == cited.quote


def test_a_turn_before_is_read_and_a_filter_obeyed(both):
    """As in one index: what leans on the turn before gathers what both of them need."""
    history = [clew.Exchange("Who built the Comet?", "Ola Eriksen built it.")]
    same, found = (each.search("Where did he die?", history=history) for each in both)
    assert found.query == same.query != "Where did he die?"
    assert found.hits == same.hits
    where = 'title in ("Comet", "Lund", "Eriksen")'
    same, found = (each.search(QUESTIONS[0], where=where) for each in both)
    assert {hit.document_id for hit in found.hits} <= {"comet", "lund", "eriksen"}
    assert found.hits == same.hits


def test_what_is_written_meanwhile_is_seen(folder):
    with scratch() as place:
        places = split(folder / "whole", place / "parts", 2)
        new = clew.Document(id="tovar", title="Tovar", text="Tovar Quill painted the Comet blue.")
        with open_shards(place / "parts", models=MODELS) as shards:
            assert shards.search("Who painted the Comet blue?").hits[0].document_id != "tovar"
            with clew.open(places[shard_of("tovar", 2)], models=MODELS) as part:
                part.add([new])
            assert shards.search("Who painted the Comet blue?").hits[0].document_id == "tovar"


def test_processes_reply_as_this_one_does():
    """A shard in a process of its own gives the same; one that ended is missing, and replaced."""
    pytest.importorskip("ctranslate2")
    with scratch() as place:
        with clew.open(place / "whole") as whole:
            whole.add(testing.small_documents(), triples="cooccurrence")
        split(place / "whole", place / "parts", 2)
        with (
            open_shards(place / "parts") as here,
            open_shards(place / "parts", processes=True, deadline_s=120) as there,
        ):
            for name in ("walk", "agrag"):
                found, same = (each.search(QUESTIONS[0], method=name) for each in (there, here))
                assert told(found) == told(same)
            [shard] = there._shards[1].copies  # noqa: SLF001 -- to end it
            os.kill(next(iter(shard._executor._processes)), signal.SIGKILL)  # noqa: SLF001
            assert there.search(QUESTIONS[0]).missing == ("shard-0001",)
            for _ in range(100):  # until the new one is there
                if not (found := there.search(QUESTIONS[0])).partial:
                    break
            assert told(found) == told(here.search(QUESTIONS[0]))


def test_shards_of_another_recipe_are_refused(folder):
    with scratch() as place:
        other = clew.Chunking(size=64, overlap=0)
        settings = recipes.Settings(chunking=other, unit_bits=8, token_bits=8)
        with clew.open(place / "other", models=MODELS, settings=settings) as made:
            made.add([clew.Document(id="x", text="Tovar Quill painted.")])
        both = [folder / "parts-1" / "shard-0000", place / "other"]
        with (
            open_shards(both, models=MODELS) as shards,
            pytest.raises(errors.RecipeMismatch, match="other was built with chunk_"),
        ):
            shards.search("Who painted?")


def test_a_document_in_two_shards_is_an_error(folder):
    """It is named, since its chunks would count twice."""
    both = [folder / "whole", folder / "parts-1" / "shard-0000"]
    with (
        open_shards(both, models=MODELS, size=ALL_OF_IT) as shards,
        pytest.raises(errors.StoreError, match="the document 'analog' is in two shards"),
    ):
        shards.search(QUESTIONS[0])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: open_shards(p / "nowhere"), "there are no shards in"),
        (lambda _: open_shards([]), "there is no shard to open"),
        (lambda p: split(p / "whole", p, 2), "is not empty"),
        (lambda p: split(p / "whole", p / "new", 0), "at least 1"),
    ],
)
def test_what_cannot_be_is_said_at_once(folder, call, said):
    with pytest.raises(errors.InputError, match=said):
        call(folder)


def test_parameters_are_those_of_the_method(folder):
    with open_shards(folder / "parts-3", models=MODELS) as shards:
        assert len(shards.search(QUESTIONS[0], method="walk", chunks=2).hits) == 2
        method = build_method("walk", {"chunks": 2})
        assert len(shards.search(QUESTIONS[0], method=method).hits) == 2
        assert len(shards) == 12
        assert "3 below" in repr(shards)
        with pytest.raises(errors.InputError, match="the question is empty"):
            shards.search(" ")


def test_a_question_that_is_interrupted_leaves_no_reply(folder, monkeypatch):
    """The next question has the replies to its own requests."""
    with (
        open_shards(folder / "parts-3", models=MODELS) as shards,
        open_shards(folder / "parts-3", models=MODELS) as others,
    ):
        shards.search(QUESTIONS[0])
        with monkeypatch.context() as patched:

            def interrupt(_):
                raise KeyboardInterrupt

            patched.setattr(shards._shards[1].copies[0], "ask", interrupt)  # noqa: SLF001
            with pytest.raises(KeyboardInterrupt):
                shards.search(QUESTIONS[1])
        assert told(shards.search(QUESTIONS[2])) == told(others.search(QUESTIONS[2]))


def test_the_chunks_that_a_method_looks_for_come(folder):
    """Of each entity those with the units nearest to each direction, as all units compared say."""
    rng = np.random.default_rng(5)
    with clew.open(folder / "whole", models=MODELS) as whole:
        snapshot = whole.snapshot()
        layer, n = snapshot.layer("unit"), len(snapshot.layer("entity"))
        ids = snapshot.layer("entity").ids(range(n))
        keys = {hash_: row for row, hash_ in enumerate(hash_texts(ids))}
        wanted = np.sort(hash_texts([*ids, *ids[:2], "nobody"]))
        directions = rng.standard_normal((len(wanted), layer.vectors.shape[1])).astype(np.float32)
        state = reply_to_request(whole, Describe()).state
        question = {"where": "", "terms": [], "df": np.zeros(0, dtype=np.int64)}
        question |= {"n_chunks": 1, "mean_length": 1.0, "vector": directions[0]}
        asked = SharedQuestion(state=state, **question)
        towards = partial(Towards, asked=asked, entities=wanted, directions=directions, most=2)
        for titles in (False, True):
            reply = reply_to_request(whole, towards(titles=titles))
            chunk_of = snapshot.layer("unit").columns["chunk"]
            vectors = np.stack([layer.vectors[i] for i in range(len(layer))])
            assert set(reply.owners.tolist()) < set(range(len(wanted)))
            for owner, hash_ in enumerate(wanted):
                units = []
                if hash_ in keys:
                    mentioned = snapshot.link("unit", "entity")[:, [keys[hash_]]].nonzero()[0]
                    titled = steps.titled_chunks(snapshot, keys[hash_])
                    inside = np.flatnonzero(np.isin(chunk_of, titled)) if titles else []
                    units = sorted({*mentioned.tolist(), *inside})
                scores = vectors[units] @ directions[owner] if units else np.zeros(0)
                best = np.sort(scores)[::-1][:2]
                assert np.allclose(reply.worth[reply.owners == owner], best, atol=1e-4)


def test_a_method_that_goes_far_gathers_more(folder):
    method, other = build_method("clue", {}), build_method("bm25", {})
    with open_shards(folder / "parts-3", models=MODELS, size=FEW) as shards:
        more = [
            shards.gathered(q, retrievers=[method]).n_chunks
            - shards.gathered(q, retrievers=[other]).n_chunks
            for q in QUESTIONS
        ]
    assert min(more) >= 0 < max(more)
