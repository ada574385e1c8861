"""What somebody says of entities: by hand, or by a list."""

import numpy as np
import pytest

import clew
from clew import Document
from clew.base.types import DATE, LABELS, Mention, VocabularyEntry
from clew.errors import InputError
from clew.steps.entity_types import find_types, find_types_in
from clew.testing import models

TEXTS = {
    "fram": "Colin Archer was a naval architect. Colin Archer built the Fram in 1892 at Larvik.",
    "kite": "The Kite Company sold the Fram. Kite Company of Verle closed; Archer wept.",
    "norway": "Norway lies north. The Verle ferry sails to Norway and to Larvik. Fram Museum.",
}


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        opened.add([Document(id=name, text=text) for name, text in TEXTS.items()])
        yield opened


def typed(index, *names):
    snapshot = index.snapshot()
    rows = snapshot.layer("entity").rows([name.casefold() for name in names])
    return find_types(snapshot, rows)


def test_types_are_given_where_they_are_sure(index):
    """By texts, names and what is no name but a date; else none."""
    names = ("Colin Archer", "Norway", "Kite Company", "1892", "Larvik")
    assert typed(index, *names) == ["person", "place", "organization", "date", "other"]
    mentions = [Mention(0, 4, LABELS[0]), Mention(25, 29, LABELS[DATE])]
    sentence = "Fram was a ship built in 1892."
    assert find_types_in([(sentence, mentions)], None) == {"fram": "product", "1892": "date"}
    assert find_types_in([(sentence, mentions[:1])], index.snapshot()) == {"fram": "product"}


def test_an_edit_comes_first_and_is_kept(index, tmp_path):
    """Through updates, a removal and a compaction, until it is taken back."""
    index.edit("Fram", type="Polar Ship", rename="FS Fram")
    entry = index.edit("fs fram", apart=True)
    assert entry == VocabularyEntry(name="FS Fram", type="polar ship", apart=True)
    assert typed(index, "Fram", "FS Fram") == ["polar ship"] * 2
    index.remove("kite")
    index.add([Document(id="kite", text="The Fram came back.")])
    index.compact()
    shown = index.show("Fram")
    assert (shown["name"], shown["type"], shown["id"]) == ("FS Fram", "polar ship", "fram")
    assert index.show("FS Fram") == shown
    [hit] = index.search("Fram", where="id = 'kite'").hits
    assert hit.text == "The Fram came back."
    assert find_types_in([("Fram", [Mention(0, 4, LABELS[0])])], index.snapshot()) == {
        "fram": "polar ship"
    }
    index.edit("Fram", rename="", type="", apart=False)
    assert index.vocabulary() == {}
    assert index.show("Fram")["name"] == "Fram"
    with pytest.raises(InputError):
        index.show("FS Fram")


def test_what_stays_apart_is_never_merged(index):
    """Neither by rules nor by hand, and it is not proposed, until that is taken back."""
    index.add([Document(id="x", text="He saw Toll and Sons. He liked Toll & Sons.")])
    index.add([Document(id="y", text="Ola Eriksen met Ola Erikson.")])
    assert [p for p in index.aliases()["proposed"] if "Ola Eriksen" in p.values()]
    index.edit("Toll and Sons", apart=True)
    index.edit("Ola Eriksen", apart=True)
    assert index.merge_by_rules() == {}
    assert not [p for p in index.aliases()["proposed"] if "Ola Eriksen" in p.values()]
    with pytest.raises(InputError, match="is kept apart"):
        index.merge("Toll & Sons", "Toll and Sons")
    index.edit("Toll and Sons", apart=False)
    assert index.merge_by_rules() == {"toll and sons": "toll sons"}


def test_edits_that_cannot_be(index):
    for given, why in (
        ({"name": "Framm"}, "no entity 'Framm'"),
        ({"name": "Fram", "type": "a/b"}, "is not a type"),
        ({"name": "Fram", "rename": "Larvik"}, "or is taken"),
        ({"name": "Fram", "rename": "!"}, "is not a name"),
    ):
        with pytest.raises(InputError, match=why):
            index.edit(**given)
    assert index.vocabulary() == {}


def test_a_list_is_taken_and_replaces_the_one_before(index, tmp_path):
    """What was said by hand stays; a name that no text has yet waits for one."""
    path = tmp_path / "names.csv"
    path.write_text(
        "name,aliases,type,apart\nColin Archer,Archer; C. Archer,person,\nFram,,ship,yes\n"
        "Maud,,ship,\n",
        encoding="utf-8",
    )
    index.edit("Larvik", type="town")
    index.take_vocabulary(path)
    assert typed(index, "Archer", "Fram", "Larvik") == ["person", "ship", "town"]
    rows = index.snapshot().layer("entity").rows(["archer", "colin archer"])
    assert rows[0] == rows[1]
    generation = index.snapshot().generation
    index.take_vocabulary(path)
    assert index.snapshot().generation == generation
    index.add([Document(id="maud", text="The Maud followed.")])
    assert typed(index, "Maud") == ["ship"]
    index.edit("Fram", type="vessel")
    path.write_text("name\nNorway\n", encoding="utf-8")
    index.take_vocabulary(path)
    rows = index.snapshot().layer("entity").rows(["archer", "colin archer"])
    assert rows[0] != rows[1]
    assert typed(index, "Fram", "Maud", "Larvik") == ["vessel", "other", "town"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title,type\nFram,ship\n", "first line names the columns"),
        ("name,type\nFram,ship\n!,ship\n", "line 3"),
        ("name,type\nFram,ship,x\n", "line 2"),
        ("name,type\nFram,a/b\n", "line 2: 'a/b' is not a type"),
        ("name,apart\nFram,perhaps\n", "line 2"),
        ("name,aliases\nFram,\nMaud,Fram\n", "line 3: 'fram' is repeated from an earlier line"),
        (None, "cannot be read"),
        pytest.param("x" * 200_000, "line 1: the line is longer than 100,000", id="header"),
        pytest.param(f"name\n{'x' * 200_000}\n", "line 2: the line is longer than", id="long"),
    ],
)
def test_a_list_that_is_none(index, tmp_path, text, why):
    path = tmp_path / "names.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=why):
        index.take_vocabulary(path)


@pytest.mark.satellite
def test_extracted_types_come_before_texts(index, tmp_path):
    """What a file of triples says an entity is counts; what rules extracted does not."""
    path = tmp_path / "kg.jsonl"
    path.write_text(
        '{"name": "Maud", "type": "person"}\n'
        '{"subject": "Maud", "relation": "met", "object": "Bo Dahl"}\n',
        encoding="utf-8",
    )
    index.import_graph(path)
    layer = index.snapshot().layer("entity")
    assert find_types(index.snapshot(), layer.rows(["maud", "bo dahl"])) == ["person", "other"]
    assert len(find_types(index.snapshot(), np.arange(len(layer)).tolist())) == len(layer)


@pytest.mark.satellite
def test_an_export_has_the_types_that_are_asked_for(index, tmp_path):
    everything = index.export(tmp_path / "all.json")
    with pytest.raises(InputError, match="no entity has the type 'Place'; there are: .*place"):
        index.export(tmp_path / "some.json", types=["person", "Place"])
    assert not (tmp_path / "some.json").exists()
    places = index.export(tmp_path / "some.json", types=["place", "person"])
    assert 0 < places.n_nodes < everything.n_nodes
    assert '"type": "place"' in (tmp_path / "some.json").read_text(encoding="utf-8")
    assert '"type": "other"' not in (tmp_path / "some.json").read_text(encoding="utf-8")
