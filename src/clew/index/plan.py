"""Estimate the cost of an extraction by an LLM, before anything is spent.

The prompts are the real ones, cut from the real chunks, and their tokens are counted by the model
itself where its adapter can, else by `cl100k_base`. What a model will write is estimated, and the
plan says from what.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.algo.knn import choose_core, core_size
from clew.base.reports import CostEstimate, EmbeddingEstimate, Plan
from clew.base.types import GRAPH, UNITS, Scalar
from clew.errors import RecipeMismatch
from clew.index import adding, building
from clew.index.choose import NOTHING, read_titled_texts, select_unread
from clew.index.extract import ReadChunks, get_task
from clew.index.layers import chunks, entities, units, vectors
from clew.index.layers.graph_extraction import PLAIN, expected_tokens
from clew.index.layers.selection import chunk_values, select_chunks
from clew.index.options import CORE_SHARE
from clew.index.recipe import Settings
from clew.models import is_priced
from clew.models.prices import Price, batch_share, cost_usd
from clew.models.prompts.packing import pack_texts
from clew.models.recorded_llm import RecordedLLM
from clew.text import tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.base.types import Document
    from clew.index.choose import ReplyMemory
    from clew.index.layers.graph_form import GraphForm
    from clew.index.snapshot import Snapshot
    from clew.index.store.segmented import Store
    from clew.models import Models, Prompt
    from clew.text.chunking import Chunking

SHARES = (0.25, 0.5, 0.75, 1.0)  # of Clue-RAG's α
_GUESSED = "a ratio to the chunks' tokens that another model showed"
_UNMEASURED = "a ratio to the chunks' tokens that no model was measured for"
_ENOUGH_CALLS = 5  # recorded ones, to estimate from
_GLEANED = 0.5  # of a reply, what a gleaning gives, and what is taken of it into the next: guesses
_AROUND = 4  # tokens that a chat format puts around a message, where the model cannot be asked


@dataclass(frozen=True)
class PlanCorpus(ReadChunks):
    """Chunks as models read them, with their token counts."""

    n_documents: int
    texts: Sequence[str]
    n_tokens: NDArray[np.integer]  # (n,), without titles
    ranks: NDArray[np.float64] | None = None  # (n,) PageRank, 1 in the mean, where it is known
    form: GraphForm = PLAIN


def choose_chunking(store: Store | None, settings: Settings | None) -> Chunking:
    """Return the chunking of the index, else that of `settings`.

    Raises RecipeMismatch where these differ from it.
    """
    wanted = (settings or Settings()).chunking
    if store is None:
        return wanted
    built = building.read_chunking(store.recipe)
    if settings is not None and (wanted.size, wanted.overlap) != (built.size, built.overlap):
        raise RecipeMismatch(
            f"this index was built with chunks of {built.size} tokens, {built.overlap} of them from"
            f" the one before, not {wanted.size} and {wanted.overlap}: plan for a new folder, or"
            f" without these options"
        )
    return built


def build_corpus(
    documents: Sequence[Document], chunking: Chunking, form: GraphForm = PLAIN
) -> PlanCorpus:
    """Return the chunks of documents as models would read them, and the `form` of their graphs."""
    cut = chunks.cut_chunks(documents, chunking)
    n_tokens = np.asarray([window.n_tokens for window in cut.windows], dtype=np.int64)
    texts = [text for text, _ in cut.titled_texts()]
    return PlanCorpus(len(documents), texts, n_tokens, form=form)


def estimate_embedding(
    documents: Sequence[Document], chunking: Chunking, models: Models, store: Store | None = None
) -> EmbeddingEstimate | None:
    """Return the embedding cost of documents, None if embedding is free.

    Documents whose rows are in `store`, and names that have a vector there, cost nothing.
    """
    embedder = models.embedder
    if not is_priced(embedder):
        return None
    hashes = store.hashes([document.id for document in documents]) if store else {}
    new = [each for each in documents if adding.has_new_rows(each, hashes.get(each.id))]
    texts: list[str] = []
    names: dict[str, None] = {}
    for batch in adding.group_batches((document, "") for document in new):
        cut = chunks.cut_chunks([document for document, _ in batch], chunking)
        texts += itertools.chain.from_iterable(vectors.texts_by_column(cut).values())
        mentioned, keys = entities.mention_columns(cut, models.tagger)
        names |= dict.fromkeys(keys[i] for i in entities.find_nameable(mentioned, len(keys)))
    keys = list(names)
    texts += [keys[i] for i in store.unnamed(keys)] if store else keys
    unpaid = embedder.unpaid(texts, kind="document")
    probes = [] if store else embedder.dimension_texts()  # an index keeps its dimension
    n_tokens = sum(map(tokens.count, [*unpaid, *probes]))
    return EmbeddingEstimate(
        model=embedder.name,
        n_texts=len(texts),
        n_known=len(texts) - len(unpaid),
        tokens=n_tokens,
        cost_usd=cost_usd(embedder.price, n_tokens, 0),
    )


def rank_corpus(corpus: PlanCorpus, snapshot: Snapshot) -> PlanCorpus:
    """Return the corpus with its chunks' PageRank, unchanged if the index has other chunks."""
    from clew.index.neighbours import chunk_ranks  # which loads SciPy

    n, indexed = len(corpus.texts), read_titled_texts(snapshot)
    if sorted(corpus.texts) != sorted(indexed):
        return corpus
    ours, theirs = (sorted(range(n), key=texts.__getitem__) for texts in (corpus.texts, indexed))
    ranks = np.empty(n)
    ranks[ours] = chunk_ranks(snapshot)[theirs]
    return replace(corpus, ranks=ranks)


