"""Say what an extraction by an LLM would cost, before anything is spent.

The prompts are the real ones, cut from the real chunks, and their tokens are counted by the model
itself where its adapter can, else by `cl100k_base`. What a model will write is estimated, and the
plan says from what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.layers import chunks, graph, units
from clew.layers.packing import packs, parts
from clew.layers.salient import salient_terms
from clew.layers.selection import chosen, chunk_values
from clew.models.conversation import Conversation
from clew.models.prices import cost_usd
from clew.text import tokens
from clew.types import GRAPH, KINDS, UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.choose import Memory
    from clew.models import Prompt
    from clew.text.chunking import Chunking
    from clew.types import Document

SHARES = (0.25, 0.5, 0.75, 1.0)  # of Clue-RAG's α
CORE_SHARE = 0.8  # KET-RAG's β
_ENOUGH_CALLS = 5  # recorded ones, to estimate from
_AROUND = 4  # tokens that a chat format puts around a message, where the model cannot be asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What one setting would cost."""

    setting: str
    methods: tuple[str, ...]  # that read what it gives
    n_chunks: int
    n_known: int  # chunks of these that the ledger has: they cost nothing
    calls: int
    prompt_tokens: int
    completion_tokens: int  # estimated
    cost_usd: float | None  # None: the price is not known
    seconds: float | None  # None: no call of this model was recorded yet
    unpacked_prompt_tokens: int  # if every chunk had a prompt of its own

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What each setting would cost on one corpus with one model."""

    model: str  # empty: none was named, so tokens are those of `cl100k_base` and have no price
    n_documents: int
    n_chunks: int
    n_tokens: int
    exact: bool  # the model itself counted the prompts' tokens
    basis: str  # of the completion tokens
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks as models read them, and their tokens."""

    n_documents: int
    texts: Sequence[str]
    n_tokens: NDArray[np.integer]  # (n,), without titles


def corpus(documents: Sequence[Document], chunking: Chunking) -> Corpus:
    """Return the chunks of documents as models would read them."""
    cut = chunks.cut(documents, chunking)
    n_tokens = np.asarray([window.n_tokens for window in cut.windows], dtype=np.int64)
    return Corpus(len(documents), [text for text, _ in cut.titled_texts()], n_tokens)


def plan(
    corpus: Corpus, llm: Conversation | None, memory: Memory, shares: Sequence[float] = SHARES
) -> Plan:
    """Return what units for `shares` of the tokens, triples, and both would cost."""
    reckoner = _Reckoner(corpus, llm, memory)
    everything = np.arange(len(corpus.texts))
    values = chunk_values(corpus.texts, np.zeros((0, 0), np.float32), "bleu")
    settings = [(share, chosen(corpus.n_tokens, everything, share, values)) for share in shares]
    of_units = [
        reckoner.estimate(f"units, α = {share:g}", ("clue",), UNITS, rows)
        for share, rows in settings
    ]
    all_triples = reckoner.estimate(
        "triples of all chunks", ("bubble", "agrag", "ket"), GRAPH, everything
    )
    core = _part(all_triples, CORE_SHARE)
    return Plan(
        model=llm.name if llm else "",
        n_documents=corpus.n_documents,
        n_chunks=len(corpus.texts),
        n_tokens=int(corpus.n_tokens.sum()),
        exact=reckoner.exact,
        basis="; ".join(f"{kind}: {basis}" for kind, basis in reckoner.basis.items()),
        estimates=(*of_units, core, all_triples, _sum(of_units[-1], all_triples)),
    )


def probe(corpus: Corpus, llm: Conversation | None, memory: Memory, n: int) -> None:
    """Make `n` calls of each kind, spread over the corpus, and keep what they give.

    Raises InputError without an LLM, BudgetSpent, EndpointError.
    """
    if llm is None:
        raise InputError("a probe needs an LLM: name one, as in --llm openai:MODEL@URL")
    reckoner = _Reckoner(corpus, llm, memory)
    for kind in KINDS:
        groups = reckoner.groups(kind, np.arange(len(corpus.texts)))
        spread = np.unique(np.linspace(0, len(groups) - 1, num=min(n, len(groups))).astype(int))
        taken = [groups[i] for i in spread]
        replies = llm.complete([reckoner.prompt(kind, group) for group in taken])
        for group, reply in zip(taken, replies, strict=True):
            made = zip(group, parts(reply.data, len(group)), strict=True)
            memory.keep(kind, {corpus.texts[row]: part for row, part in made if part is not None})


