"""What models cost, by stage."""

import threading
import time

import numpy as np
import pytest

from clew.base.types import Mention, Usage
from clew.errors import EndpointError
from clew.models import Models, Prompt, Reply, TokenVectors, gives_tokens, is_late
from clew.models.bound import bind_models
from clew.models.ledger import Ledger
from clew.models.recorded_llm import recorded
from clew.models.run import MODEL_STAGES, Meter, ModelRun
from clew.testing import ScriptedChat

NAP = 0.02  # seconds


class PlainEmbedder:
    name = "plain"
    dimension = 2

    def embed(self, texts, *, kind):  # noqa: ARG002 -- the protocol's
        time.sleep(NAP)
        return np.ones((len(texts), 2), dtype=np.float32)


class WordEmbedder(PlainEmbedder):
    name = "words"

    def embed_tokens(self, texts):
        time.sleep(NAP)
        one = np.ones((1, 2), dtype=np.float32)
        row = np.zeros(1, dtype=np.int32)
        return [TokenVectors(one, row, np.zeros((1, 2), dtype=np.int32), one[0]) for _ in texts]


class Tagger:
    name = "tagger"

    def tag(self, texts):
        return [[Mention(0, 1, "NAME")] for _ in texts]


class PlainReranker:
    name = "plain"

    def score(self, query, texts):  # noqa: ARG002 -- the protocol's
        return np.arange(len(texts), dtype=float)


class Late(PlainReranker):
    """It reads with an embedder of its own, as the real one does."""

    name = "late"

    def __init__(self, embedder):
        self.embedder = embedder

    def score(self, query, texts):
        self.embedder.embed_tokens(texts)
        time.sleep(NAP)
        return super().score(query, texts)

    def matches(self, query, texts):  # noqa: ARG002 -- the protocol's
        return np.ones((len(texts), 1), dtype=np.float32)


class Scripted:
    name = "scripted"

    def __init__(self, *replies):
        self.replies = iter(replies)

    def complete(self, prompts):
        return [next(self.replies) for _ in prompts]


def fail():
    time.sleep(NAP)
    raise ZeroDivisionError


def bundle(**models):
    plain = {"embedder": PlainEmbedder(), "tagger": Tagger(), "reranker": PlainReranker()}
    return Models(**{**plain, **models})


def test_a_stage_inside_another_is_counted_once():
    """Seconds of all stages sum to no more than the time that passed, whatever called what."""
    meter = Meter()
    started = time.perf_counter()
    with meter.stage("retrieve"):
        time.sleep(NAP)
        with meter.stage("rerank"), meter.stage("embed"):
            time.sleep(3 * NAP)
        with meter.stage("rerank"):
            time.sleep(NAP)
    passed = time.perf_counter() - started
    seconds = meter.usage.seconds
    assert sum(seconds.values()) <= passed
    assert seconds["embed"] >= 3 * NAP
    assert seconds["retrieve"] >= NAP
    assert seconds["rerank"] >= NAP


def test_a_stage_that_fails_is_counted():
    """An error passes through, and the stages around it still add up."""
    meter = Meter()
    started = time.perf_counter()
    with pytest.raises(ZeroDivisionError), meter.stage("outer"), meter.stage("inner"):
        fail()
    with meter.stage("next"):
        time.sleep(NAP)
    assert sum(meter.usage.seconds.values()) <= time.perf_counter() - started
    assert meter.usage.seconds["inner"] >= NAP
    assert meter.usage.seconds["next"] >= NAP


def test_models_do_what_they_did():
    """Wrapped models give what they give, under their own names."""
    meter = Meter()
    embedder = WordEmbedder()
    llm = Scripted(Reply(text="x"))
    models = bind_models(
        bundle(embedder=embedder, reranker=Late(embedder), llm=llm), ModelRun(meter=meter)
    )
    assert (models.embedder.name, models.embedder.dimension) == ("words", 2)
    assert (models.tagger.name, models.reranker.name, models.llm.name) == (
        "tagger",
        "late",
        "scripted",
    )
    assert models.embedder.embed(["a", "b"], kind="query").shape == (2, 2)
    [tokens] = models.embedder.embed_tokens(["a"])
    assert models.tagger.tag(["a"]) == [[Mention(0, 1, "NAME")]]
    assert models.reranker.score("q", ["a", "b"]).tolist() == [0, 1]
    assert models.reranker.matches(tokens, [np.zeros((1, 2), dtype=np.int8)]).tolist() == [[1]]
    assert models.llm.complete([Prompt(user="q")])[0].text == "x"
    assert set(meter.usage.seconds) == set(MODEL_STAGES)