def plan_extraction(
    corpus: PlanCorpus, llm: RecordedLLM | None, memory: ReplyMemory, *, core: float = CORE_SHARE
) -> Plan:
    """Return the estimated costs of units for SHARES of the tokens, triples, and both.

    Triples are those of a `core` share of the chunks, and of all. Where the corpus has no ranks,
    a seeded random sample stands for the core.
    """
    terms, readers = corpus.form.terms, ("ket",)
    by_llm: dict[str, Scalar] = {"triples": "llm"}
    if terms is not None:
        readers = ("agrag",)
        by_llm |= {"entities": "statistical", **terms.to_recipe()}
    if memory.gleanings:
        by_llm["gleanings"] = memory.gleanings
    if corpus.form.full:
        by_llm["descriptions"] = "full"
    reckoner = _Estimator(corpus, llm, memory)
    everything = np.arange(len(corpus.texts))
    values = chunk_values(corpus.texts, np.zeros((0, 0), np.float32), "bleu")
    of_units = [
        reckoner.estimate(
            f"units, α = {share:g}",
            {"units": share},
            ("clue",),
            UNITS,
            select_chunks(corpus.n_tokens, everything, share, values),
        )
        for share in SHARES
    ]
    of_core = reckoner.estimate(
        f"triples of a core of {100 * core:g} % of the chunks",
        {**by_llm, "core": core},
        readers,
        GRAPH,
        choose_core(len(everything), core_size(len(everything), core), corpus.ranks),
    )
    all_triples = reckoner.estimate(
        "triples of all chunks", {**by_llm, "core": 1.0}, readers, GRAPH, everything
    )
    basis = f"{reckoner.basis[UNITS]} (units) and {reckoner.basis[GRAPH]} (triples)"
    if {*reckoner.basis.values()} == {_GUESSED}:
        basis = _GUESSED
    if memory.gleanings:
        basis += f", and of a gleaning from {_GLEANED:.0%} of a first reply, a guess"
    return Plan(
        model=llm.name if llm else "",
        n_documents=corpus.n_documents,
        n_chunks=len(corpus.texts),
        n_tokens=int(corpus.n_tokens.sum()),
        exact=reckoner.exact,
        basis=basis,
        core_is_known=corpus.ranks is not None,
        n_known=reckoner.n_known,
        estimates=(*of_units, of_core, all_triples, _add_estimates(of_units[-1], all_triples)),
    )


