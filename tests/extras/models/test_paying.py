"""What an embedding endpoint bills stands in the usage, in the ledger, and under the budget."""

import json
import random
import re
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import clew
from clew import testing
from clew.api import open_index
from clew.cli import main
from clew.errors import BudgetSpent, InputError
from clew.models import Models
from clew.models.bound import bind_models
from clew.models.budget import Budget
from clew.models.cache import CachedEmbedder
from clew.models.loading import Specs
from clew.models.maxsim import Cosine
from clew.models.rules import RuleTagger
from clew.models.run import Meter, ModelRun
from clew.text import tokens
from tests.models.server import Answer

pytest.importorskip("httpx2")

from clew.extras.models.openai import OpenAIEmbeddings

DOCUMENTS = testing.small_documents()


class Vectors:
    """Answers with vectors of a text's own, and bills ten tokens a text; remembers what it gave."""

    def __init__(self, *, states=True):
        self.given, self.billed, self.states = [], 0, states
        self._lock = threading.Lock()

    def __call__(self, request):
        texts = request.json["input"]
        rows = [
            {"index": i, "embedding": np.random.default_rng(_seed(text)).normal(size=8).tolist()}
            for i, text in enumerate(texts)
        ]
        n_tokens = sum(len(text) // 2 + 1 for text in texts)
        with self._lock:
            self.given += texts
            self.billed += n_tokens
        usage = {"usage": {"prompt_tokens": n_tokens}} if self.states else {}
        return Answer({"data": rows, **usage})


def _seed(text):
    return random.Random(text).getrandbits(32)  # noqa: S311 -- a test's


def models_at(server, folder):
    paid = OpenAIEmbeddings(base_url=server.url, model="e", prices={"e": (2.0, 0.0)})
    embedder = CachedEmbedder(paid, folder.with_name("vectors.sqlite"))
    return Models(embedder=embedder, tagger=RuleTagger(), reranker=Cosine(embedder))


def test_embeddings_stand_in_the_usage_and_in_the_ledger(server, tmp_path):
    """A write costs what the endpoint billed, and the same write again nothing."""
    server.respond = vectors = Vectors()
    with open_index(tmp_path / "i.clew", models=models_at(server, tmp_path / "i.clew")) as index:
        usage = index.add(DOCUMENTS).usage
        assert usage.embedding_tokens == vectors.billed
        assert usage.cost_usd == pytest.approx(usage.embedding_tokens * 2 / 1e6)
        assert index.add(DOCUMENTS).usage.embedding_tokens == 0
        assert index.spent().embedding_tokens == usage.embedding_tokens
        assert index.show()["cost"]["embedding_tokens"] == usage.embedding_tokens
        before = vectors.billed
        found = index.search(testing.QUESTIONS[0], method="dense")
        assert found.usage.embedding_tokens == vectors.billed - before > 0


def test_embeddings_are_bounded(server, tmp_path):
    """No run exceeds its budget, each goes on, and no text is paid for twice."""
    server.respond = vectors = Vectors()
    folder = tmp_path / "i.clew"
    many = [
        replace(each, id=f"{each.id}{i}", text=each.text.replace(". ", f" in part {i}. "))
        for each in DOCUMENTS
        for i in range(60)
    ]
    runs = 0
    while runs < 40:
        runs += 1
        before = vectors.billed
        with open_index(folder, models=models_at(server, folder)) as index:
            with suppress(BudgetSpent):
                index.add(many, budget=Budget(tokens=14_000))
                break
            assert vectors.billed - before <= 14_000 + 5
    assert 1 < runs < 40, (vectors.billed, len(vectors.given))
    texts = [text for text in vectors.given if text != "dimension"]
    assert len(texts) == len(set(texts))


def test_what_is_not_stated_is_counted(server, tmp_path):
    """An endpoint that says no usage is charged by our own count."""
    server.respond = Vectors(states=False)
    meter = Meter()
    embedder = bind_models(models_at(server, tmp_path / "i"), ModelRun(meter=meter)).embedder
    embedder.embed(["Colin Archer built the Fram."], kind="document")
    assert meter.usage.embedding_tokens == 7


@pytest.mark.parametrize(
    ("model", "url", "price"),
    [
        ("text-embedding-3-small", "https://api.openai.com/v1", (0.02, 0.0)),
        ("nomic", "http://localhost:11434/v1", (0.0, 0.0)),
        ("nomic", "https://example.org/v1", None),
    ],
)
def test_prices_of_embedders(model, url, price):
    """OpenAI's are listed, this machine's are nothing, others are not known."""
    assert OpenAIEmbeddings(base_url=url, model=model).price == price


def spec(server):
    return f"openai:e@{server.url}"


def opened(server, folder):
    return clew.open(folder, specs=Specs(embedder=spec(server)), prices={"e": (2.0, 0.0)})


def counting(server):
    """Let a server bill what cl100k_base counts."""
    vectors = Vectors()

    def respond(request):
        answer = vectors(request)
        n_tokens = sum(map(tokens.count, request.json["input"]))
        return replace(answer, body=answer.body | {"usage": {"prompt_tokens": n_tokens}})

    server.respond = respond
    return vectors


def test_a_plan_says_what_vectors_cost(server, tmp_path):
    """To the token and the dollar; nothing is asked for, and nothing written."""
    vectors = counting(server)
    folder = tmp_path / "i.clew"
    with opened(server, folder) as index:
        planned = index.plan(DOCUMENTS).embedding
        assert not vectors.given
        assert not folder.exists()
        usage = index.add(DOCUMENTS).usage
        assert (planned.model, planned.n_texts) == ("e", len(vectors.given) - 1 + planned.n_known)
        assert planned.tokens == usage.embedding_tokens > 100
        assert planned.cost_usd == usage.cost_usd == pytest.approx(planned.tokens * 2 / 1e6)
        again = index.plan(DOCUMENTS).embedding
        assert (again.n_texts, again.tokens, again.cost_usd) == (0, 0, 0)


def test_a_plan_for_documents_that_change(server, tmp_path):
    """What is kept of them costs nothing; the rest costs what it says."""
    counting(server)
    changed = [replace(each, text=f"{each.text} Nansen went north.") for each in DOCUMENTS]
    with opened(server, tmp_path / "i.clew") as index:
        index.add(DOCUMENTS)
        planned = index.plan(changed).embedding
        assert planned.n_known > len(DOCUMENTS)
        assert planned.tokens == index.add(changed).usage.embedding_tokens > 0


def test_what_one_has_no_price_for(server, tmp_path):
    """Its tokens are known; who embeds here is billed by nobody."""
    counting(server)
    elsewhere = Specs(embedder="openai:e@http://vectors.invalid/v1")
    with clew.open(tmp_path / "i.clew", specs=elsewhere) as index:
        planned = index.plan(DOCUMENTS).embedding
        assert planned.tokens > 100
        assert planned.cost_usd is None
    with clew.open(tmp_path / "j.clew", models=testing.models()) as index:
        assert index.plan(DOCUMENTS).embedding is None


def test_the_price_of_an_embedder_on_the_command_line(server, tmp_path, monkeypatch):
    """It is in the plan, in what a run says that it cost, and under a budget in dollars."""
    counting(server)
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text(
        "Ada Lovelace met Charles Babbage. He built engines.", encoding="utf-8"
    )

    def run(*arguments):
        return CliRunner().invoke(main, [*arguments, "--embedder", spec(server)])

    told = run("plan", "notes.txt", "--price", "e=2,0").output
    assert re.search(r"Vectors by e of chunks, sentences and\s+names come on top", told)
    assert "for ~0.000" in told
    bounded = ("index", "notes.txt", "--price", "e=1000,0", "--budget-usd")
    spent = run(*bounded, "0.001")
    assert spent.exit_code == 4, spent.output
    assert "the budget of $0.0010 leaves no room" in spent.output
    done = json.loads(run(*bounded, "1", "--json").stdout)["usage"]
    assert done["cost_usd"] == pytest.approx(done["embedding_tokens"] / 1000)


@pytest.mark.parametrize(
    "usage", [{"total_tokens": 5000}, {"prompt_tokens": 10, "total_tokens": 5000}]
)
def test_the_larger_of_the_stated_numbers_is_billed(server, usage):
    """Some endpoints state the total alone, or more in it."""
    vectors = Vectors(states=False)
    server.respond = lambda request: Answer(vectors(request).body | {"usage": usage})
    meter = Meter()
    models = Models(
        embedder=OpenAIEmbeddings(base_url=server.url, model="e"),
        tagger=RuleTagger(),
        reranker=None,
    )
    bind_models(models, ModelRun(meter=meter)).embedder.embed(["Who?"], kind="query")
    assert meter.usage.embedding_tokens == 5000


def test_the_first_request_stands_under_the_budget(server, tmp_path):
    """The dimension of vectors has to be asked for, and may not be where nothing may be spent."""
    server.respond = vectors = Vectors()
    folder = tmp_path / "i.clew"
    with open_index(folder, models=models_at(server, folder)) as index:
        with pytest.raises(BudgetSpent):
            index.add(DOCUMENTS, budget=Budget(tokens=3))
        assert not vectors.given
        added = index.add(DOCUMENTS)
    assert added.usage.embedding_tokens == vectors.billed


def test_nothing_is_paid_before_what_can_be_refused(server, tmp_path):
    """Options that do not go together, and workers that cannot have the models, cost nothing."""
    server.respond = vectors = Vectors()
    folder = tmp_path / "i.clew"
    with (
        open_index(folder, models=models_at(server, folder)) as index,
        pytest.raises(InputError, match="core is about triples by an LLM"),
    ):
        index.add(DOCUMENTS, core=0.5)
    assert not vectors.given
    assert not folder.exists()
