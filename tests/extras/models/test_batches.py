"""Extraction in batches: half the price, and nothing is paid for twice."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

import clew
from clew import Budget, Document, testing
from clew.cli import main
from clew.errors import EndpointError, InputError
from clew.index.store.embedded import EmbeddedStore
from clew.models.ledger import Ledger
from clew.progress import Progress
from tests.extras.models.batch_endpoint import BatchEndpoint, question, units
from tests.index.build import contents, scratch
from tests.index.store.deadly import fork
from tests.models.server import Answer

pytest.importorskip("httpx2")

from clew.extras.models import batches, http
from clew.extras.models.openai import OpenAIChat

SHIPS = [
    Document(
        id=f"ship{i}", text=f"The ship number {i} was built in Larvik. " * 20, title=f"Ship {i}"
    )
    for i in range(8)
]


class Naps:
    """Sleeps of no time; behind so many the endpoint has done its batches."""

    def __init__(self, endpoint, last=1):
        self.endpoint, self.left, self.seconds = endpoint, last, 0.0

    def __call__(self, seconds):
        self.seconds += seconds
        self.left -= 1
        self.endpoint.is_done |= self.left <= 0


@pytest.fixture
def endpoint(server):
    found = BatchEndpoint()
    server.respond = found.respond
    return found


@pytest.fixture
def folder():
    with scratch() as found:
        yield found / "index"


def chat_at(server, endpoint=None, **given):
    given = {"sleep": Naps(endpoint), "prices": {"m": (1.0, 2.0)}} | given
    return OpenAIChat(base_url=server.url, model="m", **given)


def add(folder, chat, documents=SHIPS, **given):
    with clew.open(folder, models=testing.models(llm=chat)) as index:
        return index.add(documents, **{"units": 1.0, "batch": True, **given})


def test_a_run_submits_and_the_next_one_collects(folder, server, endpoint):
    """Without `wait` nobody waits; the same call again takes what is there, and is done."""
    chat = chat_at(server, endpoint)
    first = add(folder, chat)
    [batch] = endpoint.batched()
    assert endpoint.direct.total() == 1
    assert first.extracted.batches == {
        "batches": 1, "requests": len(batch), "answered": 0, "failed": 0,
    }  # fmt: skip
    assert first.extracted.waiting["units"] == 7
    assert first.usage.llm_calls == 1
    assert first.usage.cost_usd == pytest.approx((100 * 1 + 20 * 2) / 1e6)
    again = add(folder, chat)
    assert again.extracted.batches["requests"] == len(batch)
    assert len(endpoint.batches) == 1
    endpoint.is_done = True
    last = add(folder, chat)
    assert last.extracted.llm["units"] == 7
    assert not last.extracted.waiting["units"]
    assert not last.extracted.batches["batches"]
    assert last.usage.llm_calls == len(batch)
    assert last.usage.cost_usd == pytest.approx(len(batch) * (100 * 1 + 20 * 2) / 2e6)
    assert not endpoint.paid_twice()
    assert add(folder, chat).usage.llm_calls == 0


def test_waiting_goes_on_to_the_end(folder, server, endpoint):
    """With `wait` one call does it all, and says what it waits for; nothing new is a batch then."""
    progress = Progress()
    added = add(folder, chat_at(server, endpoint), wait=True, progress=progress)
    assert added.extracted.llm["units"] == 8
    assert added.extracted.batches["batches"] == 0
    assert len(endpoint.batches) == 1
    add(folder, chat_at(server, endpoint))
    assert len(endpoint.batches) == 1


def test_the_index_is_that_of_direct_requests(folder, server, endpoint):
    """What a model replies counts, and not how it was asked."""
    add(folder, chat_at(server, endpoint), wait=True)
    other = folder.with_name("direct")
    add(other, chat_at(server, endpoint), batch=False)
    with EmbeddedStore.open(folder) as one, EmbeddedStore.open(other) as two:
        assert contents(one) == contents(two)


def test_what_depends_on_replies_is_a_further_batch(folder, server, endpoint):
    """A reply that is broken is repaired, in a batch of its own."""
    broken = set()

    def write(body):
        if question(body).startswith("That reply") or "number 5" not in question(body):
            return units(body)
        broken.add(question(body))
        return "there is nothing here"

    endpoint.write = write
    added = add(folder, chat_at(server, endpoint), wait=True)
    assert broken
    assert len(endpoint.batches) == 2
    assert added.extracted.llm["units"] == 8
    assert not endpoint.paid_twice()


# -- the budget -----------------------------------------------------------------------------------


def worst_of(server):
    """Return the tokens that the request about one ship may take, in the order of asking."""
    requests = {}
    with scratch() as folder:
        endpoint = BatchEndpoint()
        server.respond = endpoint.respond
        add(folder / "index", chat_at(server, endpoint))
        with EmbeddedStore.open(folder / "index") as store:
            for job in store.note("batches").values():
                requests = {key: about[2] for key, about in job["requests"].items()}
    return list(requests.values())


def test_never_is_more_submitted_than_the_budget_permits(folder, server):
    """The worst case of all that is under way is held; what comes back makes room for more."""
    first, second, *rest = worst_of(server)
    assert len(rest) > 2
    endpoint = BatchEndpoint()
    server.respond = endpoint.respond
    limit = first + second + 120 + rest[0] // 2  # and what the direct request takes
    done = add(folder, chat_at(server, endpoint), budget=Budget(tokens=limit))
    assert done.extracted.batches["requests"] == 2
    assert not done.extracted.stopped
    again = add(folder, chat_at(server, endpoint), budget=Budget(tokens=limit))
    assert again.extracted.batches["requests"] == 2  # which the budget of this run has to hold, too
    budget = Budget(tokens=limit)
    done = add(folder, chat_at(server, endpoint), budget=budget, wait=True)
    assert budget.spent_tokens <= limit
    assert not endpoint.paid_twice()


def test_the_budget_is_spent_at_half_the_price(folder, server):
    """Dollars are held and billed as a batch costs them, by the share of the price."""
    worst = worst_of(server)
    endpoint = BatchEndpoint()
    server.respond = endpoint.respond
    prices, budget = {"m": (1.0, 2.0, 0.25)}, Budget(usd=1.0)
    added = add(folder, chat_at(server, endpoint, prices=prices), budget=budget, wait=True)
    bill = (100 * 1 + 20 * 2) / 1e6
    assert added.usage.cost_usd == pytest.approx(bill + len(worst) * bill / 4)
    assert budget.spent_usd == pytest.approx(added.usage.cost_usd, rel=0.5)


def test_without_room_nothing_is_submitted(folder, server, endpoint):
    """The run ends as any that has spent its budget."""
    done = add(folder, chat_at(server, endpoint), budget=Budget(tokens=50), wait=True)
    assert "the budget of 50 tokens leaves no room" in done.extracted.stopped
    assert not endpoint.batches
    assert not endpoint.files


# -- what fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["expired", 500])
def test_what_got_no_reply_is_asked_again(folder, server, endpoint, fault, caplog):
    """Some expire, or fail: the others are kept, and these are in the next batch."""
    endpoint.faults, endpoint.ended = {"number 5": fault, "number 6": fault}, "expired"
    chat = chat_at(server, endpoint)
    add(folder, chat)
    endpoint.is_done = True
    part = add(folder, chat)
    assert part.extracted.batches["failed"] == 2
    assert part.extracted.batches["requests"] == 1  # as a run asks its first one directly
    assert part.extracted.waiting["units"] == 1
    assert "submitted again" in caplog.text
    assert {"expired": "too late", 500: "HTTP 500, no: 500"}[fault] in caplog.text
    endpoint.faults = {}
    assert not add(folder, chat).extracted.waiting["units"]
    assert not endpoint.paid_twice()


def test_what_remains_is_asked_directly_without_batch(folder, server, endpoint):
    """Once no batch is under way; before, that would pay for the same requests twice."""
    chat = chat_at(server, endpoint)
    add(folder, chat)
    with pytest.raises(InputError, match=r"in batches that are paid for.*--batch --wait"):
        add(folder, chat, batch=False)
    endpoint.is_done, endpoint.faults = True, {"number 5": "expired", "number 6": "expired"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches.Batches, "_submit", lambda _: None)
        assert add(folder, chat).extracted.waiting["units"] == 1
    done = add(folder, chat, batch=False)
    assert done.usage.llm_calls == 1
    assert not done.extracted.waiting["units"]


def test_a_refused_request_falls_back(folder, server, endpoint):
    """As if it had been refused directly; it is not asked again."""
    endpoint.faults = {"number 5": 400}
    added = add(folder, chat_at(server, endpoint), wait=True)
    assert added.extracted.fallback["units"] >= 1
    assert not added.extracted.waiting["units"]
    assert len(endpoint.batches) == 1


def test_a_batch_without_a_reply_ends_the_run(folder, server, endpoint):
    """It says why in one sentence; the same call submits its requests again."""
    endpoint.faults, endpoint.ended = {"ship": "expired"}, "failed"
    endpoint.errors = {"data": [{"code": "token_limit_exceeded", "message": "too many tokens"}]}
    with pytest.raises(EndpointError, match=r"batch-0 got no reply.*too late.*without --batch"):
        add(folder, chat_at(server, endpoint), wait=True)
    endpoint.faults, endpoint.ended, endpoint.errors = {}, "completed", None
    assert not add(folder, chat_at(server, endpoint), wait=True).extracted.waiting["units"]


def test_a_batch_that_is_gone_is_given_up_by_retry(folder, server, endpoint):
    """With another key it may only seem so: then nothing is paid for again unasked."""
    chat = chat_at(server, endpoint)
    add(folder, chat)
    endpoint.batches.clear()
    with pytest.raises(EndpointError, match="batch-0 answered HTTP 404"):
        add(folder, chat)
    assert not endpoint.batches
    assert not add(folder, chat, again=True, wait=True).extracted.waiting["units"]


def test_an_endpoint_without_batches(folder, server, endpoint):
    """One sentence; nothing waits for a batch that never was."""
    endpoint.refused = ("files",)
    with pytest.raises(EndpointError, match=r"takes no batches \(HTTP 404\). Hint: leave --batch"):
        add(folder, chat_at(server, endpoint))
    assert not add(folder, chat_at(server, endpoint), batch=False).extracted.waiting["units"]


def test_what_has_no_batches(folder):
    """A model in this process, none at all, or nothing to wait for."""
    llm = testing.ScriptedLLM({"1": []})
    with clew.open(folder, models=testing.models(llm=llm)) as index:
        with pytest.raises(InputError, match="needs an LLM behind an endpoint"):
            index.add(SHIPS, units=1.0, batch=True)
        with pytest.raises(InputError, match="only batches are waited for"):
            index.add(SHIPS, wait=True)


def test_what_the_endpoint_lacks_is_known_before_a_batch(folder, server, endpoint):
    """The direct request finds out that this model calls its limit otherwise."""

    def refuse_limit(request):
        if request.path.endswith("completions") and "max_tokens" in request.json:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return Answer({"error": {"message": message}}, 400)
        return endpoint.respond(request)

    server.respond = refuse_limit
    add(folder, chat_at(server, endpoint))
    [batch] = endpoint.batched()
    assert all("max_completion_tokens" in body and "max_tokens" not in body for body in batch)


def test_files_have_the_limits_of_the_provider(folder, server, endpoint, monkeypatch):
    """More requests or bytes than a file may have are several batches."""
    monkeypatch.setattr(batches, "_FILE_BYTES", 3 * batches._LEAST_BYTES)  # noqa: SLF001
    added = add(folder, chat_at(server, endpoint))
    sizes = [len(each) for each in endpoint.batched()]
    assert sizes[0] == 3
    assert len(sizes) == added.extracted.batches["batches"] > 1


# -- kills ----------------------------------------------------------------------------------------


def _run(url, folder, at):
    """Extract with `wait` in a process that dies at one of its steps; return its status."""
    child = fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = at

    def deadly(real):
        def call(*given, **named):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            found = real(*given, **named)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    for place, name in (
        (http.Endpoint, "_send"),
        (Ledger, "record"),
        (Ledger, "keep"),
        (EmbeddedStore, "set_note"),
        (EmbeddedStore, "commit"),
    ):
        setattr(place, name, deadly(getattr(place, name)))
    try:
        chat = OpenAIChat(base_url=url, model="m", sleep=lambda _: None)
        add(Path(folder), chat, wait=True)
    except BaseException:  # noqa: BLE001 -- nothing may go on in the copy of this process
        os._exit(1)
    os._exit(0)


@pytest.mark.satellite
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_every_step(server, stride):
    """Whichever request or write of a run is its last one, the next pays for nothing again."""
    status, at, expected = -signal.SIGKILL, 0, None
    with scratch() as scratched:
        while status == -signal.SIGKILL:
            at += stride
            endpoint = BatchEndpoint(faults={"number 3": 400}, is_done=True)
            server.respond = endpoint.respond
            folder = scratched / "index"
            status = _run(server.url, folder, at)
            assert status in {0, -signal.SIGKILL}
            assert not _run(server.url, folder, 0)
            assert not endpoint.paid_twice(), at
            assert endpoint.direct.total() <= 3, at  # that of each run, and one that it was at
            with EmbeddedStore.open(folder) as store:
                found = contents(store)
                assert not store.note("batches")
            expected = expected or found
            assert found == expected, at
            shutil.rmtree(folder)
    assert at > 25


def test_a_created_batch_is_found_among_others(folder, server, endpoint):
    """A run that was killed before it knew the batch's id; the list has several pages."""
    chat = chat_at(server, sleep=Naps(endpoint, last=9))
    with pytest.MonkeyPatch.context() as patch:

        def die(*_):
            raise KeyboardInterrupt

        patch.setattr(
            batches,
            "_read",
            lambda reply, name: reply[name] if name == "id" and "endpoint" not in reply else die(),
        )
        with pytest.raises(KeyboardInterrupt):
            add(folder, chat)
    [ours] = endpoint.batches
    for i in range(5):
        endpoint.batches[f"batch-other{i}"] = {"id": f"batch-other{i}", "metadata": None}
    again = add(folder, chat)
    assert again.extracted.batches["batches"] == 1
    assert len(endpoint.files) == 1
    assert ours == "batch-0"
    assert chat.sleep.seconds > 5  # until the list has what was created when the run was killed


