"""A chat as an LLM: repaired, recorded, refused, bounded, ended early."""

import threading
import time
from dataclasses import replace

import pytest

from clew.errors import BadReply, BudgetSpent, EndpointError, InputError, StoreError
from clew.models import Prompt, PromptRefused, Reply, Turn
from clew.models.budget import Bill, Budget
from clew.models.ledger import Ledger, Request
from clew.models.recorded_llm import RecordedLLM, recorded
from clew.models.run import ModelRun
from clew.testing import ChatContract, ScriptedChat, ScriptedLLM

pytest.importorskip("fastjsonschema")

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
ASKED = Prompt(user="Who led?", schema=SCHEMA, version="who-1")
GOOD = {"name": "Nobile"}


def prompts(n):
    return [Prompt(user=f"Question {i}?") for i in range(n)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


class TestScriptedChat(ChatContract):
    @pytest.fixture
    def chat(self):
        return ScriptedChat(lambda *_: "ice")


def test_a_reply_with_a_comma_too_many_is_not_asked_again(ledger):
    """It is mended for nothing, and again when the ledger has it."""
    chat = ScriptedChat(lambda *_: "```json\n{'name': 'Nobile',}\n```")
    for calls in (1, 0):
        [reply] = RecordedLLM(chat, ledger=ledger).complete([ASKED])
        assert (reply.data, reply.error, reply.calls) == (GOOD, "", calls)
    assert len(chat.asked) == 1


def test_what_is_recorded_is_not_asked_again(ledger):
    """A second run, of another process, costs nothing and gives the same."""
    first = ScriptedChat(lambda _, turns: GOOD if turns else "Nobile")
    [paid] = RecordedLLM(first, ledger=ledger).complete([ASKED])
    second = ScriptedChat(lambda *_: pytest.fail("asked again"), price=None)
    [reply] = RecordedLLM(second, ledger=Ledger(ledger.path)).complete([ASKED])
    assert (reply.text, reply.data, reply.error) == (paid.text, paid.data, paid.error)
    assert (paid.calls, paid.recorded, reply.calls, reply.recorded) == (2, 0, 0, 2)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (0, 0, 0.0)


def test_a_repair_goes_on_from_the_recorded_turn(ledger):
    """A run that died between the turns of a conversation pays for the second alone."""
    ledger.record(Request("scripted", ASKED), Turn("Nobile", "", 3, 1, 0.0))
    chat = ScriptedChat(lambda _, turns: GOOD if turns else pytest.fail("asked again"))
    [reply] = RecordedLLM(chat, ledger=ledger).complete([ASKED])
    assert (reply.data, reply.calls, reply.recorded) == (GOOD, 1, 1)


def test_failures_are_kept_until_they_are_forgotten(ledger):
    """Two bad replies are not paid a third time; `forget_failed` gives another chance."""
    chat = ScriptedChat(lambda *_: "never")
    llm = RecordedLLM(chat, ledger=ledger)
    llm.complete(prompts(1))  # which is of use
    first, again = llm.complete([ASKED]), llm.complete([ASKED])
    assert [r.error for r in first + again] == ["there is no JSON in it"] * 2
    assert (len(chat.asked), again[0].recorded) == (3, 2)
    assert [ledger.forget_failed(), ledger.forget_failed()] == [2, 0]
    llm.complete([ASKED, *prompts(1)])
    assert len(chat.asked) == 5


def test_equal_prompts_of_a_batch_are_bought_once(ledger):
    """With a ledger a repeated prompt is its own record; without one each is asked."""
    chat = ScriptedChat(lambda *_: "ice", concurrency=4)
    replies = RecordedLLM(chat, ledger=ledger).complete(prompts(2) * 5)
    assert [r.text for r in replies] == ["ice"] * 10
    assert (len(chat.asked), sum(r.recorded for r in replies)) == (2, 8)
    RecordedLLM(chat).complete(prompts(1) * 5)
    assert len(chat.asked) == 7


@pytest.mark.parametrize("n", [1, 5])
def test_a_batch_of_which_nothing_is_taken_raises(ledger, n):
    """Then it may be the setting, so nothing is told of the prompts."""
    chat = ScriptedChat(lambda *_: PromptRefused("max_tokens is too large"), concurrency=2)
    llm = RecordedLLM(chat, ledger=ledger)
    with pytest.raises(PromptRefused, match="max_tokens"):
        llm.complete(prompts(n), on_reply=lambda *_: pytest.fail("told"))


def test_a_batch_of_which_nothing_is_taken_is_believed_where_others_were(ledger):
    """A recorded call of the same model and version shows that the endpoint takes such prompts."""
    chat = ScriptedChat(lambda *_: PromptRefused("too long"), concurrency=2)
    ledger.record(Request("scripted", Prompt(user="Who?", version="who-1")), Turn("Nobile"))
    told = {}
    asked = [Prompt(user=f"{i}", version="who-1") for i in range(3)]
    replies = RecordedLLM(chat, ledger=ledger).complete(asked, on_reply=told.__setitem__)
    assert [r.error for r in replies] == ["too long"] * 3
    assert [told[i] for i in range(3)] == replies
    with pytest.raises(PromptRefused):
        RecordedLLM(chat, ledger=ledger).complete([Prompt(user="0", version="who-2")])


def test_a_refusal_is_told_once_another_prompt_is_taken():
    """Before that it may be the setting; the order in which they are told says so."""

    def answer(prompt, _):
        return "ice" if prompt.user == "Question 2?" else PromptRefused("too long")

    told = []
    chat = ScriptedChat(answer)
    RecordedLLM(chat).complete(
        prompts(4), on_reply=lambda i, reply: told.append((i, reply.error, len(chat.asked)))
    )
    assert told == [(0, "too long", 3), (1, "too long", 3), (2, "", 3), (3, "too long", 4)]


def test_a_refused_repair_keeps_what_was_paid(ledger):
    """The first turn was paid, so the prompt itself was taken."""
    chat = ScriptedChat(lambda _, turns: PromptRefused("too long") if turns else "Nobile")
    [reply] = RecordedLLM(chat, ledger=ledger).complete([ASKED])
    assert (reply.text, reply.error, reply.calls) == ("Nobile", "too long", 1)
    assert ledger.forget_failed() == 1


def test_a_fatal_error_ends_the_batch_and_keeps_what_came(ledger):
    """What was under way is recorded, what had not begun is not sent."""

    def answer(prompt, _):
        if prompt.user == "Question 2?":
            time.sleep(0.05)
            return EndpointError("HTTP 401")
        time.sleep(0.2)
        return "late"

    chat = ScriptedChat(answer, concurrency=3)
    with pytest.raises(EndpointError, match="401"):
        RecordedLLM(chat, ledger=ledger).complete(prompts(100))
    assert len(chat.asked) == 3
    assert ledger.totals()["scripted", ""].calls == len(chat.asked) - 1


def test_recorded_and_other_prices(ledger):
    """The user knows his contract; the ledger keeps what a call cost then."""
    chat = ScriptedChat(lambda *_: "a b", price=(1.0, 1.0))
    llm = RecordedLLM(chat, ledger=ledger, prices={"scripted": (0.0, 5.0)})
    assert llm.complete(prompts(1))[0].cost_usd == pytest.approx(10e-6)
    assert ledger.totals()["scripted", ""].cost_usd == pytest.approx(10e-6)
    llm = ScriptedLLM(Reply(text="x", prompt_tokens=10, completion_tokens=5))
    [reply] = recorded(llm, prices={"scripted": (1.0, 2.0)}).complete(prompts(1))
    assert reply.cost_usd == pytest.approx(20e-6)
    assert RecordedLLM(ScriptedChat(lambda *_: "x")).complete([]) == []


def test_replies_are_told_as_they_come(ledger):
    """Each once, by its position and from the thread that held it, recorded ones as well."""
    chat = ScriptedChat(lambda prompt, _: prompt.user, concurrency=4)
    llm = RecordedLLM(chat, ledger=ledger)
    llm.complete(prompts(3))
    told, threads = {}, {}

    def tell(i, reply):
        assert i not in told
        told[i] = reply
        threads[i] = threading.current_thread()

    replies = llm.complete(prompts(8) * 2, on_reply=tell)
    assert [told[i] for i in range(16)] == replies
    assert threading.current_thread() not in {threads[i] for i in range(3, 8)}
    assert sum(r.recorded for r in replies) == 11


def test_no_error_keeps_back_what_is_recorded(ledger):
    """Wherever it stands in a batch; half a recorded conversation is no reply."""
    RecordedLLM(ScriptedChat(lambda *_: "ice"), ledger=ledger).complete(prompts(9)[5:])
    ledger.record(Request("scripted", ASKED), Turn("Nobile", "", 3, 1, 0.0))
    told = {}
    with pytest.raises(BudgetSpent):
        RecordedLLM(
            ScriptedChat(lambda *_: "ice", concurrency=3), ledger=ledger, budget=Budget(tokens=0)
        ).complete([*prompts(9), ASKED], on_reply=told.__setitem__)
    assert sorted(told) == [5, 6, 7, 8]


@pytest.mark.parametrize("kept", [True, False])
def test_half_a_conversation_is_counted_once(ledger, kept):
    """Its first turn was paid for and gave no reply; the next run pays for the repair alone."""
    chat = ScriptedChat(
        lambda _, turns: EndpointError("gone") if turns else "Nobile, I think", price=(1e6, 0.0)
    )
    run = ModelRun()
    llm = RecordedLLM(chat, ledger=ledger if kept else None, run=run)
    with pytest.raises(EndpointError):
        llm.complete([ASKED], on_reply=lambda *_: pytest.fail("there is no reply"))
    usage = run.meter.usage
    assert (usage.llm_calls, usage.recorded_calls) == (1, 0)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) == (2, 3, 2.0)
    with pytest.raises(EndpointError):
        llm.complete([ASKED])
    assert run.meter.usage.llm_calls == (1 if kept else 2)


