"""Statistical entities: which terms they are, which are near, and which facts a chunk says."""

from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.base.types import Described, Extraction, Triple
from clew.index import choose
from clew.index.generation import open_snapshot
from clew.index.layers import statistical as statistical_module
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.layers.salient import salient_rates, spell_terms
from clew.index.layers.statistical import statistical_entities
from clew.text.keys import name_key
from tests.index.build import MODELS, add, create, document, scratch
from tests.index.graphs import SHIPS, take, write

EMBEDDER = MODELS.embedder
SHIP = document("1", "The Fram was built by Colin Archer. Its hull was round.", title="Fram")
ICE = document("2", "Pack ice held the ship. The ice anchor broke, and the ice anchor sank.")
QUAY = document("3", "Snow fell on the quay. Penguins came to the quay.")


@pytest.fixture
def store():
    """Give a new, empty store."""
    with scratch() as folder, create(folder / "index") as made:
        yield made


def extract(store, *triples, chunk=0, source="recorded", entities=()):
    """Give a chunk triples, and entities."""
    with closing(open_snapshot(store)) as snapshot:
        stored = int(choose.stored_chunk_numbers(snapshot)[chunk])
    said = tuple(Triple(subject=s, relation=r, object=o) for s, r, o in triples)
    found = Extraction(triples=said, entities=tuple(Described(name=name) for name in entities))
    store.commit(
        build_graph_batch([ChunkExtraction(stored, source, found)], MODELS, store.unnamed), ()
    )


def of(store, **settings_):
    """Return the statistical entities of the newest generation."""
    with closing(open_snapshot(store)) as snapshot:
        return statistical_entities(snapshot, EMBEDDER, **settings_)


def facts(store):
    """Return the triples of all chunks by their words, and whether each is grounded there."""
    with closing(open_snapshot(store)) as snapshot:
        link = snapshot.link("triple", "chunk")
        triples = np.repeat(np.arange(link.shape[0]), np.diff(link.indptr)).tolist()
        texts = snapshot.layer("triple").texts(triples)
        grounded = statistical_entities(snapshot, EMBEDDER).grounded.tolist()
        return dict(zip(texts, grounded, strict=True))


# -- names and rates ------------------------------------------------------------------------------


def test_terms_that_the_index_has_no_entity_of(store):
    """They are named as they are first spelled; a name's vector is that of its key."""
    add(store, [SHIP, ICE, QUAY])
    assert of(store).names == ["ice", "ice anchor", "quay"]
    assert of(store, threshold=0.4).names[:4] == ["built", "hull", "round", "ice"]
    add(store, [SHIP, ICE, QUAY])
    found = of(store)
    expected = EMBEDDER.embed([name_key(name) for name in found.names], kind="document")
    assert found.vectors.tobytes() == expected.tobytes()


def test_a_term_may_be_an_entity(store):
    """One that has the key of an entity is that one; its rates are in the entity's row."""
    add(store, [SHIP, ICE, QUAY])
    before = of(store)
    extract(store, ("ice anchor", "sank", "Ship"), chunk=1)
    found = of(store)
    assert [name for name in before.names if name not in found.names] == ["ice anchor"]
    with closing(open_snapshot(store)) as snapshot:
        [row, ship] = snapshot.layer("entity").rows(["ice anchor", "ship"])
    np.testing.assert_allclose(found.entities[[row]].toarray(), [[0, 2 / 3, 0]], atol=1e-6)
    assert not found.entities[[ship]].nnz  # it rates below one half
    assert found.entities.shape[1] == found.terms.shape[1] == 3


WORDS = st.sampled_from(["Sea", "sea", "ice", "Ice", "fog", "ship", "the", "drift", "Toll", "."])
TEXTS = st.lists(st.lists(WORDS, min_size=3, max_size=9).map(" ".join), min_size=1, max_size=4)


