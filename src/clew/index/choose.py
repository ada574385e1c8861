"""What is to be extracted, and from which chunks.

A chunk is *considered* once: it is chosen and waits in a pack, the chunks of one prompt, or it is
left as it is. That is written down before the first call, so a run that stopped goes on with the
same prompts. Chunks that come later are chosen among themselves, with their own share of tokens;
only another wish has all of them considered anew, and what is paid for stays (docs/guides/llm.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from clew import steps
from clew.errors import InputError
from clew.layers.graph import graph_prompt, read_graph
from clew.layers.packing import packs, parts
from clew.layers.selection import Value, chosen, chunk_values
from clew.layers.units import read_units, units_prompt
from clew.models.ledger import Request
from clew.types import FALLBACK, GRAPH, KINDS, SOURCES, UNITS, Scalar, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.models import Prompt, Reply
    from clew.models.ledger import Ledger
    from clew.store import Store

    Known = Callable[[str, Sequence[str]], NDArray[np.bool_]]

TRIPLES = ("none", "llm", "parse", "cooccurrence")
_LEFT = -1  # the pack of a chunk that was considered and not chosen
_PAID = [SOURCES.index(source) for source in ("llm", "fallback", "recorded")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be extracted."""

    units: float = 0.0  # share of the tokens whose chunks an LLM splits into units [α of Clue-RAG]
    value: Value = "bleu"  # what makes a chunk worth it
    seed: int = 0  # of the value "random"
    triples: str = "none"  # by "llm", "parse" (of the dependencies) or "cooccurrence"

    def __post_init__(self) -> None:
        if not 0 <= self.units <= 1:
            raise InputError(f"the share of tokens for units is from 0 to 1, not {self.units}")
        if self.value not in get_args(Value):
            raise InputError(f"a chunk is valued by bleu, cos or random, not by {self.value!r}")
        if self.triples not in TRIPLES:
            raise InputError(f"triples come by {', '.join(TRIPLES)}, not by {self.triples!r}")

    def needs_llm(self, before: Wanted) -> bool:
        """Say whether something is wanted of an LLM that was not wanted `before`."""
        units = (self.units, self.value, self.seed) != (before.units, before.value, before.seed)
        return (self.units > 0 and units) or (self.triples == "llm" != before.triples)

    def kinds(self) -> list[str]:
        """Return what is wanted of an LLM."""
        units, graph = [UNITS] * (self.units > 0), [GRAPH] * (self.triples == "llm")
        return [*units, *graph]

    def without_llm(self) -> Wanted:
        """Return the part of the wish that needs no LLM."""
        return replace(self, units=0.0, triples="none" if self.triples == "llm" else self.triples)

    def plain(self) -> dict[str, Scalar]:
        """Return the wish as the index keeps it."""
        return {name: getattr(self, name) for name in ("units", "value", "seed", "triples")}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Wanted:
        """Return what `plain` gave; nothing is wanted of an index that keeps no wish."""
        return cls(**plain)


def consider(store: Store, snapshot: Snapshot, wanted: Wanted, known: Known) -> None:
    """Choose among the chunks that were not considered yet, and let the chosen ones wait.

    `known(kind, texts)` says of which texts the ledger has what an LLM made of them: these need
    no prompt, and share none with others.
    """
    before = Wanted.from_plain(store.wanted())
    ours = (wanted.units, wanted.value, wanted.seed)
    anew = ours != (before.units, before.value, before.seed)
    if wanted.units > 0:
        _consider_units(store, snapshot, wanted, known, anew=anew)
    elif anew:
        store.set_work(UNITS, {}, anew=True)
    if wanted.triples == "llm":
        consider_graph(store, snapshot, np.arange(len(snapshot.layer("chunk"))), known)


def waiting(store: Store, snapshot: Snapshot) -> dict[str, int]:
    """Return how many chunks wait for an LLM, by kind: chosen ones, and new ones to choose from."""
    wished = Wanted.from_plain(store.wanted()).kinds()
    stored = stored_chunks(snapshot)
    counts = {}
    for kind in KINDS:
        work = store.work(kind)
        new = ~np.isin(snapshot.layer("chunk").columns[kind], _PAID) & (kind in wished)
        new &= ~np.isin(stored, list(work))
        chosen_ones = np.isin(stored, [chunk for chunk, pack in work.items() if pack >= 0])
        counts[kind] = int(np.sum(new | chosen_ones))
    return counts


def consider_failed(store: Store, snapshot: Snapshot, wanted: Wanted, known: Known) -> None:
    """Let the chunks wait once more whose reply was of no use."""
    texts = titled_texts(snapshot)
    for kind in wanted.kinds():
        rows = np.flatnonzero(snapshot.layer("chunk").columns[kind] == FALLBACK)
        store.set_work(kind, _packed(store, snapshot, rows, texts, known, kind))


