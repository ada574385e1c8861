"""Ask a model in batches: its endpoint takes files of requests, and replies within a day for less.

An extraction runs as always, with an LLM that puts aside every request without a recorded reply.
These are submitted; once their replies are in the ledger the extraction runs again, commits what is
complete, and puts aside what depends on it, such as repairs and gleanings. So nothing else knows of
batches. The first request of a run is sent directly: it shows what the endpoint takes, which a
batch would show a day later.

A note of the index has each batch from before its upload until its replies are used, and the batch
has our name in its metadata. Where a run was killed before the note had the batch's id, the next
one looks for that name in the endpoint's list, so no request is submitted twice.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.algo.pool import group_by_size
from clew.errors import BadReply, EndpointError
from clew.extras.models.refusals import Refused
from clew.models import LLM, Prompt, PromptRefused, Reply, Turn
from clew.models.budget import Bill, Budget, bill
from clew.models.ledger import Ledger, Request
from clew.models.prices import batch_share
from clew.models.recorded_llm import BATCHES

if TYPE_CHECKING:
    from clew.extras.models.http import Endpoint
    from clew.extras.models.openai import OpenAIChat
    from clew.models.recorded_llm import RecordedLLM
    from clew.models.run import Meter
    from clew.progress import Progress

_log = logging.getLogger(__name__)

# OpenAI takes 200 MB and 50,000 requests in a file; so many bytes each has at least.
_FILE_BYTES, _LEAST_BYTES, _RESULT_BYTES = 199_000_000, 4_000, 1 << 31
_PATH = "/v1/chat/completions"
_NAME = "clew_batch"  # of a batch's metadata
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_NO_BATCHES, _UNKNOWN = frozenset({404, 405, 501}), 404
_OF_THE_PROMPT = frozenset({400, 413, 422})  # what asking again would not change
_POLL_S, _LISTED_S = 60.0, 10.0  # between two looks; until the list has a batch
_SHOWN = 200  # characters of a server's message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A batch that is, or may have been, submitted."""

    name: str
    model: str  # the chat's name
    created: float
    # By key in hexadecimal: the prompt's version, earlier turns, tokens and dollars at most.
    requests: Mapping[str, tuple[str, int, int, float]]
    id: str = ""  # empty until the endpoint's reply is recorded

    @property
    def worst(self) -> Bill:
        return sum((Bill(tokens, usd) for _, _, tokens, usd in self.requests.values()), Bill())


