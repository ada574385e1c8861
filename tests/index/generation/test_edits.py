"""A generation found by edits is, byte for byte, the one that is put together."""

import shutil
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import methods, steps
from clew.algo import edited_links, synonyms
from clew.base.types import ENTITY_TYPES, Described, Document, Extraction, Triple
from clew.errors import UnreadableSource
from clew.index import adding, generation, graph
from clew.index import recipe as recipes
from clew.index.choose import stored_chunk_numbers
from clew.index.generation import edited, open_snapshot
from clew.index.generation.edits import source
from clew.index.layers import statistical
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch, build_statement_batch
from clew.index.snapshot import TRANSPOSED_LINKS
from clew.index.store.embedded import EmbeddedStore
from clew.steps import rankings
from clew.steps.entity_graph import entity_graph
from clew.steps.mentions import chunk_entities, entity_chunks
from clew.text.chunking import Chunking
from tests import snapshots
from tests.index.build import MODELS, create, scratch
from tests.index.graphs import read_statements, write
from tests.trials import trials

pytestmark = pytest.mark.satellite


class Made(list):
    """What is extracted: the document, the place of a chunk in it, the source, and what it is."""


class Stated(list):
    """The triples of a knowledge graph, in place of those that it had before."""


# Sentences that documents share, names that are words elsewhere, dates, and words that are common
# where they are written in lower case more often than not.
SENTENCES = [
    "Bo Dahl sailed.",
    "Amber Lane froze.",
    "Amber is a resin.",
    "They saw amber and ice.",
    "Ice covers it.",
    "The ice is old.",
    "May came late.",
    "It came in may.",
    "In May 1912 Bo Dahl met Amber Lane.",
    "The year 1912 was cold.",
    "Nothing is known of 1912.",
    "Cape Lund is west of Red Harbour.",
    "Red Harbour burned.",
    "It was a red harbour.",
    "Mira Toll wrote the Red Book in Cape Lund.",
    "Toll bridges are old.",
    "南极洲 很冷。",
    "探险家 去了南极洲。",
    "Bo Dahl wrote 探险家 in the Red Book.",
    "冰 很冷。",
]
TITLES = ["Bo Dahl", "Amber", "1912", "The Red Book (novel)", "Cape Lund", "Ice", "notes.md", ""]
NAMES = [f"{letter}.md" for letter in "abcdefghij"]
TEXTS = st.lists(st.integers(0, len(SENTENCES) - 1), min_size=1, max_size=9)
DOCUMENTS = st.tuples(st.integers(0, len(TITLES) - 1), TEXTS)
# What extractions have: names that texts have, a date, a name of no text, and one that is no key.
ENDS = ["Bo Dahl", "amber lane", "Amber", "1912", "Red Harbour", "探险家", "Nobody", "$"]
TRIPLES = st.builds(
    Triple,
    subject=st.sampled_from(ENDS),
    relation=st.sampled_from(["met", "burned in", ""]),
    object=st.sampled_from(ENDS),
    description=st.sampled_from(["", "They met.", "It burned."]),
    strength=st.integers(1, 10),
)
DESCRIBED = st.builds(
    Described,
    name=st.sampled_from(ENDS),
    type=st.sampled_from(ENTITY_TYPES[:4]),
    description=st.sampled_from(["", "A sailor."]),
)
GRAPHS = st.builds(
    Extraction,
    entities=st.lists(DESCRIBED, max_size=3).map(tuple),
    triples=st.lists(TRIPLES, max_size=4).map(tuple),
)
STATEMENTS = st.lists(st.sampled_from(SENTENCES), max_size=4).map(tuple)
SOURCES = st.sampled_from(["llm", "fallback"])
EXTRACTED = st.tuples(st.sampled_from(NAMES), st.integers(0, 3), SOURCES, STATEMENTS | GRAPHS)
STATED = st.tuples(st.sampled_from(ENDS), st.sampled_from(["met", "saw"]), st.sampled_from(ENDS))
TEXT_CHANGES = st.one_of(
    st.dictionaries(st.sampled_from(NAMES), DOCUMENTS, min_size=1, max_size=3),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.sampled_from(NAMES),
)
SAID = Stated([("Bo Dahl", "met", "Nobody"), ("Nobody", "saw", "Red Harbour")])
MADE = Made(
    [
        (
            "d.md",
            0,
            "cooccurrence",
            Extraction(triples=(Triple(subject="Amber Lane", relation="met", object="Bo Dahl"),)),
        )
    ]
)
BASE = st.dictionaries(st.sampled_from(NAMES), DOCUMENTS, min_size=1, max_size=6)
MORE = st.one_of(
    st.lists(EXTRACTED, min_size=1, max_size=4).map(Made),
    st.lists(STATED, min_size=1, max_size=5).map(Stated),
)


