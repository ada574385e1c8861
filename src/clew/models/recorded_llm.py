"""Wrap a chat as an LLM: validate, repair, record and budget replies."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import repeat
from typing import Any, ClassVar, NamedTuple, cast

from clew.errors import InputError
from clew.models import (
    LLM,
    Chat,
    Deferred,
    OnLost,
    OnReply,
    Prompt,
    PromptRefused,
    Reply,
    Stopped,
    Turn,
    Wording,
    is_chat,
    is_checked,
    is_streaming,
    word,
)
from clew.models.budget import Bill, Budget, Purchase, bill
from clew.models.concurrency import run_jobs
from clew.models.ledger import Ledger, Request
from clew.models.prices import Price
from clew.models.replies import ReadReply, check_schemas, merge_parts, messages, read
from clew.models.run import ModelExchange, ModelRun, call_model, default_run
from clew.models.thoughts import strip_thoughts
from clew.text import tokens
from clew.text.pieces import OnPiece

_AROUND = 64  # tokens that a template may put around a message, at the most


class _Outcome(NamedTuple):
    reply: Reply
    refusal: PromptRefused | None = None  # of the prompt itself
    taken: bool = True  # a call shows that the endpoint takes such prompts


BATCHES = "batches"  # what an index keeps under it: those that may be under way, by name
# Takes a request that costs so much at most into a batch, or says that it is to be sent now.
Defer = Callable[[Request, Bill], bool]


@dataclass(frozen=True)
class RecordedLLM:
    """An LLM that uses `chat`, and requests a repair if a reply violates its schema.

    A reply that `ledger` knows is not asked for again, and a new one is on disk before it is
    used. `budget` bounds what is paid for, unless the `run` has one. `prices` count before the
    chat's own price.
    """

    chat: Chat
    _: KW_ONLY
    ledger: Ledger | None = None
    budget: Budget | None = None
    prices: Mapping[str, Price] | None = None  # by model, the first word of the chat's name
    repairs: int = 1  # how often a reply that breaks its schema is asked for again
    wording: Wording | None = None  # a user's own words for prompts
    run: ModelRun | None = field(default=None, repr=False, compare=False)  # that it is asked in
    defer: Defer | None = field(default=None, repr=False, compare=False)  # asked of new requests

    @property
    def name(self) -> str:
        return self.chat.name

    @property
    def price(self) -> Price | None:
        """Return dollars per million prompt and completion tokens; None if unknown."""
        return (self.prices or {}).get(self._model, self.chat.price)

    def reach(self) -> None:
        """Raise EndpointError if the chat's address does not respond."""
        reach = getattr(self.chat, "reach", None)
        if reach is not None:
            reach()

    def complete(
        self,
        prompts: Sequence[Prompt],
        *,
        on_reply: OnReply | None = None,
        on_text: OnPiece | None = None,
    ) -> list[Reply]:
        """Return a reply for each prompt, in order.

        What the ledger has whole comes first, so that no error keeps it back. Raises what ends
        the whole batch, once all that was under way is recorded: BudgetSpent, EndpointError, or
        PromptRefused where nothing shows that such prompts are taken. Raises Deferred where
        prompts wait in a batch, after all others have their reply.

        `on_reply` is called with the position of each prompt and its reply, as soon as that is
        complete, from the thread that received it; with a refusal once another reply shows that
        the endpoint takes such prompts.

        `on_text`, for a prompt that is alone, is called in this thread with pieces of its reply as
        a `StreamingChat` calls it; not for a reply that the ledger has. What it raises is raised
        once the reply is recorded, and it is not called again.
        """
        if on_text is not None and len(prompts) != 1:
            raise InputError(f"on_text needs exactly one prompt, not {len(prompts)}")
        prompts = [word(prompt, self.wording) for prompt in prompts]
        check_schemas(prompts)  # a fault is found before anything is paid for
        self._check_chat()
        run = self.run or default_run()

        def count_reply(i: int, reply: Reply) -> None:
            run.meter.add(reply)
            if on_reply is not None:
                on_reply(i, reply)

        replies = _Replies(count_reply)

        def hold(i: int, stop: threading.Event) -> None:
            paid: list[Turn] = []
            try:
                outcome = self._get_reply(prompts[i], stop, paid, on_text)
            except BaseException as error:  # noqa: BLE001 -- raised again, unless it waits
                run.meter.add(_reply(paid, paid))
                return replies.fail(error)
            return replies.add(i, outcome)

        with run.meter.stage("llm"):
            known = {i: self._find_recorded(prompt) for i, prompt in enumerate(prompts)}
            for i, outcome in known.items():
                if outcome is not None:
                    replies.add(i, outcome)
            rest = [i for i, outcome in known.items() if outcome is None]
            for rows in self._rounds(prompts, rest):
                run_jobs(hold, rows, self.chat.concurrency)
        in_order = replies.in_order()
        if run.exchanges is not None:
            run.exchanges.extend(map(ModelExchange, repeat(self.name), prompts, in_order))
        return in_order

    @property
    def _model(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def _budget(self) -> Budget | None:
        return (self.run and self.run.budget) or self.budget

    def _check_chat(self) -> None:
        """Raise the error of the first exchange if a package or a price is missing."""
        if is_checked(self.chat):
            self.chat.check()
        price, budget = self.price, self._budget  # a package may be missing for the price
        if budget is not None and budget.usd is not None and price is None:
            raise InputError(
                f"a budget in dollars needs the price of {self._model}, which is not known."
                f" Hint: give it as {self._model}=IN,OUT, dollars per million tokens of prompts"
                f" and of completions, or give the budget in tokens"
            )

    def _rounds(self, prompts: Sequence[Prompt], rows: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield positions of distinct prompts, then of repeated ones, answered by the ledger."""
        if self.ledger is None:
            yield rows
            return
        first: dict[bytes, int] = {}
        for i in rows:
            first.setdefault(Request(self.name, prompts[i]).key(), i)
        yield list(first.values())
        yield sorted(set(rows) - set(first.values()))

    def _find_recorded(self, prompt: Prompt) -> _Outcome | None:
        """Return the outcome if the ledger has the whole conversation, else None."""
        if self.ledger is None:
            return None
        stopped = threading.Event()
        stopped.set()
        try:
            return self._get_reply(prompt, stopped, [])
        except Stopped:
            return None

    def _get_reply(
        self,
        prompt: Prompt,
        stop: threading.Event,
        paid: list[Turn],
        on_text: OnPiece | None = None,
    ) -> _Outcome:
        """Get a reply and possibly its repair; append the paid turns to `paid`."""
        requests: list[Request] = []
        turns: list[Turn] = []
        reading, asked, refusal = ReadReply(), prompt, None
        while not turns or (
            reading.fault and prompt.schema is not None and len(turns) <= self.repairs
        ):
            request = Request(self.name, asked, tuple(turns))
            if on_text is not None and turns:
                on_text(None)
            try:
                turn = self._turn(request, stop, paid, on_text)
            except PromptRefused as error:
                reading = reading._replace(fault=error.brief or str(error))
                refusal = error
                break
            requests.append(request)
            reading = _add_reading(reading, read(turn, asked))
            turns.append(turn._replace(fault=reading.fault))
            asked = _narrow(prompt, reading)
        if reading.fault and turns and self.ledger is not None:
            self.ledger.mark_failed(requests)
        fault = "" if reading.data else reading.fault
        reply = replace(
            _reply(turns, paid), data=reading.data, error=fault, dropped=reading.dropped
        )
        if turns or refusal is None:
            return _Outcome(reply)
        knows = self.ledger is not None and self.ledger.knows(self.name, prompt.version)
        return _Outcome(reply, refusal, taken=knows)

    def _turn(
        self, request: Request, stop: threading.Event, paid: list[Turn], on_text: OnPiece | None
    ) -> Turn:
        """Return the recorded reply, else buy and record one."""
        earlier = None if self.ledger is None else self.ledger.recall(request)
        if earlier is not None:
            return earlier
        if stop.is_set():
            raise Stopped
        if self.defer is not None and self.defer(request, self._worst(request, None)):
            raise Deferred
        listener = None if on_text is None else _Listener(on_text)
        turn = self._buy(request, stop, listener)
        billed = self._bill(turn)
        turn = turn._replace(cost_usd=billed.usd if billed is not None and billed.priced else None)
        paid.append(turn)
        counts = turn if self.ledger is None else self.ledger.record(request, turn)
        if listener is not None:
            listener.check()
        return counts

    def _buy(self, request: Request, stop: threading.Event, on_text: OnPiece | None) -> Turn:
        if self._budget is None:
            return self._ask(request, stop, None, on_text)
        given = call_model(self.run, self.chat.count_tokens, request.prompt, request.turns)
        with Purchase(self._budget, self._worst(request, given), stop) as purchase:
            turn = self._ask(request, stop, purchase.set_aside_again, on_text)
            purchase.settle(self._compute_charge(request, turn, given))
        return turn

    def _compute_charge(self, request: Request, turn: Turn, given: int | None) -> Bill | None:
        """Return the amount to charge for a reply: its bill, or our own count if higher.

        `given`: the tokens of the prompt where the chat counts them itself.
        """
        billed = self._bill(turn)
        if billed is None:
            return None
        if given is None:
            parts = messages(request.prompt, request.turns, in_words=False)
            given = sum(tokens.count_at_least(part["content"]) for part in parts)
        own = bill(given, tokens.count_at_least(turn.text), self.price)
        return replace(billed, tokens=max(billed.tokens, own.tokens), usd=max(billed.usd, own.usd))

    def _ask(
        self,
        request: Request,
        stop: threading.Event,
        on_lost: OnLost | None,
        on_text: OnPiece | None,
    ) -> Turn:
        how: dict[str, Any] = {"stop": stop, "on_lost": on_lost}
        if on_text is not None and is_streaming(self.chat):
            how["on_text"] = on_text
        began = time.perf_counter()
        turn = call_model(self.run, self.chat.ask, request.prompt, request.turns, **how)
        return turn._replace(seconds=time.perf_counter() - began)

    def _worst(self, request: Request, given: int | None) -> Bill:
        """Return the maximum cost of a request whose prompt has `given` tokens."""
        prompt = request.prompt
        if given is None:  # a token of a byte-level vocabulary stands for at least a byte of UTF-8
            parts = messages(prompt, request.turns, in_words=True)
            given = sum(len(each["content"].encode("utf-8", "replace")) + _AROUND for each in parts)
        given += prompt.picture_tokens
        taken = prompt.max_tokens
        if self.repairs == 0 and prompt.schema is not None:  # then the model asks again by itself
            given, taken = 3 * given + taken + _AROUND, 2 * taken
        return bill(given, taken, self.price)

    def _bill(self, turn: Turn) -> Bill | None:
        """Return the bill of a reply, None if its usage is not stated."""
        if turn.prompt_tokens is None or turn.completion_tokens is None:
            return None
        billed = bill(turn.prompt_tokens, turn.completion_tokens, self.price)
        if turn.cost_usd is None:
            return billed
        return replace(billed, usd=turn.cost_usd, priced=True)


class _Replies:
    """Collects the replies of a batch from all threads, and reports each once it is final.

    A refusal counts once any prompt was taken: until then it may be the settings' fault.
    """

    def __init__(self, tell: OnReply) -> None:
        self._tell = tell
        self._taken = self._is_deferred = False
        self._outcomes: dict[int, _Outcome] = {}
        self._waiting: list[int] = []
        self._lock = threading.Lock()

    def add(self, i: int, outcome: _Outcome) -> None:
        """Add the outcome of prompt `i`."""
        with self._lock:
            self._outcomes[i] = outcome
            self._taken = self._taken or outcome.taken
            self._waiting.append(i)
            ready, self._waiting = (self._waiting, []) if self._taken else ([], self._waiting)
        for each in ready:
            self._tell(each, self._outcomes[each].reply)

    def fail(self, error: BaseException) -> None:
        """Raise an error, unless it says that a prompt waits in a batch."""
        if not isinstance(error, Deferred):
            raise error
        self._is_deferred = True

    def in_order(self) -> list[Reply]:
        """Return the replies in order. Raises the first unresolved refusal, or Deferred."""
        outcomes = [self._outcomes[i] for i in sorted(self._outcomes)]
        refusal = outcomes[0].refusal if outcomes else None
        if refusal is not None and not self._taken:
            raise refusal
        if self._is_deferred:
            raise Deferred
        return [outcome.reply for outcome in outcomes]


class _Listener:
    """Passes pieces of a reply to a callback; stores its error for `check`.

    What a reply costs is paid, so it is received and recorded whatever becomes of the caller.
    Only Ctrl-C ends it at once, as everywhere.
    """

    def __init__(self, tell: OnPiece) -> None:
        self._tell = tell
        self._error: BaseException | None = None

    def __call__(self, piece: str | None) -> None:
        if self._error is not None:
            return
        try:
            self._tell(piece)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- raised again by `check`
            self._error = error

    def check(self) -> None:
        """Raise the error of the callback, if any."""
        if self._error is not None:
            raise self._error


def recorded(
    llm: LLM | Chat,
    ledger: Ledger | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
    wording: Wording | None = None,
) -> RecordedLLM:
    """Return `llm` with recording, budget, prices and `wording`.

    An LLM that cannot be asked one exchange at a time is asked one whole prompt at a time, its
    own repair retry included.
    """
    if isinstance(llm, RecordedLLM):
        return replace(
            llm,
            ledger=ledger or llm.ledger,
            budget=budget or llm.budget,
            prices=llm.prices if prices is None else prices,
            wording=wording or llm.wording,
        )
    chat, repairs = (llm, 1) if is_chat(llm) else (_Whole(cast("LLM", llm)), 0)
    return RecordedLLM(
        chat, ledger=ledger, budget=budget, prices=prices, repairs=repairs, wording=wording
    )


@dataclass(frozen=True, slots=True)
class _Whole:
    """Adapts an LLM for whole prompts to the single exchanges of a chat."""

    llm: LLM
    concurrency: ClassVar[int] = 1
    price: ClassVar[Price | None] = None

    @property
    def name(self) -> str:
        return self.llm.name

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),  # noqa: ARG002 -- the protocol's
        *,
        stop: threading.Event | None = None,  # noqa: ARG002
        on_lost: OnLost | None = None,  # noqa: ARG002
    ) -> Turn:
        [reply] = self.llm.complete([prompt])
        # The data of the reply are read again from its text.
        is_same = read(Turn(reply.text), prompt).data == reply.data
        text = reply.text if is_same else json.dumps(reply.data)
        # An LLM that does not count says zero, which no prompt has.
        counted = bool(reply.prompt_tokens) or not reply.calls
        return Turn(
            text="" if reply.error else text,
            fault=reply.error,
            prompt_tokens=reply.prompt_tokens if counted else None,
            completion_tokens=reply.completion_tokens if counted else None,
            cost_usd=reply.cost_usd,
            calls=reply.calls,
        )

    def count_tokens(self, prompt: Prompt, turns: Sequence[Turn] = ()) -> int | None:  # noqa: ARG002
        return None


def _add_reading(first: ReadReply, second: ReadReply) -> ReadReply:
    """Merge the data of a repaired reply into the data of the first one."""
    if not first.data:
        return second
    data = {
        **first.data,
        **{
            key: merge_parts(first.data.get(key), part) for key, part in (second.data or {}).items()
        },
    }
    return second._replace(data=data, dropped=first.dropped + second.dropped)


def _narrow(prompt: Prompt, reading: ReadReply) -> Prompt:
    """Return a prompt for what a partly usable reply lacks."""
    if not reading.data or not reading.lacking or prompt.schema is None:
        return prompt
    properties = {key: prompt.schema["properties"][key] for key in reading.lacking}
    schema = {**prompt.schema, "properties": properties, "required": list(properties)}
    return replace(prompt, schema=schema)


def _reply(turns: Sequence[Turn], paid: Sequence[Turn]) -> Reply:
    """Return a reply with the last turn's text and the cost of the paid turns."""
    n_calls = sum(turn.calls for turn in paid)
    costs = [turn.cost_usd for turn in paid if turn.cost_usd is not None]
    return Reply(
        text=strip_thoughts(turns[-1].text)[0] if turns else "",
        prompt_tokens=sum(turn.prompt_tokens or 0 for turn in paid),
        completion_tokens=sum(turn.completion_tokens or 0 for turn in paid),
        cost_usd=sum(costs) if len(costs) == len(paid) else None,
        calls=n_calls,
        recorded=sum(turn.calls for turn in turns) - n_calls,
    )