# -- the command line -----------------------------------------------------------------------------


def test_the_command_says_how_to_go_on(tmp_path, server, endpoint, monkeypatch):
    """A line for what is under way; a plan has half the price."""
    monkeypatch.setattr(batches.time, "sleep", Naps(endpoint))
    for ship in SHIPS:
        (tmp_path / f"{ship.id}.txt").write_text(ship.text)
    paid = ["--llm", f"openai:m@{server.url}", "--price", "m=1000,1000"]
    into = ["--into", str(tmp_path / "my.clew"), "--exclude", "my.clew"]
    costs = []
    for more in ([], ["--batch"]):
        planned = CliRunner().invoke(
            main, ["plan", str(tmp_path), *into, *paid, *more, "--json"], catch_exceptions=False
        )
        plan = json.loads(planned.stdout)
        costs.append(plan["estimates"][0]["cost_usd"])
    assert plan["batch"]
    assert costs[1] == pytest.approx(costs[0] / 2)
    command = ["index", str(tmp_path), *into, *paid, "--units", "1", "--batch"]
    told = CliRunner().invoke(main, command, catch_exceptions=False)
    assert told.exit_code == 0
    assert "7 requests in batches, 0 answered: the same command again collects" in told.stdout
    told = CliRunner().invoke(main, [*command, "--wait"], catch_exceptions=False)
    assert told.exit_code == 0
    assert "in batches" not in told.stdout
    assert "chunks by the LLM" in told.stdout