@pytest.fixture(autouse=True)
def of_few(monkeypatch):
    """Let edits be found for an index of any size."""
    monkeypatch.setattr(generation, "EDITED_FROM", 0)
    for kept in (edited_links, edited):  # in memory: nothing
        monkeypatch.setattr(kept, "_MAX_IN_MEMORY", -1)


@pytest.fixture
def store():
    """Give a new, empty store."""
    with scratch() as folder, create(folder / "index") as made:
        yield made


def document(name, made):
    title, sentences = made
    text = " ".join(SENTENCES[i] for i in sentences)
    return Document(id=name, title=TITLES[title], text=text)


def derived(snapshot):
    """Return what questions read of links that are kept the other way, names and neighbours."""
    links = {f"{a}-{b}": snapshot.linked(a, b) for a, b in TRANSPOSED_LINKS}
    links |= {"chunk-entity": chunk_entities(snapshot), "entity-chunk": entity_chunks(snapshot)}
    links |= {"unit-entity": snapshot.linked("unit", "entity")}
    found = {}
    for name, link in links.items():
        rows = np.arange(link.shape[0])[::-1]
        some = link.entries_of(rows).to_matrix()
        by_row = [link.row(row).tolist() for row in range(link.shape[0])]
        whole = link.whole
        assert by_row == [link.row(row).tolist() for row in range(link.shape[0])]
        np.testing.assert_array_equal(some.toarray(), whole.toarray()[::-1])
        np.testing.assert_array_equal(link.counts, np.diff(whole.indptr))
        found[name] = link.shape, *(a.tolist() for a in (whole.indptr, whole.indices, whole.data))
    scores = steps.lexical_scores(snapshot, "amber ice may red harbour dahl")
    near = {name: array.tolist() for name, array in snapshot.get(steps.NEIGHBOURS).items()}
    lengths = steps.keyword_lengths(snapshot)
    nodes = entity_graph(snapshot, 2.0)
    found["graph"] = nodes.get_edges(np.arange(len(nodes.degrees))).to_matrix().toarray().tolist()
    for pair in (("entity", "chunk"), ("triple", "chunk"), ("sentence", "term")):
        found["-".join(pair)] = snapshot.linked(*pair).counts.tolist()
    triples = snapshot.layer("triple")
    found["sketches"] = [sketches_of(snapshot, layer) for layer in ("chunk", "entity")]
    found["said"] = [triples.descriptions(row) for row in range(len(triples))]
    return found | near | {"lexical": scores.tolist(), "lengths": lengths.tobytes()}


def sketches_of(snapshot, layer):
    """Return the sketches by the rows that they are of."""
    known = rankings.read_sketches(snapshot, layer)
    codes = known.codes if known.came is None else np.append(known.codes, known.came, axis=1)
    rows = known.rows(np.arange(codes.shape[1]))
    by_row = sorted(zip(rows.tolist(), codes.T.tolist(), strict=True))
    return [each for row, each in by_row if row >= 0]


def everything(store):
    with closing(open_snapshot(store)) as snapshot:
        snapshots.check_consistent(snapshot)
        is_edited = snapshot.base is not None
        return (
            is_edited,
            snapshots.contents(snapshot),
            derived(snapshot),
            generation.wasted_share(store),
        )


def change(store, what, made=None):
    made = {} if made is None else made
    if isinstance(what, dict):
        made |= {name: each for name, each in what.items() if name not in made}
        adding.add_documents(
            store, [document(name, made) for name, made in sorted(what.items())], MODELS
        )
    elif isinstance(what, Made):
        extract(store, what)
    elif isinstance(what, Stated):
        with scratch() as folder:
            state(store, write(folder / "kg.jsonl", *map(list, what)))
    elif isinstance(what, tuple):
        rename(store, *what)
    elif isinstance(what, str):  # as it was at first: perhaps what was removed comes back
        adding.add_documents(store, [document(what, made[what])] if what in made else [], MODELS)
    else:
        store.remove(what)


