"""What is extracted from chunks: which ones, by what, what it leaves, and what a stop leaves."""

import json
import math
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import steps
from clew.algo.knn import choose_core, core_size
from clew.base.types import FALLBACK, GRAPH, LLM_MADE, SOURCES, UNITS
from clew.errors import BudgetSpent, EndpointError, InputError, MissingExtra
from clew.index import choose, extract, plan
from clew.index.choose import Wanted
from clew.index.generation import compact, open_snapshot, wasted_share
from clew.models.budget import Budget
from clew.models.cooccurrence import Cooccurrence
from clew.models.ledger import Ledger
from clew.models.recorded_llm import recorded
from clew.text.analyze import term_spans
from clew.text.chunking import Chunking
from tests import snapshots
from tests.index.build import MODELS, add, contents, create, document, scratch
from tests.index.reads import Reads, ReadsChat, passages
from tests.index.store.corpus import documents
from tests.trials import trials

BOTH = Wanted(units=0.5, triples="llm")
HALF = Wanted(triples="llm", core=0.5)


def models(llm=None):
    return replace(MODELS, llm=llm or Reads())


@pytest.fixture
def store():
    with scratch() as folder, create(folder / "index") as opened:
        add(opened, documents(n=24))
        yield opened


def run(store, wanted=BOTH, llm=None, **given):
    return extract.run_extractions(store, models(llm), wanted, **given)


def made_by(store, kind):
    with closing(open_snapshot(store)) as snapshot:
        return snapshot.layer("chunk").columns[kind].copy()


def test_units_of_chosen_chunks(store):
    """The chosen chunks have an LLM's units in place of their sentences, the others sentences."""
    done = run(store, Wanted(units=0.5))
    snapshot = open_snapshot(store)
    units, chunks = snapshot.layer("unit"), snapshot.layer("chunk")
    by_llm = chunks.columns[UNITS] == LLM_MADE
    assert done.llm == {UNITS: int(by_llm.sum()), GRAPH: 0}
    assert 0 < by_llm.sum() < len(chunks)
    tokens = chunks.columns["n_tokens"]
    assert tokens[by_llm].sum() <= np.ceil(0.5 * tokens.sum())
    for row, text in enumerate(units.texts(range(len(units)))):
        assert text.startswith("In ") == by_llm[units.columns["chunk"][row]]
    assert not done.stopped
    assert not sum(done.waiting.values())
    snapshots.check_consistent(snapshot)
    snapshot.close()


def test_all_and_none(store):
    """A share of 1 takes every chunk, whatever it is worth, and 0 none."""
    run(store, Wanted(units=0.0))
    assert not made_by(store, UNITS).any()
    run(store, Wanted(units=1.0))
    assert (made_by(store, UNITS) == LLM_MADE).all()


@pytest.mark.parametrize("value", ["bleu", "cos", "random"])
def test_every_value_keeps_its_share(store, value):
    """Whatever chunks are valued by, the chosen ones keep within the share of tokens."""
    run(store, Wanted(units=0.3, value=value))
    snapshot = open_snapshot(store)
    tokens = snapshot.layer("chunk").columns["n_tokens"]
    chosen = snapshot.layer("chunk").columns[UNITS] == LLM_MADE
    assert 0.15 * tokens.sum() < tokens[chosen].sum() <= np.ceil(0.3 * tokens.sum())
    snapshot.close()


def test_unit_rows(store):
    """An LLM's unit has its text, an id, its chunk's range, tokens, a vector and mentions."""
    run(store, Wanted(units=1.0))
    snapshot = open_snapshot(store)
    units = snapshot.layer("unit")
    ids = units.ids(range(len(units)))
    assert units.rows(ids) == list(range(len(units)))
    assert all("#" in i for i in ids)
    assert units.rows(["d00:0-1#0", ids[0].rpartition("#")[0], "d00:0-1#x"]) == [-1, -1, -1]
    text = units.texts([3])[0]
    [embedded] = MODELS.embedder.embed_tokens([text])
    assert units.vectors[3] @ embedded.pooled == pytest.approx(1, abs=1e-3)  # of any bits
    assert len(units.tokens(3)) == len(list(term_spans(text)))  # tokens of terms: these are words
    entities = snapshot.layer("entity")
    named = snapshot.link("unit", "entity")[[3]].indices
    assert any(name in text for name in entities.texts(named.tolist()))
    snapshot.close()


