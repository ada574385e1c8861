"""Choose the chunks for extraction.

A chunk is *considered* once: it is chosen and waits in a pack, the chunks of one prompt, or it is
left as it is. That is written down before the first call, so a run that stopped goes on with the
same prompts. Chunks that come later are chosen among themselves: for units with a share of their
own, for triples as many as the core of the whole index then lacks. Only another wish has all of
them considered anew, and what is paid for stays (docs/guides/llm.md). The chunks of an imported
graph are no texts, and are never considered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from clew.base.derived import Derived
from clew.base.options import options_of
from clew.base.runtime import arguments
from clew.base.types import FALLBACK, GRAPH, KINDS, SOURCES, UNITS, Extraction, Scalar
from clew.errors import InputError
from clew.index.layers.graph_extraction import PLAIN, graph_prompt, read_graph
from clew.index.layers.graph_form import GraphForm
from clew.index.layers.salient import LEAST, LONGEST, THRESHOLD, TermSettings
from clew.index.layers.selection import Value, chunk_values, select_chunks
from clew.index.layers.units import read_units, units_prompt
from clew.index.options import EXTRACTION, AddOptions
from clew.index.snapshot import Snapshot, refer_to
from clew.index.type_schema import read_schema
from clew.models import find_wording, word
from clew.models.ledger import Request
from clew.models.prompts.packing import pack_texts, split_reply
from clew.models.replies import merge_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.store.segmented import Store
    from clew.models import LLM, Prompt, Reply, Wording
    from clew.models.ledger import Ledger

    Known = Callable[[str, Sequence[str]], NDArray[np.bool_]]

NOTE = "wanted"  # what a store keeps the wish under
_OPTIONS = options_of(AddOptions)
LEFT = -1  # the pack of a chunk that was considered and not chosen
_READ = [SOURCES.index(source) for source in ("llm", "fallback")]  # by an LLM
RECORDED = SOURCES.index("recorded")
PAID = [*_READ, RECORDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The requested extraction settings."""

    units: float = 0.0  # share of the tokens whose chunks an LLM splits into units [α of Clue-RAG]
    value: Value = "bleu"  # what makes a chunk worth it
    seed: int = 0  # of the value "random", and of a core by "random"
    triples: str = "none"  # by "llm" or "cooccurrence"
    core: float = 1.0  # share of the chunks whose triples an LLM extracts [β of KET-RAG]
    core_by: str = "pagerank"  # what chooses it, in the k-nearest-neighbour graph; or "random"
    entities: str = "llm"  # that an LLM relates: its own, or the chunk's "statistical" ones
    entity_threshold: float = THRESHOLD  # of the rate of statistical entities [τ of AGRAG]
    entity_words: int = LONGEST  # of a statistical entity, at most [b]
    gleanings: int = 0  # how often an LLM is asked for what it missed, at most [of KET-RAG]
    schema: str = ""  # types of entities and relations, as `read_schema` returns them
    descriptions: str = "short"  # or "full", as GraphRAG has them

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in EXTRACTION}
        arguments.check_arguments(given, {name: _OPTIONS[name].kind for name in EXTRACTION})

    @property
    def terms(self) -> TermSettings | None:
        """Return the term settings for an LLM's triples, or None if it finds its own entities."""
        if self.entities == "llm":
            return None
        return TermSettings(float(self.entity_threshold), self.entity_words)

    @property
    def form(self) -> GraphForm:
        """Return what an LLM is asked for in a graph."""
        return GraphForm.from_options(self.schema, self.descriptions, self.terms)

    def llm_choice(self, kind: str) -> tuple[Scalar, ...]:
        """Return the chunks that an LLM reads for a kind: share, choice, seed; () for none.

        Where the share is 1 there is no choice. What is asked for, if not the default, comes last.
        """
        core = self.core if self.triples == "llm" else 0.0
        share, by = (self.units, self.value) if kind == UNITS else (core, self.core_by)
        if share == 0:
            return ()
        choice = (share, by, self.seed) if share < 1 else (share,)
        return (*choice, repr(self.form)) if kind == GRAPH and self.form != PLAIN else choice

    def needs_llm(self, before: Wanted) -> bool:
        """Check whether an LLM is needed for anything not requested `before`."""
        return any(self.llm_choice(kind) not in ((), before.llm_choice(kind)) for kind in KINDS)

    def list_kinds(self) -> list[str]:
        return [kind for kind in KINDS if self.llm_choice(kind)]


def read_requested(store: Store) -> Wanted:
    """Return the last requested extraction settings, empty if none were stored."""
    return Wanted(**store.note(NOTE))


