"""Gleaning: an LLM is asked once more for the entities and triples that it missed."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

import clew
from clew.base.types import GRAPH
from clew.errors import InputError
from clew.index.choose import Wanted
from clew.index.extract import extract_triples, run_extractions
from clew.index.generation import open_snapshot
from clew.models import Turn
from clew.models.budget import Budget
from clew.models.ledger import Ledger
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedLLM, models, small_documents
from tests.index.build import MODELS, add, create, document, scratch
from tests.index.reads import ReadsChat

NOTES = [document("fram", "Colin Archer of Larvik built the Fram. She sailed in 1893.")]


def graph(*names, relations=()):
    """Return a reply about one passage."""
    entities = [{"name": name, "type": "other", "description": ""} for name in names]
    rows = [
        {"subject": s, "predicate": p, "object": o, "description": "", "strength": 1}
        for s, p, o in relations
    ]
    return {"1": {"entities": entities, "relations": rows}}


FIRST = graph("Fram", "Colin Archer", relations=[("Colin Archer", "built", "Fram")])
SECOND = graph("1893", "fram", relations=[("Fram", "sailed in", "1893")])
THIRD = graph("Larvik")
NOTHING_NEW = graph("Larvik", relations=[("the Fram", "sailed in", "1893")])


@pytest.fixture
def store():
    with scratch() as folder, create(folder / "index") as opened:
        add(opened, NOTES)
        yield opened


def run(store, llm, gleanings, **given):
    wanted = Wanted(triples="llm", gleanings=gleanings)
    return run_extractions(store, replace(MODELS, llm=llm), wanted, **given)


def found_in(store):
    with closing(open_snapshot(store)) as snapshot:
        entities, triples = snapshot.layer("entity"), snapshot.layer("triple")
        named = ("fram", "colin archer", "1893", "larvik")
        known = {name for name in named if entities.rows([name])[0] >= 0}
        return known, sorted(triples.texts(range(len(triples))))


def test_a_round_adds_what_was_missed(store):
    """The next prompt lists what was taken, in the words of the text, and the rows are of both."""
    llm = ScriptedLLM(FIRST, SECOND)
    done = run(store, llm, 1)
    first, second = llm.prompts
    assert (first.version.split("-")[0], second.version.split("-")[0]) == ("graph", "gleaning")
    assert "Taken" not in first.user
    assert second.user.endswith("\nTaken: Fram; Colin Archer; Colin Archer built Fram")
    assert (done.llm[GRAPH], done.fallback[GRAPH]) == (1, 0)
    triples = ["Colin Archer built Fram", "Fram sailed in 1893"]
    assert found_in(store)[1] == triples


@pytest.mark.parametrize(
    ("gleanings", "replies", "n_asked"),
    [
        (0, [FIRST], 1),
        (2, [FIRST, SECOND, THIRD], 3),
        (3, [FIRST, SECOND, THIRD, NOTHING_NEW], 4),
        (9, [FIRST, SECOND, graph("FRAM", "Colin Archer")], 3),  # again what is known: the end
        (9, [FIRST, graph()], 2),
        (9, [FIRST, graph("Oslo")], 2),  # which the text does not have
        (9, [FIRST, "no JSON"], 2),
    ],
)
def test_rounds_end_with_nothing_new(store, gleanings, replies, n_asked):
    llm = ScriptedLLM(*replies)
    done = run(store, llm, gleanings)
    assert (len(llm.prompts), done.fallback[GRAPH]) == (n_asked, 0)
    assert "Colin Archer built Fram" in found_in(store)[1]


def test_a_first_reply_of_no_use_is_not_gleaned(store):
    llm = ScriptedLLM("no JSON")
    assert run(store, llm, 3).fallback[GRAPH] == 1
    assert {prompt.version.split("-")[0] for prompt in llm.prompts} == {"graph"}


class Scripted:
    """A chat with a queue of replies."""

    name, concurrency, price = "scripted", 1, (1.0, 1.0)

    def __init__(self, *replies):
        self.replies = list(replies)
        self.versions = []

    def ask(self, prompt, turns=(), *, stop=None, on_lost=None):  # noqa: ARG002
        self.versions.append(prompt.version.split("-")[0])
        return Turn(json.dumps(self.replies.pop(0)), prompt_tokens=100, completion_tokens=100)

    def count_tokens(self, prompt, turns=()):  # noqa: ARG002
        return 100


def test_the_ledger_has_every_round(store, tmp_path):
    """A budget that ends between rounds leaves the chunk waiting, and no reply is bought again."""
    ledger, chat = Ledger(tmp_path / "calls.sqlite"), Scripted(FIRST, SECOND)
    most = 100 + 256 + 2 * 100  # the prompt and the longest reply, of the first call alone
    short = recorded(chat, ledger, Budget(tokens=most))
    assert run(store, short, 1, ledger=ledger).waiting[GRAPH] == 1
    assert chat.versions == ["graph"]
    assert run(store, recorded(chat, ledger), 1, ledger=ledger).llm[GRAPH] == 1
    assert chat.versions == ["graph", "gleaning"]
    with scratch() as folder, create(folder / "other") as other:
        add(other, NOTES)
        assert run(other, recorded(chat, ledger), 1, ledger=ledger).llm[GRAPH] == 1
        assert found_in(other) == found_in(store)
    assert not chat.replies
    bought = {version.split("-")[0]: total.calls for (_, version), total in ledger.totals().items()}
    assert bought == {"graph": 1, "gleaning": 1}


def test_chunks_that_are_asked_for_later_are_gleaned_too(store):
    """What a method asks for is extracted as the index was told."""
    with closing(open_snapshot(store)) as snapshot:
        [chunk] = snapshot.layer("chunk").ids([0])
    llm = ScriptedLLM(FIRST, SECOND)
    wanted = Wanted(triples="llm", core=0.0, gleanings=1)
    assert not run_extractions(store, replace(MODELS, llm=llm), wanted).n_chunks
    extract_triples(store, replace(MODELS, llm=llm), [chunk])
    assert len(llm.prompts) == 2


def test_a_plan_has_the_rounds(tmp_path):
    """As many calls as can be, and each prompt has what came before."""
    with clew.open(tmp_path / "i.clew", models=models(llm=ReadsChat())) as index:
        once = index.plan(small_documents(), gleanings=0).estimates[5]
        twice = index.plan(small_documents(), gleanings=1)
        assert "a gleaning from 50% of a first reply" in twice.basis
        twice = twice.estimates[5]
        thrice = index.plan(small_documents(), gleanings=2).estimates[5]
        assert (twice.calls, thrice.calls) == (2 * once.calls, 3 * once.calls)
        assert twice.completion_tokens == round(1.5 * once.completion_tokens)
        assert thrice.completion_tokens == pytest.approx(2 * once.completion_tokens, abs=1)
        assert thrice.prompt_tokens - twice.prompt_tokens > twice.prompt_tokens - once.prompt_tokens
        assert twice.prompt_tokens > 2 * once.prompt_tokens
        usage = index.add(small_documents(), **twice.options).usage
        assert usage.llm_calls == twice.calls  # it says the same again, which ends it after a round
        assert index.show()["extraction"]["wanted"]["gleanings"] == 1
        assert index.plan(small_documents()).estimates[5].calls == 0


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"triples": "cooccurrence"}, "gleanings is about triples by an LLM, .*'cooccurrence'"),
        ({}, "gleanings is about triples by an LLM"),
        ({"triples": "llm", "entities": "statistical"}, "statistical entities are counted"),
        ({"triples": "llm", "gleanings": -1}, "'gleanings' is a whole number, at least 0"),
    ],
)
def test_gleanings_are_of_entities_that_an_llm_names(tmp_path, wish, said):
    with (
        clew.open(tmp_path / "i.clew", models=models(llm=ReadsChat())) as index,
        pytest.raises(InputError, match=said),
    ):
        index.add(NOTES, **{"gleanings": 1, **wish})
