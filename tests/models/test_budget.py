"""No run buys more than it was allowed, whatever fails and however many threads buy."""

import gc
import random
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.errors import BadReply, BudgetSpent, EndpointError, InputError, ModelError
from clew.models import Prompt, PromptRefused, Stopped, Turn
from clew.models.bound import bind_models
from clew.models.budget import Bill, Budget, Purchase, bill
from clew.models.ledger import Ledger
from clew.models.recorded_llm import RecordedLLM
from clew.models.run import Meter, ModelRun
from clew.testing import ScriptedChat, models
from tests.models.faulty import SCHEMA, Billing
from tests.models.server import serving

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")

from tests.trials import trials

TEN = Bill(10)


def kept(**bounds):
    """Return a budget of which one bill has come, and was within its worst case."""
    budget = Budget(**bounds)
    budget.settle(budget.reserve(Bill()), Bill())
    return budget


def test_what_fits_is_set_aside_and_what_is_billed_is_spent():
    """Settling frees the rest of the worst case; losing keeps it; releasing frees all."""
    budget = kept(tokens=30)
    first, second, third = (budget.reserve(TEN) for _ in range(3))
    budget.settle(first, Bill(4))
    budget.lose(second)
    budget.release(third)
    assert (budget.spent_tokens, budget.lost_tokens) == (14, 10)
    with pytest.raises(BudgetSpent, match="14 tokens are spent, 10 tokens of them as .* without"):
        budget.reserve(Bill(17))
    budget.reserve(Bill(16))


def test_one_that_does_not_fit_waits_for_the_others():
    """Most replies cost far less than their worst case, so waiting mostly helps."""
    budget = kept(tokens=15)
    first = budget.reserve(TEN)
    threading.Timer(0.1, budget.settle, (first, Bill(2))).start()
    began = time.monotonic()
    budget.reserve(TEN)
    assert time.monotonic() - began > 0.05


def test_one_that_waits_leaves_when_the_batch_has_ended():
    """Nobody waits for room in a batch that has failed."""
    budget, stop = kept(tokens=15), threading.Event()
    budget.reserve(TEN)
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(Stopped):
        budget.reserve(TEN, stop)


def test_of_waiting_ones_the_smaller_may_still_fit():
    """When nothing is under way any more, only what cannot fit is refused."""
    budget = kept(tokens=20)
    first = budget.reserve(TEN)
    ends = []

    def need(tokens):
        try:
            budget.settle(budget.reserve(Bill(tokens)), Bill(tokens))
            ends.append(tokens)
        except BudgetSpent:
            ends.append(-tokens)

    threads = [threading.Thread(target=need, args=(n,)) for n in (11, 15)]
    for thread in threads:
        thread.start()
    budget.settle(first, Bill(8))
    for thread in threads:
        thread.join()
    assert sorted(ends) == [-15, 11]


def test_the_first_request_is_sent_alone():
    """Whether bills keep within what was asked for is known when one has come."""
    budget, sent = Budget(tokens=1000), threading.Event()
    first = budget.reserve(TEN)
    threading.Thread(target=lambda: (budget.reserve(TEN), sent.set())).start()
    assert not sent.wait(0.2)
    budget.settle(first, Bill(4))
    assert sent.wait(60)


def test_a_bill_above_its_worst_case_ends_all_that_come():
    """Also those that wait, and however much room there is; without bounds nothing is broken."""
    budget, ends = kept(tokens=1000), []

    def wait():
        try:
            budget.reserve(Bill(995))
        except BudgetSpent as error:
            ends.append(str(error))

    first = budget.reserve(TEN)
    waiting = threading.Thread(target=wait)
    waiting.start()
    budget.settle(first, Bill(30))
    waiting.join()
    assert budget.spent_tokens == 30
    with pytest.raises(
        BudgetSpent, match="took 30 tokens, more than the 10 tokens that it was limited to"
    ):
        budget.reserve(Bill(1))
    assert ends == [budget.refused]
    free = Budget()
    free.settle(free.reserve(TEN), Bill(30))
    free.reserve(TEN)