def test_what_a_model_can_do_survives():
    """Methods ask whether a model gives tokens; wrapping neither hides nor invents that."""
    plain = bind_models(bundle(), ModelRun())
    assert not gives_tokens(plain.embedder)
    assert not is_late(plain.reranker)
    late = bundle(embedder=WordEmbedder(), reranker=Late(WordEmbedder()))
    able = bind_models(bind_models(late, ModelRun()), ModelRun())
    assert able.embedder.inner is late.embedder
    assert gives_tokens(able.embedder)
    assert is_late(able.reranker)
    assert plain.llm is None


def test_usage_of_an_llm_adds_up():
    """Calls, tokens and dollars of all replies, repair retries included."""
    meter = Meter()
    one = Reply(text="one", prompt_tokens=10, completion_tokens=2, cost_usd=0.5)
    two = Reply(text="two", prompt_tokens=5, completion_tokens=1, cost_usd=0.25, calls=2)
    llm = bind_models(bundle(llm=Scripted(one, two)), ModelRun(meter=meter)).llm
    llm.complete([Prompt(user="1"), Prompt(user="2")])
    usage = meter.usage
    assert (usage.llm_calls, usage.prompt_tokens, usage.completion_tokens) == (3, 15, 3)
    assert usage.total_tokens == 18
    assert usage.cost_usd == 0.75


def test_replies_before_an_error_are_counted_and_passed_on(tmp_path):
    """Also where the batch ends in an error."""
    answers = iter(["ice", EndpointError("gone")])
    chat = ScriptedChat(lambda *_: next(answers))
    meter, told = Meter(), {}
    models = bundle(llm=recorded(chat, Ledger(tmp_path / "ledger")))
    llm = bind_models(models, ModelRun(meter=meter)).llm
    with pytest.raises(EndpointError):
        llm.complete([Prompt(user="one"), Prompt(user="two")], on_reply=told.__setitem__)
    assert {i: reply.text for i, reply in told.items()} == {0: "ice"}
    assert (meter.usage.llm_calls, meter.usage.total_tokens) == (1, 2)


def test_what_an_error_leaves_untold_is_counted():
    """The first turn of a conversation whose repair never came was paid for."""
    chat = ScriptedChat(lambda _, turns: EndpointError("gone") if turns else "Nobile")
    meter = Meter()
    llm = bind_models(bundle(llm=recorded(chat)), ModelRun(meter=meter)).llm
    with pytest.raises(EndpointError):
        llm.complete([Prompt(user="Who?", schema={"type": "object"})])
    assert (meter.usage.llm_calls, meter.usage.total_tokens) == (1, 2)


def test_threads_share_a_meter():
    """Their replies add up, and a stage of one is not inside that of another."""
    meter, reply = Meter(), Reply(text="", prompt_tokens=1, cost_usd=1.0)

    def work():
        for _ in range(500):
            with meter.stage("outer"), meter.stage("inner"):
                meter.add(reply)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    usage = meter.usage
    assert (usage.llm_calls, usage.prompt_tokens, usage.cost_usd) == (4_000, 4_000, 4_000.0)
    assert min(meter.usage.seconds.values()) >= 0


@pytest.mark.parametrize("prices", [(0.5, None), (None, 0.5), (None, None)])
def test_one_unknown_price_makes_the_cost_unknown(prices):
    """A sum that leaves something out is no sum; where nothing was bought it is zero."""
    meter = Meter()
    for price in prices:
        meter.add(Reply(text="", cost_usd=price))
    assert meter.usage.cost_usd is None
    assert Meter().usage == Usage()