def test_graph_rows(store):
    """Triples have their entities, relation and chunk; entities their type and descriptions."""
    done = run(store, Wanted(triples="llm"))
    assert done.llm[GRAPH] == len(made_by(store, GRAPH))
    snapshot = open_snapshot(store)
    triples, entities = snapshot.layer("triple"), snapshot.layer("entity")
    row = triples.rows([triples.ids([5])[0]])[0]
    assert row == 5
    ends = [int(triples.columns[end][5]) for end in ("subject", "object")]
    subject, target = entities.texts(ends)
    assert triples.texts([5]) == [f"{subject} goes with {target}"]
    assert triples.relations([5]) == ["goes with"]
    assert triples.descriptions(5) == [f"{subject} goes with {target}."]
    assert np.allclose(
        triples.vectors[5], MODELS.embedder.embed(triples.texts([5]), kind="document")[0], atol=4e-3
    )
    chunks = snapshot.link("triple", "chunk")[[5]]
    assert chunks.data.sum() == triples.columns["strength"][5] == 5 * len(chunks.indices)
    for chunk in chunks.indices:
        text = snapshot.layer("chunk").texts([int(chunk)])[0]
        assert subject in text or target in text
    described = snapshot.layer("description")
    mine = np.flatnonzero(described.columns["entity"] == ends[0]).tolist()
    assert set(described.texts(mine)) == {f"{subject} of the notes"}
    assert np.linalg.norm(entities.vectors[ends], axis=1) == pytest.approx([1, 1], abs=0.2)
    snapshots.check_consistent(snapshot)
    snapshot.close()


def test_second_run_asks_nothing(store):
    """What is there is not asked for again."""
    run(store)
    before = contents(store)
    llm = Reads()
    done = run(store, llm=llm)
    assert (llm.prompts, done.n_chunks) == ([], 0)
    assert contents(store) == before


def test_fallback_is_flagged(store):
    """A chunk whose reply was of no use keeps its sentences or has co-occurrences, and says so."""
    useless = Reads(useless=lambda prompt: "Note 3 |" in prompt.user)
    done = run(store, Wanted(units=1.0, triples="llm"), llm=useless)
    assert done.fallback[UNITS] >= 1
    assert done.fallback[GRAPH] >= 1
    snapshot = open_snapshot(store)
    chunks, units = snapshot.layer("chunk"), snapshot.layer("unit")
    fallen = np.flatnonzero(chunks.columns[UNITS] == FALLBACK)
    assert "d03:" in "".join(chunks.ids(fallen.tolist()))
    mine = np.flatnonzero(np.isin(units.columns["chunk"], fallen))
    assert (units.columns["source"][mine] == FALLBACK).all()
    assert not any(text.startswith("In ") for text in units.texts(mine.tolist()))
    snapshot.close()


def test_failed_chunks_are_asked_for_on_demand(store):
    """A fallback stays until it is asked for again by name."""
    useless = Reads(useless=lambda prompt: "Note 3 |" in prompt.user)
    wanted = Wanted(units=1.0, triples="llm")
    run(store, wanted, llm=useless)
    llm = Reads()
    run(store, wanted, llm=llm)
    assert not llm.prompts
    run(store, wanted, llm=llm, again=True)
    assert llm.prompts
    assert set(made_by(store, UNITS)) == set(made_by(store, GRAPH)) == {LLM_MADE}
    with scratch() as folder, create(folder / "fresh") as fresh:
        add(fresh, documents(n=24))
        run(fresh, wanted)
        assert contents(store) == contents(fresh)


class StopsAfter(Reads):
    """An LLM whose budget, or whose endpoint, ends after some replies."""

    def __init__(self, n, error):
        super().__init__()
        self._left, self._error = n, error

    def complete(self, prompts):
        if len(prompts) > self._left:
            raise self._error
        self._left -= len(prompts)
        return super().complete(prompts)


def test_spent_budget_ends_cleanly(store):
    """What came before the end is committed, the rest waits, and the same call goes on."""
    whole = Reads()
    with scratch() as folder, create(folder / "whole") as other:
        add(other, documents(n=24))
        run(other, llm=whole)
        expected = contents(other)
    stops = StopsAfter(3, BudgetSpent("the budget of 9 tokens leaves no room"))
    done = run(store, llm=stops)
    assert done.stopped == "the budget of 9 tokens leaves no room"
    assert done.llm[UNITS] > 0
    assert sum(done.waiting.values()) > 0
    rest = Reads()
    done = run(store, llm=rest)
    assert not done.stopped
    assert not sum(done.waiting.values())
    asked = [p.user for p in (*stops.prompts, *rest.prompts)]
    assert sorted(asked) == sorted(p.user for p in whole.prompts)
    assert contents(store) == expected