def test_money_is_counted():
    """A price above the one that was known breaks a budget; a sum is known where all prices are."""
    budget = Budget(usd=5.0)
    budget.settle(budget.reserve(Bill(10, 0.3)), Bill(10, 0.1 + 0.2))
    budget.settle(budget.reserve(Bill(10, 0.3)), Bill(10, 0.4))
    with pytest.raises(BudgetSpent, match=r"\$0.4000"):
        budget.reserve(TEN)
    budget = Budget()
    budget.settle(budget.reserve(TEN), bill(1_000, 500, (2.0, 8.0)))
    assert (budget.spent_tokens, budget.spent_usd) == (1_500, pytest.approx(0.006))
    budget.settle(budget.reserve(TEN), bill(1, 1, None))
    assert budget.spent_usd is None


@pytest.mark.parametrize("bounds", [{"tokens": -1}, {"usd": -0.1}, {"usd": float("nan")}])
def test_a_bound_below_zero_is_refused(bounds):
    """It is a mistake, not a budget that is spent."""
    with pytest.raises(InputError):
        Budget(**bounds)


def test_a_lost_attempt_is_paid_for_before_the_next():
    """A second attempt needs room of its own; where none follows nothing is set aside."""
    budget = Budget(tokens=25)
    with Purchase(budget, TEN) as purchase:
        purchase.set_aside_again(True)
        with pytest.raises(BudgetSpent):
            purchase.set_aside_again(True)
    assert budget.spent_tokens == budget.lost_tokens == 20
    budget.release(budget.reserve(Bill(5)))  # nothing is left set aside
    budget = Budget(tokens=10)
    with Purchase(budget, TEN) as purchase:
        purchase.set_aside_again(False)
    assert (budget.spent_tokens, budget.lost_tokens) == (10, 10)


class Moody:
    """Says by a seed a good reply, a bad one, or an error; now and then a reply without a bill."""

    def __init__(self, seed):
        self._seed = seed
        self._lock, self._n = threading.Lock(), 0

    def __call__(self, prompt, turns):
        with self._lock:
            self._n += 1
            dice = random.Random(f"{self._seed} {prompt.user} {len(turns)} {self._n}")  # noqa: S311
        time.sleep(dice.random() / 1_000)
        if dice.random() < 0.1:
            return dice.choice([EndpointError("gone"), BadReply("?"), PromptRefused("no")])
        text = dice.choice(['{"echo": "x"}', "Nobile, I think", ""])
        billed = (90, dice.randint(8, 9)) if dice.random() < 0.9 else ()
        return Turn(text, "" if text else "the reply is empty", *billed)


@given(
    seed=st.integers(0, 2**32),
    bounds=st.lists(st.integers(100, 1_500), min_size=1, max_size=4),
    concurrency=st.integers(1, 6),
    kept=st.booleans(),
)
@settings(suppress_health_check=list(HealthCheck))
def test_usage_is_what_was_billed(tmp_path_factory, seed, bounds, concurrency, kept):
    """A run that ends anywhere, even in the middle of a repair, reports all that it paid."""
    ledger = Ledger(tmp_path_factory.mktemp("usage") / "ledger.sqlite") if kept else None
    chat = ScriptedChat(Moody(seed), concurrency=concurrency, price=(1.0, 1.0))
    chat.count_tokens = lambda *_: 90
    asked = [Prompt(user=f"{i}", schema=SCHEMA, max_tokens=9) for i in range(12)]
    for bound in bounds:
        budget, meter = Budget(tokens=bound), Meter()
        llm = bind_models(
            models(llm=RecordedLLM(chat, ledger=ledger, budget=budget)), ModelRun(meter=meter)
        ).llm
        with suppress(BudgetSpent, ModelError):
            llm.complete(asked)
        usage = meter.usage
        assert usage.total_tokens == budget.spent_tokens - budget.lost_tokens
        assert budget.spent_tokens <= bound
        if usage.cost_usd is not None:
            assert usage.cost_usd == pytest.approx(usage.total_tokens / 1e6)


# Against an endpoint that bills and fails

WORST = 1_500  # tokens: no exchange of these prompts can take more


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server
        gc.collect()  # connections close with their endpoint


def chat_at(server, concurrency):
    from clew.models import OpenAIChat

    return OpenAIChat(
        base_url=server.url,
        model="m",
        concurrency=concurrency,
        sleep=lambda _: None,
        timeout_s=30.0,
        prices={"m": (1.0, 4.0)},
    )