def merge_requested(last: Mapping[str, Scalar], fields: Mapping[str, Any]) -> Wanted:
    """Return the last settings, updated by the fields given now.

    Raises InputError for what cannot be wanted together.
    """
    if "schema" in fields:
        fields = {**fields, "schema": read_schema(fields["schema"])}
    wanted = Wanted(**{**last, **fields})
    if wanted.triples != "llm":
        of_llm = ("core", "core_by", "entities", "gleanings", "descriptions")
        given = {name: fields[name] for name in of_llm if name in fields}
        names = [name for name in given if "core" in name or given[name] not in ("", 0)]
        why = f"triples by an LLM, but triples are set to {wanted.triples!r}: use llm"
    elif wanted.terms is not None:
        others = ("gleanings", "schema", "descriptions")
        names = [name for name in others if getattr(wanted, name) != getattr(Wanted(), name)]
        why = "what an LLM finds, and statistical entities are counted: use entities='llm'"
    else:
        names = [name for name in ("entity_threshold", "entity_words") if name in fields]
        why = "statistical entities: use entities='statistical'"
    if names:
        raise InputError(f"{names[0]} is about {why}, or leave {names[0]} out")
    return wanted


def choose_chunks(
    store: Store, snapshot: Snapshot, wanted: Wanted, mark: Known, *, with_llm: bool
) -> None:
    """Choose among the new chunks, and queue the chosen ones.

    `known(kind, texts)` says of which texts the ledger has what an LLM made of them: these need
    no prompt, and share none with others. Without an LLM what waits for one goes on waiting.
    """
    before = read_requested(store)
    for kind in KINDS:
        anew = wanted.llm_choice(kind) != before.llm_choice(kind)
        if wanted.llm_choice(kind) and with_llm:
            _choose_kind(store, snapshot, wanted, kind, mark, anew=anew)
        elif anew:
            store.set_work(kind, {}, anew=True)


def count_waiting(store: Store, snapshot: Snapshot) -> dict[str, int]:
    """Return the number of chunks waiting for an LLM, by kind: queued ones and new ones."""
    kinds = read_requested(store).list_kinds()
    stored = stored_chunk_numbers(snapshot)
    counts = {}
    for kind in KINDS:
        work = store.work(kind)
        new = ~np.isin(snapshot.layer("chunk").columns[kind], PAID) & (kind in kinds)
        new &= snapshot.are_texts() & ~np.isin(stored, list(work))
        counts[kind] = int(np.sum(new | np.isin(stored, _list_chosen(work))))
    return counts


def requeue_failed(store: Store, snapshot: Snapshot, wanted: Wanted, mark: Known) -> None:
    """Queue chunks again whose reply was unusable."""
    texts = read_titled_texts(snapshot)
    for kind in wanted.list_kinds():
        rows = np.flatnonzero(snapshot.layer("chunk").columns[kind] == FALLBACK)
        store.set_work(kind, assign_packs(store, snapshot, rows, texts, mark, kind))


def requeue_graph(store: Store, snapshot: Snapshot, rows: NDArray[np.intp], mark: Known) -> None:
    """Queue the texts in `rows` that have no triples from an LLM or file."""
    done = np.isin(snapshot.layer("chunk").columns[GRAPH], PAID)
    done |= np.isin(stored_chunk_numbers(snapshot), _list_chosen(store.work(GRAPH)))
    done |= ~snapshot.are_texts()
    new = np.unique(rows[~done[rows]])
    if len(new):
        texts = read_titled_texts(snapshot)
        store.set_work(GRAPH, assign_packs(store, snapshot, new, texts, mark, GRAPH))


def _list_chosen(work: Mapping[int, int]) -> list[int]:
    return [chunk for chunk, pack in work.items() if pack != LEFT]


def _choose_kind(
    store: Store, snapshot: Snapshot, wanted: Wanted, kind: str, mark: Known, *, anew: bool
) -> None:
    layer, stored, work = snapshot.layer("chunk"), stored_chunk_numbers(snapshot), store.work(kind)
    texts_only, done = snapshot.are_texts(), PAID
    if kind == GRAPH and wanted.form != read_requested(store).form:
        done = [RECORDED]  # an LLM's reply to another form is to be replaced
    undone = texts_only & ~np.isin(layer.columns[kind], done)
    among = np.flatnonzero(texts_only if anew else undone & ~np.isin(stored, list(work)))
    if not len(among):
        return
    texts = read_titled_texts(snapshot)
    free = among[mark(kind, [texts[row] for row in among.tolist()])]
    if kind == UNITS:
        choice = _choose_best(snapshot, wanted, among)
    elif anew:
        choice = _choose_core(snapshot, wanted, among, 0)
    else:
        read = np.isin(layer.columns[kind], _READ) | np.isin(stored, _list_chosen(work))
        n_read = int(np.sum(read)) + len(free)
        choice = _choose_core(snapshot, wanted, np.setdiff1d(among, free), n_read)
    taken = np.union1d(choice, free)  # what is paid for stays
    left = {int(stored[row]): LEFT for row in among[undone[among]]}
    chosen_ones = assign_packs(store, snapshot, taken[undone[taken]], texts, mark, kind)
    store.set_work(kind, left | chosen_ones, anew=anew)


