"""Indexing with an LLM from Python: what a plan says, what is paid, and what a budget stops."""

import json
import math
from dataclasses import replace

import pytest

import clew
from clew import methods
from clew.base.types import GRAPH, UNITS, Document
from clew.errors import EndpointError, InputError, RecipeMismatch
from clew.index.recipe import Settings
from clew.models.budget import Budget
from clew.testing import QUESTIONS, models, small_documents
from clew.text.chunking import Chunking
from tests.index.reads import ReadsChat

BOTH = {"units": 1.0, "triples": "llm"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "my.clew"


def opened(folder, llm=None, **given):
    return clew.open(folder, models=models(llm=llm), **given)


def test_a_plan_is_the_bill(folder):
    chat = ReadsChat()
    with opened(folder, chat) as index:
        plan = index.plan(small_documents())
        assert not chat.n_asked
        assert not folder.exists()
        usage = index.add(small_documents(), **BOTH).usage
    everything = plan.estimates[-1]
    assert plan.exact
    assert everything.setting == "everything"
    assert (everything.calls, everything.prompt_tokens) == (usage.llm_calls, usage.prompt_tokens)
    price = (usage.prompt_tokens + 2 * usage.completion_tokens) / 1e6
    assert usage.cost_usd == pytest.approx(price)
    assert everything.prompt_tokens < everything.unpacked_prompt_tokens
    shares = [estimate.n_chunks for estimate in plan.estimates[:4]]
    assert shares == sorted(shares)
    assert shares[-1] == plan.n_chunks


@pytest.mark.parametrize("place", [1, 5, 6])
def test_a_setting_says_what_index_is_told_for_it(folder, place):
    with opened(folder, ReadsChat()) as index:
        planned = index.plan(small_documents()).estimates[place]
        usage = index.add(small_documents(), **planned.options).usage
    settings = {1: "units, α = 0.5", 5: "triples of all chunks", 6: "everything"}
    assert planned.setting == settings[place]
    assert (planned.calls, planned.prompt_tokens) == (usage.llm_calls, usage.prompt_tokens)


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8, 1.0])
def test_a_plan_of_a_core_is_that_of_a_random_one(folder, share):
    """A plan knows no vectors: it counts the prompts of the chunks that a random core has."""
    documents = sorted(small_documents(), key=lambda document: document.id)
    with opened(folder, ReadsChat()) as index:
        plan = index.plan(documents, core=share)
        added = index.add(documents, triples="llm", core=share, core_by="random")
    assert not plan.core_is_known
    check_core(plan, share, added)


def check_core(plan, share, added):
    planned = plan.estimates[4]
    assert planned.setting == f"triples of a core of {100 * share:g} % of the chunks"
    assert planned.n_chunks == added.extracted.llm[GRAPH] == math.ceil(share * added.n_chunks)
    assert planned.calls == added.usage.llm_calls
    assert planned.prompt_tokens == added.usage.prompt_tokens


@pytest.mark.parametrize("share", [0.4, 0.7])
def test_a_plan_of_what_is_indexed_knows_the_core(folder, share):
    documents = small_documents()
    with opened(folder, ReadsChat()) as index:
        index.add(documents)
        plan = index.plan(sorted(documents, key=lambda document: document.id), core=share)
        turned = index.plan(documents[::-1], core=share)
        assert not index.plan(documents[1:], core=share).core_is_known
        added = index.add(documents, triples="llm", core=share)
    assert plan.core_is_known
    check_core(plan, share, added)
    assert turned.estimates[4].n_chunks == plan.estimates[4].n_chunks
    assert turned.core_is_known


def test_a_plan_of_an_index_keeps_its_chunks(folder):
    documents = small_documents()
    with opened(folder, ReadsChat()) as index:
        index.add(documents)
        plan = index.plan(documents)
    with opened(folder, ReadsChat(), settings=_cut(subchunk_depth=2)) as index:
        assert index.plan(documents) == plan
    for cut, theirs in ((_cut(size=128), "128 and 32"), (_cut(overlap=16), "256 and 16")):
        with (
            opened(folder, settings=cut) as index,
            pytest.raises(RecipeMismatch, match=f"256 tokens, 32 .*, not {theirs}: plan for"),
        ):
            index.plan(documents)


