"""What `show` says of an index and of each kind of row."""

import json

import pytest

import clew
from clew.errors import InputError
from clew.testing import models
from clew.types import Document

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
    """Rows per layer, entries per link, size, recipe and the documents' ids."""
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
    """A deletion shows as a share of dead rows until the index is compacted."""
    texts = [Document(id=f"d{i}", text=f"Ada {i} met Bo.") for i in range(10)]
    with clew.open(tmp_path / "i", models=models()) as index:
        index.add(texts)
        index.remove("d3")
        assert index.show()["wasted"] == pytest.approx(0.1)
        assert index.show()["layers"]["document"] == 9
        index.compact()
        assert index.show()["wasted"] == 0


def test_many_documents_are_named_in_part(tmp_path):
    """The list of ids stays short; the count does not lie."""
    with clew.open(tmp_path / "i", models=models()) as index:
        index.add(Document(id=f"d{i:02}", text=f"Ada {i}.") for i in range(30))
        shown = index.show()
        assert len(shown["documents"]) == 20
        assert shown["layers"]["document"] == 30


def test_a_document(index):
    """By its id: what it is called, where it came from, and its chunks."""
    assert index.show("ships/comet") == {
        "kind": "document",
        "id": "ships/comet",
        "title": "Comet (ship)",
        "source": "ships/comet.txt",
        "n_characters": len(DOCUMENTS[0].text),
        "metadata": {"year": 1911},
        "chunks": [f"ships/comet:0-{len(DOCUMENTS[0].text)}"],
    }


def test_a_chunk(index):
    """By its id: its place and text, its units, and the names in it."""
    chunk_id = f"ships/comet:0-{len(DOCUMENTS[0].text)}"
    shown = index.show(chunk_id)
    assert (shown["kind"], shown["id"], shown["document"]) == ("chunk", chunk_id, "ships/comet")
    assert DOCUMENTS[0].text[shown["start"] : shown["end"]] == shown["text"] == DOCUMENTS[0].text
    assert len(shown["units"]) == 2
    assert {"Ola Eriksen", "Bakken", "Cape Lund", "1911"} <= set(shown["entities"])
    assert shown["n_tokens"] > 10


def test_a_unit(index):
    """By its id: its sentence, the chunks that hold it, and the names in it."""
    start = len(FIRST) + 1
    shown = index.show(f"ships/comet:{start}-{start + len(SECOND)}")
    assert (shown["kind"], shown["text"], shown["title"]) == ("unit", SECOND, "Comet (ship)")
    assert shown["chunks"] == [f"ships/comet:0-{len(DOCUMENTS[0].text)}"]
    assert {"Cape Lund", "1911"} <= set(shown["entities"])


@pytest.mark.parametrize("name", ["Ola Eriksen", "ola eriksen", "OLA  ERIKSEN’s"])
def test_an_entity(index, name):
    """By any spelling of its name: its sentences, and what it stands beside."""
    shown = index.show(name)
    assert (shown["kind"], shown["id"], shown["name"]) == ("entity", "ola eriksen", "Ola Eriksen")
    assert shown["linkable"] is True
    assert shown["title_of"] == []
    assert shown["n_units"] == 2
    assert {unit["text"] for unit in shown["units"]} == {FIRST, "Ola Eriksen never saw it."}
    assert "Bakken" in shown["together_with"]
    assert "Ola Eriksen" not in shown["together_with"]


def test_an_entity_that_is_a_title_too(index):
    """A name that is a document's title says of which."""
    shown = index.show("Cape Lund")
    assert shown["title_of"] == ["lund"]
    assert [unit["text"] for unit in shown["units"]] == [SECOND]


def test_an_entity_that_is_a_title_only(index):
    """A title that no sentence repeats has no units, and is shown all the same."""
    shown = index.show("comet")
    assert (shown["name"], shown["title_of"]) == ("Comet", ["ships/comet"])
    assert (shown["n_units"], shown["units"], shown["together_with"]) == (0, [], [])


def test_a_date_is_shown_and_is_not_linkable(index):
    """Questions are never linked to it, and `show` says so."""
    shown = index.show("1911")
    assert (shown["kind"], shown["linkable"]) == ("entity", False)


def test_an_id_goes_before_a_name(index):
    """Where a name is a document's id and part of an entity, the document is shown."""
    assert index.show("lund")["kind"] == "document"


@pytest.mark.parametrize("name", ["nobody", "", "???", "ships/comet:0-5", "lund:a-b"])
def test_an_unknown_name_is_refused(index, name):
    """The message repeats what was asked for."""
    with pytest.raises(InputError) as error:
        index.show(name)
    message = f"the index has no document, chunk, unit or entity {name!r}"
    assert str(error.value) == message


def test_everything_shown_is_plain(index):
    """JSON can hold it: numbers of Python, lists, texts."""
    unit = f"ships/comet:0-{len(FIRST)}"
    for name in (None, "ships/comet", f"lund:0-{len(DOCUMENTS[1].text)}", unit, "Bakken"):
        json.dumps(index.show(name))
