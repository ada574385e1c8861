"""Indexing with a real small model on this machine: what it costs, and what it makes."""

from dataclasses import replace

import pytest

from benchmarks import replies
from clew.base.types import FALLBACK, GRAPH, LLM_MADE, UNITS, Document
from clew.extras.models.local import LocalChat
from clew.index import extract, plan
from clew.index.choose import ReplyMemory, Wanted
from clew.index.generation import open_snapshot
from clew.models.bound import bind_models
from clew.models.ledger import Ledger
from clew.models.recorded_llm import recorded
from clew.models.run import Meter, ModelRun
from clew.text.chunking import Chunking
from tests import snapshots
from tests.index.build import MODELS, add, create
from tools import gguf

pytestmark = pytest.mark.slow

TEXTS = {
    "fram": "Colin Archer built the Fram for Nansen. She was launched at Larvik in 1892.",
    "sverdrup": "Otto Sverdrup was her captain. He came from Bindal in Norway.",
}


@pytest.fixture(scope="module")
def llm():
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    if not gguf.FILE.exists():
        pytest.skip("there is no model: make test-slow puts one together")
    return LocalChat(file=gguf.FILE)


def test_the_real_bill_is_the_planned_one(tmp_path, llm):
    """Prompt tokens are billed as planned, and units and triples come of the texts."""
    documents = [Document(id=name, title=name.title(), text=text) for name, text in TEXTS.items()]
    ledger, meter = Ledger(tmp_path / "calls.sqlite"), Meter()
    conversation = recorded(llm, ledger)
    corpus = plan.build_corpus(documents, Chunking())
    planned = plan.plan_extraction(corpus, conversation, ReplyMemory(None, llm.name)).estimates[-1]
    with create(tmp_path / "index") as store:
        add(store, documents)
        wanted = Wanted(units=1.0, triples="llm")
        models = bind_models(replace(MODELS, llm=conversation), ModelRun(meter=meter))
        done = extract.run_extractions(store, models, wanted, ledger=ledger)
        again = extract.run_extractions(store, models, wanted, ledger=ledger)
        snapshot = open_snapshot(store)
        snapshots.check_consistent(snapshot)
        columns = snapshot.layer("chunk").columns
        assert set(columns[UNITS]) | set(columns[GRAPH]) <= {LLM_MADE, FALLBACK}
        assert (columns[UNITS] == LLM_MADE).any()
        units = " ".join(snapshot.layer("unit").texts(range(len(snapshot.layer("unit")))))
        assert "Colin Archer" in units
        assert len(snapshot.layer("triple")) > 0
        snapshot.close()
    assert not again.n_chunks
    sizes = [
        size
        for kind in (UNITS, GRAPH)
        for size in ledger.sizes(llm.name, ReplyMemory(None, "").prompt_version(kind))
    ]
    assert meter.usage.prompt_tokens == sum(size.prompt_tokens for size in sizes)
    first = [size.prompt_tokens for size in sizes if not size.repair]
    assert (planned.calls, planned.prompt_tokens) == (len(first), sum(first))
    assert done.n_chunks == 2 * len(documents)


@pytest.mark.usefixtures("llm")
def test_every_reply_is_read_repaired_or_failed(tmp_path, capsys):
    """Of 20 chunks, and of 20 questions by the method of each paper; all of them are answered."""
    run = replies.measure(f"local:{gguf.FILE}", tmp_path / "index")
    with capsys.disabled():
        print(f"\n{replies.describe(run)}")  # noqa: T201 -- what was counted
    assert sum(total.calls for *_, total in run.rows) == run.n_calls
    for _, _, total in run.rows:
        n_asked = total.read + total.repaired + total.failed
        assert n_asked <= total.calls <= n_asked + total.repaired + total.failed
    assert set(run.kinds) == set(replies.METHODS)
    assert all(kinds.total() == 20 and not kinds["silent"] for kinds in run.kinds.values())
