"""`clew show` and `clew methods`."""

import json

import pytest

from clew import methods


def test_show_describes_the_index(clew, shared_index):
    """Layers, links, recipe and documents are listed."""
    text = clew("show", "--index", shared_index).stdout
    for part in ("layers", "links", "recipe", "documents", "polar/fram.md", "embedder"):
        assert part in text


def test_show_says_how_many_more_documents_there_are(clew, tmp_path):
    """A list that is cut says by how much."""
    (tmp_path / "many.jsonl").write_text(
        "".join(f'{{"id": "d{i}", "text": "Text number {i}."}}\n' for i in range(25)),
        encoding="utf-8",
    )
    clew("index", tmp_path / "many.jsonl")
    assert clew("show").stdout.endswith("  … and 5 more\n")


@pytest.mark.parametrize(
    ("name", "kind", "neighbour"),
    [
        ("polar/archer.md", "document", "polar/archer.md:"),
        ("Colin Archer", "entity", "Colin Archer was a naval architect."),
    ],
)
def test_show_describes_one_row(clew, shared_index, name, kind, neighbour):
    """A document is shown with its chunks, an entity with what is said of it."""
    text = clew("show", name, "--index", shared_index).stdout
    assert kind in text.splitlines()[0]
    assert neighbour in text


def test_show_follows_ids(clew, shared_index):
    """The ids that one row shows can be shown in turn."""
    document = json.loads(clew("show", "polar/fram.md", "--index", shared_index, "--json").stdout)
    chunk = clew("show", document["chunks"][0], "--index", shared_index, "--json")
    assert json.loads(chunk.stdout)["kind"] == "chunk"


def test_methods_lists_every_method(clew):
    """Each method is there with its summary."""
    listed = json.loads(clew("methods", "--json").stdout)
    assert [method["name"] for method in listed] == methods.names()
    assert all(method["summary"] for method in listed)
    text = clew("methods").stdout
    assert all(f"\n  {name} " in f"\n{text}" for name in methods.names())


@pytest.mark.parametrize("name", methods.names())
def test_every_parameter_has_a_default_and_a_meaning(clew, name):
    """A method's page says what each parameter is for."""
    described = json.loads(clew("methods", name, "--json").stdout)
    for parameter in described["parameters"]:
        assert parameter["default"] is not None
        assert parameter["description"] or parameter["choices"], parameter["name"]
        assert parameter["name"] in clew("methods", name).stdout


def test_choices_are_named(clew):
    """Where only some words are allowed they are listed."""
    assert "sets or chunks" in clew("methods", "clue").stdout