def test_what_waits_survives_a_run_without_an_llm(store):
    """A run without an LLM leaves the chosen chunks and their packs as they are."""
    run(store, llm=StopsAfter(2, BudgetSpent("no room")))
    waiting = {kind: dict(store.work(kind)) for kind in (UNITS, GRAPH)}
    assert any(pack >= 0 for pack in waiting[UNITS].values())
    done = extract.run_extractions(store, MODELS, BOTH)
    assert {kind: dict(store.work(kind)) for kind in (UNITS, GRAPH)} == waiting
    assert sum(done.waiting.values()) > 0
    run(store, Wanted(triples="llm"), llm=Reads())
    assert not store.work(UNITS)


@pytest.mark.parametrize("having", [MODELS, models()], ids=["no LLM", "LLM"])
def test_a_wish_that_ends_leaves_nothing_waiting(store, having):
    """What waits is wanted no more, with an LLM or without one."""
    run(store, llm=StopsAfter(2, BudgetSpent("no room")))
    done = extract.run_extractions(store, having, Wanted())
    assert not sum(done.waiting.values())
    assert not store.work(UNITS)
    assert not store.work(GRAPH)


def test_dead_endpoint_commits_what_came(store):
    """An endpoint that dies is an error, after what came before is committed."""
    with pytest.raises(EndpointError, match="gone"):
        run(store, Wanted(units=1.0), llm=StopsAfter(2, EndpointError("gone")))
    assert (made_by(store, UNITS) == LLM_MADE).any()


def test_new_documents_have_their_own_share(store):
    """Later chunks are chosen among themselves, and older ones keep what they have."""
    run(store, Wanted(units=0.5))
    before = dict(zip(_ids(store), made_by(store, UNITS), strict=True))
    llm = Reads()
    add(store, [replace(d, id=f"e{d.id}", text=f"Later. {d.text}") for d in documents(n=24)])
    run(store, Wanted(units=0.5), llm=llm)
    after = dict(zip(_ids(store), made_by(store, UNITS), strict=True))
    assert {i: after[i] for i in before} == before
    assert 0 < sum(s == LLM_MADE for i, s in after.items() if i not in before) < len(before)
    assert all("Later" in prompt.user for prompt in llm.prompts)


def _ids(store):
    with closing(open_snapshot(store)) as snapshot:
        return snapshot.layer("chunk").ids(range(len(snapshot.layer("chunk"))))


def test_larger_share_keeps_what_is_paid(store):
    """Asking for a larger share chooses anew among all chunks and pays only for the new ones."""
    run(store, Wanted(units=0.3))
    paid = made_by(store, UNITS) == LLM_MADE
    llm = Reads()
    run(store, Wanted(units=1.0), llm=llm)
    assert (made_by(store, UNITS) == LLM_MADE).all()
    assert sum(p.user.rpartition("Passages")[2].count("] Note") for p in llm.prompts) == sum(~paid)


def test_rules_and_llm(store):
    """Triples by rules are replaced by an LLM's, and never the other way round."""
    rules = Cooccurrence(MODELS.tagger)
    done = run(store, Wanted(triples="cooccurrence"), rules=rules)
    assert done.rules == len(made_by(store, GRAPH))
    assert set(made_by(store, GRAPH)) == {SOURCES.index("cooccurrence")}
    assert run(store, Wanted(triples="cooccurrence"), rules=rules).rules == 0
    run(store, Wanted(triples="llm"))
    assert set(made_by(store, GRAPH)) == {LLM_MADE}
    assert run(store, Wanted(triples="cooccurrence"), rules=rules).rules == 0
    assert set(made_by(store, GRAPH)) == {LLM_MADE}


class Lacking:
    """A tagger whose package is not installed."""

    @property
    def name(self):
        raise MissingExtra("tagger", "spacy", "this tagger")

    def tag(self, texts):  # noqa: ARG002
        raise AssertionError("it is asked after the check")


def test_a_wish_that_cannot_be_met_is_not_kept(store):
    """What fails before its first step leaves the index as it was, for the next run."""
    lacking, wanted = replace(MODELS, tagger=Lacking()), Wanted(triples="cooccurrence")
    with pytest.raises(MissingExtra):
        extract.run_extractions(store, lacking, wanted, rules=Cooccurrence(lacking.tagger))
    assert store.note("wanted") == {}