def extract(store, made):
    """Commit what is made of chunks, those of units before those of triples."""
    with closing(open_snapshot(store)) as snapshot:
        stored = stored_chunk_numbers(snapshot)
        owners = snapshot.layer("chunk").columns["document"]
        found = {True: [], False: []}
        for name, place, source, what in made:
            [row] = snapshot.layer("document").rows([name])
            chunks = stored[np.flatnonzero(owners == row)] if row >= 0 else stored[:0]
            if len(chunks):
                chunk = int(chunks[place % len(chunks)])
                if chunk not in [each.chunk for each in found[not isinstance(what, Extraction)]]:
                    found[not isinstance(what, Extraction)].append(
                        ChunkExtraction(chunk, source, what)
                    )
    late = store.recipe["vectors"] == recipes.LATE
    if found[True]:
        store.commit(build_statement_batch(found[True], MODELS, store.unnamed, late=late), ())
    if found[False]:
        store.commit(build_graph_batch(found[False], MODELS, store.unnamed), ())


def state(store, path):
    with suppress(UnreadableSource):  # nothing but what something says of itself
        graph.import_graph(store, read_statements(path), MODELS)


def rename(store, old, new):
    found = store.hashes([old])
    if found:
        with closing(open_snapshot(store)) as snapshot:
            [row] = snapshot.layer("document").rows([old])
            [held] = snapshot.documents([row])
        store.rename({old: replace(held, id=new)})


OF_TEXTS = {
    "base": BASE,
    "changes": st.lists(TEXT_CHANGES, min_size=1, max_size=5),
    "late": st.booleans(),
}


@trials(5, 200)
@given(**OF_TEXTS)
def test_edits_equal_what_is_put_together(base, changes, late):
    """Whatever came and went, rows, columns and links are those of an assembly."""
    check_edits([base], changes, late=late, depth=1)


WITH_EXTRACTIONS = {
    "base": BASE,
    "more": st.lists(MORE, max_size=2),
    "changes": st.lists(TEXT_CHANGES | MORE, min_size=1, max_size=5),
    "late": st.booleans(),
}


@trials(5, 500)
@given(**WITH_EXTRACTIONS)
def test_edits_of_extractions(base, more, changes, late):
    """And whatever was extracted from chunks before and since, or stated by a graph."""
    check_edits([base, *more], changes, late=late, depth=0)


def check_edits(base, changes, *, late, depth):
    cut = Chunking(size=12, overlap=4, subchunk_depth=depth)
    vectors = recipes.LATE if late else recipes.SEPARATE
    recipe = recipes.Settings(chunking=cut, vectors=vectors).build_recipe(MODELS)
    with scratch() as folder, EmbeddedStore.create(folder / "index", recipe) as store:
        made = {}
        for what in base:
            change(store, what, made)
        everything(store)  # which caches what it is
        kept = folder / "kept"
        for what in changes:
            change(store, what, made)
            _, *found = everything(store)
            shutil.copytree(folder / "index" / "cached", kept)
            shutil.rmtree(folder / "index" / "cached")
            whole, *expected = everything(store)
            assert not whole
            assert found == expected
            shutil.rmtree(folder / "index" / "cached")
            kept.rename(folder / "index" / "cached")


@trials(5, 100)
@given(
    base=st.dictionaries(st.sampled_from(NAMES), DOCUMENTS, min_size=2, max_size=6),
    changes=st.lists(TEXT_CHANGES | MORE, min_size=1, max_size=4),
    first=st.sampled_from(NAMES),
    last=st.sampled_from(NAMES),
    most=st.sampled_from([2, 100]),
)
def test_what_methods_prepare_equals_what_is_computed(base, changes, first, last, most):
    """Neighbours and statistical entities too, also where a file is renamed or a name merged."""
    cut = Chunking(size=12, overlap=4)
    recipe = recipes.Settings(chunking=cut, vectors=recipes.SEPARATE).build_recipe(MODELS)
    with (
        scratch() as folder,
        EmbeddedStore.create(folder / "index", recipe) as store,
        pytest.MonkeyPatch.context() as patched,
    ):
        for name in ("find_near_pairs", "update_pairs"):  # of words so few few are near
            patched.setattr(statistical, name, partial(nearer, getattr(synonyms, name), most))
        made = {}
        for what in (base, *changes):
            change(store, what, made)
            prepared(store)
        for name in (first, last):
            if name in store.hashes():
                store.rename({name: document(f"{name}.md", (1, [2, 3]))})
                prepared(store)
        for other in ("ice", None):
            store.set_aliases({"amber": other})
            prepared(store)