def test_what_cannot_be_written_down_is_counted(ledger, monkeypatch):
    """The bill came, whatever became of the ledger."""

    def full(*_):
        raise StoreError("the disk is full")

    llm = RecordedLLM(ScriptedChat(lambda *_: "ice"), ledger=ledger, run=ModelRun())
    monkeypatch.setattr(Ledger, "record", full)
    with pytest.raises(StoreError):
        llm.complete(prompts(1))
    assert llm.run.meter.usage.llm_calls == 1


def test_how_long_a_call_took_is_recorded(ledger):
    """So that a plan can say how long the next ones take."""

    def answer(*_):
        time.sleep(0.02)
        return "x"

    RecordedLLM(ScriptedChat(answer), ledger=ledger).complete(prompts(1))
    [(_, _, seconds, _)] = ledger.sizes("scripted", "")
    assert 0.02 <= seconds < 5


# Budgets


def test_a_budget_stops_before_the_request_that_may_not_fit(ledger):
    """The message says what is spent of what; the next run goes on."""
    chat = ScriptedChat(lambda *_: "one two three")
    budget = Budget(tokens=30)
    asked = [Prompt(user=f"Question {i}", max_tokens=10) for i in range(5)]
    with pytest.raises(BudgetSpent) as caught:
        RecordedLLM(chat, ledger=ledger, budget=budget).complete(asked)
    assert str(caught.value) == (
        "the budget of 30 tokens leaves no room: 20 tokens are spent, and the next request may take"
        " up to 12 tokens. Hint: every reply is kept; run the same command again, with a"
        " budget that has room for it, to continue"
    )
    assert (len(chat.asked), budget.spent_tokens, budget.lost_tokens) == (4, 20, 0)
    replies = RecordedLLM(chat, ledger=ledger, budget=Budget(tokens=12)).complete(asked)
    assert [r.recorded for r in replies] == [1, 1, 1, 1, 0]