def test_needs_an_llm(store):
    """Without an LLM an extraction that needs one is an input error."""
    with pytest.raises(InputError, match="needs an LLM"):
        extract.run_extractions(store, MODELS, BOTH)
    for wrong in (
        {"units": 1.5},
        {"units": -0.1},
        {"value": "best"},
        {"triples": "magic"},
        {"core": 1.5},
        {"core": math.nan},
        {"core_by": "best"},
    ):
        with pytest.raises(InputError):
            Wanted(**wrong)


def test_triples_of_some_chunks(store):
    """Some chunks' triples now, the others' later, and none twice."""
    ids = _ids(store)
    llm = Reads()
    done = extract.extract_triples(store, models(llm), ids[3:7])
    assert done.llm[GRAPH] == 4
    assert np.flatnonzero(made_by(store, GRAPH)).tolist() == [3, 4, 5, 6]
    assert extract.extract_triples(store, models(llm), ids[3:7]).n_chunks == 0
    assert run(store, Wanted(triples="llm"), llm=llm).llm[GRAPH] == len(ids) - 4
    with pytest.raises(InputError, match="no chunk 'nowhere'"):
        extract.extract_triples(store, models(llm), ["nowhere"])
    with pytest.raises(InputError, match="needs an LLM"):
        extract.extract_triples(store, MODELS, ids)


def core_rows(store, share, by="pagerank", seed=0):
    """Return the core of all chunks."""
    with closing(open_snapshot(store)) as snapshot:
        n = len(snapshot.layer("chunk"))
        ranks = None if by == "random" else steps.chunk_ranks(snapshot)
    return choose_core(n, core_size(n, share), ranks, seed).tolist()


def of_llm(store):
    return np.flatnonzero(made_by(store, GRAPH) == LLM_MADE).tolist()


@given(
    st.fractions(0, 1, max_denominator=40),
    st.sampled_from(("pagerank", "random")),
    st.integers(0, 3),
)
def test_a_core_is_its_share_of_the_chunks(fresh, share, by, seed):
    """On a fresh index ⌈β n⌉ chunks wait, and all others are considered and left."""
    store, snapshot = fresh
    wanted = Wanted(triples="llm", core=float(share), core_by=by, seed=seed)
    store.set_work(GRAPH, {}, anew=True)
    choose.choose_chunks(store, snapshot, wanted, _nothing_known, with_llm=True)
    work = store.work(GRAPH)
    n = len(snapshot.layer("chunk"))
    assert sum(pack >= 0 for pack in work.values()) == math.ceil(Fraction(share) * n)
    assert len(work) == (n if share else 0)


@pytest.fixture(scope="module")
def fresh():
    with scratch() as folder, create(folder / "index") as opened:
        add(opened, documents(n=24))
        snapshot = open_snapshot(opened)
        yield opened, snapshot
        snapshot.close()


def _nothing_known(_kind, texts):
    return np.zeros(len(texts), dtype=bool)


@pytest.mark.parametrize(("by", "seed"), [("pagerank", 0), ("random", 0), ("random", 7)], ids=str)
def test_an_llm_reads_the_core(store, by, seed):
    """The chunks that are asked for are those of the chunk graph's core, or of the sample."""
    llm = Reads()
    done = run(store, replace(HALF, core_by=by, seed=seed), llm=llm)
    assert of_llm(store) == core_rows(store, 0.5, by=by, seed=seed)
    assert done.llm[GRAPH] == 12
    assert not sum(done.waiting.values())
    assert n_read(llm) == 12


def n_read(llm):
    return sum(len(passages(prompt.user)) for prompt in llm.prompts)


def test_no_core_and_all(store):
    """A core of 0 is no chunk, not all of them, and waits for none; one of 1 is every chunk."""
    llm = Reads()
    done = run(store, Wanted(triples="llm", core=0), llm=llm)
    assert not llm.prompts
    assert not made_by(store, GRAPH).any()
    assert not sum(done.waiting.values())
    assert store.note("wanted")["core"] == 0
    run(store, Wanted(triples="llm", core=1))
    assert (made_by(store, GRAPH) == LLM_MADE).all()


def later(n):
    """Return documents that come later: `n` chunks."""
    return [replace(d, id=f"e{d.id}", text=f"Later. {d.text}") for d in documents(n=n)]