@settings(max_examples=25)
@given(TEXTS, st.sampled_from([0.2, 0.5, 0.9]))
def test_rates_are_those_of_the_texts(texts, threshold):
    """What is salient in a text is in its column by the key of how the text writes it."""
    texts = [f"{text} end{i}" for i, text in enumerate(texts)]
    with scratch() as folder, create(folder / "index") as store:
        add(store, [document(str(i), text) for i, text in enumerate(texts)])
        found = of(store, threshold=threshold)
        with closing(open_snapshot(store)) as snapshot:
            keys = snapshot.layer("entity").ids(range(len(snapshot.layer("entity"))))
    rates, terms = salient_rates(texts, threshold=threshold)
    expected = []
    for text, (start, end) in zip(texts, pairwise(rates.indptr), strict=True):
        best = {}
        names = spell_terms([terms[i] for i in rates.indices[start:end]], text)
        for name, rate in zip(names, rates.data[start:end], strict=True):
            best[name_key(name)] = max(best.get(name_key(name), 0), rate)
        expected.append(best)
    keys += map(name_key, found.names)
    assert len(set(keys)) == len(keys)
    all_rates = np.concatenate([found.entities.toarray(), found.terms.toarray()])
    for column, best in zip(all_rates.T, expected, strict=True):
        rated = {keys[row]: column[row] for row in np.flatnonzero(column)}
        assert rated == pytest.approx(best)


def test_a_name_that_stands_for_another_rates_for_it(store):
    """Where both are salient in a chunk, the higher rate counts."""
    add(store, [SHIP, ICE, QUAY])
    extract(store, ("ice anchor", "sank", "quay"), ("hull", "was", "round"), chunk=1)
    with closing(open_snapshot(store)) as snapshot:
        rows = snapshot.layer("entity").rows(["ice anchor", "hull"])
    before = of(store).entities[rows].toarray()
    store.set_aliases({"hull": "ice anchor"})
    with closing(open_snapshot(store)) as snapshot:
        [row, same] = snapshot.layer("entity").rows(["ice anchor", "hull"])
    assert row == same
    assert of(store).entities[[row]].toarray().tolist() == [before.max(axis=0).tolist()]


def test_an_index_without_names(store):
    """Then all statistical entities are terms, and their vectors as wide as the others'."""
    add(store, [document("1", "snow fell on the quay"), document("2", "the ice broke")])
    found = of(store)
    assert found.names == ["snow fell", "quay", "ice broke"]
    assert found.vectors.shape == (3, EMBEDDER.dimension)
    assert found.entities.shape == (0, 2)


def test_names_that_are_too_long_are_none(store):
    """What has more than a hundred characters is no name, here as elsewhere."""
    add(store, [document("1", f"The {'sea' * 40} froze. Nobody saw it freeze."), QUAY])
    found = of(store, threshold=0.1)
    assert {"saw", "quay"} < set(found.names)
    assert max(map(len, found.names)) < 100


def test_settings_decide_which_terms(store):
    """As the equation is printed nothing is salient, and that can be seen."""
    add(store, [SHIP, ICE, QUAY])
    assert of(store).empty == 0
    printed = of(store, score="eq2")
    assert printed.empty == 1
    assert not len(printed.names)
    assert "anchor" not in of(store, threshold=0.1).names
    assert "anchor" in of(store, threshold=0.1, nested=True).names
    assert all(len(name.split()) == 1 for name in of(store, longest=1, threshold=0.1).names)


def test_it_is_computed_once(store):
    """A second question about one snapshot finds it computed."""
    add(store, [SHIP, ICE, QUAY])
    with closing(open_snapshot(store)) as snapshot:
        first = statistical_entities(snapshot, EMBEDDER)
        assert statistical_entities(snapshot, EMBEDDER) is first
        assert statistical_entities(snapshot, EMBEDDER, threshold=0.2) is not first


# -- synonyms -------------------------------------------------------------------------------------


def test_synonyms_are_near_names(store):
    """Of entities that an extraction has or that are salient, and of terms; no short names."""
    add(store, [SHIP, ICE, QUAY])
    extract(
        store, ("ice anchors", "near", "anchor ice"), ("UK", "is", "uk of ice"), chunk=1,
        entities=["Colin Archers hull"],
    )  # fmt: skip
    found = of(store, synonym=0.3)
    with closing(open_snapshot(store)) as snapshot:
        layer = snapshot.layer("entity")
        n = len(layer)
        keys = [*layer.ids(range(n)), *map(name_key, found.names)]
        vectors = np.concatenate([layer.vectors, found.vectors])
        takes_part = layer.columns["extracted"] | (np.diff(found.entities.indptr) > 0)
    takes_part = np.concatenate([takes_part, np.ones(len(found.names), dtype=bool)])
    takes_part &= np.array([len(key.replace(" ", "")) > 2 for key in keys])
    cosines = np.round(vectors @ vectors.T, 6) * np.outer(takes_part, takes_part)
    np.fill_diagonal(cosines, 0)
    expected = np.where(cosines > 0.3, cosines, 0)
    assert expected.any()
    assert not takes_part.all()
    np.testing.assert_allclose(found.synonyms.toarray(), expected, atol=2e-6)
    assert found.synonyms.has_canonical_format


