"""A generation found by edits is, byte for byte, the one that is put together."""

import shutil
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import generation, index, steps, testing
from clew.generation import open_snapshot
from clew.steps import sketched
from clew.steps.mentions import chunk_entities, entity_chunks
from clew.steps.name_links import name_links
from clew.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from clew.types import TURNED_LINKS, Document
from tests.index.build import MODELS, create, scratch

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
CHANGES = st.one_of(
    st.dictionaries(st.sampled_from(NAMES), DOCUMENTS, min_size=1, max_size=3),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
)


@pytest.fixture(autouse=True)
def of_few(monkeypatch):
    """Let edits be found for an index of any size."""
    monkeypatch.setattr(generation, "EDITED_FROM", 0)


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
    """Return what questions read of links that are kept the other way, and of names."""
    links = {f"{a}-{b}": snapshot.linked(a, b) for a, b in TURNED_LINKS}
    links |= {"chunk-entity": chunk_entities(snapshot), "entity-chunk": entity_chunks(snapshot)}
    links |= {"unit-entity": snapshot.linked("unit", "entity")}
    found = {}
    for name, link in links.items():
        whole = link.whole
        rows = np.arange(link.shape[0])[::-1]
        some = link.rows(rows)
        np.testing.assert_array_equal(some.toarray(), whole.toarray()[::-1])
        np.testing.assert_array_equal(link.counts, np.diff(whole.indptr))
        found[name] = link.shape, *(a.tolist() for a in (whole.indptr, whole.indices, whole.data))
    names = name_links(snapshot)
    held = (names.names.hashes, names.parts.hashes, names.shares)
    found["names"] = [each.whole.tolist() for each in held] + [names.begins.tolist()]
    every = names.of(np.arange(len(snapshot.layer("entity"))))
    found["name-links"] = sorted(zip(*(each.tolist() for each in every), strict=True))
    scores = steps.lexical_scores(snapshot, "amber ice may red harbour dahl")
    found["sketches"] = [sketches_of(snapshot, layer) for layer in ("chunk", "entity")]
    return found | {"lexical": scores.tolist()}


def sketches_of(snapshot, layer):
    """Return the sketches by the rows that they are of."""
    known = sketched.sketches_of(snapshot, layer)
    codes = known.codes if known.came is None else np.append(known.codes, known.came, axis=1)
    rows = known.rows(np.arange(codes.shape[1]))
    by_row = sorted(zip(rows.tolist(), codes.T.tolist(), strict=True))
    return [each for row, each in by_row if row >= 0]


def everything(store):
    with closing(open_snapshot(store)) as snapshot:
        testing.check_consistent(snapshot)
        is_edited = snapshot.former is not None
        return is_edited, testing.contents(snapshot), derived(snapshot)


def change(store, what):
    if isinstance(what, dict):
        index.add(store, [document(name, made) for name, made in sorted(what.items())], MODELS)
    else:
        store.remove(what)


@settings(max_examples=150)
@given(
    base=st.dictionaries(st.sampled_from(NAMES), DOCUMENTS, min_size=1, max_size=6),
    changes=st.lists(CHANGES, min_size=1, max_size=5),
    late=st.booleans(),
    depth=st.integers(0, 1),
)
def test_edits_equal_what_is_put_together(base, changes, late, depth):
    """Whatever came and went, rows, columns and links are those of an assembly."""
    cut = Chunking(size=12, overlap=4, subchunk_depth=depth)
    vectors = index.LATE if late else index.SEPARATE
    recipe = index.Settings(chunking=cut, vectors=vectors).recipe(MODELS)
    with scratch() as folder, EmbeddedStore.create(folder / "index", recipe) as store:
        change(store, base)
        everything(store)  # which caches what it is
        kept = folder / "kept"
        for what in changes:
            change(store, what)
            _, found, read = everything(store)
            shutil.copytree(folder / "index" / "cached", kept)
            shutil.rmtree(folder / "index" / "cached")
            whole, expected, expected_read = everything(store)
            assert not whole
            assert found == expected
            assert read == expected_read
            shutil.rmtree(folder / "index" / "cached")
            kept.rename(folder / "index" / "cached")


def test_what_is_edited(store):
    """A document more, or less, is edits; a rename, an alias or what is put in anew is not."""
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    assert not everything(store)[0]
    for what in ({"k.md": (2, [3, 4])}, ["a.md"], {"b.md": (0, [7])}):
        change(store, what)
        assert everything(store)[0]
    assert store.revive({"a.md": index.content_hash(document("a.md", (0, [0, 1])))}) == ["a.md"]
    assert everything(store)[0]
    store.rename({"a.md": document("z.md", (0, [0, 1]))})
    assert not everything(store)[0]
    change(store, ["c.md"])
    assert everything(store)[0]
    store.set_aliases({"bo dahl": "amber lane"})
    assert not everything(store)[0]


@pytest.mark.parametrize("name", ["assembly", "edits"])
def test_a_damaged_base_is_put_together_again(store, name):
    """Whatever byte of what is cached is another one, the rows are the same."""
    change(store, {name: (i, [i, i + 1]) for i, name in enumerate(NAMES[:5])})
    everything(store)
    change(store, {"k.md": (2, [3, 4]), "a.md": (1, [6])})
    expected = everything(store)[1:]
    [path] = (store.folder / "cached").glob(f"{name}-*")
    sound = path.read_bytes()
    for place in range(len(sound) - 1, 0, -len(sound) // 25):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        assert everything(store)[1:] == expected
        change(store, {"l.md": (2, [place % 7])})
        again = everything(store)[1:]
        shutil.rmtree(store.folder / "cached")
        assert everything(store)[1:] == again
        shutil.rmtree(store.folder / "cached")
        store.remove(["l.md"])
        (store.folder / "cached").mkdir()
        path.write_bytes(sound)