def test_new_documents_fill_the_core(store):
    """Of new chunks those are read that the core lacks, of most rank among all; the old stay."""
    run(store, HALF)
    old = _ids(store)
    paid = {old[row] for row in of_llm(store)}
    llm = Reads()
    add(store, later(9))
    run(store, HALF, llm=llm)
    ids, now = _ids(store), of_llm(store)
    new = [row for row, i in enumerate(ids) if i not in old]
    snapshot = open_snapshot(store)
    ranks = steps.chunk_ranks(snapshot)
    snapshot.close()
    best = sorted(new, key=lambda row: (-round(ranks[row] * len(ids), 6), row))[:4]
    assert {ids[row] for row in now} == paid | {ids[row] for row in best}
    assert n_read(llm) == 4  # with the 12 of 23 that were read they are half of 32


BATCHES = (
    st.fractions(0, 1, max_denominator=20),
    st.sampled_from(("pagerank", "random")),
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
)


@given(*BATCHES)
@trials(6, 60)
def test_a_core_is_its_share_however_documents_come(share, by, sizes):
    """⌈β n⌉ chunks are read after each batch, whether they come one by one or together."""
    wanted, coming = Wanted(triples="llm", core=float(share), core_by=by), iter(documents())
    with scratch() as folder, create(folder / "index") as store:
        for size in sizes:
            add(store, list(islice(coming, size)))
            run(store, wanted)
            assert len(of_llm(store)) == math.ceil(share * len(_ids(store)))


@given(st.data())
@trials(5, 60)
def test_a_core_does_not_creep_up(data):
    """Whatever is removed, changed and comes back, nothing is paid beyond the share."""
    wanted = replace(HALF, core=0.25)
    some = st.sets(st.sampled_from([d.id for d in documents(n=16)]), min_size=1)
    with scratch() as folder, create(folder / "index") as store:
        ledger = Ledger(folder / "calls.sqlite")
        for state in data.draw(st.lists(st.integers(0, 1), min_size=2, max_size=6)):
            store.remove(sorted(data.draw(some) & store.hashes().keys()))
            if data.draw(st.booleans()):
                compact(store)
            ids = data.draw(some)
            given = [replace(d, text=f"Now {state}. {d.text}") for d in documents(n=16)]
            add(store, [d for d in given if d.id in ids])
            chat = ReadsChat()
            run(store, wanted, llm=recorded(chat, ledger), ledger=ledger)
            within = len(of_llm(store)) <= math.ceil(0.25 * len(_ids(store)))
            assert within or not chat.texts


