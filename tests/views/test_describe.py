"""What `show` says of an index and of each kind of row."""

import json

import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError
from clew.index.recipe import Settings
from clew.testing import QUESTIONS, models, small_documents
from clew.text.chunking import Chunking
from tests.index.reads import ReadsChat

DOCUMENTS = [
    Document(
        id="ships/comet",
        title="Comet (ship)",
        text="Ola Eriksen built her in Bakken. She sank off Cape Lund in 1911.",
        source="ships/comet.txt",
        metadata={"year": 1911},
    ),
    Document(id="lund", title="Cape Lund", text="It has a lighthouse. Ola Eriksen never saw it."),
    Document(id="empty-handed", text="grain was cheap that year."),
]
FIRST, SECOND = "Ola Eriksen built her in Bakken.", "She sank off Cape Lund in 1911."


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("shown") / "my.clew", models=models()) as opened:
        opened.add(DOCUMENTS)
        yield opened


def test_an_index_is_counted(index):
    shown = index.show()
    snapshot = index.snapshot()
    assert shown["layers"] == {name: len(layer) for name, layer in snapshot.layers.items()}
    assert (shown["layers"]["document"], shown["layers"]["unit"]) == (3, 5)
    assert shown["links"]["chunk-unit"] == 5
    assert shown["links"]["document-entity"] == 2
    assert shown["documents"] == ["empty-handed", "lund", "ships/comet"]
    assert shown["size_bytes"] > 1000
    assert shown["generation"] == snapshot.generation > 0
    assert shown["wasted"] == 0
    assert shown["recipe"]["embedder"] == "hash-tokens-64"
    assert shown["folder"] == str(index.folder)


def test_what_is_removed_is_counted_as_waste(tmp_path):
    texts = [Document(id=f"d{i}", text=f"Ada {i} met Bo.") for i in range(10)]
    with clew.open(tmp_path / "i", models=models()) as index:
        index.add(texts)
        index.remove("d3")
        assert index.show()["wasted"] == pytest.approx(0.1)
        assert index.show()["layers"]["document"] == 9
        index.compact()
        assert index.show()["wasted"] == 0


def test_many_documents_are_all_named(tmp_path, index):
    with clew.open(tmp_path / "i", models=models()) as opened:
        opened.add(Document(id=f"d{i:02}", text=f"Ada {i}.") for i in range(30))
        shown = opened.show()
        assert shown["documents"] == [f"d{i:02}" for i in range(30)]
        assert shown["layers"]["document"] == 30
    unit = f"ships/comet:0-{len(FIRST)}"
    for name in (None, "ships/comet", f"lund:0-{len(DOCUMENTS[1].text)}", unit, "Bakken"):
        shown = index.show(name)
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_a_document_a_chunk_and_a_unit(index):
    given = {name: getattr(DOCUMENTS[0], name) for name in ("id", "title", "source", "metadata")}
    counts = {"n_characters": len(DOCUMENTS[0].text), "n_pages": 0, "headings": []}
    chunks = [f"ships/comet:0-{len(DOCUMENTS[0].text)}"]
    assert index.show("ships/comet") == {"kind": "document", "chunks": chunks, **given, **counts}
    chunk_id = f"ships/comet:0-{len(DOCUMENTS[0].text)}"
    shown = index.show(chunk_id)
    assert (shown["kind"], shown["id"], shown["document"]) == ("chunk", chunk_id, "ships/comet")
    assert DOCUMENTS[0].text[shown["start"] : shown["end"]] == shown["text"] == DOCUMENTS[0].text
    assert len(shown["units"]) == 2
    assert (shown["units_made_by"], shown["triples_made_by"]) == ("sentence", "none")
    assert shown["descriptions"] == shown["triples"] == []
    assert {"Ola Eriksen", "Bakken", "Cape Lund", "1911"} <= set(shown["entities"])
    assert shown["n_tokens"] > 10
    start = len(FIRST) + 1
    shown = index.show(f"ships/comet:{start}-{start + len(SECOND)}")
    assert (shown["kind"], shown["text"], shown["title"]) == ("unit", SECOND, "Comet (ship)")
    assert shown["made_by"] == "sentence"
    assert shown["chunks"] == [f"ships/comet:0-{len(DOCUMENTS[0].text)}"]
    assert {"Cape Lund", "1911"} <= set(shown["entities"])