class _Estimator:
    """Estimates the costs of settings over one corpus; token counts are cached."""

    def __init__(self, corpus: PlanCorpus, llm: RecordedLLM | None, memory: ReplyMemory) -> None:
        self._corpus = corpus
        self._llm = llm
        self._memory = memory
        self._tasks = {kind: get_task(corpus, kind) for kind in (UNITS, GRAPH)}
        self._expected: dict[str, Callable[[Sequence[str]], int]] = {
            UNITS: units.expected_tokens,
            GRAPH: partial(expected_tokens, form=corpus.form),
        }
        self._marks = {kind: memory.mark_known(kind, corpus.texts) for kind in self._tasks}
        self.n_known = {kind: int(marks.sum()) for kind, marks in self._marks.items()}
        self._counted: dict[tuple[str, tuple[int, ...], bool], int] = {}
        empty = self.write_prompt(UNITS, ())
        self.exact = llm is not None and llm.chat.count_tokens(empty) is not None
        self.basis: dict[str, str] = {}
        self._rates = {kind: self._read_rate(kind) for kind in self._tasks}

    def write_prompt(self, kind: str, rows: Sequence[int], *, gleaned: bool = False) -> Prompt:
        """Return the prompt for some chunks, or (`gleaned`) for what a reply missed in them."""
        before = [NOTHING] * len(rows) if gleaned else None
        return self._memory.word(self._tasks[kind].prompt(rows, before))

    def estimate(
        self,
        setting: str,
        options: Mapping[str, Scalar],
        methods: tuple[str, ...],
        kind: str,
        rows: NDArray[np.intp],
    ) -> CostEstimate:
        """Return the estimated cost of the chunks in `rows`, except recorded ones."""
        groups = self.group_rows(kind, rows)
        new = [row for group in groups for row in group]
        given = sum(self._count_tokens(kind, group) for group in groups)
        taken = sum(self._count_completion(kind, group) for group in groups)
        n_gleanings, alone = self._memory.count_gleanings(kind), self._count_tokens(kind, ())
        if n_gleanings:
            again_given = sum(self._count_tokens(kind, group, gleaned=True) for group in groups)
            gleaned = round(_GLEANED * taken)
            for _ in range(n_gleanings):
                given, taken = given + again_given + round(_GLEANED * taken), taken + gleaned
            alone += n_gleanings * self._count_tokens(kind, (), gleaned=True)
        rate = self._rates[kind]
        again = tuple(round(len(groups) * tokens) for tokens in rate.repairs)
        price = self._llm.price if self._llm else None
        return CostEstimate(
            setting=setting,
            options=options,
            methods=methods,
            n_chunks=len(rows),
            n_known=len(rows) - len(new),
            calls=len(groups) * (1 + n_gleanings),
            prompt_tokens=given,
            completion_tokens=taken,
            repair_tokens=sum(again),
            cost_usd=cost_usd(price, given + again[0], taken + again[1]),
            seconds=None if rate.seconds is None else rate.seconds * (given + taken + sum(again)),
            unpacked_prompt_tokens=given + (len(new) - len(groups)) * alone,
        )

    def group_rows(self, kind: str, rows: NDArray[np.intp]) -> list[tuple[int, ...]]:
        """Group the rows that would share a prompt, except recorded ones."""
        new, _ = select_unread(rows, self._corpus.texts, self._marks[kind][rows])
        texts = [self._corpus.texts[row] for row in new]
        sizes = self._corpus.n_tokens[new].tolist()
        packs = self._memory.split_packs(pack_texts(texts, sizes))
        return [tuple(new[list(pack)].tolist()) for pack in packs]

    def _count_tokens(self, kind: str, rows: tuple[int, ...], *, gleaned: bool = False) -> int:
        """Return the tokens of a prompt; with `gleaned`, of the follow-up prompt."""
        if (kind, rows, gleaned) not in self._counted:
            prompt = self.write_prompt(kind, rows, gleaned=gleaned)
            counted = self._llm.chat.count_tokens(prompt) if self._llm else None
            if counted is None:
                parts = filter(None, (prompt.system, prompt.user))
                counted = sum(tokens.count(part) + _AROUND for part in parts)
            self._counted[kind, rows, gleaned] = counted
        return self._counted[kind, rows, gleaned]

    def _count_completion(self, kind: str, rows: tuple[int, ...]) -> int:
        rate = self._rates[kind].completion
        if rate is None:
            return self._expected[kind]([self._corpus.texts[row] for row in rows])
        return round(rate * (self._count_tokens(kind, rows) - self._count_tokens(kind, ())))

    def _read_rate(self, kind: str) -> _Rate:
        """Return the averages of a model's recorded calls, and describe them in `basis`."""
        ledger, calls = self._memory.ledger, []
        if ledger and self._llm:
            calls = ledger.sizes(self._llm.name, self._memory.prompt_version(kind))
        first = [call for call in calls if not call.repair]
        if len(first) < _ENOUGH_CALLS or self._llm is None:
            guessed = kind == GRAPH and self._corpus.form.terms is not None
            self.basis[kind] = _UNMEASURED if guessed else _GUESSED
            return _Rate()
        repairs = len(calls) - len(first)
        self.basis[kind] = f"{len(first)} recorded calls of this model, {repairs} of them repaired"
        of_texts = sum(c.prompt_tokens for c in first) - len(first) * self._count_tokens(kind, ())
        timed = [call for call in calls if call.seconds]  # those of batches are not
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in timed)
        seconds = sum(call.seconds for call in timed)
        return _Rate(
            completion=sum(call.completion_tokens for call in first) / max(of_texts, 1),
            repairs=(
                sum(call.prompt_tokens for call in calls if call.repair) / len(first),
                sum(call.completion_tokens for call in calls if call.repair) / len(first),
            ),
            seconds=seconds / tokens / self._llm.chat.concurrency if timed else None,
        )


class _Rate(NamedTuple):
    completion: float | None = None  # tokens for a token of the chunks, as the prompt has them
    repairs: tuple[float, float] = (0.0, 0.0)  # tokens of prompts and of completions for a call
    seconds: float | None = None  # for a token of prompt or completion


def price_batches(plan: Plan, price: Price | None) -> Plan:
    """Return a plan with the price of batches, whose time is not known."""
    share = batch_share(price)
    estimates = (
        replace(each, cost_usd=each.cost_usd and each.cost_usd * share, seconds=None)
        for each in plan.estimates
    )
    return replace(plan, estimates=tuple(estimates), batch=True)


def _add_estimates(first: CostEstimate, second: CostEstimate) -> CostEstimate:
    """Return the sum of two estimates."""

    def add_optional(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else a + b

    return CostEstimate(
        setting="everything",
        options={**first.options, **second.options},
        methods=(*first.methods, *second.methods),
        n_chunks=max(first.n_chunks, second.n_chunks),
        n_known=min(first.n_known, second.n_known),
        calls=first.calls + second.calls,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        repair_tokens=first.repair_tokens + second.repair_tokens,
        cost_usd=add_optional(first.cost_usd, second.cost_usd),
        seconds=add_optional(first.seconds, second.seconds),
        unpacked_prompt_tokens=first.unpacked_prompt_tokens + second.unpacked_prompt_tokens,
    )