def test_a_core_counts_what_comes_back(store, tmp_path):
    """What was read comes back for nothing, as a part of the core and not beside it."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    run(store, HALF, llm=recorded(ReadsChat(), ledger), ledger=ledger)
    paid = {_ids(store)[row] for row in of_llm(store)}
    store.remove(list(store.hashes()))
    compact(store)
    chat = ReadsChat()
    add(store, [*documents(n=24), *later(9)])
    run(store, HALF, llm=recorded(chat, ledger), ledger=ledger)
    read = {_ids(store)[row] for row in of_llm(store)}
    assert paid < read
    assert len(chat.texts) == len(read - paid) == 4


def test_no_ranks_without_a_choice(store, monkeypatch):
    """Where the core lacks no chunk, or all that are new, nothing is ranked."""
    run(store, replace(HALF, core=0.3))
    monkeypatch.setattr(steps, "chunk_ranks", None)
    add(store, later(1))
    assert run(store, replace(HALF, core=0.3)).llm[GRAPH] == 1  # 8 of 24, as 7 of 23 before
    add(store, later(2))
    assert not run(store, replace(HALF, core=0.3)).n_chunks


def test_recorded_triples_are_not_of_the_core(store, tmp_path):
    """What a file gave does not count as read, and is not read."""
    path = tmp_path / "triples.jsonl"
    lines = [{"id": d.id, "triples": [["Mira Toll", "left", "Verle"]]} for d in documents(n=6)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run(store, HALF)
    extract.import_triples(store, path, MODELS)
    assert len(of_llm(store)) == 8  # of 12
    add(store, later(9))
    assert run(store, HALF).llm[GRAPH] == 8
    assert len(of_llm(store)) == 16  # half of 32


def test_another_core_keeps_what_is_paid(store):
    """A wish for another core chooses anew among all chunks, and only what is new is paid."""
    run(store, replace(HALF, core=0.3))
    paid = set(of_llm(store))
    for wanted, core in (
        (replace(HALF, core=0.6), core_rows(store, 0.6)),
        (replace(HALF, core=0.2), core_rows(store, 0.2)),
        (replace(HALF, core_by="random"), core_rows(store, 0.5, by="random")),
        (replace(HALF, core_by="random", seed=7), core_rows(store, 0.5, by="random", seed=7)),
    ):
        llm = Reads()
        run(store, wanted, llm=llm)
        assert n_read(llm) == len(set(core) - paid)
        paid |= set(core)
        assert set(of_llm(store)) == paid
    assert len(paid) < len(_ids(store))


def test_a_core_that_was_wanted_before_another_wish_is_forgotten(store):
    """What a core left out is considered anew when triples are wanted again."""
    run(store, HALF)
    run(store, Wanted())
    run(store, Wanted(triples="llm"))
    assert (made_by(store, GRAPH) == LLM_MADE).all()


def test_a_core_keeps_what_the_ledger_has(store, tmp_path):
    """A text that was read elsewhere costs nothing, so it is taken beside the core."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    run(store, replace(HALF, core=0.25), llm=recorded(ReadsChat(), ledger), ledger=ledger)
    known = {i for i, source in zip(_ids(store), made_by(store, GRAPH), strict=True) if source}
    with scratch() as folder, create(folder / "other") as other:
        add(other, documents(n=24))
        chat, sample = ReadsChat(), replace(HALF, core=0.25, core_by="random")
        run(other, sample, llm=recorded(chat, ledger), ledger=ledger)
        ids = _ids(other)
        core = {ids[row] for row in core_rows(other, 0.25, by="random")}
        assert {ids[row] for row in of_llm(other)} == core | known
        assert len(chat.texts) == len(core - known)
    assert core - known
    assert known - core


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("replies", [0, 1, 3])
def test_a_killed_run_goes_on_with_its_core(store, tmp_path, replies):
    """Killed before or after the wish is kept, a run buys what the undisturbed one buys."""
    whole = Reads()
    with scratch() as folder, create(folder / "whole") as other:
        add(other, documents(n=24))
        run(other, HALF, llm=whole)
        expected = contents(other)
    ledger = Ledger(tmp_path / "calls.sqlite")
    first = StopsAfter(replies, Killed())
    with pytest.raises(Killed):
        run(store, HALF, llm=first, ledger=ledger)
    rest = Reads()
    run(store, HALF, llm=rest, ledger=ledger)
    asked = [prompt.user for prompt in (*first.prompts, *rest.prompts)]
    assert sorted(asked) == sorted(prompt.user for prompt in whole.prompts)
    assert contents(store) == expected


def test_a_run_killed_while_it_chooses_chooses_again(store, monkeypatch):
    """What was chosen before the wish is kept is chosen again, and to the same end."""

    def killed(_name, _wanted):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store, "set_note", killed)
        with pytest.raises(Killed):
            run(store, HALF)
    chosen = {chunk for chunk, pack in store.work(GRAPH).items() if pack >= 0}
    run(store, HALF, llm=StopsAfter(0, BudgetSpent("no room")))
    assert {chunk for chunk, pack in store.work(GRAPH).items() if pack >= 0} == chosen
    assert len(chosen) == 12


def test_a_core_waits_for_an_llm(store):
    """Without one, a new core is refused, and of new documents those wait that may be chosen."""
    run(store, HALF)
    with pytest.raises(InputError, match="needs an LLM"):
        extract.run_extractions(store, MODELS, replace(HALF, core=0.8))
    add(store, later(9))
    done = extract.run_extractions(store, MODELS, HALF)
    assert done.waiting == {UNITS: 0, GRAPH: 9}
    done = run(store, HALF)
    assert (done.llm[GRAPH], done.waiting[GRAPH]) == (4, 0)


@pytest.mark.parametrize(
    "llm",
    [Reads(useless=lambda _: True), StopsAfter(0, BudgetSpent("no room"))],
    ids=["failed", "waits"],
)
def test_what_failed_or_waits_is_of_the_core(store, llm):
    """A chunk whose reply was of no use has its place in the core, as one that is to be read."""
    run(store, HALF, llm=llm)
    add(store, later(9))
    run(store, HALF)
    assert np.isin(made_by(store, GRAPH), [LLM_MADE, FALLBACK]).sum() == 16  # half of 32