def _cut(**chunking):
    return Settings(chunking=Chunking(**chunking))


def test_a_plan_of_a_core_beside_all(folder):
    with opened(folder, ReadsChat()) as index:
        *_, core, every, everything = index.plan(small_documents()).estimates
        assert core.n_chunks == math.ceil(0.8 * every.n_chunks)
        assert core.prompt_tokens < every.prompt_tokens
        assert everything.methods == ("clue", "ket")
        with pytest.raises(InputError, match="'core' is a number, from 0 to 1, not 80"):
            index.plan(small_documents(), core=80)


def test_a_plan_leaves_out_what_the_ledger_has(folder):
    with opened(folder, ReadsChat()) as index:
        index.add(small_documents()[:5], **BOTH)
        plan = index.plan(small_documents())
        assert plan.estimates[-1].n_known > 0
        usage = index.add(small_documents(), **BOTH).usage
        assert plan.estimates[-1].prompt_tokens == usage.prompt_tokens
        again = index.plan(small_documents()).estimates[-1]
    assert (again.calls, again.total_tokens, again.cost_usd) == (0, 0, 0.0)


def test_a_plan_without_an_llm(folder):
    with opened(folder) as index:
        plan = index.plan(small_documents())
        assert (plan.model, plan.exact) == ("", False)
        assert all(estimate.cost_usd is None for estimate in plan.estimates)
        with pytest.raises(InputError, match="no documents to plan for"):
            index.plan([])
    with opened(folder) as index:
        named = {name for each in index.plan(small_documents()).estimates for name in each.methods}
    assert named <= set(methods.names())


@pytest.mark.parametrize("wish", [BOTH, {"triples": "llm", "core": 0.8}], ids=["both", "core"])
def test_a_budget_ends_and_goes_on(folder, wish):
    """A run stays within its budget, says so, and later runs go on to the same index."""
    chat = ReadsChat()
    documents = [
        replace(document, id=f"{document.id}{i}", text=f"Part {i}. {document.text}")
        for document in small_documents()
        for i in range(4)
    ]
    with opened(folder.with_name("whole.clew"), ReadsChat()) as index:
        whole = index.add(documents, **wish)
        expected = index.show()["layers"]
    runs = spent = 0
    with opened(folder, chat) as index:
        while runs < 20:
            runs += 1
            budget = Budget(tokens=3_000)
            added = index.add(documents, **wish, budget=budget)
            spent += added.usage.total_tokens
            assert added.usage.total_tokens <= budget.spent_tokens <= 3_000  # it says little
            if not added.extracted.stopped:
                break
            assert "budget of 3,000 tokens" in added.extracted.stopped
            assert sum(added.extracted.waiting.values()) > 0
        assert index.show()["layers"] == expected
    assert 1 < runs < 20
    assert spent == whole.usage.total_tokens
    assert chat.n_asked == whole.usage.llm_calls


def test_a_question_within_a_budget(folder):
    with opened(folder, ReadsChat()) as index:
        index.add(small_documents())
        answer = index.ask(QUESTIONS[0], budget=Budget(tokens=0), min_support=0)
    assert answer.kind == "quoted"
    assert answer.usage.total_tokens == 0
    assert all("budget of 0 tokens" in note for note in answer.evidence.notes)
    assert len(answer.evidence.notes) == 2


def test_a_later_run_goes_on_with_the_last_wish(folder):
    documents = small_documents()
    with opened(folder, ReadsChat()) as index:
        index.add(documents[:5], units=1.0)
    with opened(folder) as index:
        added = index.add(documents)
        assert not added.usage.llm_calls
        with pytest.raises(InputError, match="needs an LLM"):
            index.add(documents, triples="llm")
    with opened(folder, ReadsChat()) as index:
        added = index.add(documents)
        assert added.extracted.llm[UNITS] == added.n_chunks - 5
        assert added.extracted.llm[GRAPH] == 0