def test_a_budget_in_dollars(ledger):
    """It counts by price, in and out; a missing price is asked for in the form to write."""
    chat = ScriptedChat(lambda *_: "a b", price=(0.0, 1e5))  # ten cents a token
    budget = Budget(usd=1.0)
    asked = [Prompt(user=f"{i}", max_tokens=4) for i in range(9)]
    with pytest.raises(BudgetSpent, match=r"of \$1.0000 leaves .*\(\$0.8000\) are spent"):
        RecordedLLM(chat, ledger=ledger, budget=budget).complete(asked)
    assert (len(chat.asked), budget.spent_usd) == (4, pytest.approx(0.8))
    chat = ScriptedChat(lambda *_: "x", price=None)
    with pytest.raises(InputError, match=r"price of scripted.*scripted=IN,OUT"):
        RecordedLLM(chat, budget=Budget(usd=1.0)).complete(prompts(1))
    assert chat.asked == []
    given = RecordedLLM(chat, budget=Budget(usd=1.0), prices={"scripted": (1.0, 1.0)})
    assert given.complete(prompts(1))[0].text == "x"


def test_a_model_that_does_not_count_is_charged_the_worst_case():
    """A bill that nobody knows is taken for the whole of what was set aside."""
    budget = Budget(tokens=1_000)
    chat = ScriptedChat(lambda *_: Turn("x"))
    RecordedLLM(chat, budget=budget).complete([Prompt(user="a b c", max_tokens=50)])
    assert (budget.spent_tokens, budget.lost_tokens) == (53, 53)
    with pytest.raises(BudgetSpent, match="53 tokens of them .* endpoint stated no usage, and"):
        budget.reserve(Bill(tokens=948))


