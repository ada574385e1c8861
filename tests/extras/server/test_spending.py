"""Budgets of keys: never exceeded, by threads, processes or kills."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.errors import BudgetSpent
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.server.spending import KeySpending
from clew.models.budget import Bill, Purchase


@pytest.fixture
def spending(database, alive):
    return KeySpending(database, alive)


def bought(spending, key, tokens, worst=100):
    """Buy something that costs so many tokens and may cost up to `worst`."""
    budget = spending.make_budget(key, tokens=None, usd=None)
    with Purchase(budget, Bill(worst, worst / 1e3)) as one:
        one.settle(Bill(tokens, tokens / 1e3))


def test_what_was_spent_is_kept(database, spending):
    key, _ = Keys(database).add("anna", KeyOptions())
    bought(spending, key, 40)
    bought(spending, key, 2)
    bought(spending, None, 7)
    assert spending.sum_of_key(key.id)["tokens"] == 42
    assert spending.sum_of_key(key.id)["usd_today"] == pytest.approx(0.042)
    by_day = [(row["key"], row["tokens"]) for row in spending.list_by_day()]
    assert by_day == [("", 7), (key.id, 42)]


@pytest.mark.parametrize(
    "bound", [{"tokens": 250}, {"tokens_per_day": 250}, {"usd": 0.25}, {"usd_per_day": 0.25}]
)
def test_no_bound_is_exceeded(database, spending, bound):
    """Worst cases of 100 go in as long as there is room for one more."""
    key, _ = Keys(database).add("anna", KeyOptions(**bound))
    for _ in range(2):
        bought(spending, key, 60)
    bought(spending, key, 60)  # 120 are spent, and 100 have room
    with pytest.raises(BudgetSpent, match="'anna' has a budget of"):
        bought(spending, key, 1)
    assert spending.sum_of_key(key.id)["tokens"] == 180


def test_a_price_must_be_known_where_dollars_are_bounded(database, spending):
    key, _ = Keys(database).add("anna", KeyOptions(usd=1.0))
    budget = spending.make_budget(key, tokens=None, usd=None)
    with pytest.raises(BudgetSpent, match="the price of this model is not known"):
        budget.reserve(Bill(10, 0.0, priced=False))


def test_threads_together_keep_the_bound(database, spending):
    """However many ask at once, and whatever others have set aside."""
    key, _ = Keys(database).add("anna", KeyOptions(tokens=1_000))

    def buy(i):
        budget = spending.make_budget(key, tokens=None, usd=None)
        try:
            one = budget.reserve(Bill(90, 0.0))
        except BudgetSpent:
            return 0
        budget.settle(one, Bill(30 + i % 5, 0.0))
        return 30 + i % 5

    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(buy, range(60)))
    assert spending.sum_of_key(key.id)["tokens"] == total
    assert 1_000 - 90 < total <= 1_000
    assert not database.read_rows("SELECT * FROM held")


def test_a_bound_of_the_request_holds_too(database, spending):
    key, _ = Keys(database).add("anna", KeyOptions(tokens=1_000))
    budget = spending.make_budget(key, tokens=50, usd=None)
    with pytest.raises(BudgetSpent):
        budget.reserve(Bill(60))
    assert not database.read_rows("SELECT * FROM held")


_KILLED = """
import os, signal, sys
from pathlib import Path
from clew.models.budget import Bill
from clew.extras.server.process_locks import ProcessLock
from clew.extras.server.database import ServerDatabase
from clew.extras.server.keys import Keys
from clew.extras.server.spending import KeySpending
home = Path(sys.argv[1])
database = ServerDatabase(home)
[key] = Keys(database).list_keys()
budget = KeySpending(database, ProcessLock(home)).make_budget(key, tokens=None, usd=None)
budget.reserve(Bill(70, 0.0))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_had_set_aside_is_spent(database, spending):
    """Nobody knows whether it was billed; and nobody waits for it."""
    key, _ = Keys(database).add("anna", KeyOptions(tokens=100))
    subprocess.run([sys.executable, "-c", _KILLED, str(database.home)], check=False)
    assert len(database.read_rows("SELECT * FROM held")) == 1
    with pytest.raises(BudgetSpent):  # which sweeps while it waits
        bought(spending, key, 10, worst=50)
    assert spending.sum_of_key(key.id)["tokens"] == 70
    assert not database.read_rows("SELECT * FROM held")
    bought(spending, key, 10, worst=30)
