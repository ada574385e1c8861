"""A run reaches the models that ask for it, and no other question's."""

import threading
from dataclasses import dataclass, field, replace

import pytest

from clew.errors import BudgetSpent, ModelError
from clew.models import Prompt
from clew.models.bound import bind_models
from clew.models.budget import Bill, Budget, Purchase
from clew.models.cache import CachedEmbedder
from clew.models.maxsim import Cosine
from clew.models.run import ModelRun, evaluating, start_question_run
from clew.steps.linking import reply_to
from clew.testing import HashEmbedder, ScriptedChat, models


@dataclass(frozen=True)
class Paid(HashEmbedder):
    """An embedder that bills ten tokens a text to the run that it is asked in."""

    runs: list = field(default_factory=list)
    together: threading.Barrier | None = None

    def embed(self, texts, *, kind, run=None):
        self.runs.append(run)
        if self.together is not None:
            self.together.wait(5)
        if run is not None:
            bill = Bill(10 * len(texts))
            with Purchase(run.budget or Budget(), bill) as purchase:
                purchase.settle(bill)
            run.meter.add_bill(bill)
        return super().embed(texts, kind=kind)


def test_models_without_the_keyword_are_asked_without_it():
    """As those of other packages, which know of no run."""
    bound = bind_models(models(HashEmbedder(), llm=ScriptedChat(lambda *_: "ice")), ModelRun())
    assert bound.embedder.embed(["a"], kind="query").shape[0] == 1
    assert bound.reranker.score("a", ["a", "b"]).shape == (2,)
    assert bound.llm.complete([Prompt(user="q")])[0].text == "ice"


def test_a_run_passes_through_a_cache_and_a_reranker(tmp_path):
    """What they ask of a paid embedder is paid within the same budget."""
    paid = Paid()
    embedder = CachedEmbedder(paid, tmp_path / "vectors.sqlite")
    run = ModelRun(budget=Budget(tokens=35))
    given = replace(models(embedder), reranker=Cosine(embedder))
    bound = bind_models(given, run)
    bound.embedder.embed(["a"], kind="document")
    bound.reranker.score("q", ["a", "b"])
    assert [each is run for each in paid.runs] == [True] * 3
    assert run.meter.usage.embedding_tokens == run.budget.spent_tokens == 30
    with pytest.raises(BudgetSpent):
        bound.reranker.score("q", ["c"])


def test_concurrent_runs_pay_apart():
    """Two questions that ask one embedder at the same time have each its own bill."""
    embedder = Paid(together=threading.Barrier(2))
    runs = [start_question_run(Budget(tokens=n)) for n in (100, 200)]

    def work(run, n):
        bound = bind_models(models(embedder), run)
        bound.embedder.embed(["a"] * n, kind="document")

    threads = [threading.Thread(target=work, args=each) for each in zip(runs, (3, 7), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [run.meter.usage.embedding_tokens for run in runs] == [30, 70]
    assert [run.budget.spent_tokens for run in runs] == [30, 70]


def test_a_part_of_a_question_shares_what_failed():
    """Its meter is its own, and so is its budget."""
    whole = start_question_run()
    part = start_question_run(Budget(tokens=9), whole=whole)
    assert part.failed is whole.failed
    assert part.logged is whole.logged
    assert part.meter is not whole.meter
    assert part.budget.tokens == 9


def test_an_llm_that_fails_is_done_without_unless_it_is_evaluated(caplog):
    """The log says why once in a question; an evaluation, which records replies, raises it."""
    answers = iter(["ice", *(ModelError("it is broken") for _ in range(9))])
    given = models(llm=ScriptedChat(lambda *_: next(answers)))
    with evaluating() as exchanges:
        llm = bind_models(given, start_question_run()).llm
    assert reply_to(llm, Prompt(user="q")).text == "ice"
    assert [(each.prompt.user, each.reply.text) for each in exchanges] == [("q", "ice")]
    with pytest.raises(ModelError, match="broken"):
        reply_to(llm, Prompt(user="r"))
    llm = bind_models(given, start_question_run()).llm
    assert [reply_to(llm, Prompt(user="s")).error for _ in range(2)] == ["it failed"] * 2
    assert len(caplog.records) == 1
