"""What other systems keep comes in: their own files, over three short texts of ours."""

import shutil
import zipfile
from pathlib import Path

import pytest

import clew
from clew.base.types import Document, Skipped
from clew.errors import InputError, UnreadableSource
from clew.extras.connect.imports.systems import open_system
from clew.readers.roots import Roots
from clew.testing import models

KEPT = Path(__file__).parent / "kept"
SAID = {  # what the LLM was made to say, with the file that it was read from
    ("Colin Archer", "built", "Fram", "fram.txt"),
    ("Colin Archer", "was born in", "Larvik", "archer.txt"),
    ("Fridtjof Nansen", "got letters from", "Colin Archer", "archer.txt"),
    ("Roald Amundsen", "bought", "Gjøa", "gjoa.txt"),
    ("Roald Amundsen", "sailed through", "Northwest Passage", "gjoa.txt"),
    ("Roald Amundsen", "was lent the Fram by", "Fridtjof Nansen", "gjoa.txt"),
}


def take(path):
    """Return the name of a system, its documents, what it states, the problems, what is left."""
    with open_system(path, Roots()) as opened:
        _, system = opened
        documents, stated = list(system.documents), list(system.statements)
    problems = [str(each) for each in (*documents, *stated) if isinstance(each, Skipped)]
    documents = [each for each in documents if isinstance(each, Document)]
    return system, documents, [s for s in stated if not isinstance(s, Skipped)], problems


def triples(stated):
    return {
        (each.triple.subject, each.triple.relation, each.triple.object, each.document_id)
        for each in stated
        if each.triple
    }


def bare(stated):
    return {each[:3] for each in triples(stated)}


@pytest.mark.parametrize(
    ("path", "name", "paid", "left"),
    [
        ("lightrag", "LightRAG", ("Fram", "commission, payment", "Fridtjof Nansen"), ()),
        (
            "graphrag",
            "GraphRAG",
            ("Fridtjof Nansen", "is related to", "Fram"),
            ("2 community reports",),
        ),
    ],
)
def test_a_folder_gives_texts_and_what_is_said_of_them(path, name, paid, left):
    """An edge whose sentence has more words between its ends than six is called otherwise."""
    system, documents, stated, problems = take(KEPT / path)
    assert (system.name, system.left, problems) == (name, left, [])
    files = {Path(each.id).name: each for each in documents}
    assert {*files} == {"fram.txt", "archer.txt", "gjoa.txt"}
    assert files["fram.txt"].text.startswith("The Fram is a wooden ship")
    found = {(*each[:3], Path(each[3]).name) for each in triples(stated)}
    assert found == SAID | {(*paid, "fram.txt")}
    kinds = {each.described.name: each.described.type for each in stated if each.described}
    assert kinds["Colin Archer"] == "person"
    assert kinds["Gjøa"] == "product"  # in capitals in GraphRAG, and as its text spells it here


def test_nano_graphrag_has_texts_without_names_and_names_in_quotes():
    system, documents, stated, problems = take(KEPT / "nano_graphrag")
    assert (system.name, system.left, problems) == ("nano-graphrag", ("2 community reports",), [])
    assert {each[:3] for each in SAID} < bare(stated)
    texts = {each.id: each.text for each in documents}
    assert all(each[0] in texts[each[3]] for each in triples(stated))


def test_a_zip_file_is_as_its_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "kept.zip", "w") as archive:
        for each in sorted((KEPT / "lightrag").iterdir()):
            archive.write(each, f"rag_storage/{each.name}")
    _, documents, stated, _ = take(tmp_path / "kept.zip")
    assert {each.id for each in documents} >= {"kept.zip/rag_storage/fram.txt"}
    assert {each.source for each in documents} >= {f"{tmp_path}/kept.zip/rag_storage#fram.txt"}
    assert bare(stated) == bare(take(KEPT / "lightrag")[2])
    (tmp_path / "no.zip").write_text("no zip")
    with pytest.raises(UnreadableSource, match="is a broken or encrypted zip file, or not one"):
        take(tmp_path / "no.zip")


