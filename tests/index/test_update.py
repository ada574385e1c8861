"""An updated index equals a fresh build of the same documents, byte for byte."""

from dataclasses import replace
from functools import lru_cache

from hypothesis import example, given
from hypothesis import strategies as st

from clew import testing
from clew.base.types import Document
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.generation import compact, open_snapshot
from clew.index.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from tests.index.build import MODELS, arrays_of, contents, scratch
from tests.trials import trials

# Two versions of each. Names that are dates elsewhere, words that are names only at the start of a
# sentence, sentences that several share, scripts without capitals, and texts without a word.
TEXTS = {
    "1912": ("The year 1912 was cold. Amber Lane froze.", "Nothing is known of 1912."),
    "amber": ("Amber Lane met Bo Dahl in 1912.", "Amber is a resin. Amber floats."),
    "bo": ("Bo Dahl sailed. Dahl's ship sank in May 1912.", "Bo Dahl sailed. He sank."),
    "cafe": ("Cafe\u0301 society. Cafe owners met.", "They met in a cafe. A cafe was shut."),
    "dup": ("Bo Dahl sailed. Amber Lane froze.", "Bo  Dahl\nsailed. Amber Lane froze."),
    "empty": ("...", "Not empty now. Bo Dahl wrote it."),
    "foo": ("Foo_ is odd. Foo_ again.", "foo is a word. foo, foo."),
    "han": ("南极洲 很冷。探险家 去了南极洲。", "探险家 死了。"),
    "ice": ("Ice covers it. The ice is old.", "Ice, ice and more ice. Ice."),
    "lower": ("amber lane was a street. ice lay on it.", "—"),
    "may": ("May came late.", "It came in may. It may come again."),
    "résumé": ("Ola's “Red Book” is lost.", "The “Red Book” was found in 1912."),
}
NAMES = st.sampled_from(sorted(TEXTS))
ACTIONS = st.one_of(
    st.tuples(st.just("add"), st.dictionaries(NAMES, st.integers(0, 1), min_size=1, max_size=6)),
    st.tuples(st.just("remove"), st.lists(NAMES, min_size=1, max_size=4)),
    st.tuples(st.just("rename"), st.tuples(NAMES, st.sampled_from(["0", "bob", "zoe"]))),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("freeze"), st.none()),
    st.tuples(st.just("reopen"), st.none()),
)


class UnusedEmbedder(testing.HashTokenEmbedder):
    """An embedder that is asked for nothing."""

    def embed(self, texts, *, kind):  # noqa: ARG002
        raise AssertionError(texts)

    def embed_tokens(self, texts):
        raise AssertionError(texts)


UNUSED = replace(MODELS, embedder=UnusedEmbedder())


def version(name, number, document_id=None):
    title = name if number else f"The {name.capitalize()} (disambiguation)"
    id_ = document_id or name
    return Document(id=id_, title=title, text=TEXTS[name][number], source=f"{id_}.md")


@lru_cache(maxsize=1000)
def fresh(wanted, late, depth):
    """Return a fresh build's contents, and its segments' arrays when it is compacted."""
    with scratch() as folder, EmbeddedStore.create(folder, recipe(late, depth)) as store:
        adding.add_documents(store, [version(*what, id_) for id_, what in wanted], MODELS)
        built = contents(store)
        compact(store)
        return built, arrays_of(folder)


def recipe(late, depth=0):
    cut = Chunking(size=12, overlap=4, subchunk_depth=depth)
    vectors = recipes.LATE if late else recipes.SEPARATE
    return recipes.Settings(chunking=cut, vectors=vectors).build_recipe(MODELS)


RUNS = {
    "actions": st.lists(ACTIONS, min_size=2, max_size=12),
    "late": st.booleans(),
    "depth": st.integers(0, 2),
}


@trials(5, 300)
@given(**RUNS)
@example(
    actions=[("add", {"amber": 0, "1912": 1}), ("remove", ["amber"]), ("compact", None)],
    late=True,
    depth=1,
)
@example(actions=[("add", {"foo": 0}), ("add", {"foo": 1}), ("compact", None)], late=True, depth=0)
@example(
    actions=[
        ("add", {"amber": 0, "dup": 1}),
        ("rename", ("amber", "zoe")),
        ("add", {"amber": 0}),
        ("rename", ("dup", "0")),
    ],
    late=True,
    depth=1,
)
@example(actions=[("add", {"empty": 1}), ("add", {"empty": 0})], late=False, depth=2)
@example(actions=[("add", {"1912": 0, "lower": 0}), ("remove", ["1912"])], late=True, depth=0)
@example(
    actions=[("add", {"bo": 0}), ("remove", ["bo"]), ("compact", None), ("add", {"bo": 0})],
    late=True,
    depth=1,
)
def test_update_equals_fresh_build(actions, late, depth):
    """Whatever was added, changed, removed and compacted, the rest is as if built at once."""
    with scratch() as folder:
        store = EmbeddedStore.create(folder, recipe(late, depth))
        wanted = {}
        for action, value in actions:
            if action == "add":
                adding.add_documents(store, [version(name, n) for name, n in value.items()], MODELS)
                wanted.update({name: (name, n) for name, n in value.items()})
            elif action == "remove":
                there = [name for name in dict.fromkeys(value) if name in store.hashes()]
                assert store.remove(value) == there
                for name in value:
                    wanted.pop(name, None)
            elif action == "rename":
                old, new = value
                if old in store.hashes() and new not in store.hashes():
                    wanted[new] = wanted.pop(old)
                    moved = version(*wanted[new], new)
                    gone = [old]
                    report = adding.add_documents(store, [moved], UNUSED, gone=gone.copy)
                    assert report.renamed == {old: new}
            elif action == "reopen":
                store.close()
                store = EmbeddedStore.open(folder)
            else:
                {"compact": compact, "freeze": contents}[action](store)
        key = tuple(sorted(wanted.items()))
        built, segments = fresh(key, late, depth)
        assert contents(store) == built
        open_snapshot(store).close()
        assert contents(store) == built
        compact(store)
        assert contents(store) == built
        assert arrays_of(folder) == segments
        open_snapshot(store).close()
        assert contents(store) == built
        store.close()