def _choose_best(snapshot: Snapshot, wanted: Wanted, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the chunks `among` the given ones that get units, by their value."""
    layer, texts = snapshot.layer("chunk"), read_titled_texts(snapshot)
    rows, values = np.flatnonzero(snapshot.are_texts()), None
    if wanted.units < 1:  # with a share of 1 it does not matter what a chunk is worth
        own = [texts[row] for row in rows.tolist()]
        values = chunk_values(own, layer.vectors[rows], wanted.value)
    n_tokens, places = layer.columns["n_tokens"][rows], np.searchsorted(rows, among)
    return rows[select_chunks(n_tokens, places, wanted.units, values, wanted.seed)]


def _choose_core(
    snapshot: Snapshot, wanted: Wanted, among: NDArray[np.intp], n_read: int
) -> NDArray[np.intp]:
    """Return the chunks `among` the given ones missing from the core, with `n_read` others done."""
    from clew.algo.knn import choose_core, core_size  # with SciPy, which takes long to load
    from clew.index.neighbours import chunk_ranks  # which loads SciPy

    size = core_size(int(np.sum(snapshot.are_texts())), wanted.core)
    quota = min(max(size - n_read, 0), len(among))
    if quota in (0, len(among)):
        return among[:quota]
    ranks = chunk_ranks(snapshot)[among] if wanted.core_by == "pagerank" else None
    return among[choose_core(len(among), quota, ranks, wanted.seed)]


def assign_packs(
    store: Store,
    snapshot: Snapshot,
    rows: NDArray[np.intp],
    texts: Sequence[str],
    mark: Known,
    kind: str,
) -> dict[int, int]:
    """Return the pack of each of `rows`, numbered by stored chunk."""
    stored, n_tokens = stored_chunk_numbers(snapshot), snapshot.layer("chunk").columns["n_tokens"]
    unread, free = select_unread(rows, texts, mark(kind, [texts[row] for row in rows]))
    groups = [
        part[pack]
        for part in (unread, free)
        for pack in pack_texts([texts[row] for row in part], n_tokens[part].tolist())
    ]
    first = max(store.work(kind).values(), default=LEFT) + 1
    return {int(stored[row]): number for number, group in enumerate(groups, first) for row in group}


def select_unread(
    rows: NDArray[np.intp], texts: Sequence[str], have: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows whose texts need an LLM call, and those already recorded.

    A text costs nothing where the ledger has what it gave (`have`), or where it stands before.
    """
    seen: set[str] = set()
    unread = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows.tolist()):
        unread[i] = not have[i] and texts[row] not in seen
        seen.add(texts[row])
    return rows[unread], rows[~unread]