def _consider_units(
    store: Store, snapshot: Snapshot, wanted: Wanted, known: Known, *, anew: bool
) -> None:
    layer, stored = snapshot.layer("chunk"), stored_chunks(snapshot)
    undone = layer.columns[UNITS] == 0
    among = np.flatnonzero(undone & ~np.isin(stored, list(store.work(UNITS))))
    if anew:
        among = np.arange(len(layer))
    if not len(among):
        return
    texts = titled_texts(snapshot)
    needed = 0 < wanted.units < 1  # otherwise it does not matter what a chunk is worth
    values = chunk_values(texts, layer.vectors, wanted.value) if needed else None
    taken = chosen(layer.columns["n_tokens"], among, wanted.units, values, wanted.seed)
    free = among[known(UNITS, [texts[row] for row in among])]
    taken = np.union1d(taken, free)  # what is paid for stays
    left = {int(stored[row]): _LEFT for row in among[undone[among]]}
    packed = _packed(store, snapshot, taken[undone[taken]], texts, known, UNITS)
    store.set_work(UNITS, left | packed, anew=anew)


def consider_graph(store: Store, snapshot: Snapshot, rows: NDArray[np.intp], known: Known) -> None:
    """Let those of the chunks in `rows` wait whose triples no LLM or file has given yet."""
    done = np.isin(snapshot.layer("chunk").columns[GRAPH], _PAID)
    done |= np.isin(stored_chunks(snapshot), list(store.work(GRAPH)))
    new = np.unique(rows[~done[rows]])
    if len(new):
        texts = titled_texts(snapshot)
        store.set_work(GRAPH, _packed(store, snapshot, new, texts, known, GRAPH))


def _packed(
    store: Store,
    snapshot: Snapshot,
    rows: NDArray[np.intp],
    texts: Sequence[str],
    known: Known,
    kind: str,
) -> dict[int, int]:
    """Return the pack of each of `rows`, by the store's own numbers."""
    stored, n_tokens = stored_chunks(snapshot), snapshot.layer("chunk").columns["n_tokens"]
    asked, free = to_ask(rows, texts, known(kind, [texts[row] for row in rows]))
    groups = [part[pack] for part in (asked, free) for pack in packs(n_tokens[part].tolist())]
    first = max(store.work(kind).values(), default=_LEFT) + 1
    return {int(stored[row]): number for number, group in enumerate(groups, first) for row in group}


def to_ask(
    rows: NDArray[np.intp], texts: Sequence[str], have: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows whose texts an LLM must read, and those that cost nothing.

    A text costs nothing where the ledger has what it gave (`have`), or where it stands before.
    """
    seen: set[str] = set()
    asked = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows.tolist()):
        asked[i] = not have[i] and texts[row] not in seen
        seen.add(texts[row])
    return rows[asked], rows[~asked]


def stored_chunks(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the store's own number of each chunk."""
    if snapshot.stored_chunks is None:
        raise InputError("this snapshot is of no store, so nothing can be added to its chunks")
    return snapshot.stored_chunks


def titled_texts(snapshot: Snapshot) -> list[str]:
    """Return what models read of each chunk: its document's title on a line, then its text."""
    rows = range(len(snapshot.layer("chunk")))
    return snapshot.derived("titled texts", lambda: steps.titled_texts(snapshot, rows))


NOTHING = False  # kept of a text whose reply was of no use


@dataclass(frozen=True, slots=True)
class Memory:
    """What the ledger keeps of each text: the part of a reply that was made of it, or NOTHING."""

    ledger: Ledger | None
    model: str
    again: bool = False  # what came to nothing is to be asked for again

    def known(self, kind: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Say of which texts something is kept."""
        return np.asarray([part is not None for part in self.parts(kind, texts)], dtype=bool)

    def parts(self, kind: str, texts: Sequence[str]) -> list[Any]:
        """Return what is kept of each text, None where that is to be asked for."""
        if self.ledger is None or not texts:
            return [None] * len(texts)
        keys = [self._key(kind, text) for text in texts]
        found = self.ledger.pieces(keys)
        unknown = (None, NOTHING) if self.again else (None,)
        return [None if found.get(key) in unknown else found[key] for key in keys]

    def keep(self, kind: str, prompt: Prompt, reply: Reply, texts: Sequence[str]) -> list[Any]:
        """Keep what a reply gave of the prompt's texts, and return it.

        Of a text that it gave nothing of use that is NOTHING, and the prompt is one to ask again.
        """
        given = zip(texts, parts(reply.data, len(texts)), strict=True)
        made = [part if _is_of_use(kind, part, text) else NOTHING for text, part in given]
        if self.ledger is not None:
            self.ledger.keep({self._key(kind, t): m for t, m in zip(texts, made, strict=True)})
            if NOTHING in made:
                self.ledger.mark_failed([Request(self.model, prompt)])
        return made

    def _key(self, kind: str, text: str) -> tuple[str, ...]:
        return self.model, prompt_version(kind), text


@cache
def prompt_version(kind: str) -> str:
    """Return the version of the prompt for a kind of extraction."""
    return (units_prompt([]) if kind == UNITS else graph_prompt([], [])).version


def _is_of_use(kind: str, part: object, text: str) -> bool:
    found = read_units({"1": part}, [text]) if kind == UNITS else read_graph({"1": part}, [text])
    return bool(found[0])
