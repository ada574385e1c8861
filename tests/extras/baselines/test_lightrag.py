"""LightRAG beside a plain reading of the triples that the index was made of."""

import json

import numpy as np
import pytest

import clew
from clew.extras.baselines.lightrag import LightRag, read_keywords
from clew.testing import HashEmbedder, ScriptedLLM, built, models, small_documents
from clew.text.keys import name_key
from tests.methods.bubble import comet

QUESTION = "Who built the Comet, and where does Cape Lund lie?"
KEYS = {
    document: [(name_key(s), name_key(o)) for s, _, o in rows]
    for document, rows in comet.TRIPLES.items()
}
PAIRS = sorted({tuple(sorted(pair)) for rows in KEYS.values() for pair in rows})
DEGREES = {end: sum(end in pair for pair in PAIRS) for end in {e for pair in PAIRS for e in pair}}


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


def local_level(snapshot, text, k):
    """Return the nearest entities, and their relations by the degrees of their ends."""
    entities = ranked(snapshot, "entity", text)[:k]
    rows = dict(zip(DEGREES, snapshot.layer("entity").rows(list(DEGREES)), strict=True))
    pairs = [pair for pair in PAIRS if set(pair) & set(entities)]
    pairs.sort(key=lambda pair: (-DEGREES[pair[0]] - DEGREES[pair[1]], sorted(map(rows.get, pair))))
    return entities, pairs


def global_level(snapshot, text, k):
    """Return the ends of the relations nearest to a text, and these."""
    ids = [each.split("|") for each in ranked(snapshot, "triple", text)]
    pairs = list(dict.fromkeys(tuple(sorted((s, o))) for s, _, o in ids))[:k]
    find = snapshot.layer("entity").rows
    return [end for pair in pairs for end in sorted(pair, key=lambda end: find([end]))], pairs


def chunks_of(snapshot, *levels):
    """Return the documents of entities, and the others of relations, in turns, nearest first."""
    layer = snapshot.layer("chunk")
    near = layer.vectors @ HashEmbedder().embed([QUESTION], kind="query")[0]
    order = np.argsort(-np.round(near, 6), kind="stable")
    names = snapshot.layer("document").ids(layer.columns["document"][order].tolist())
    entities, pairs = ({each for level in levels for each in level[kind]} for kind in (0, 1))
    first = [d for d in names if entities & {end for pair in KEYS.get(d, ()) for end in pair}]
    first = first[: int(2.5 * len(entities))]
    second = [d for d in names if pairs & {tuple(sorted(pair)) for pair in KEYS.get(d, ())}]
    second = [d for d in second if d not in first][: int(2.5 * len(pairs))]
    longest = max(len(first), len(second))
    turns = [each[i] for i in range(longest) for each in (first, second) if i < len(each)]
    return list(dict.fromkeys(turns))


@pytest.mark.parametrize("k", [1, 2, 40])
@pytest.mark.parametrize(
    ("specific", "general"),
    [("Comet", "capital of a land"), ("Cape Lund lighthouse", "was born in"), ("Bakken", "built")],
)
def test_levels_are_a_plain_reading(ships, specific, general, k):
    """Each alone, and both in turn."""
    local, global_ = local_level(ships, specific, k), global_level(ships, general, k)
    expected = {"local": [local], "global": [global_], "hybrid": [local, global_]}
    for mode, levels in expected.items():
        found = LightRag(mode=mode, chunks=99, top_k=k).retrieve(
            QUESTION, ships, keywords([specific], [general])
        )
        names = chunks_of(ships, *levels)
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
    """The one nearest entity with all of its relations, those of the most joined ends first."""
    found = LightRag(mode="local", top_k=1).retrieve(QUESTION, ships, keywords(["Cape Lund"], []))
    assert documents(found) == ["comet", "lund"]
    assert [step.layer for step in found.paths[0].steps] == ["query", "entity", "chunk"]
    assert found.paths[0].steps[1].reason == "found by the keywords"
    assert found.paths[0].steps[1] in found.seeds
    found = LightRag(mode="global", top_k=1).retrieve(
        QUESTION, ships, keywords([], ["Verle capital of Osterland"])
    )
    entities, relations = found.tables
    assert len(entities.rows) == 1  # as many rows as `top_k`
    assert {*relations.rows[0][:2]} == {"Verle", "Osterland"}
    assert "capital of" in relations.rows[0][2]


SAID = [
    {
        "document_id": "one.txt",
        "triples": [
            {"subject": "Fram", "relation": "left", "object": "Vardo", "description": "with dogs"}
        ],
        "entities": [{"name": "Fram", "description": "a wooden ship for the ice"}],
    },
    {
        "document_id": "two.txt",
        "triples": [
            {
                "subject": "Gauss",
                "relation": "left",
                "object": "Kiel",
                "description": "a balloon was aboard",
            }
        ],
        "entities": [{"name": "Gauss", "description": "a survey of magnetism"}],
    },
]


def test_descriptions_are_searched_and_shown(tmp_path):
    """Neither name says it: what an entity is, and what was aboard when one left the other."""
    path = tmp_path / "triples.jsonl"
    path.write_text("\n".join(map(json.dumps, SAID)))
    with clew.open(tmp_path / "my.clew", models=models(HashEmbedder())) as index:
        index.add([clew.Document(id=each["document_id"], text="A text.") for each in SAID])
        index.import_triples(path)
    for specific, general, first in [
        (["magnetism survey"], [], "two.txt"),
        (["wooden ship for the ice"], [], "one.txt"),
        ([], ["balloon aboard"], "two.txt"),
        ([], ["dogs"], "one.txt"),
    ]:
        llm = models(HashEmbedder(), llm=ScriptedLLM({"specific": specific, "general": general}))
        with clew.open(tmp_path / "my.clew", models=llm) as index:
            mode = "local" if specific else "global"
            found = index.search(f"Where is {first} {mode}?", method="lightrag", mode=mode, top_k=1)
        assert documents(found) == [first], (specific, general)
    assert found.tables[0].rows == (("Fram", "a wooden ship for the ice"),)
    assert found.tables[1].rows == (("Fram", "Vardo", "with dogs"),)


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
