"""What a job spends with an LLM: never more than its key may, nor than it may itself."""

import json
import os
import signal
from dataclasses import replace

import pytest

from clew.errors import BudgetSpent
from clew.extras.server.jobs.process import JobBudget
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.keys import KeyOptions, Keys
from clew.extras.server.process_locks import ProcessLock
from clew.extras.server.spending import KeySpending
from clew.models.budget import Bill
from tests.extras.server.served import API, ended, long_text, until
from tests.models.faulty import Billing
from tests.models.server import serving

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")


def spent(home, key):
    with home.database() as database:
        alive = ProcessLock(home.settings.home)
        spending = KeySpending(database, alive)
        spending.settle_dead()
        total = spending.sum_of_key(key.id)["tokens"]
        alive.end()
        return total


def test_a_job_keeps_to_the_budget_of_its_key(jobs_home):
    """Killed in the middle and resumed, it ends where the budget does; what was bought is kept."""
    most = 60_000
    key, header = jobs_home.key("anna", scope="write", tokens=most)
    billing = Billing(seed=1, fault_share=0.0, pause_s=0.02)
    notes = {f"n{i}.md": long_text(i, 60) for i in range(24)}
    with serving() as endpoint:
        endpoint.respond = billing.respond
        specs = replace(jobs_home.settings.specs, llm=f"openai:m@{endpoint.url}")
        home = replace(jobs_home, headers=header)
        with home.client(specs=specs) as client:
            files = [("files", (name, text.encode())) for name, text in notes.items()]
            form = {"options": json.dumps({"triples": "llm", "units": 1.0})}
            job_id = client.post(f"{API}/indexes/notes/documents", files=files, data=form).json()[
                "id"
            ]
            until(lambda: len(billing.answered) > 2)
            os.kill(jobs_home.job(job_id).pid, signal.SIGKILL)
            job = ended(client, job_id)
    assert job["attempt"] == 2
    assert job["state"] == "failed"
    assert job["result"]["error"]["code"] == "budget_spent"
    assert "'anna' has a budget of 60,000 tokens in all" in job["result"]["error"]["message"]
    assert job["result"]["n_documents"] == len(notes)
    assert billing.billed <= spent(jobs_home, key) <= most
    assert billing.billed <= job["spent"]["tokens"] <= most
    assert len(billing.answered) > 5
    assert max(billing.answered.values()) <= 1 + 4  # none but those that were under way twice


def test_the_bounds_of_a_job_hold_over_its_processes(database, alive):
    """What one that died had set aside counts as spent for the next one."""
    queue, spending = JobQueue(database), KeySpending(database, alive)
    key, _ = Keys(database).add("anna", KeyOptions())
    run = {"folder": "/f", "specs": {}, "prices": None}
    job = queue.add("j", name="n", folder="/f", kind="index", key=key.id, options={}, run=run)
    budget = JobBudget(spending, key, queue, job, tokens=100, usd=None)
    budget.settle(budget.reserve(Bill(50)), Bill(20))
    budget.reserve(Bill(40))  # and then its process is killed
    again = JobBudget(spending, key, queue, queue.get("j"), tokens=100, usd=None)
    assert again.spent_tokens == 60
    held = again.reserve(Bill(40))
    again.release(held)
    assert queue.get("j").spent.tokens == 60
    with pytest.raises(BudgetSpent, match="leaves no room: 60 tokens are spent"):
        again.reserve(Bill(41))