def test_all_chunks_are_no_choice(store):
    """Another way to choose a core is no other wish where all chunks are wanted."""
    wanted, other = Wanted(triples="llm"), Wanted(triples="llm", core_by="random", seed=7)
    run(store, wanted, llm=StopsAfter(2, BudgetSpent("no room")))
    waiting = dict(store.work(GRAPH))
    assert waiting
    done = extract.run_extractions(store, MODELS, other)
    assert store.work(GRAPH) == waiting
    assert done.waiting[GRAPH] == len(waiting)
    assert replace(HALF, core_by="random").llm_choice(GRAPH) != HALF.llm_choice(GRAPH)
    assert replace(other, core=0.5).llm_choice(GRAPH) != replace(
        other, core=0.5, seed=0
    ).llm_choice(GRAPH)


def test_triples_of_a_chunk_beside_the_core(store):
    """A chunk that the core left out is read when it is asked for."""
    run(store, HALF)
    ids = _ids(store)
    left = [row for row in range(len(ids)) if row not in core_rows(store, 0.5)]
    done = extract.extract_triples(store, models(), [ids[left[0]]])
    assert done.llm[GRAPH] == 1
    assert set(of_llm(store)) == {*core_rows(store, 0.5), left[0]}
    assert run(store, HALF).n_chunks == 0


def test_recorded_triples(store, tmp_path):
    """A file of triples becomes the extraction of its documents; the rest of it is reported."""
    lines = [
        {"passage_id": "d02", "triples": [["Mira Toll", "crossed", "Bakken"]], "entities": []},
        {"passage_id": "d05", "triples": [["Bo Dahl", "sold", "Verle"], ["Bo Dahl", "left", ""]]},
        {"passage_id": "nowhere", "triples": [["a", "b", "c"]]},
    ]
    path = tmp_path / "triples.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\nnot json\n", encoding="utf-8")
    done = extract.import_triples(store, path, MODELS)
    assert done.recorded == 2
    assert [each.line for each in done.skipped] == [2, 3, 4]
    snapshot = open_snapshot(store)
    triples = snapshot.layer("triple")
    assert triples.ids([0, 1]) == ["mira toll|crossed|bakken", "bo dahl|sold|verle"]
    assert snapshot.layer("chunk").ids([int(triples.columns["chunk"][0])])[0].startswith("d02:")
    snapshots.check_consistent(snapshot)
    snapshot.close()


def test_another_writer_is_refused_before_anything_is_bought(store):
    """While one session extracts, no other renumbers its chunks or buys the same."""
    from clew.errors import IndexLocked
    from clew.index.store.embedded import EmbeddedStore

    llm = Reads()
    with EmbeddedStore.open(store.folder) as second, pytest.raises(IndexLocked):
        run(second, llm=llm)
    assert not llm.prompts


def test_what_is_paid_for_stays_in_a_changed_document(store, tmp_path):
    """A chunk whose text is as it was keeps its units, whatever the new choice would be."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    wanted = Wanted(units=0.3)
    run(store, wanted, llm=recorded(ReadsChat(), ledger), ledger=ledger)
    paid = set(np.array(_ids(store))[made_by(store, UNITS) == LLM_MADE])
    held = dict(store.hashes())
    store.remove(list(held))
    compact(store)
    chat = ReadsChat()
    add(store, documents(n=24))
    run(store, wanted, llm=recorded(chat, ledger), ledger=ledger)
    assert not chat.n_asked
    assert set(np.array(_ids(store))[made_by(store, UNITS) == LLM_MADE]) >= paid


def test_another_wish_reaches_documents_that_were_away(store):
    """A document that was removed under the old wish is considered under the new one."""
    run(store, Wanted(units=0.2))
    held = dict(store.hashes())
    away = ["d01", "d02", "d03", "d05"]
    store.remove(away)
    run(store, Wanted(units=1.0))
    store.revive({i: held[i] for i in away})
    run(store, Wanted(units=1.0))
    assert (made_by(store, UNITS) == LLM_MADE).all()


def test_a_valid_reply_without_use_is_asked_for_again(store, tmp_path):
    """An empty list is no units; `again` asks for them once more, and nothing else does."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    empty = ReadsChat(empty=True)
    done = run(store, Wanted(units=1.0), llm=recorded(empty, ledger), ledger=ledger)
    assert done.llm[UNITS] == 0
    chat = ReadsChat()
    llm = recorded(chat, ledger)
    assert run(store, Wanted(units=1.0), llm=llm, ledger=ledger).n_chunks == 0
    assert not chat.n_asked
    run(store, Wanted(units=1.0), llm=llm, ledger=ledger, again=True)
    assert chat.n_asked
    assert (made_by(store, UNITS) == LLM_MADE).all()


