"""A chat as an LLM: replies checked, repaired once, recorded, and bought within a budget."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import cast

from clew.errors import InputError
from clew.models import (
    LLM,
    Chat,
    OnLost,
    Prompt,
    PromptRefused,
    Reply,
    Stopped,
    Turn,
    batch,
    is_chat,
)
from clew.models.budget import Bill, Budget, Purchase, bill
from clew.models.ledger import Ledger, Request
from clew.models.prices import Price
from clew.models.replies import messages, read, validator

_AROUND = 64  # tokens that a template may put around a message, at the most


@dataclass(frozen=True, slots=True)
class _Outcome:
    reply: Reply
    requests: Sequence[Request]  # of its turns
    refusal: PromptRefused | None = None  # of the prompt itself


@dataclass(frozen=True)
class Conversation:
    """An LLM that asks `chat`: a conversation of at most two turns for each prompt.

    A reply that `ledger` knows is not asked for again, and a new one is on disk before it is
    used. `budget` bounds what is bought. `prices` count before the chat's own price.
    """

    chat: Chat
    _: KW_ONLY
    ledger: Ledger | None = None
    budget: Budget | None = None
    prices: Mapping[str, Price] | None = None  # by model, the first word of the chat's name
    repairs: int = 1  # how often a reply that breaks its schema is asked for again
    # Turns that were bought, by the keys of their requests, until a reply tells of them: where an
    # error ends a batch, `recall` does.
    _untold: dict[bytes, Turn] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.chat.name

    @property
    def price(self) -> Price | None:
        """Dollars per million tokens of prompts and of completions; None: not known."""
        return (self.prices or {}).get(self._model, self.chat.price)

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return a reply for each prompt, in order.

        Raises what ends the whole batch, once all that was under way is recorded: BudgetSpent,
        EndpointError, or PromptRefused where no prompt at all was taken.
        """
        for prompt in prompts:
            validator(prompt.schema)  # a broken schema is found before anything is paid for
        self._check_price()
        outcomes: dict[int, _Outcome] = {}
        for rows in self._rounds(prompts):
            found = batch.run(
                lambda i, stop: self._converse(prompts[i], stop), rows, self.chat.concurrency
            )
            outcomes.update(zip(rows, map(self._told, found), strict=True))
        refusals = [found.refusal for found in outcomes.values() if found.refusal is not None]
        if refusals and len(refusals) == len(prompts):
            raise refusals[0]
        return [outcomes[i].reply for i in range(len(prompts))]

    def recall(self, prompts: Sequence[Prompt]) -> list[Reply | None]:
        """Return the replies that the ledger has whole, and None for other prompts.

        Turns that this object bought in a batch that an error ended are counted as bought.
        """
        replies: list[Reply | None] = []
        for prompt in prompts:
            try:
                replies.append(self._told(self._converse(prompt, None)).reply)
            except _Unknown:
                replies.append(None)
        return replies

    def _told(self, outcome: _Outcome) -> _Outcome:
        for request in outcome.requests:
            self._untold.pop(request.key(), None)
        return outcome

    @property
    def _model(self) -> str:
        return self.name.partition(" ")[0]

    def _check_price(self) -> None:
        if self.budget is not None and self.budget.usd is not None and self.price is None:
            raise InputError(
                f"a budget in dollars needs the price of {self._model}, which is not known."
                f" Hint: give it as {self._model}=IN,OUT, dollars per million tokens of prompts"
                f" and of completions, or give the budget in tokens"
            )

    def _rounds(self, prompts: Sequence[Prompt]) -> Iterator[list[int]]:
        """Yield the rows of the prompts, of equal ones the first alone: the ledger has it then."""
        if self.ledger is None:
            yield list(range(len(prompts)))
            return
        first: dict[bytes, int] = {}
        for i, prompt in enumerate(prompts):
            first.setdefault(Request(self.name, prompt).key(), i)
        yield list(first.values())
        yield sorted(set(range(len(prompts))) - set(first.values()))

    def _converse(self, prompt: Prompt, stop: threading.Event | None) -> _Outcome:
        """Hold a conversation; without `stop` only as far as the ledger knows it."""
        requests: list[Request] = []
        turns: list[Turn] = []
        bought: list[Turn] = []
        data, fault, refusal = None, "", None
        while not turns or (fault and prompt.schema is not None and len(turns) <= self.repairs):
            request = Request(self.name, prompt, tuple(turns))
            try:
                turn, new = self._turn(request, stop)
            except PromptRefused as error:
                data, fault, refusal = None, str(error), error
                break
            requests.append(request)
            bought += [new] if new is not None else []
            data, fault = read(turn, prompt)
            turns.append(replace(turn, fault=fault))
        if fault and turns and self.ledger is not None:
            self.ledger.mark_failed(requests)
        reply = replace(_reply(turns, bought), data=data, error=fault)
        return _Outcome(reply, requests, None if turns else refusal)

    def _turn(self, request: Request, stop: threading.Event | None) -> tuple[Turn, Turn | None]:
        """Return the reply that counts, and the one that was bought, if no reply told of it yet."""
        if self.ledger is None:
            turn = self._new(request, stop)
            return turn, turn
        known = self.ledger.recall(request)
        if known is not None:
            return known, self._untold.get(request.key())
        turn = self._new(request, stop)
        self._untold[request.key()] = turn
        return self.ledger.record(request, turn), turn

    def _new(self, request: Request, stop: threading.Event | None) -> Turn:
        if stop is None:
            raise _Unknown
        if stop.is_set():
            raise Stopped
        turn = self._buy(request, stop)
        billed = self._bill(turn)
        return replace(turn, cost_usd=billed.usd if billed is not None and billed.priced else None)

    def _buy(self, request: Request, stop: threading.Event) -> Turn:
        if self.budget is None:
            return self._ask(request, stop, None)
        with Purchase(self.budget, self._worst(request), stop) as purchase:
            turn = self._ask(request, stop, purchase.on_lost)
            purchase.settle(self._bill(turn))
        return turn

    def _ask(self, request: Request, stop: threading.Event, on_lost: OnLost | None) -> Turn:
        began = time.perf_counter()
        turn = self.chat.ask(request.prompt, request.turns, stop=stop, on_lost=on_lost)
        return replace(turn, seconds=time.perf_counter() - began)

    def _worst(self, request: Request) -> Bill:
        """Return the most that a request can cost."""
        prompt = request.prompt
        given = self.chat.count_tokens(prompt, request.turns)
        given = _at_most(prompt, request.turns) if given is None else given
        taken = prompt.max_tokens
        if self.repairs == 0 and prompt.schema is not None:  # then the model asks again by itself
            given, taken = 3 * given + taken + _AROUND, 2 * taken
        return bill(given, taken, self.price)

    def _bill(self, turn: Turn) -> Bill | None:
        """Return what a reply cost, None where the model does not say."""
        if turn.prompt_tokens is None or turn.completion_tokens is None:
            return None
        billed = bill(turn.prompt_tokens, turn.completion_tokens, self.price)
        if turn.cost_usd is None:
            return billed
        return replace(billed, usd=turn.cost_usd, priced=True)