def stored_chunk_numbers(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the stored row of each chunk."""
    numbers: NDArray[np.int64] | None = snapshot.layer("chunk").columns.get("number")
    if numbers is None:
        raise InputError("this snapshot has no store, so nothing can be added to it")
    return numbers


def read_titled_texts(snapshot: Snapshot) -> Sequence[str]:
    """Return what models read of each chunk: its document's title on a line, then its text.

    Of no more chunks the text is read than of those that are asked for.
    """
    return snapshot.get(_TITLED_TEXTS)


class _TitledTexts(Sequence[str]):
    def __init__(self, snapshot: Snapshot) -> None:
        self._of = refer_to(snapshot)  # which keeps these
        self._read: dict[int, str] = {}

    @property
    def _snapshot(self) -> Snapshot:
        return self._of()

    def __len__(self) -> int:
        return len(self._snapshot.layer("chunk"))

    @overload
    def __getitem__(self, row: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: SupportsIndex | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        chunk = range(len(self))[row]  # which raises where there is none
        if chunk not in self._read:
            [self._read[chunk]] = self._snapshot.titled_texts([chunk])
        return self._read[chunk]


_TITLED_TEXTS = Derived("titled texts", _TitledTexts)


NOTHING = False  # kept of a text whose reply was of no use


@dataclass(frozen=True, slots=True)
class ReplyMemory:
    """The recorded extraction of each text, as part of a reply; NOTHING if it was empty."""

    ledger: Ledger | None
    model: str
    wording: Wording | None = None  # in which it is asked
    again: bool = False  # what came to nothing is to be asked for again
    # The terms of each text among which relations are asked for, if the form has such.
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gleanings: int = 0  # how often it was asked for what it missed of a graph, at most
    form: GraphForm = PLAIN  # what it was asked for

    @classmethod
    def from_llm(
        cls,
        ledger: Ledger | None,
        llm: LLM | None,
        wanted: Wanted,
        listed: Mapping[str, Sequence[str]],
        *,
        again: bool = False,
    ) -> ReplyMemory:
        """Return the recorded replies of an LLM, or none without one."""
        model, wording = llm.name if llm else "", find_wording(llm)
        return cls(ledger, model, wording, again, listed, wanted.gleanings, wanted.form)

    def word(self, prompt: Prompt) -> Prompt:
        """Return a prompt as sent, in the wording of the model."""
        return word(prompt, self.wording)

    def split_packs(self, packs: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Return packs of chunks as the model is asked: of one chunk, if its wording says so."""
        alone = self.wording is not None and self.wording.alone
        return [[row] for pack in packs for row in pack] if alone else [*packs]

    def mark_known(self, kind: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        return np.asarray([part is not None for part in self.get_parts(kind, texts)], dtype=bool)

    def get_parts(self, kind: str, texts: Sequence[str]) -> list[Any]:
        unrelated = [self._termless_part(kind, text) for text in texts]
        if self.ledger is None or not texts:
            return unrelated
        keys = self._make_keys(kind, texts)
        pieces = self.ledger.pieces(keys)
        unknown = (None, NOTHING) if self.again else (None,)
        own = (None if pieces.get(key) in unknown else pieces[key] for key in keys)
        return [a if b is None else b for a, b in zip(unrelated, own, strict=True)]

    def count_gleanings(self, kind: str) -> int:
        return self.gleanings if kind == GRAPH else 0

    def read_parts(
        self, kind: str, reply: Reply, texts: Sequence[str], before: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return each text's part of a reply, after the parts it has from `before`.

        Of a text that has nothing of use that is NOTHING.
        """
        given = zip(texts, split_reply(reply.data, len(texts)), strict=True)
        made = [self._build_part(kind, part, text) for text, part in given]
        if before is None:
            return made
        return [self._add_part(*each) for each in zip(texts, before, made, strict=True)]

    def keep(self, kind: str, prompt: Prompt, parts: Sequence[Any], texts: Sequence[str]) -> None:
        """Record the parts of texts; a prompt with a part of NOTHING is asked again."""
        if self.ledger is not None:
            self.ledger.keep(dict(zip(self._make_keys(kind, texts), parts, strict=True)))
            if NOTHING in parts:
                self.ledger.mark_failed([Request(self.model, prompt)])

    def prompt_version(self, kind: str) -> str:
        """Return the version of the extraction prompt of a kind."""
        prompt = units_prompt([]) if kind == UNITS else graph_prompt([], [], form=self.form)
        return self.word(prompt).version

    def stored_version(self, kind: str) -> str:
        """Return the version under which parts of a kind are recorded."""
        version = self.prompt_version(kind)
        if kind == GRAPH and self.form.terms:
            return f"{version} {self.form.terms.threshold!r} {self.form.terms.longest}"
        if self.count_gleanings(kind):
            more = self.word(graph_prompt([], [], [], self.form))
            return f"{version} {more.version} {self.gleanings}"
        return version

    def _make_keys(self, kind: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        version = self.stored_version(kind)
        return [(self.model, version, text) for text in texts]

    def _termless_part(self, kind: str, text: str) -> dict[str, Any] | None:
        """Return the extraction of a text with too few terms to ask about, else None."""
        if kind != GRAPH or not self.form.terms or len(self.listed[text]) >= LEAST:
            return None
        return {"relations": [], "listed": list(self.listed[text])}

    def _build_part(self, kind: str, part: Any, text: str) -> Any:  # noqa: ANN401 -- parsed JSON
        """Return the recorded form of a part: with the listed terms, or NOTHING.

        Which terms a text has may change with the texts beside it.
        """
        if kind == UNITS:
            return part if read_units({"1": part}, [text])[0] else NOTHING
        if self.form.terms and isinstance(part, Mapping):
            part = {**part, "listed": list(self.listed[text])}
        return part if self._read_graph(part, text) else NOTHING

    def _add_part(self, text: str, first: Any, second: Any) -> Any:  # noqa: ANN401 -- parsed JSON
        """Merge the parts of two replies about a text."""
        if first is NOTHING or second is NOTHING:
            return first or second
        both = merge_parts(first, second)
        return first if self._read_graph(first, text) == self._read_graph(both, text) else both

    def _read_graph(self, part: Any, text: str) -> Extraction | None:  # noqa: ANN401 -- parsed JSON
        return read_graph({"1": part}, [text], form=self.form)[0]