def test_rules_need_no_llm_where_units_were_wanted(store):
    """A new wish for triples by rules is no wish for an LLM."""
    run(store, Wanted(units=1.0))
    wanted = Wanted(units=1.0, triples="cooccurrence")
    done = extract.run_extractions(store, MODELS, wanted, rules=Cooccurrence(MODELS.tagger))
    assert done.rules == len(made_by(store, GRAPH))


def test_equal_texts_are_read_once(tmp_path):
    """Copies of a text cost nothing, in the plan as in the run."""
    originals = documents(n=6)
    copies = [replace(d, id=f"copy{d.id}") for d in originals]
    calls = []
    for corpus in (originals, [*originals, *copies]):
        with scratch() as folder, create(folder / "index") as store:
            add(store, corpus)
            ledger, chat = Ledger(folder / "calls.sqlite"), ReadsChat()
            llm = recorded(chat, ledger)
            planned = plan.plan_extraction(
                plan.build_corpus(corpus, Chunking()), llm, choose.ReplyMemory(None, "reads")
            )
            run(store, BOTH, llm=llm, ledger=ledger)
            calls.append((chat.n_asked, planned.estimates[-1].calls))
            assert (made_by(store, GRAPH) == LLM_MADE).all()
    assert calls[0] == calls[1]


def test_a_plan_ranks_chunks_in_its_own_order(fresh):
    """Each chunk has its own rank, in whatever order a plan is given the documents."""
    _, snapshot = fresh
    given = [d for d in documents(n=24) if d.id != "d07"][::-1]  # d07 has no words
    ranked = plan.rank_corpus(plan.build_corpus(given, Chunking()), snapshot)
    ranks = dict(zip(choose.read_titled_texts(snapshot), steps.chunk_ranks(snapshot), strict=True))
    assert len(set(ranks.values())) > 1
    assert ranked.ranks.tolist() == [ranks[each] for each in ranked.texts]


def test_what_came_before_a_stop_is_known_by_its_text(store, tmp_path):
    """Documents that come between a stop and the next run do not make it pay again."""
    ledger = Ledger(tmp_path / "calls.sqlite")
    budget = Budget(tokens=2_500)
    chat = ReadsChat()
    wanted = Wanted(units=1.0, triples="llm")
    done = run(store, wanted, llm=recorded(chat, ledger, budget), ledger=ledger)
    assert done.stopped
    read = set(chat.texts)
    add(store, [replace(d, id=f"a{d.id}", text=f"Before. {d.text}") for d in documents(n=9)])
    chat.texts.clear()
    run(store, wanted, llm=recorded(chat, ledger, Budget()), ledger=ledger)
    assert read
    assert not read & set(chat.texts)


def test_a_merged_entity_has_its_own_name(store):
    """An alias leads to the entity it stands for, which keeps its own name, and comes back."""
    run(store, Wanted(triples="llm"))
    snapshot = open_snapshot(store)
    [row] = snapshot.layer("entity").rows(["verle"])
    own = snapshot.layer("entity").texts([row])
    snapshot.close()
    store.set_aliases({"mira toll": "verle"})
    snapshot = open_snapshot(store)
    entities = snapshot.layer("entity")
    assert entities.rows(["mira toll"]) == entities.rows(["verle"]) != [-1]
    assert entities.texts(entities.rows(["mira toll"])) == own
    snapshot.close()


def test_an_alias_without_its_target_is_none(store):
    """Where no text has the other name any more, a name stands for itself, compacted or not."""
    store.set_aliases({"mira toll": "the analog sea"})
    only = document("only", "Once The Analog Sea was here.")
    add(store, [only])
    store.remove(["only"])
    before = contents(store)
    assert "mira toll" in before["entity"]["ids"]
    compact(store)
    assert contents(store) == before


def test_replaced_extractions_are_waste(store, tmp_path):
    """An import over an import leaves dead rows, which a compaction takes away."""
    path = tmp_path / "triples.jsonl"
    line = {"id": "d02", "triples": [["Mira Toll", "crossed", "Bakken"]]}
    path.write_text(json.dumps(line), encoding="utf-8")
    for _ in range(5):
        extract.import_triples(store, path, MODELS)
    before = contents(store)
    assert wasted_share(store) > 0.5
    compact(store)
    assert wasted_share(store) == 0
    assert contents(store) == before
