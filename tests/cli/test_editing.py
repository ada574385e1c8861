"""`clew edit` and `clew index --vocabulary`: what somebody says of entities."""

import json

import pytest


@pytest.fixture
def indexed(clew, articles):
    assert clew("index", articles).exit_code == 0
    return clew


def test_an_entity_is_renamed_retyped_merged_and_parted(indexed):
    assert (
        "Fram: FS Fram, ship"
        in indexed("edit", "Fram", "--name", "FS Fram", "--type", "ship").output
    )
    shown = json.loads(indexed("show", "fs fram", "--json").stdout)
    assert (shown["name"], shown["type"], shown["id"]) == ("FS Fram", "ship", "fram")
    assert "by hand" in indexed("show", "--vocabulary").output
    assert "kept apart" in indexed("edit", "Fram", "--apart").output
    assert "--together" in indexed("merge", "Colin Archer", "Fram").output
    assert indexed("edit", "Fram", "--together").exit_code == 0
    assert "stands for Fram now" in indexed("merge", "Colin Archer", "Fram").output
    assert json.loads(indexed("show", "Colin Archer", "--json").stdout)["id"] == "fram"
    assert "for itself again" in indexed("unmerge", "Colin Archer").output
    assert json.loads(indexed("show", "Colin Archer", "--json").stdout)["id"] == "colin archer"


@pytest.mark.parametrize("options", [(), ("--apart", "--together")])
def test_one_thing_is_said_at_a_time(indexed, options):
    assert indexed("edit", "Fram", *options).exit_code == 2


@pytest.mark.satellite
def test_a_list_is_taken_at_indexing_and_types_are_exported(indexed, articles, tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,aliases,type\nFram,,ship\n", encoding="utf-8")
    assert indexed("index", articles, "--vocabulary", path).exit_code == 0
    listed = json.loads(indexed("show", "--vocabulary", "--json").stdout)
    assert listed["fram"]["type"] == "ship"
    assert "of a list" in indexed("show", "--vocabulary").output
    exported = indexed("export", tmp_path / "ships.json", "--types", "ship", "--json")
    assert json.loads(exported.stdout)["n_nodes"] == 1
    path.write_text("ship\nFram\n", encoding="utf-8")
    result = indexed("index", articles, "--vocabulary", path)
    assert result.exit_code == 1
    assert "is not a vocabulary" in result.output