def nearer(pairs, most, *given_):
    """Return pairs above a lower cosine than names have to have."""
    *arrays, _ = given_
    return pairs(*arrays, 0.3, most=most)


def prepared(store):
    """Prepare what methods ask for by what was cached before: it is what is computed anew."""
    models = {"embedder": lambda: MODELS.embedder}
    with closing(open_snapshot(store)) as snapshot:
        for what, given_ in ((steps.NEIGHBOURS, {}), (statistical.STATISTICAL, models)):
            found, expected = snapshot.get(what, **given_), what.compute(snapshot, **given_)
            for name, array in expected.items():
                assert (name, found[name].tolist()) == (name, array.tolist())
                assert found[name].dtype == array.dtype


def test_what_is_edited(store):
    """A document more, or less, or elsewhere, is edits, and what is extracted; an alias is not."""
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    assert not everything(store)[0]
    for what in ({"k.md": (2, [3, 4])}, ["a.md"], {"b.md": (0, [7])}):
        change(store, what)
        assert everything(store)[0]
    assert store.revive({"a.md": adding.hash_content(document("a.md", (0, [0, 1])))}) == ["a.md"]
    assert everything(store)[0]
    for what in (("a.md", "z.md"), ["c.md"], SAID, MADE):
        change(store, what)
        assert everything(store)[0]
    change(store, Made([("b.md", 0, "llm", ("It froze.",))]))  # the first units that an LLM made
    assert not everything(store)[0]
    for what in ({"c.md": (1, [2])}, Made([("b.md", 0, "llm", ("It burned.",))]), MADE):
        change(store, what)
        assert everything(store)[0]
    change(store, ["b.md"])  # and the last ones
    assert not everything(store)[0]
    store.set_aliases({"bo dahl": "amber lane"})
    assert not everything(store)[0]


def test_what_questions_need_is_kept_of_the_base(store):
    """The first question of edits computes it of the base, and writes that follow leave it so."""
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    with closing(open_snapshot(store)) as snapshot:
        base = snapshot.generation
    change(store, {"k.md": (2, [3, 4])})
    assert everything(store)[0]
    cached = store.cache.names()
    needs = [each for each in methods.find_arrays(cached) if each.edited]
    assert needs
    change(store, ["a.md"])
    adding.finish_index(store, cached=needs, compact=False)
    assert all(store.cache.generations(each.name) == [base] for each in needs)


@pytest.mark.parametrize("what", [{"k.md": (2, [3, 4])}, MADE])
def test_what_is_much_is_put_together(store, monkeypatch, what):
    """Where many rows come, of texts or of extractions, a generation is assembled."""
    monkeypatch.setattr(source, "MOST_ROWS", 1)
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    everything(store)
    change(store, what)
    assert not everything(store)[0]


@pytest.mark.parametrize("n", [6, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["assembly", "edits"])
def test_a_damaged_base_is_put_together_again(store, name, n):
    """Whatever byte of what is cached is another one, the rows are the same."""
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    everything(store)
    change(store, {"k.md": (2, [3, 4]), "a.md": (1, [6])})
    expected = everything(store)[1:3]
    [path] = (store.folder / "cached").glob(f"{name}-*")
    sound = path.read_bytes()
    for place in range(len(sound) - 1, 0, -len(sound) // n):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        assert everything(store)[1:3] == expected
        change(store, {"l.md": (2, [place % 7])})
        again = everything(store)[1:3]
        shutil.rmtree(store.folder / "cached")
        assert everything(store)[1:3] == again
        shutil.rmtree(store.folder / "cached")
        store.remove(["l.md"])
        (store.folder / "cached").mkdir()
        path.write_bytes(sound)