runs = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "sizes": st.lists(st.tuples(st.integers(1, 200), st.integers(12, 60)), max_size=14),
        "budgets": st.lists(st.integers(WORST, 6 * WORST), min_size=1, max_size=4),
        "concurrency": st.integers(1, 6),
        "fault_share": st.sampled_from([0.0, 0.3, 0.7]),
    }
)
NO_TIME_OUT = ("busy", "broken", "hung up", "no JSON", "cut short")


def keep_within(server, folder, run):
    """Run again with further budgets until all is done; no run may exceed its own."""
    asked = [
        Prompt(user=f"{i} " + "é" * (n // 2), schema=SCHEMA, max_tokens=most)
        for i, (n, most) in enumerate(run["sizes"])
    ]
    billing = Billing(run["seed"], run["fault_share"], NO_TIME_OUT)
    server.respond = billing.respond
    ledger = Ledger(folder / "ledger.sqlite")
    for number in range(300):
        budget = Budget(tokens=run["budgets"][number % len(run["budgets"])])
        before = billing.billed
        meter = Meter()
        llm = RecordedLLM(chat_at(server, run["concurrency"]), ledger=ledger, budget=budget)
        try:
            replies = bind_models(models(llm=llm), ModelRun(meter=meter)).llm.complete(asked)
        except BudgetSpent:
            replies = None
        usage, spent = meter.usage, billing.billed - before
        assert usage.total_tokens == budget.spent_tokens - budget.lost_tokens
        assert spent <= budget.spent_tokens <= budget.tokens
        assert budget.spent_tokens - budget.lost_tokens <= spent
        if replies is not None:
            break
    assert set(billing.answered.values()) <= {1}  # no recorded reply was asked for again
    billing = Billing(run["seed"], 0.0)
    server.respond = billing.respond
    reference = chat_at(server, 1).complete(asked)
    assert [(r.text, r.data, r.error) for r in replies] == [
        (r.text, r.data, r.error) for r in reference
    ]


@pytest.mark.satellite
@trials(12, 400, suppress_health_check=list(HealthCheck))
@given(run=runs)
def test_no_run_exceeds_its_budget_and_further_ones_finish(server, tmp_path_factory, run):
    """Whatever the budgets, sizes, threads and faults; what was paid is paid once."""
    keep_within(server, tmp_path_factory.mktemp("budget"), run)


@pytest.mark.satellite
@given(st.floats(0, 0.02), st.integers(1, 5), st.integers(0, 2**32))
@settings(max_examples=15)
def test_no_run_exceeds_its_dollars(server, usd, concurrency, seed):
    """The same bound in money: here a prompt's token costs one millionth, a reply's four."""
    billing = Billing(seed, 0.0)
    server.respond = billing.respond
    budget = Budget(usd=usd)
    llm = RecordedLLM(chat_at(server, concurrency), budget=budget)
    asked = [Prompt(user=f"{i} {'x' * i}", max_tokens=50) for i in range(20)]
    with suppress(BudgetSpent):
        llm.complete(asked)
    assert billing.billed / 1e6 <= budget.spent_usd <= usd


@pytest.mark.satellite
def test_an_attempt_without_an_answer_is_charged(server):
    """A time-out and a hang-up may be billed, a refusal and an overload are not."""
    from clew.models import OpenAIChat

    billing = Billing(0, 1.0, ("slow",), slow_s=0.5)
    server.respond = billing.respond
    budget = Budget(tokens=100_000)
    chat = OpenAIChat(base_url=server.url, model="m", timeout_s=0.1, sleep=lambda _: None)
    [reply] = RecordedLLM(chat, budget=budget).complete([Prompt(user="Who?", max_tokens=9)])
    worst = len("Who?") + 64 + 9
    assert reply.calls == 1
    assert budget.lost_tokens >= 3 * worst
    assert budget.spent_tokens >= billing.billed


def test_a_batch_counts_with_its_worst_case_until_its_bill_is_known():
    """Nobody waits for it: what does not fit beside it is refused at once."""
    budget, worst = Budget(tokens=100), Bill(80, 0.0, False)
    budget.correct(Bill(), worst)
    assert budget.spent_tokens == 80
    with pytest.raises(BudgetSpent, match="80 tokens are spent"):
        budget.reserve(Bill(30))
    budget.correct(worst, Bill(20))
    assert budget.spent_tokens == 20
    budget.release(budget.reserve(Bill(80)))
