"""Answers as they come, and conversations, by the functions of an index."""

import asyncio
import threading
from dataclasses import replace

import pytest

import clew
from clew import Exchange
from clew.base.types import Document
from clew.errors import InputError
from clew.models import Turn
from clew.models.budget import Budget
from clew.testing import ScriptedChat, models

DOCUMENTS = [
    Document(id="fram", title="Fram", text="Colin Archer built the Fram for Fridtjof Nansen."),
    Document(id="archer", title="Colin Archer", text="Colin Archer was born in Larvik in 1832."),
]
QUESTION = "Who built the Fram?"
REPLY = "Colin Archer of Larvik [1], [2]"
TEXT = "Colin Archer of Larvik"
BUILT = Exchange(QUESTION, "Colin Archer.")


def answering(reply):
    """A chat that names nothing, writes a question anew, and answers with `reply`."""

    def say(prompt, _turns):
        if prompt.version.startswith("query_entities"):
            return {"named_entities": ["Fram"]}
        if prompt.version.startswith("follow_up"):
            return {"question": "Where was Colin Archer born?"}
        return reply

    return ScriptedChat(say)


@pytest.fixture
def opened(tmp_path):
    folder = tmp_path / "my.clew"
    with clew.open(folder, models=models()) as index:
        index.add(DOCUMENTS)
    indexes = []

    def make(reply=None):
        llm = None if reply is None else answering(reply)
        indexes.append(clew.open(folder, models=models(llm=llm)))
        return indexes[-1]

    yield make
    for each in indexes:
        each.close()


def alike(one, other):
    """Whether two answers differ in nothing but time and who paid."""
    usages = [
        replace(e, usage=None, evidence=replace(e.evidence, usage=None)) for e in (one, other)
    ]
    return usages[0] == usages[1]


def test_an_answer_as_it_comes(opened):
    told = []
    index = opened(REPLY)
    answer = index.ask(QUESTION, min_support=0, on_evidence=told.append, on_text=told.append)
    evidence, *pieces = told
    assert evidence == replace(answer.evidence, notes=evidence.notes)
    assert evidence.support is not None
    assert pieces == ["Colin", " Archer", " of", " Larvik"]
    assert answer.text == TEXT
    assert alike(answer, index.ask(QUESTION, min_support=0))
    told = []  # what was recorded is told at once
    answer = index.ask(QUESTION, min_support=0, on_text=told.append)
    assert told == [answer.text] == [TEXT]
    assert not answer.usage.llm_calls


def test_quotes_are_told_at_once(opened):
    """Without an LLM, and where its reply is of no use or the budget has no room."""
    quoted = opened().ask(QUESTION, min_support=0)
    assert quoted.kind == "quoted"
    for index, budget in (
        (opened(), None),
        (opened(Turn("", "the reply is empty")), None),
        (opened(REPLY), Budget(tokens=0)),
    ):
        told = []
        answer = index.ask(QUESTION, min_support=0, budget=budget, on_text=told.append)
        assert told == [answer.text] == [quoted.text]


def test_a_refusal_is_not_told(opened):
    told = []
    assert opened().ask(QUESTION, min_support=1, on_text=told.append).kind == "refused"
    answer = opened("ANSWER: unknown").ask(QUESTION, min_support=0.01, on_text=told.append)
    assert answer.kind == "refused"
    assert told == []
    answer = opened("ANSWER: unknown").ask(QUESTION, min_support=0, on_text=told.append)
    assert (answer.kind, told) == ("generated", ["unknown"])


def test_whoever_listens_may_fail(opened):
    """Before an answer nothing is paid; while one is told it is recorded, and then raised."""
    index = opened(REPLY)

    def fail(_told):
        raise LookupError

    with pytest.raises(LookupError):
        index.ask(QUESTION, min_support=0, on_evidence=fail, on_text=pytest.fail)
    with pytest.raises(LookupError):
        index.ask(QUESTION, min_support=0, on_text=fail)
    answer = index.ask(QUESTION, min_support=0)
    assert (answer.text, answer.usage.llm_calls) == (TEXT, 0)


def test_evidence_is_answered_as_it_comes(opened):
    index, told = opened(REPLY), []
    index.answer(index.search(QUESTION), on_text=told.append)
    assert "".join(told) == TEXT
    assert len(told) == 4


def test_awaited_answers_come_in_the_thread(opened):
    index, threads = opened(REPLY), []

    def heard(_told):
        threads.append(threading.get_ident())

    asyncio.run(index.aask(QUESTION, min_support=0, on_evidence=heard, on_text=heard))
    assert len(threads) == 5
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


def test_a_conversation(opened):
    """The evidence is of the question as it was read, the answer of the one that was asked."""
    index = opened()
    answer = index.ask("Where was he born?", history=[BUILT], min_support=0)
    assert answer.question == "Where was he born?"
    assert answer.evidence.query == "Where was he born? (Colin Archer)"
    assert "the question was read as" in answer.evidence.notes[0]
    assert answer.evidence.hits == index.search(answer.evidence.query).hits
    assert index.search("Where was he born?", history=[BUILT]).query == answer.evidence.query
    llm = opened(REPLY)
    poor = llm.search("Where was he born?", history=[BUILT], budget=Budget(tokens=0))
    assert poor.query == answer.evidence.query
    assert "budget of 0 tokens" in poor.notes[0]
    found = llm.ask("Where was he born?", history=[BUILT], min_support=0)
    assert found.evidence.query == "Where was Colin Archer born?"
    assert found.usage.llm_calls == 3
    again = llm.ask("Where was he born?", history=[BUILT], min_support=0)
    assert (again.usage.llm_calls, again.usage.recorded_calls) == (0, 3)


@pytest.mark.parametrize("reply", [None, REPLY])
def test_an_empty_history_changes_nothing(opened, reply):
    index = opened(reply)
    plain = index.ask(QUESTION, min_support=0)
    for history in ((), [Exchange("Where is Oslo?", "In Norway.")]):
        assert alike(index.ask(QUESTION, history=history, min_support=0), plain)


@pytest.mark.parametrize("history", [3, "Who?", [("Who?", "He.")], [BUILT, None]])
def test_a_wrong_history(opened, history):
    with pytest.raises(InputError, match="'history' is a list of clew.Exchange, not"):
        opened().ask("Where was he born?", history=history)


class Halting(ScriptedChat):
    """A chat that goes on after its first pieces only if somebody heard them."""

    def ask(self, prompt, turns=(), *, on_text=None, **how):
        turn = super().ask(prompt, turns, **how)
        for place in range(0, len(turn.text), 6) if on_text else ():
            assert self.heard or place < 12
            on_text(turn.text[place : place + 6])
        return turn


@pytest.mark.parametrize("reply", [REPLY, "- Colin Archer\n- nobody else", "**Colin** Archer [1]."])
def test_the_first_token_is_told_long_before_the_last(opened, tmp_path, reply):
    """Without any marker of an answer, of whatever form the reply is."""
    opened()
    chat = Halting(lambda *_: reply)
    chat.heard = []
    with clew.open(tmp_path / "my.clew", models=models(llm=chat)) as index:
        answer = index.ask(QUESTION, on_text=chat.heard.append)
    assert "".join(chat.heard) == answer.text