def test_a_date_without_a_vector_has_no_synonyms(store):
    """Its row is zero, since no question leads to it."""
    add(store, [document("1", "Ice of the 18th century. The 18th century had ice."), QUAY])
    with closing(open_snapshot(store)) as snapshot:
        layer = snapshot.layer("entity")
        [row] = layer.rows(["18th century"])
        assert not layer.vectors[row].any()
        found = statistical_entities(snapshot, EMBEDDER, synonym=-1, threshold=0.1)
    assert found.entities[[row]].nnz
    assert not found.synonyms[[row]].nnz
    assert found.synonyms.nnz


# -- facts and their chunks -----------------------------------------------------------------------


def test_facts_are_grounded_where_both_ends_stand(store):
    """Whatever the case and the marks; in the title too; not inside another word."""
    add(store, [SHIP, ICE, QUAY])
    extract(
        store,
        ("fram", "built by", "colin  archer"),
        ("Fram", "has", "Hull."),
        ("Fram", "has", "hul"),
        ("Nansen", "sailed", "Fram"),
        ("Fram", "was", "round hull"),
    )
    extract(store, ("Fram", "met", "ice"), ("ship", "in", "pack-ice"), chunk=1)
    assert facts(store) == {
        "Fram built by Colin Archer": True,
        "Fram has Hull.": True,
        "Fram has hul": False,
        "Nansen sailed Fram": False,
        "Fram was round hull": False,
        "Fram met ice": False,
        "ship in pack-ice": True,
    }


def test_a_salient_end_needs_no_verbatim_name(store):
    """An entity stands where a name is salient that stands for it."""
    add(store, [SHIP, ICE, QUAY])
    extract(store, ("penguin colony", "eats", "ice anchor"), chunk=1)
    extract(store, ("penguin colony", "saw", "snow"), chunk=2)
    assert list(facts(store).values()) == [False, False]
    store.set_aliases({"quay": "penguin colony"})
    assert list(facts(store).values()) == [False, True]


def test_a_mention_under_another_name_counts(store):
    """A merged entity stands where any of its names is mentioned."""
    add(store, [document("1", "Then Bo Dahl met Mira Toll. The sea rose and the sea fell."), QUAY])
    extract(store, ("Captain Bo Dahl", "met", "Mira Toll"))
    assert list(facts(store).values()) == [False]
    store.set_aliases({"bo dahl": "captain bo dahl"})
    assert list(facts(store).values()) == [True]


def test_no_text_is_read_for_names_that_sentences_mention(store, monkeypatch):
    """Where both ends are mentioned, as with names of one sentence, that says it all."""
    add(store, [SHIP, ICE, QUAY])
    extract(store, ("Fram", "built by", "Colin Archer"))
    texts = []
    monkeypatch.setattr(statistical_module, "entity_key", texts.append)
    assert facts(store) == {"Fram built by Colin Archer": True}
    assert not texts


def test_scripts_without_spaces(store):
    """There a name stands wherever its characters do."""
    add(store, [document("1", "北京大学在北京。"), document("2", "上海很大。")])
    extract(store, ("北京大学", "在", "北京"), ("北京大学", "在", "上海"))
    assert facts(store) == {"北京大学 在 北京": True, "北京大学 在 上海": False}


@pytest.mark.satellite
def test_an_imported_graph_says_what_it_says(store, tmp_path):
    """Its chunks are made of its triples, and have no salient terms; texts beside it have."""
    take(store, write(tmp_path / "ships.jsonl", *SHIPS))
    alone = of(store)
    assert alone.grounded.all()
    assert len(alone.grounded) == len(SHIPS)
    assert (len(alone.names), alone.entities.nnz, alone.terms.nnz, alone.empty) == (0, 0, 0, 0)
    add(store, [SHIP, ICE, QUAY])
    extract(store, ("Nansen", "sailed", "Fram"), chunk=0)
    both = of(store)
    assert both.grounded.sum() == len(SHIPS)
    with closing(open_snapshot(store)) as snapshot:
        salient = (both.entities.sum(axis=0) + both.terms.sum(axis=0)) > 0
        imported = snapshot.layer("chunk").columns["graph"] == 6
    assert (salient != imported).all()