class _Reckoner:
    """Estimates settings over one corpus; each text's tokens are counted once a kind."""

    def __init__(self, corpus: Corpus, llm: Conversation | None, memory: Memory) -> None:
        self._corpus = corpus
        self._llm = llm
        self._memory = memory
        self._hints = salient_terms(corpus.texts)
        self._prompts: dict[str, Callable[[Sequence[int]], Prompt]] = {
            UNITS: lambda rows: units.units_prompt([corpus.texts[row] for row in rows]),
            GRAPH: lambda rows: graph.graph_prompt(
                [corpus.texts[row] for row in rows], [self._hints[row] for row in rows]
            ),
        }
        self._expected = {UNITS: units.expected_tokens, GRAPH: graph.expected_tokens}
        self._known = {kind: memory.known(kind, corpus.texts) for kind in self._prompts}
        self._counted: dict[tuple[str, tuple[int, ...]], int] = {}
        self.exact = llm is not None and llm.chat.count_tokens(self._prompts[UNITS]([])) is not None
        self.basis: dict[str, str] = {}
        self._rates = {kind: self._rate(kind) for kind in self._prompts}

    def estimate(
        self, setting: str, methods: tuple[str, ...], kind: str, rows: NDArray[np.intp]
    ) -> Estimate:
        """Return what the chunks in `rows` would cost, those that the ledger has left out."""
        groups = self.groups(kind, rows)
        new = [row for group in groups for row in group]
        given = sum(self._tokens(kind, group) for group in groups)
        taken = sum(self._completion(kind, group) for group in groups)
        rate = self._rates[kind].seconds
        return Estimate(
            setting=setting,
            methods=methods,
            n_chunks=len(rows),
            n_known=len(rows) - len(new),
            calls=len(groups),
            prompt_tokens=given,
            completion_tokens=taken,
            cost_usd=cost_usd(self._llm.price if self._llm else None, given, taken),
            seconds=None if rate is None else rate * (given + taken),
            unpacked_prompt_tokens=sum(self._tokens(kind, (row,)) for row in new),
        )

    def groups(self, kind: str, rows: NDArray[np.intp]) -> list[tuple[int, ...]]:
        """Return which of the rows would share a prompt, those that the ledger has left out."""
        new = rows[~self._known[kind][rows]]
        return [tuple(new[pack].tolist()) for pack in packs(self._corpus.n_tokens[new].tolist())]

    def prompt(self, kind: str, rows: Sequence[int]) -> Prompt:
        """Return the prompt for some chunks."""
        return self._prompts[kind](rows)

    def _tokens(self, kind: str, rows: tuple[int, ...]) -> int:
        """Return how many tokens the prompt for some chunks has."""
        if (kind, rows) not in self._counted:
            prompt = self._prompts[kind](rows)
            counted = self._llm.chat.count_tokens(prompt) if self._llm else None
            self._counted[kind, rows] = _count(prompt) if counted is None else counted
        return self._counted[kind, rows]

    def _completion(self, kind: str, rows: tuple[int, ...]) -> int:
        rate = self._rates[kind].completion
        if rate is None:
            return self._expected[kind]([self._corpus.texts[row] for row in rows])
        return round(rate * (self._tokens(kind, rows) - self._tokens(kind, ())))

    def _rate(self, kind: str) -> _Rate:
        """Return how a model's recorded calls went, and say so in `basis`."""
        ledger, version = self._memory.ledger, self._prompts[kind]([]).version
        calls = ledger.sizes(self._llm.name, version) if ledger and self._llm else []
        if len(calls) < _ENOUGH_CALLS or self._llm is None:
            self.basis[kind] = "a ratio to the chunks' tokens that other models showed"
            return _Rate(None, None)
        self.basis[kind] = f"{len(calls)} recorded calls of this model"
        given, taken, seconds = (sum(column) for column in zip(*calls, strict=True))
        of_texts = given - len(calls) * self._tokens(kind, ())
        return _Rate(
            taken / max(of_texts, 1), seconds / (given + taken) / self._llm.chat.concurrency
        )


@dataclass(frozen=True, slots=True)
class _Rate:
    completion: float | None  # tokens for a token of the chunks, as the prompt has them
    seconds: float | None  # for a token of prompt or completion


def _count(prompt: Prompt) -> int:
    parts = [part for part in (prompt.system, prompt.user) if part]
    return sum(tokens.count(part) + _AROUND for part in parts)


def _part(whole: Estimate, share: float) -> Estimate:
    """Return a share of the chunks, which ones not being known yet: that share of everything."""
    return Estimate(
        setting=f"triples of core chunks, β = {share:g}",
        methods=("ket",),
        n_chunks=ceil(share * whole.n_chunks),
        n_known=round(share * whole.n_known),
        calls=ceil(share * whole.calls),
        prompt_tokens=round(share * whole.prompt_tokens),
        completion_tokens=round(share * whole.completion_tokens),
        cost_usd=None if whole.cost_usd is None else share * whole.cost_usd,
        seconds=None if whole.seconds is None else share * whole.seconds,
        unpacked_prompt_tokens=round(share * whole.unpacked_prompt_tokens),
    )


def _sum(first: Estimate, second: Estimate) -> Estimate:
    """Return both together."""

    def added(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else a + b

    return Estimate(
        setting="everything",
        methods=("clue", "ket", "bubble", "agrag"),
        n_chunks=max(first.n_chunks, second.n_chunks),
        n_known=min(first.n_known, second.n_known),
        calls=first.calls + second.calls,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cost_usd=added(first.cost_usd, second.cost_usd),
        seconds=added(first.seconds, second.seconds),
        unpacked_prompt_tokens=first.unpacked_prompt_tokens + second.unpacked_prompt_tokens,
    )