@pytest.mark.parametrize(
    ("error", "lost"),
    [(EndpointError("503"), 0), (PromptRefused("no"), 0), (BadReply("?"), 52), (OSError("?"), 52)],
)
def test_an_error_frees_what_was_set_aside_unless_it_may_be_billed(error, lost):
    """A refusal is not billed; of a reply that cannot be read nobody knows."""
    budget = Budget(tokens=100)
    chat = ScriptedChat(lambda *_: error)
    with pytest.raises(type(error)):
        RecordedLLM(chat, budget=budget).complete([Prompt(user="a b", max_tokens=50)])
    assert budget.lost_tokens == budget.spent_tokens == lost


def test_without_a_count_the_bound_is_bytes_and_a_margin():
    """Schema and template included, a prompt cannot have more tokens than that."""
    chat = ScriptedChat(lambda *_: GOOD)
    chat.count_tokens = lambda *_: None
    with pytest.raises(BudgetSpent) as caught:
        RecordedLLM(chat, budget=Budget(tokens=100)).complete([ASKED])
    worst = int(str(caught.value).partition("may take up to ")[2].split()[0])
    n_bytes = len(ASKED.user) + len(str(SCHEMA))
    assert n_bytes + 2 * 64 + ASKED.max_tokens <= worst < n_bytes + 2 * 64 + ASKED.max_tokens + 200


# LLMs that are not ours


def test_a_foreign_llm_is_recorded_prompt_by_prompt(ledger):
    """Its repair and its reading stay its own, and a second run asks it nothing."""
    hot = Reply(text="", error="too hot", prompt_tokens=3, calls=2)
    llm = ScriptedLLM("ice", {"name": "Byrd"}, hot)
    asked = [Prompt(user="What?"), ASKED, Prompt(user="Why?", schema=SCHEMA)]
    first = recorded(llm, ledger).complete(asked)
    again = recorded(ScriptedLLM(), ledger).complete(asked)
    for replies in (first, again):
        assert [r.text for r in replies] == ["ice", '{"name": "Byrd"}', ""]
        assert [r.data for r in replies] == [None, {"name": "Byrd"}, None]
        assert [r.error for r in replies] == ["", "", "too hot"]
    assert [r.calls for r in first + again] == [1, 1, 2, 0, 0, 0]
    assert [r.recorded for r in first + again] == [0, 0, 0, 1, 1, 2]


def test_a_foreign_llm_keeps_data_and_budget(ledger):
    """It may build its data itself; its worst case has two calls, for it may repair by itself."""
    llm = ScriptedLLM(Reply(text="see data", data=GOOD))
    first = recorded(llm, ledger).complete([ASKED])
    assert first[0].data == recorded(ScriptedLLM(), ledger).complete([ASKED])[0].data == GOOD
    llm = ScriptedLLM(*[{"name": "Byrd"}] * 3)
    budget = Budget(tokens=10_000)
    recorded(llm, ledger, budget).complete([replace(ASKED, version="who-2")])
    assert budget.spent_tokens == 2 + 2
    with pytest.raises(BudgetSpent):
        recorded(llm, ledger, Budget(tokens=1_200)).complete([Prompt(user="?", schema=SCHEMA)])


def test_recording_twice_is_recording_once(ledger):
    """A conversation is given what it lacks, and asked no second time."""
    chat = ScriptedChat(lambda *_: "x")
    inner = recorded(chat, ledger)
    outer = recorded(inner, budget=Budget(tokens=1_000))
    assert (outer.chat, outer.ledger, outer.name) == (chat, ledger, "scripted")


def test_a_chat_is_used_by_as_many_threads_as_it_allows():
    """And by no more."""
    lock, now, most = threading.Lock(), 0, 0

    def answer(*_):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return "x"

    RecordedLLM(ScriptedChat(answer, concurrency=3)).complete(prompts(20))
    assert most == 3


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_thoughts_of_any_chat_are_left_out(ledger, schema):
    """Also of a reply that was recorded with them; it is not asked for again."""
    text = '<thought>{"name": "Amundsen [2]"}</thought>{"name": "Nobile"}'
    asked = replace(ASKED, schema=schema)
    chat = ScriptedChat(lambda *_: text)
    talk = RecordedLLM(chat, ledger=ledger)
    for n_calls in (1, 0):
        [reply] = talk.complete([asked])
        assert (reply.text, reply.calls) == ('{"name": "Nobile"}', n_calls)
        assert reply.data == (schema and GOOD)
    assert ledger.recall(Request(talk.name, asked)).text == text  # old ones stay as they are