@dataclass(kw_only=True)
class Batches:
    """The batches of one extraction."""

    chat: OpenAIChat
    llm: RecordedLLM
    store: Any  # of the index, which has notes
    ledger: Ledger
    meter: Meter
    budget: Budget
    again: bool  # ask again where a reply was of no use, or a batch is gone
    _jobs: dict[str, _Job] = field(default_factory=dict)  # under way
    _used: list[str] = field(default_factory=list)  # jobs whose replies are recorded
    _new: dict[str, tuple[bytes, tuple[str, int, int, float]]] = field(default_factory=dict)
    _worst: Bill = field(default_factory=Bill)  # of the new requests
    _refused: dict[str, str] = field(default_factory=dict)  # requests by key, and why
    _failed: int = 0  # requests of ended batches
    _answered: int = 0  # of batches under way
    _problem: str = ""  # of a batch that brought nothing
    _is_probed: bool = False
    _endpoints: dict[tuple[str, str], Endpoint] = field(default_factory=dict)

    def extract(
        self, extract: Callable[[LLM, bool], Any], progress: Progress, *, wait: bool
    ) -> Any:  # noqa: ANN401 -- an `ExtractionReport`
        """Collect what has ended, extract with it, and submit what is missing.

        With `wait`, until nothing is under way. `extract` is called with the LLM, and whether to
        ask `again`. Raises EndpointError after a batch without a reply.
        """
        done, llm = None, replace(self.llm, chat=self.chat, defer=self.defer)
        self._recover()
        while True:
            self._collect()
            part = extract(llm, self.again)
            self.again = False
            for name in self._used:  # refusals are known until here
                self._keep(name, None)
            self._used.clear()
            if self._problem:
                raise EndpointError(self._problem)
            self._submit()
            part.stopped = "" if self._jobs else part.stopped
            if done is not None:
                part.add(replace(done, waiting={}))
            n = sum(len(job.requests) for job in self._jobs.values())
            counts = {"batches": len(self._jobs), "requests": n, "answered": self._answered}
            done, part.batches = part, {**counts, "failed": self._failed}
            if not (wait and self._jobs):
                return done
            progress.stage = f"waiting for {n - self._answered:,} of {n:,} replies"
            (self.chat.sleep or time.sleep)(_POLL_S)

    def defer(self, request: Request, worst: Bill) -> bool:
        """Put a request aside, unless it is under way, or the first one that is new.

        Raises BudgetSpent, and PromptRefused if a batch showed that it is refused.
        """
        key = request.key().hex()
        if key in self._refused:
            error = PromptRefused(f"the endpoint refuses what a batch asked: {self._refused[key]}")
            error.brief = self._refused[key]
            raise error
        if key in self._new or any(key in job.requests for job in self._jobs.values()):
            return True
        if not self._is_probed:
            self._is_probed = True
            return False
        worst = replace(worst, usd=worst.usd * batch_share(self.llm.price))
        self.budget.release(self.budget.reserve(self._worst + worst))
        self._worst += worst
        body = self.chat.request_body(request.prompt, request.turns)
        line = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
        content = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        about = (request.prompt.version, len(request.turns), worst.tokens, worst.usd)
        self._new[key] = content, about
        return True

    # -- submitting ---------------------------------------------------------------------------

    def _submit(self) -> None:
        sizes = {key: max(len(content), _LEAST_BYTES) for key, (content, _) in self._new.items()}
        for keys in group_by_size(sizes, sizes.__getitem__, _FILE_BYTES):
            self._create(keys)
        self._new.clear()
        self._worst = Bill()

    def _create(self, keys: Sequence[str]) -> None:
        """Submit a batch, with a note of it before anything is sent."""
        name = f"clew-{time.time():.6f}-{secrets.token_hex(4)}"
        requests = {key: self._new[key][1] for key in keys}
        job = _Job(name=name, model=self.llm.name, created=time.time(), requests=requests)
        self._keep(name, job)
        endpoint = self._endpoint_at("batches")
        try:
            content = b"".join(self._new[key][0] for key in keys)
            body = {
                "input_file_id": _read(
                    self._endpoint_at("files").upload(f"{name}.jsonl", content), "id"
                ),
                "endpoint": _PATH,
                "completion_window": "24h",
                "metadata": {_NAME: name},
            }
            made = replace(endpoint, attempts=1).post(body)  # else it might be made twice
        except Refused as refusal:
            self._keep(name, None)
            if refusal.status not in _NO_BATCHES:
                raise
            raise EndpointError(
                f"{endpoint.shown_address} takes no batches (HTTP {refusal.status})."
                f" Hint: leave --batch out"
            ) from refusal
        self._keep(name, replace(job, id=_read(made, "id")))

    def _keep(self, name: str, job: _Job | None) -> None:
        """Record a batch in the note of the index, or remove it from there."""
        noted = dict(self.store.note(BATCHES))
        noted.pop(name, None)
        self.store.set_note(BATCHES, noted if job is None else {**noted, name: asdict(job)})
        if job is not None and job.id:
            self._jobs[name] = job
            self.budget.correct(Bill(), job.worst)

    # -- collecting ---------------------------------------------------------------------------

    def _recover(self) -> None:
        """Read which batches are under way, and find those that were created before a kill."""
        for job in [_Job(**value) for value in self.store.note(BATCHES).values()]:
            if job.model == self.llm.name:
                found = job.id or self._find(job)
                self._keep(job.name, replace(job, id=found) if found else None)

    def _find(self, job: _Job) -> str:
        """Return the id of the batch with a job's name, empty if none was created."""
        age_s = max(time.time() - job.created, 0.0)
        (self.chat.sleep or time.sleep)(max(_LISTED_S - age_s, 0.0))
        query = "limit=100"
        while True:
            page = self._endpoint_at("batches", query).get()
            batches = _read(page, "data")
            for each in batches:
                if (each.get("metadata") or {}).get(_NAME) == job.name:
                    return str(each["id"])
            if not batches or not page.get("has_more"):
                return ""
            query = f"limit=100&after={batches[-1]['id']}"

    def _collect(self) -> None:
        """Record the replies of the batches that have ended."""
        self._answered = 0
        for job in list(self._jobs.values()):
            try:
                batch = self._endpoint_at(f"batches/{job.id}").get()
            except Refused as refusal:
                if not self.again or refusal.status != _UNKNOWN:
                    raise
                self._end(job, Bill())
                continue
            if str(_read(batch, "status")).lower() in _ENDED:
                self._record(job, batch)
            else:
                self._answered += (batch.get("request_counts") or {}).get("completed") or 0

    def _record(self, job: _Job, batch: Mapping[str, Any]) -> None:
        """Record the replies of an ended batch; what has none is asked for again."""
        billed, left = Bill(), dict(job.requests)
        why = _describe((batch.get("errors") or {}).get("data")) or f"it is {batch['status']}"
        for key, turn, fault in self._read_results(batch):
            if turn is not None and key in left:
                billed += self._record_turn(key, job.model, turn, left.pop(key))
            why = fault or why
        self._end(job, billed)
        n = len(left.keys() - self._refused.keys())
        self._failed += n
        said = f"{n:,} of {len(job.requests):,} requests of the batch {job.id} got no reply ({why})"
        if n == len(job.requests):
            self._problem = f"{said}. Hint: run the same command again, or without --batch"
        elif n:
            _log.warning("%s, and are submitted again", said)

    def _end(self, job: _Job, billed: Bill) -> None:
        self.budget.correct(job.worst, billed)
        del self._jobs[job.name]
        self._used.append(job.name)

    def _read_results(self, batch: Mapping[str, Any]) -> Iterator[tuple[str, Turn | None, str]]:
        """Yield the key of each request, and its reply or why there is none."""
        files = filter(None, (batch.get("output_file_id"), batch.get("error_file_id")))
        for at in [self._endpoint_at(f"files/{file}/content") for file in files]:
            for line in at.get(most_bytes=_RESULT_BYTES, is_plain=True).splitlines():
                try:
                    result = json.loads(line)
                    key, response = str(result["custom_id"]), result.get("response") or {}
                    status, body = response.get("status_code"), response.get("body")
                    if status == 200 and not result.get("error"):
                        yield key, self.chat.read_reply(body), ""
                        continue
                    fault = _describe(result.get("error")) or _describe(body)
                except (AttributeError, BadReply, KeyError, TypeError, ValueError):
                    yield "", None, "a result that cannot be read"
                    continue
                if status in _OF_THE_PROMPT:
                    self._refused[key] = fault
                yield key, None, f"HTTP {status}, {fault}" if status else fault

    def _record_turn(
        self, key: str, model: str, turn: Turn, about: tuple[str, int, int, float]
    ) -> Bill:
        version, n_turns, tokens, usd = about
        price, given, taken = self.llm.price, turn.prompt_tokens or 0, turn.completion_tokens or 0
        billed = bill(given, taken, price)
        billed = replace(billed, usd=billed.usd * batch_share(price))
        if turn.prompt_tokens is None or turn.completion_tokens is None:
            billed = Bill(tokens, usd, price is not None)
        cost = billed.usd if billed.priced else None
        prompt, earlier = Prompt(user="", version=version), (Turn(""),) * n_turns
        request = Request(model, prompt, earlier, bytes.fromhex(key))
        self.ledger.record(request, turn._replace(cost_usd=cost))
        self.meter.add(Reply(text="", prompt_tokens=given, completion_tokens=taken, cost_usd=cost))
        return billed

    def _endpoint_at(self, path: str, query: str = "") -> Endpoint:
        new = replace(self.chat.endpoint_at(path), query=query)
        return self._endpoints.setdefault((path, query), new)


def _describe(error: Any) -> str:  # noqa: ANN401 -- parsed JSON
    """Return the message of an error, or of the first one, on one line."""
    while isinstance(error, list):
        error = error[0] if error else None
    while isinstance(error, dict):
        error = error.get("error") or error.get("message") or error.get("code")
    return " ".join(str(error or "").split())[:_SHOWN]


def _read(reply: Any, name: str) -> Any:  # noqa: ANN401 -- parsed JSON
    try:
        return reply[name]
    except (KeyError, TypeError):
        raise BadReply(f"the reply to a request about batches has no {name!r}") from None