def test_a_core_is_kept_as_the_wish(folder):
    documents = small_documents()
    with opened(folder, ReadsChat()) as index:
        added = index.add(documents[:5], triples="llm", core=0.6)
        assert added.extracted.llm[GRAPH] == 3
        added = index.add(documents)
        assert added.extracted.llm[GRAPH] == math.ceil(0.6 * added.n_chunks) - 3
        assert index.show()["extraction"]["wanted"]["core"] == 0.6
        assert index.show()["extraction"]["graph"]["waiting"] == 0
        paid = 3 + added.extracted.llm[GRAPH]
        assert index.add(documents, core=0.0).extracted.n_chunks == 0
        assert index.add(documents, core=1.0).extracted.llm[GRAPH] == added.n_chunks - paid


@pytest.mark.parametrize("triples", ["none", "cooccurrence"])
def test_a_core_without_an_llm_is_refused(folder, triples):
    documents = small_documents()
    with opened(folder, ReadsChat()) as index:
        for core in ({"core": 0.5}, {"core": 1.0}, {"core": 0.0}, {"core_by": "random"}):
            with pytest.raises(InputError, match=f"but triples are set to '{triples}'"):
                index.add(documents, triples=triples, **core)
        assert not folder.exists()
        index.add(documents, triples="llm", core=0.5)
        assert index.add(documents, triples="cooccurrence").extracted.rules > 0


def test_a_text_that_comes_back_costs_nothing(folder):
    chat = ReadsChat()
    with opened(folder, chat) as index:
        index.add(small_documents(), **BOTH)
        n_asked = chat.n_asked
        index.remove([document.id for document in small_documents()])
        index.compact()
        added = index.add(small_documents(), **BOTH)
        assert added.report.restored == []
        assert added.usage.llm_calls == 0
        assert added.extracted.llm[GRAPH] == added.n_chunks
    assert chat.n_asked == n_asked


def test_names_are_merged_and_taken_back(folder):
    """A merge joins two entities until it is taken back; wrong names are refused."""
    with opened(folder, ReadsChat()) as index:
        index.add(small_documents(), **BOTH)
        before = index.show()["layers"]["entity"]
        [first, second] = index.snapshot().layer("entity").texts([0, 1])
        for _ in range(2):  # who does not know that it is done may say it again
            index.merge(first, second)
            assert index.show()["layers"]["entity"] == before - 1
        merged = index.aliases()["merged"].values()
        assert list(merged) == index.snapshot().layer("entity").ids([0])
        with pytest.raises(InputError, match="no entity"):
            index.merge("Nobody Atall", second)
        with pytest.raises(InputError, match="are already the same entity"):
            index.merge(second, second)
        index.unmerge(first)
        assert index.show()["layers"]["entity"] == before
        with pytest.raises(InputError, match="is not merged into an entity"):
            index.unmerge(first)


def test_rules_merge_the_plain_cases(folder, tmp_path):
    """An article or a legal form alone makes no other thing."""
    path = tmp_path / "triples.jsonl"
    triples = [["The Analog Sea", "lies off", "Verle"], ["Analog Sea", "is near", "Norrvik"]]
    path.write_text(json.dumps({"id": "a", "triples": triples}), encoding="utf-8")
    with opened(folder) as index:
        index.add(Document(id="a", text="They sailed the Analog Sea from Norrvik to Verle."))
        index.import_triples(path)
        entities = index.snapshot().layer("entity")
        assert "the analog sea" in entities.ids(range(len(entities)))
        assert index.merge_by_rules() == {"the analog sea": "analog sea"}
        assert index.merge_by_rules() == {}
        entities = index.snapshot().layer("entity")
        assert "the analog sea" not in entities.ids(range(len(entities)))
        assert entities.rows(["the analog sea"]) == entities.rows(["analog sea"])