class _Unknown(Exception):
    """The ledger does not have a turn."""


def recorded(
    llm: LLM | Chat,
    ledger: Ledger | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Conversation:
    """Return `llm` with its replies recorded, bounded and priced.

    An LLM that cannot be asked one exchange at a time is asked one whole prompt at a time, its
    own repair retry included.
    """
    if isinstance(llm, Conversation):
        return Conversation(
            llm.chat,
            ledger=ledger or llm.ledger,
            budget=budget or llm.budget,
            prices=llm.prices if prices is None else prices,
            repairs=llm.repairs,
        )
    if is_chat(llm):
        return Conversation(llm, ledger=ledger, budget=budget, prices=prices)
    whole = _Whole(cast("LLM", llm))
    return Conversation(whole, ledger=ledger, budget=budget, prices=prices, repairs=0)


@dataclass(frozen=True, slots=True)
class _Whole:
    """An LLM as a chat whose one exchange is all that it does for a prompt."""

    llm: LLM

    @property
    def name(self) -> str:
        return self.llm.name

    @property
    def concurrency(self) -> int:
        return 1

    @property
    def price(self) -> Price | None:
        return None

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),  # noqa: ARG002 -- the protocol's
        *,
        stop: threading.Event | None = None,  # noqa: ARG002
        on_lost: OnLost | None = None,  # noqa: ARG002
    ) -> Turn:
        [reply] = self.llm.complete([prompt])
        # An LLM that does not count says zero, which no prompt has.
        counted = bool(reply.prompt_tokens) or not reply.calls
        return Turn(
            text="" if reply.error else _text(reply, prompt),
            fault=reply.error,
            prompt_tokens=reply.prompt_tokens if counted else None,
            completion_tokens=reply.completion_tokens if counted else None,
            cost_usd=reply.cost_usd,
            calls=reply.calls,
        )

    def count_tokens(self, prompt: Prompt, turns: Sequence[Turn] = ()) -> int | None:  # noqa: ARG002
        return None


def _text(reply: Reply, prompt: Prompt) -> str:
    """Return words from which the reply's data are read again."""
    data, _ = read(Turn(reply.text), prompt)
    return reply.text if data == reply.data else json.dumps(reply.data)


def _reply(turns: Sequence[Turn], bought: Sequence[Turn]) -> Reply:
    """Return the last turn's text, and what the bought ones cost."""
    n_calls = sum(turn.calls for turn in bought)
    costs = [turn.cost_usd for turn in bought if turn.cost_usd is not None]
    return Reply(
        text=turns[-1].text if turns else "",
        prompt_tokens=sum(turn.prompt_tokens or 0 for turn in bought),
        completion_tokens=sum(turn.completion_tokens or 0 for turn in bought),
        cost_usd=sum(costs) if len(costs) == len(bought) else None,
        calls=n_calls,
        recorded=sum(turn.calls for turn in turns) - n_calls,
    )


def _at_most(prompt: Prompt, turns: Sequence[Turn]) -> int:
    """Return a number of tokens that a prompt never exceeds, schema and template included.

    A token of a byte-level vocabulary stands for at least one byte of UTF-8.
    """
    said = messages(prompt, turns, in_words=True)
    return sum(len(part["content"].encode("utf-8", "replace")) + _AROUND for part in said)
