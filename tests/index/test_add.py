"""What adding, changing and removing documents does."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.base.types import Document, Skipped
from clew.errors import InputError, MissingLayer, RecipeMismatch
from clew.index import adding, building, origins
from clew.index import recipe as recipes
from clew.index.generation import wasted_share
from clew.index.store.embedded import EmbeddedStore
from clew.models.run import Meter
from clew.readers.roots import Roots
from clew.readers.selection import Selection
from clew.text.chunking import Chunking
from tests import snapshots
from tests.index.build import (
    MODELS,
    RECIPE,
    add,
    contents,
    create,
    document,
    files,
    indexed,
    scratch,
)

DOCUMENTS = testing.small_documents()


@pytest.fixture
def folder():
    with scratch() as place:
        yield place / "index"


def entities(snapshot):
    layer = snapshot.layer("entity")
    keys = layer.ids(range(len(layer)))
    return dict(zip(keys, layer.columns["linkable"].tolist(), strict=True))


def linked(snapshot, a, b):
    """Return the ids of the rows of `b` by each id of `a`."""
    link = snapshot.link(a, b)
    found = {}
    for row, name in enumerate(snapshot.layer(a).ids(range(link.shape[0]))):
        rows = link.indices[link.indptr[row] : link.indptr[row + 1]].tolist()
        found[name] = snapshot.layer(b).ids(rows)
    return found


def test_same_documents_again(folder):
    """Documents that are there already cost nothing, change nothing and need no lock."""
    with create(folder) as store:
        add(store, DOCUMENTS)
        adding.finish_index(store)
    before = files(folder)
    with EmbeddedStore.open(folder) as writer, EmbeddedStore.open(folder) as store:
        writer.remove([])  # takes the lock
        generation = store.generation
        told = []
        report = adding.add_documents(store, DOCUMENTS, MODELS, on_progress=told.append)
        adding.finish_index(store)
        assert report == adding.AddReport(n_unchanged=len(DOCUMENTS))
        assert store.generation == generation
        assert sum(told) == len(DOCUMENTS)
    assert files(folder, "segments", "cached") == {
        name: data for name, data in before.items() if name.startswith(("segments", "cached"))
    }


def test_report(folder):
    """The report says what was added, changed, restored, unchanged and skipped."""
    a, b, c = (document(name, f"The text of {name}, by Bo Dahl.") for name in "abc")
    changed = document("b", "Another text.")
    skipped = Skipped(source="d.bin", reason="is no text")
    told = []
    with create(folder) as store:
        assert add(store, [a, b, skipped]) == adding.AddReport(added=["a", "b"], skipped=[skipped])
        store.remove(["a"])
        report = adding.add_documents(
            store, [a, changed, c, document("e", "—")], MODELS, on_progress=told.append
        )
        wordless = Skipped(source="e.txt", reason="has no words to index")
        assert report == adding.AddReport(
            added=["c"], changed=["b"], restored=["a"], skipped=[wordless]
        )
        assert sum(told) == 4
        assert sorted(store.hashes()) == ["a", "b", "c"]


def test_restored_costs_no_model(folder):
    """A removed document that comes back unchanged is not embedded again."""
    with create(folder) as store:
        add(store, DOCUMENTS)
        before = contents(store)
        store.remove([DOCUMENTS[0].id])
        meter = Meter()
        adding.add_documents(store, DOCUMENTS, MODELS, meter=meter)
        assert meter.usage.seconds == {}
        assert contents(store) == before


def test_changed_to_wordless(folder):
    """A document whose words are gone is skipped, and its old text answers no more."""
    with create(folder) as store:
        add(store, [document("a", "Bo Dahl."), document("b", "Ada Quist.")])
        report = add(store, [document("a", " \n… "), document("b", "Ada Quist.")])
        assert [s.source for s in report.skipped] == ["a.txt"]
        assert list(store.hashes()) == ["b"]
        assert [d.id for d in contents(store)["documents"]] == ["b"]


@pytest.mark.parametrize("text", ["", " \n\t", "...", "— * —", "\ud800"])
def test_wordless(text):
    """A document without a word is skipped with the reason, and the rest goes on."""
    with indexed(document("a", text), document("b", "Bo Dahl.")) as (snapshot, report):
        assert [s.source for s in report.skipped] == ["a.txt"]
        assert report.added == ["b"]
        assert snapshot.layer("document").ids([0]) == ["b"]


def test_odd_ids_and_bodies():
    """Text before the body counts for nothing; ids may hold anything."""
    kept = document("a", "Front matter. Bo Dahl sailed.", body_start=14)
    bare = document("b", "Front matter.", body_start=13)
    with indexed(kept, bare) as (snapshot, report):
        assert [s.source for s in report.skipped] == ["b.txt"]
        assert snapshot.layer("chunk").texts([0]) == ["Bo Dahl sailed."]
    names = ["a:1-2", "'; DROP TABLE document; --", "nul\0x", "冰/../é", " ", "a"]
    with indexed(*(document(name, f"Text {name} of Bo Dahl.") for name in names)) as (snapshot, _):
        assert snapshot.layer("document").ids(range(6)) == sorted(names)
        snapshots.check_consistent(snapshot)


def test_what_is_refused(folder):
    """Two documents of one id in one run, and another halving than the index was made with."""
    with create(folder) as store, pytest.raises(InputError, match="'a': ids must differ"):
        add(store, [document("a", "One."), document("a", "Two.")])
    wanted = recipes.Settings(chunking=Chunking(subchunk_depth=1)).build_recipe(MODELS)
    with pytest.raises(RecipeMismatch, match="the subchunk_depth 0, not 1"):
        recipes.check_recipe(RECIPE, wanted)


def test_lone_surrogates():
    """Half surrogate pairs become U+FFFD everywhere in a document."""
    broken = Document(
        id="a\udc00",
        text="\ud83d\ude00 x Bo Dahl\ud800 sailed.",
        title="T\udfff",
        source="s\ud801",
        body_start=3,
        metadata={"k\ud802": "v\ud803", "n": 1},
    )
    with indexed(broken) as (snapshot, report):
        [held] = snapshot.documents([0])
        assert report.added == ["a\ufffd"]
        assert (held.id, held.title, held.source) == ("a\ufffd", "T\ufffd", "s\ufffd")
        assert held.text == "\ufffd\ufffd x Bo Dahl\ufffd sailed."
        assert held.body_start == 3
        assert held.metadata == {"k\ufffd": "v\ufffd", "n": 1}
        snapshots.check_consistent(snapshot)


def test_removal_erases(folder):
    """After a compaction, neither text nor title nor names of a removed document are on disk."""
    secret = document("a", "Qvortrup hid the xylobalsamum in 1913.", title="Zwingmann")
    words = (b"qvortrup", b"xylobalsamum", b"zwingmann")
    with create(folder) as store:
        add(store, [secret, *DOCUMENTS])
        adding.finish_index(store)
        held = b"".join(files(folder).values()).lower()
        assert all(word in held for word in words)
    with EmbeddedStore.open(folder) as store:
        store.remove(["a"])
        adding.finish_index(store, compact=True)
        # While the store is open: reading the files would let go of SQLite's locks on them, but
        # nothing else uses this index.
        held = b"".join(files(folder).values()).lower()
        assert not any(word in held for word in words)


def test_equal_sentences_are_one_unit():
    """A sentence that several chunks have is one unit that belongs to all of them."""
    same = "Ada Quist drew the map of Norrvik."
    documents = [
        document("a", f"{same} The ice went."),
        document("b", f"Nothing came.\n\n{same}"),
        document("c", "Ada Quist drew\nthe map  of Norrvik. Then she left."),
    ]
    with indexed(*documents) as (snapshot, _):
        units = snapshot.layer("unit")
        assert units.texts(range(len(units))) == [
            same, "The ice went.", "Nothing came.", "Then she left.",
        ]  # fmt: skip
        chunks = linked(snapshot, "unit", "chunk")
        assert [name.split(":")[0] for name in chunks[f"a:0-{len(same)}"]] == ["a", "b", "c"]
        assert snapshot.link("chunk", "unit").data.tolist() == [1.0] * 6


def test_dates_are_linked_where_they_are_titles():
    """A date joins the units that have it, and no query is linked to it, unless it is a title."""
    documents = [
        document("a", "The ship left Norrvik. It was May 1912."),
        document("b", "In May 1912 the ice broke."),
    ]
    with indexed(*documents) as (snapshot, _):
        assert entities(snapshot)["may 1912"] is False
        assert entities(snapshot)["norrvik"] is True
        assert len(linked(snapshot, "entity", "unit")["may 1912"]) == 2
        [row] = snapshot.layer("entity").rows(["may 1912"])
        assert not snapshot.layer("entity").vectors[row].any()
    documents = [
        document("a", "The ice broke in 1912."),
        document("b", "A film about ice.", title="1912"),
    ]
    with indexed(*documents) as (snapshot, _):
        assert entities(snapshot)["1912"] is True
        [row] = snapshot.layer("entity").rows(["1912"])
        assert snapshot.layer("entity").vectors[row].any()
        assert snapshot.layer("entity").texts([row]) == ["1912"]


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (["南极洲很冷。", "他去了南极洲。", "船来了。"], "南极"),
        (["القطب الجنوبي بارد.", "وصل إلى القطب أخيرا.", "رحل الناس."], "القطب"),
    ],
)
def test_terms_of_scripts_without_capitals_link(texts, key):
    """In scripts without capitals, a term that a few chunks share is an entity."""
    documents = [document(f"d{i}", text) for i, text in enumerate(texts)]
    with indexed(*documents) as (snapshot, _):
        assert entities(snapshot)[key] is True
        units = linked(snapshot, "entity", "unit")[key]
        assert [name.split(":")[0] for name in units] == ["d0", "d1"]
        shares = [len(units) for units in linked(snapshot, "entity", "unit").values()]
        assert min(shares) >= 2  # a term of one chunk leads nowhere


def test_names_and_common_words():
    """A word that only begins sentences is none; an entity is shown as it was first written."""
    documents = [
        document("a", "Boats wait in the bay. Norrvik waits too."),
        document("b", "The boats left. Many boats were old. They came from Norrvik."),
    ]
    with indexed(*documents) as (snapshot, _):
        assert "boats" not in entities(snapshot)
        assert entities(snapshot)["norrvik"] is True
        terms = snapshot.layer("term")
        common = terms.columns["common"][terms.rows(["boats", "norrvik"])]
        assert common.tolist() == [True, False]
    documents = [
        document("a", "He met ADA QUIST. Later Ada Quist left."),
        document("b", "A film.", title="The Long Fjord (1982 film)"),
    ]
    with indexed(*documents) as (snapshot, _):
        layer = snapshot.layer("entity")
        rows = layer.rows(["ada quist", "long fjord", "nobody"])
        assert rows[2] == -1
        assert layer.texts(rows[:2]) == ["ADA QUIST", "Long Fjord"]


@pytest.mark.parametrize("n_words", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_huge_document(n_words):
    """A document of 100,000 words is indexed in seconds."""
    text = " ".join(
        f"{DOCUMENTS[i % 12].text} Number {i} was counted." for i in range(n_words // 15)
    )
    assert len(text.split()) > 0.95 * n_words
    began = time.process_time()
    with indexed(document("huge", text)) as (snapshot, _):
        last = n_words // 250
        assert len(snapshot.layer("chunk")) > last
        assert snapshot.layer("chunk").rows(snapshot.layer("chunk").ids([last])) == [last]
    assert time.process_time() - began < 30 * n_words / 100_000


@pytest.mark.parametrize("vectors", [recipes.LATE, recipes.SEPARATE])
def test_tokens_are_kept_with_late_vectors_only(vectors):
    """Late vectors come with token vectors for chunks and units, separate ones without."""
    settings = recipes.Settings(vectors=vectors)
    with indexed(*DOCUMENTS, settings=settings) as (snapshot, _):
        assert snapshot.recipe["vectors"] == vectors
        if vectors == recipes.SEPARATE:
            with pytest.raises(MissingLayer, match="without token vectors"):
                snapshot.layer("chunk").tokens(0)
        else:
            unit = snapshot.layer("unit").texts([3])[0]
            assert unit == "Mira Toll was born in Bakken."
            units = snapshot.layer("unit")
            assert len(units.tokens(3)) == 4  # none of "was" and "in"
            together = [vectors.tolist() for vectors in units.token_vectors([3, 0, 3])]
            assert together == [units.tokens(row).tolist() for row in (3, 0, 3)]


WORDS = st.sampled_from(
    ["Bo", "Dahl", "ice", "went.", "1912", "«Rød»", "南极洲。", "e\u0301", "\U0001f600", "\n\n",
     "# Head\n", "a" * 90, "Ünïcode", "القطب", "\u200d", "—", "…", "in", "May"]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(WORDS, max_size=120).map(" ".join),
    st.text(max_size=300),
    st.lists(WORDS, max_size=60).map("".join),
)


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    size=st.integers(1, 40),
    overlap=st.integers(0, 39),
    late=st.booleans(),
)
def test_ranges_slice_their_document(texts, size, overlap, late):
    """Every chunk, unit and mention is the text of its range, whatever the text is."""
    chosen = recipes.Settings(
        chunking=Chunking(size=size, overlap=min(overlap, size - 1)),
        vectors=recipes.LATE if late else recipes.SEPARATE,
    )
    documents = [document(f"d{i}", text, title=text[:20]) for i, text in enumerate(texts)]
    with indexed(*documents, settings=chosen) as (snapshot, report):
        snapshots.check_consistent(snapshot)
        held = snapshot.documents(range(len(snapshot.layer("document"))))
        assert len(held) + len(report.skipped) == len(texts)
        assert {d.id: d.text for d in held}.items() <= {d.id: d.text for d in documents}.items()
        chunks, units = snapshot.layer("chunk"), snapshot.layer("unit")
        owners = chunks.columns["document"]
        assert set(owners.tolist()) == set(range(len(held)))
        for layer in (chunks, units):
            starts, ends = layer.columns["start"], layer.columns["end"]
            for row, text in enumerate(layer.texts(range(len(layer)))):
                chunk = row if layer is chunks else int(units.columns["chunk"][row])
                source = held[owners[chunk]].text
                assert source[starts[row] : ends[row]] == text == text.strip()
                assert text
        assert all_inside(chunks, units)


def all_inside(chunks, units):
    owner = units.columns["chunk"]
    starts, ends = chunks.columns["start"][owner], chunks.columns["end"][owner]
    return bool(((units.columns["start"] >= starts) & (units.columns["end"] <= ends)).all())


def test_batches_do_not_show(folder, monkeypatch):
    """One big batch and one batch per document give the same rows."""
    with create(folder) as store:
        add(store, DOCUMENTS)
        built = contents(store)
    monkeypatch.setattr(adding, "BATCH_CHARACTERS", 1)
    with create(folder.with_name("other")) as store:
        add(store, DOCUMENTS)
        assert store.generation == len(DOCUMENTS)
        assert contents(store) == built
        adding.finish_index(store)
        assert contents(store) == built
        assert wasted_share(store) == 0


def test_recipe_names_what_decides_rows():
    """The recipe has the models, the chunking and how vectors are made."""
    assert RECIPE == {
        "analyzer": recipes.ANALYZER,
        "chunk_overlap": 32,
        "chunk_size": 256,
        "dimension": 64,
        "embedder": "hash-tokens-64",
        "subchunk_depth": 0,
        "tagger": "rules-3",
        "token_bits": 1,
        "unit_bits": 4,
        "vector_bits": 8,
        "vectors": "late",
    }
    plain = testing.models(testing.HashEmbedder())
    assert recipes.Settings().build_recipe(plain)["vectors"] == recipes.SEPARATE
    cut = Chunking(size=40, overlap=4, subchunk_depth=2)
    assert building.read_chunking(recipes.Settings(chunking=cut).build_recipe(MODELS)) == cut


def test_an_index_of_an_earlier_analyser_says_how_to_make_it_anew():
    """No terms of two analysers are mixed; what was paid for can be taken along."""
    recipes.check_recipe({**RECIPE, "analyzer": recipes.ANALYZER}, RECIPE)
    with pytest.raises(RecipeMismatch, match=r"analyser 3.*new folder.*embeddings\.sqlite"):
        recipes.check_recipe({**RECIPE, "analyzer": "3"}, RECIPE)


def test_records_that_are_skipped_are_looked_up_by_their_file(monkeypatch, tmp_path):
    """A mailbox of a thousand messages without text has one id, which is found once."""
    asked = []
    id_of = Roots.id_of
    monkeypatch.setattr(Roots, "id_of", lambda self, path: asked.append(path) or id_of(self, path))
    mailbox = tmp_path / "a.mbox"
    skipped = [Skipped(source=str(mailbox), reason="is empty", line=n) for n in range(1, 1_001)]
    ids = [f"{tmp_path.name}/a.mbox:{n}" for n in (1, 1_001)]
    roots = Roots({tmp_path.name: tmp_path})
    mailbox.write_text("From a")
    read = (f"{tmp_path.name}/a.mbox:5",)
    assert origins.find_gone(ids, roots, [tmp_path], Selection(), read, skipped) == ids[1:]
    assert asked == [tmp_path, mailbox]