class Broken:
    """An LLM that nothing comes from; it can be reached or not."""

    name = ReadsChat.name  # of which a ledger may have replies

    def __init__(self, error=None):
        self._error = error

    concurrency = 1
    price = None

    def reach(self):
        if self._error:
            raise self._error

    def ask(self, *_args, **_named):
        raise EndpointError("nothing came back")

    def count_tokens(self, *_args):
        return None


@pytest.mark.parametrize("wish", [{"units": 0.5}, {"triples": "llm"}, BOTH])
def test_a_wish_that_failed_does_not_stay(folder, wish):
    with opened(folder, Broken()) as index, pytest.raises(EndpointError):
        index.add(small_documents(), **wish)
    with opened(folder) as index:
        added = index.add(small_documents())
        assert added.report.n_unchanged == 12
        assert not any(added.extracted.waiting.values())


def test_an_earlier_wish_stays_where_a_later_one_failed(folder):
    with opened(folder, ReadsChat()) as index:
        index.add(small_documents(), units=0.5)
    with opened(folder, Broken()) as index, pytest.raises(EndpointError):
        index.add(small_documents(), units=1.0, triples="llm")
    with opened(folder) as index:
        wanted = index.show()["extraction"]["wanted"]
    assert (wanted["units"], wanted["triples"]) == (0.5, "none")


def test_an_llm_that_is_not_there_is_told_before_anything_is_indexed(folder):
    """And not looked for where none is needed, nor where the ledger may have all."""
    gone = Broken(EndpointError("http://x cannot be reached"))
    with opened(folder, gone) as index:
        with pytest.raises(EndpointError, match="cannot be reached"):
            index.add(small_documents(), **BOTH)
        assert not folder.exists()
        assert index.add(small_documents()).n_documents == 12
    with opened(folder, ReadsChat()) as index:
        index.add(small_documents(), units=0.2)
    with opened(folder, gone) as index, pytest.raises(EndpointError, match="nothing came back"):
        index.add(small_documents(), units=1.0)


@pytest.mark.parametrize("method", ["walk", "pagerank", "bm25"])
def test_a_question_goes_on_without_an_llm_that_fails(folder, method, caplog):
    """It is searched for and quoted as without one; notes say so, and the log says why, once."""
    question = "Who built the Comet?"
    with opened(folder) as index:
        index.add(small_documents())
        without = index.ask(question, method=method)
    with opened(folder, Broken()) as index:
        found = index.search(question, method=method)
        answer = index.ask(question, method=method)
    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in without.evidence.hits]
    assert answer.kind == "quoted"
    assert answer.citations == without.citations
    assert "the LLM gave no answer (it failed): quoted sentences instead" in answer.evidence.notes
    told = [each.getMessage() for each in caplog.records if "nothing came back" in each.message]
    assert told == ["continuing without the LLM: nothing came back"] * (
        1 if method == "bm25" else 2
    )


@pytest.mark.satellite
def test_an_evaluation_does_not_go_on_without_its_llm(folder):
    """What it measures would be another method: the failure stands in its row."""
    from benchmarks.graph_questions import GraphQuestion, measure_graph
    from clew.evaluate import Dataset, DatasetQuestion, Setting
    from clew.extras.evaluate.measure import Protocol, measure

    question = DatasetQuestion(
        id="q", text="Who built the Comet?", answers=(), type="single", supporting_ids=("comet",)
    )
    dataset = Dataset(name="d", corpus=(), questions=(question,), document_ids=frozenset({"comet"}))
    with opened(folder, Broken()) as index:
        index.add(small_documents())
        protocol = Protocol(settings=(Setting("walk"), Setting("bm25")), answers=True)
        rows = measure(index, dataset, protocol).rows
        asked = [GraphQuestion(id="q", text=question.text, answers=("Ola Eriksen",))]
        with pytest.raises(EndpointError, match="nothing came back"):
            measure_graph(lambda text, name: index.search(text, method=name), asked, "walk")
    assert [(row.label, row.error, row.answer_error) for row in rows] == [
        ("walk", "EndpointError: nothing came back", ""),
        ("bm25", "", "EndpointError: nothing came back"),
    ]
