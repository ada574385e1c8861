"""LightRAG beside a plain reading of the triples that the index was made of."""

import numpy as np
import pytest

from clew.extras.baselines.lightrag import LightRag, read_keywords
from clew.testing import HashEmbedder, ScriptedLLM, built, models, small_documents
from clew.text.keys import name_key
from tests.methods.bubble import comet

QUESTION = "Who built the Comet, and where does Cape Lund lie?"


@pytest.fixture(scope="module")
def ships():
    with comet.indexed() as snapshot:
        yield snapshot


def keywords(specific, general):
    return models(llm=ScriptedLLM({"specific": specific, "general": general}))


def documents(found):
    return [hit.document_id for hit in found.hits]


def ranked(snapshot, layer, text):
    """Return the ids of a layer, the nearest to a text first."""
    rows = snapshot.layer(layer)
    cosines = rows.vectors @ HashEmbedder().embed([text], kind="query")[0]
    order = np.argsort(-np.round(cosines, 6), kind="stable")
    return rows.ids(order.tolist())


def by_entities(snapshot, text):
    """Return documents by the entities nearest to a text, then by how many triples have these."""
    found = []
    for key in ranked(snapshot, "entity", text):
        counts = {
            name: sum(key in (name_key(s), name_key(o)) for s, _, o in rows)
            for name, rows in comet.TRIPLES.items()
        }
        found += sorted((n for n in counts if counts[n]), key=lambda n: (-counts[n], n))
    return list(dict.fromkeys(found))


def by_relations(snapshot, text):
    """Return documents by the triples nearest to a text."""
    stated = {
        (name_key(s), r, name_key(o)): name
        for name, rows in comet.TRIPLES.items()
        for s, r, o in rows
    }
    ids = ranked(snapshot, "triple", text)
    return list(dict.fromkeys(stated[tuple(each.split("|"))] for each in ids))


def in_turns(*lists):
    """Return the first of each list, the second of each, and so on, each once."""
    turns = [each[i] for i in range(max(map(len, lists))) for each in lists if i < len(each)]
    return list(dict.fromkeys(turns))


@pytest.mark.parametrize(
    ("specific", "general"),
    [("Comet", "capital of a land"), ("Cape Lund lighthouse", "was born in"), ("Bakken", "built")],
)
def test_both_levels_are_a_plain_reading(ships, specific, general):
    """Each alone, and both in turn."""
    local, global_ = by_entities(ships, specific), by_relations(ships, general)
    expected = {"local": local, "global": global_, "hybrid": in_turns(local, global_)}
    for mode, names in expected.items():
        found = LightRag(mode=mode, chunks=99).retrieve(
            QUESTION, ships, keywords([specific], [general])
        )
        assert documents(found) == names
        assert [hit.score for hit in found.hits] == [1 / n for n in range(1, len(names) + 1)]


def test_nearest_chunks_take_their_turn(ships):
    """With "mix" a chunk without any triple is found, too."""
    found = LightRag(mode="mix").retrieve(QUESTION, ships, keywords(["Comet"], ["built"]))
    assert {"fog", "gulls"} & set(documents(found))
    assert not {"fog", "gulls"} & set(
        documents(LightRag().retrieve(QUESTION, ships, keywords(["Comet"], ["built"])))
    )


def test_tables_and_threads_say_what_was_found(ships):
    """The one nearest entity with all of its triples, those of the most joined ends first."""
    found = LightRag(mode="local", top_k=1).retrieve(QUESTION, ships, keywords(["Ola Eriksen"], []))
    entities, relations = found.tables
    assert entities.rows == (("Ola Eriksen",),)
    assert relations.rows[0] in {
        ("Ola Eriksen", "built", "Comet"),
        ("Ola Eriksen", "born in", "Bakken"),
    }
    found = LightRag(mode="local", top_k=2).retrieve(
        QUESTION, ships, keywords(["Ola Eriksen Comet"], [])
    )
    assert set(documents(found)) == {"comet", "eriksen"}
    path = found.paths[0]
    assert [step.layer for step in path.steps] == ["query", "entity", "chunk"]
    assert path.steps[1].reason == "near the specific keywords"
    assert path.steps[1] in found.seeds
    of_relation = LightRag(mode="global", top_k=1).retrieve(
        QUESTION, ships, keywords([], ["Verle capital of Osterland"])
    )
    assert [step.text for step in of_relation.paths[0].steps[1:2]] == ["Verle capital of Osterland"]
    assert of_relation.tables[0].rows == (("Verle",),)  # as many rows as `top_k`
    assert documents(of_relation) == ["verle"]


def test_keywords():
    """An LLM's; where it gives none of a kind, or nothing, the question; without one its names."""
    given = keywords(["Fram", " "], ["polar ships", "builders"])
    words = read_keywords(given, QUESTION)
    assert (words.specific, words.general) == ("Fram", "polar ships, builders")
    words = read_keywords(keywords([], ["builders"]), QUESTION)
    assert (words.specific, words.general, words.notes) == (QUESTION, "builders", ())
    words = read_keywords(models(llm=ScriptedLLM("no JSON", "no JSON")), QUESTION)
    assert (words.specific, words.general) == (QUESTION, QUESTION)
    assert words.notes[0].startswith("the LLM gave no keywords (")
    words = read_keywords(models(), "Where does Cape Lund lie?")
    assert (words.specific, words.general) == ("Cape Lund", "Where does Cape Lund lie?")
    assert read_keywords(models(), "why?").specific == "why?"


def test_without_triples_the_nearest_chunks_come_back():
    """A note says so, and what to do."""
    with built(small_documents()) as snapshot:
        found = LightRag().retrieve("Where is Bakken?", snapshot, models())
    assert len(found.hits) == 10
    [note] = found.notes
    assert note.startswith("the index has no triples ('clew index --triples' extracts")
