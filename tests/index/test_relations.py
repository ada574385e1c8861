"""Triples among statistical entities, by an LLM: which, what is kept, and what it costs."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import clew
from clew.base.types import FALLBACK, GRAPH, LLM_MADE
from clew.errors import InputError
from clew.index.choose import Wanted
from clew.index.extract import extract_triples, run_extractions
from clew.index.generation import open_snapshot
from clew.index.layers.salient import TermSettings, statistical_terms
from clew.index.layers.statistical import STATISTICAL, statistical_entities
from clew.methods.agrag import Agrag
from clew.models import Reply
from clew.models.budget import Budget
from clew.models.ledger import Ledger
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedLLM, models, small_documents
from clew.text.normalize import entity_key
from tests.index.build import MODELS, add, create, document, scratch
from tests.index.reads import Reads, ReadsChat, listed, passages
from tests.index.store.corpus import documents

RELATED = {"triples": "llm", "entities": "statistical"}
TERMS = TermSettings(0.2)
WANTED = Wanted(**RELATED, entity_threshold=0.2)
NOTES = [
    document("hull", "The Comet had a round hull. Mira Toll designed the hull in Bergen."),
    document("ice", "Then pack ice pressed the Comet. Later pack ice broke her hull."),
    document("quay", "Snow fell on the quay. Bo Dahl swept the quay."),
]


@pytest.fixture
def store():
    with scratch() as folder, create(folder / "index") as opened:
        add(opened, NOTES)
        yield opened


def run(store, llm, wanted=WANTED, **given):
    return run_extractions(store, replace(MODELS, llm=llm), wanted, **given)


def triples_of(store):
    with closing(open_snapshot(store)) as snapshot:
        layer = snapshot.layer("triple")
        return layer.texts(range(len(layer)))


def keys_of(terms):
    return {entity_key(term) for term in terms}


def test_ends_are_statistical_entities(store):
    """Each prompt lists what is salient in its chunks; every end of a triple is of its list."""
    llm = Reads()
    done = run(store, llm)
    snapshot = open_snapshot(store)
    chunks = snapshot.layer("chunk")
    texts = snapshot.titled_texts(range(len(chunks)))
    expected = statistical_terms(texts, TERMS)
    [prompt] = llm.prompts
    assert list(listed(prompt.user).values()) == expected
    assert done.llm == {"units": 0, "graph": 3}
    assert done.bare
    assert set(chunks.columns[GRAPH]) == {LLM_MADE}
    entities, columns = snapshot.layer("entity"), snapshot.layer("triple").columns
    link = snapshot.link("triple", "chunk")
    for triple, chunk in zip(*link.nonzero(), strict=True):
        both = entities.ids([int(columns[end][triple]) for end in ("subject", "object")])
        assert set(both) <= keys_of(expected[chunk])
    assert link.nnz == sum(len(terms) - 1 for terms in expected)
    counted = statistical_entities(snapshot, MODELS.embedder)
    assert not counted.names  # each is an entity of the index
    assert counted.grounded.all()
    contained = snapshot.link("entity", "chunk") > 0
    assert (contained.toarray() >= (counted.entities.toarray() > 0)).all()
    snapshot.close()


def test_a_golden_reply(store):
    """What an LLM says among the listed terms is the graph, and what it says of others is not."""
    reply = {
        "1": {
            "relations": [
                {"subject": "Mira Toll", "predicate": "designed", "object": "hull"},
                {"subject": "Mira Toll", "predicate": "lived in", "object": "Norway"},
            ]
        },
        "2": {"relations": []},
        "3": {"relations": [{"subject": "Bo", "predicate": "swept", "object": "snow storm"}]},
    }
    llm = ScriptedLLM(reply)
    done = run(store, llm)
    assert len(listed(llm.prompts[0].user)) == 3
    assert triples_of(store) == ["Mira Toll designed hull"]
    assert (done.llm[GRAPH], done.fallback[GRAPH]) == (2, 1)
    snapshot = open_snapshot(store)
    assert snapshot.layer("chunk").columns[GRAPH].tolist() == [LLM_MADE, LLM_MADE, FALLBACK]
    rows = snapshot.layer("entity").rows(["quay"])
    assert rows[0] >= 0  # its terms are entities all the same
    found = Agrag().retrieve("Who designed the hull of the Comet?", snapshot, MODELS)
    assert [fact.text for fact in found.graph.facts] == ["Mira Toll designed hull"]
    snapshot.close()


def test_a_useless_reply_gives_no_triples(store):
    """Co-occurrence would bring other entities; `again` asks once more."""
    done = run(store, ScriptedLLM(Reply(text="", error="no reply")))
    assert (done.llm[GRAPH], done.fallback[GRAPH]) == (0, 3)
    assert triples_of(store) == []
    done = run(store, Reads(), again=True)
    assert (done.llm[GRAPH], done.fallback[GRAPH]) == (3, 0)
    assert triples_of(store)


def test_a_chunk_with_one_term_costs_nothing(store):
    """It relates nothing, so no prompt has it, with a ledger or without."""
    wanted = Wanted(**RELATED, entity_threshold=0.9)
    few = statistical_terms([d.text for d in NOTES], TermSettings(0.9))
    assert min(map(len, few)) < 2
    llm = Reads()
    assert run(store, llm, wanted).llm[GRAPH] == 3
    asked = [text for prompt in llm.prompts for text in passages(prompt.user).values()]
    assert len(asked) == sum(len(terms) > 1 for terms in few)


def test_a_stop_costs_nothing_twice():
    """A run that a budget ended goes on with what the ledger has; a second one asks nothing."""
    many = documents(n=60)
    with scratch() as folder, create(folder / "index") as store:
        add(store, many)
        ledger = Ledger(folder / "calls.sqlite")
        chat = ReadsChat()
        some = recorded(chat, ledger, Budget(tokens=1_500))
        assert run(store, some, ledger=ledger).stopped
        n_asked = chat.n_asked
        everything = run(store, recorded(chat, ledger), ledger=ledger)
        assert not everything.stopped
        assert not everything.waiting[GRAPH]
        asked = [text for _, text in chat.texts]
        assert 0 < n_asked < chat.n_asked
        assert len(asked) == len(set(asked))
        n_asked, found = chat.n_asked, triples_of(store)
        assert run(store, recorded(chat, ledger), ledger=ledger).n_chunks == 0
        with create(folder / "other") as other:
            add(other, many)
            run(other, recorded(chat, ledger), ledger=ledger)
            assert triples_of(other) == found
        assert chat.n_asked == n_asked
        with create(folder / "third") as third:
            add(third, many)
            run(third, recorded(chat, ledger), replace(WANTED, entity_words=1), ledger=ledger)
        assert chat.n_asked > n_asked  # other terms are another question


def test_what_was_listed_is_kept(store):
    """A text whose terms change with the texts beside it keeps what it was asked about."""
    with scratch() as folder:
        ledger = Ledger(folder / "calls.sqlite")
        run(store, recorded(ReadsChat(), ledger), ledger=ledger)
        before = triples_of(store)
        beside = [document(f"more {i}", "Pack ice and a hull at the quay.") for i in range(9)]
        with create(folder / "other") as other:
            add(other, [*NOTES, *beside])
            chat = ReadsChat()
            run(other, recorded(chat, ledger), ledger=ledger)
            assert set(before) <= set(triples_of(other))
            assert {text for _, text in chat.texts} <= {beside[0].text}


# -- the recipe -----------------------------------------------------------------------------------


def test_the_recipe_has_the_terms_and_agrag_reads_it(store):
    """What made the entities at indexing makes them for questions, kept or not."""
    terms = TermSettings(0.3, 1)
    run(store, Reads(), Wanted(**RELATED, entity_threshold=0.3, entity_words=1))
    assert TermSettings.from_recipe(store.recipe) == terms
    snapshot = open_snapshot(store)
    texts = snapshot.titled_texts(range(3))
    counted = statistical_entities(snapshot, MODELS.embedder)
    salient = statistical_terms(texts, terms)
    keys = snapshot.layer("entity").ids(range(len(snapshot.layer("entity"))))
    for chunk, expected in enumerate(salient):
        found = {keys[row] for row in np.flatnonzero(counted.entities.toarray()[:, chunk])}
        assert found == keys_of(expected)
    same = Agrag(threshold=0.3, longest=1).retrieve("Who designed the hull?", snapshot, MODELS)
    found = Agrag().retrieve("Who designed the hull?", snapshot, MODELS)
    assert (found.hits, found.graph) == (same.hits, same.graph)
    snapshot.close()


def statistical_arrays(index):
    return index.snapshot().get(STATISTICAL, embedder=lambda: index.models.embedder)


def test_what_is_cached_follows_the_recipe(tmp_path):
    """Statistical entities that were cached before another threshold was asked for are not used."""
    with clew.open(tmp_path / "i", models=models(llm=Reads())) as index:
        index.add(NOTES, triples="cooccurrence")
        before = statistical_arrays(index)
        assert before["settings"].tolist() == [0.5, 3]
        index.add(NOTES, **RELATED, entity_threshold=0.2, entity_words=2)
        after = statistical_arrays(index)
        assert after["settings"].tolist() == [0.2, 2]
        assert len(after["rates"]) > len(before["rates"])
        assert index.show()["recipe"]["entity_words"] == 2


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (WANTED, Wanted(triples="llm")),
        (Wanted(triples="llm"), WANTED),
        (WANTED, replace(WANTED, entity_words=2)),
    ],
    ids=["to its own", "to statistical", "to fewer words"],
)
def test_other_entities_are_another_extraction(store, tmp_path, first, then):
    """All chunks are read anew for them, and nothing is paid for where the ledger has it."""
    ledger, chat = Ledger(tmp_path / "calls.sqlite"), ReadsChat()
    llm = recorded(chat, ledger)
    n = run(store, llm, first, ledger=ledger).n_chunks
    before = triples_of(store), dict(store.recipe)
    assert run(store, llm, then, ledger=ledger).n_chunks == n
    assert triples_of(store) != before[0]
    assert TermSettings.from_recipe(store.recipe) == then.terms
    asked = chat.n_asked
    assert run(store, llm, first, ledger=ledger).n_chunks == n
    assert (triples_of(store), dict(store.recipe)) == before
    assert chat.n_asked == asked


def test_nothing_extracted_is_nothing_settled(store):
    """Before an LLM has read a chunk another kind may be asked for."""
    with scratch() as folder:
        ledger = Ledger(folder / "calls.sqlite")
        stopped = recorded(ReadsChat(), ledger, Budget(tokens=10))
        assert run(store, stopped).stopped
        assert "entity_words" in store.recipe
    run(store, Reads(), Wanted(triples="llm"))
    assert "entity_words" not in store.recipe


def test_chosen_chunks_get_the_same(store):
    """`extract_triples` goes by the recipe."""
    run(store, Reads(), replace(WANTED, core=0.3))
    snapshot = open_snapshot(store)
    ids = snapshot.layer("chunk").ids(range(3))
    snapshot.close()
    llm = Reads()
    done = extract_triples(store, replace(MODELS, llm=llm), ids)
    assert done.llm[GRAPH] == 2
    assert all("Terms: " in prompt.user for prompt in llm.prompts)


# -- from Python ----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_plan_is_the_bill(tmp_path, share):
    """Prompt tokens and calls are those that are billed; once paid for, they are none."""
    notes = small_documents()
    wish = {"entities": "statistical", "entity_threshold": 0.4, "entity_words": 2}
    with clew.open(tmp_path / "i", models=models(llm=ReadsChat())) as index:
        index.add(notes)
        plan = index.plan(notes, core=share, **wish)
        planned = plan.estimates[-3]
        usage = index.add(notes, triples="llm", core=share, **wish).usage
        assert planned.methods == ("agrag",)
        assert (planned.calls, planned.prompt_tokens) == (usage.llm_calls, usage.prompt_tokens)
        assert "no model was measured for" in plan.basis
        again = index.plan(notes, core=share)  # as it was wanted last
        assert again.estimates[-3].calls == 0
        assert index.add(notes).usage.total_tokens == 0


def test_wishes_that_cannot_be(tmp_path):
    """The message says what is missing."""
    with clew.open(tmp_path / "i", models=models(llm=Reads())) as index:
        with pytest.raises(InputError, match="entities is about triples by an LLM"):
            index.add(NOTES, triples="cooccurrence", entities="statistical")
        with pytest.raises(InputError, match="use entities='statistical'"):
            index.add(NOTES, triples="llm", entity_words=2)
        with pytest.raises(InputError, match="'entities' is one of llm, statistical, not 'mine'"):
            index.add(NOTES, triples="llm", entities="mine")
        with pytest.raises(InputError, match="from 0 to below 1, not 1"):
            index.add(NOTES, **RELATED, entity_threshold=1.0)
        index.add(NOTES, **RELATED)
        assert json.dumps(dict(index.show()["recipe"]))