@pytest.mark.parametrize("name", ["Ola Eriksen", "ola eriksen", "OLA  ERIKSEN’s"])
def test_an_entity(index, name):
    shown = index.show(name)
    assert (shown["kind"], shown["id"], shown["name"]) == ("entity", "ola eriksen", "Ola Eriksen")
    assert shown["linkable"] is True
    assert shown["title_of"] == []
    assert shown["n_units"] == 2
    assert {unit["text"] for unit in shown["units"]} == {FIRST, "Ola Eriksen never saw it."}
    assert "Bakken" in shown["together_with"]
    assert "Ola Eriksen" not in shown["together_with"]


def test_an_entity_that_is_something_else_too(index):
    shown = index.show("Cape Lund")
    assert shown["title_of"] == ["lund"]
    assert [unit["text"] for unit in shown["units"]] == [SECOND]
    shown = index.show("comet")
    assert (shown["name"], shown["title_of"]) == ("Comet", ["ships/comet"])
    assert (shown["n_units"], shown["units"], shown["together_with"]) == (0, [], [])
    shown = index.show("1911")
    assert (shown["kind"], shown["linkable"]) == ("entity", False)
    assert index.show("lund")["kind"] == "document"


def test_what_an_extraction_gave(tmp_path):
    with clew.open(tmp_path / "i", models=models(llm=ReadsChat())) as index:
        index.add(DOCUMENTS, units=1.0, triples="llm")
        [chunk_id] = index.show("ships/comet")["chunks"]
        chunk = index.show(chunk_id)
        assert (chunk["units_made_by"], chunk["triples_made_by"]) == ("llm", "llm")
        assert index.show(chunk["units"][0])["made_by"] == "llm"
        assert "Ola Eriksen goes with Bakken" in chunk["triples"]
        assert {"name": "Bakken", "text": "Bakken of the notes"} in chunk["descriptions"]
        assert index.show("Bakken")["descriptions"] == ["Bakken of the notes"]


NAMES = [
    Document(id="a", text="O. Henriksen built a ship. The Bakken Works paid Ola Henriksen."),
    Document(id="b", text="Ola Henriksson was late. Lund paid Henriksson twice."),
]


@pytest.fixture
def names(tmp_path):
    with clew.open(tmp_path / "names", models=models()) as opened:
        opened.add(NAMES)
        yield opened


def test_names_are_shown_as_written(names):
    found = names.aliases()
    assert found["merged"] == found["names"] == {}
    pairs = {(pair["name"], pair["into"]): pair["reason"] for pair in found["proposed"]}
    assert pairs["Ola Henriksen", "Ola Henriksson"] == "spelling"
    assert pairs["Henriksson", "Ola Henriksson"] == "shorter form"
    assert all(len(name) <= len(into) for name, into in pairs)
    assert all(0.3 <= pair["score"] <= 1 for pair in found["proposed"])
    names.merge("Henriksson", "Ola Henriksson")
    names.merge("Ola Henriksson", "Ola Henriksen")
    found = names.aliases()
    assert found["merged"] == {"henriksson": "ola henriksson", "ola henriksson": "ola henriksen"}
    assert set(found["names"].values()) == {"Henriksson", "Ola Henriksson", "Ola Henriksen"}
    names.remove(["a", "b"])
    assert names.aliases()["names"] == {key: key for key in found["names"]}


@pytest.mark.parametrize("name", ["nobody", "", "???", "ships/comet:0-5", "lund:a-b"])
def test_an_unknown_name_is_refused(index, name):
    with pytest.raises(InputError) as error:
        index.show(name)
    kinds = "document, chunk, unit, subchunk, triple, entity or term"
    hint = "see 'clew show' for what the index holds"
    assert str(error.value) == f"the index has no {kinds} {name!r}: {hint}"


def test_every_stop_of_a_thread_can_be_shown(tmp_path):
    """What the evidence names can be looked up by that name: parts, terms, triples, entities."""
    settings = Settings(chunking=Chunking(size=24, overlap=0, subchunk_depth=1))
    with clew.open(tmp_path / "my.clew", models=models(), settings=settings) as index:
        index.add(small_documents(), triples="cooccurrence")
        shown = {}
        for question in QUESTIONS[:4]:
            found = index.search(question, method="ket", tokens=400)
            for step in (*found.seeds, *(step for path in found.paths for step in path.steps)):
                if step.layer != "query":
                    row = index.show(step.id)
                    assert row["id"] == step.id
                    shown[row["kind"]] = row
        assert set(shown) >= {"subchunk", "term", "triple", "entity"}
        assert shown["subchunk"]["chunk"].partition(":")[0] == shown["subchunk"]["document"]
        assert shown["triple"]["chunks"]
        assert shown["term"]["n_chunks"] >= len(shown["term"]["chunks"]) > 0