def test_what_is_of_no_system_is_refused_with_their_names(tmp_path):
    (tmp_path / "a.txt").write_text("A text.")
    with pytest.raises(
        InputError, match="not a folder of GraphML, GraphRAG or LightRAG, nano-graphrag"
    ):
        take(tmp_path)
    for name in ("one", "two"):
        shutil.copytree(KEPT / "lightrag", tmp_path / name)
    with pytest.raises(InputError, match="choose one of one, two"):
        take(tmp_path)
    broken = tmp_path / "one" / "kv_store_full_docs.json"
    broken.write_text("{")
    with pytest.raises(UnreadableSource, match="one/kv_store_full_docs.json: is not valid JSON"):
        take(tmp_path / "one")


def test_a_zip_file_that_cannot_be_taken(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", "x")
        archive.writestr("a/b.md", "x")
    with pytest.raises(UnreadableSource, match=r"a\.zip: cannot be read: "):
        take(tmp_path / "a.zip")


def test_graphml_of_any_program(tmp_path):
    (tmp_path / "g.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="d0" for="node" attr.name="label" attr.type="string"/>'
        '<key id="d1" for="edge" attr.name="label" attr.type="string"/>'
        '<graph edgedefault="directed"><node id="1"><data key="d0">Fram</data></node>'
        '<node id="2"/><edge source="1" target="2"><data key="d1">sailed_to</data></edge>'
        "</graph></graphml>"
    )
    assert bare(take(tmp_path / "g.graphml")[2]) == {("Fram", "sailed to", "2")}
    (tmp_path / "h.graphml").write_text("<html/>")
    with pytest.raises(UnreadableSource, match="is no GraphML"):
        take(tmp_path / "h.graphml")


def test_graphml_of_apoc(tmp_path):
    """Labels are types or facts, two nodes of one name stay two, and a lost end is told."""
    keys = "".join(
        f'<key id="{name}" for="{of}" attr.name="{name}"/>'
        for of, name in (("node", "labels"), ("node", "name"), ("node", "born"), ("edge", "label"))
    )
    nodes = "".join(
        f'<node id="{own}" labels="{labels}"><data key="labels">{labels}</data>'
        f'<data key="name">{name}</data></node>'
        for own, labels, name in (
            ("n0", ":Person", "Archer, Colin"),
            ("n1", ":Person:Explorer", "Nansen"),
            ("n2", ":Person", "Nansen"),
            ("n3", ":Ship", "Fram"),
        )
    )
    edges = "".join(
        f'<edge id="{kind}" source="{start}" target="n3"><data key="label">{kind}</data></edge>'
        for start, kind in (("n0", "BUILT"), ("n1", "paidFor"), ("n9", "LOST"))
    )
    (tmp_path / "g.graphml").write_text(
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}'
        f'<graph edgedefault="directed">{nodes}{edges}</graph></graphml>'
    )
    _, _, stated, problems = take(tmp_path / "g.graphml")
    assert bare(stated) == {
        ("Nansen", "is a", "Explorer"),
        ("Fram", "is a", "Ship"),
        ("Archer, Colin", "built", "Fram"),
        ("Nansen", "paid for", "Fram"),
    }
    kinds = [(each.described.name, each.described.type) for each in stated if each.described]
    assert kinds[1:3] == [("Nansen", "person"), ("Nansen (Person)", "person")]
    [problem] = problems
    assert "line 3: its relationship refers to an unknown node" in problem


def test_what_was_imported_is_not_gone_for_its_folder(tmp_path):
    """Texts of a system are no files: only another import of it removes them."""
    folder = tmp_path / "all"
    shutil.copytree(KEPT / "lightrag", folder / "rag")
    (folder / "note.md").write_text("A note of a ship.")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.import_graph(folder / "rag")
        before = index.documents()
        assert not index.add(folder, prune=True).report.gone
        assert {*before} <= {*index.documents()}
