"""`clew import-kg`."""

import json

import pytest


@pytest.fixture
def ships(tmp_path):
    path = tmp_path / "ships.tsv"
    path.write_text("Fram\tbuilt_by\tColin Archer\nColin Archer\tborn_in\tLarvik\n", "utf-8")
    return path


def test_it_says_what_it_did_and_how_to_go_on(clew, ships):
    result = clew("import-kg", ships)
    assert result.exit_code == 0, result.stderr
    assert "my.clew: 2 triples, 3 entities, 2 documents" in result.stdout
    assert "subjects: 2 added, 0 changed, 0 removed, 0 unchanged" in result.stdout
    assert "0 tokens" in result.stdout
    assert result.stdout.endswith('clew ask --method paths "What is known about Colin Archer?"\n')
    assert not result.stderr
    assert "2 unchanged" in clew("import-kg", ships).stdout
    clew("import-kg", ships)
    for name in ("ships.tsv#fram", "ships.tsv#fram:0-27", "Fram", "fram|built by|colin archer"):
        result = clew("show", name)
        assert result.exit_code == 0
        assert "Fram" in result.stdout
    assert "Removed 1 document" in clew("remove", "ships.tsv#fram").stdout
    assert clew("compact").exit_code == 0
    assert "1 added, 0 changed, 0 removed, 1 unchanged" in clew("import-kg", ships).stdout


def test_the_folder_and_the_chunk_size_are_the_users(clew, ships):
    result = clew("import-kg", ships, "--into", "other.clew", "--chunk-size", 64)
    assert result.stdout.endswith("--index other.clew\n")
    shown = json.loads(clew("show", "--index", "other.clew", "--json").stdout)
    assert shown["recipe"]["chunk_size"] == 64
    assert shown["extraction"]["units"] == {"imported": 2, "waiting": 0}
    assert "imported  2" in clew("show", "--index", "other.clew").stdout
    result = clew("import-kg", "none.tsv")
    assert result.exit_code == 1
    assert result.stderr.startswith("clew: there is no file 'none.tsv'")
    assert clew("show").exit_code == 1


def test_what_cannot_be_used_is_named(clew, ships):
    with ships.open("a", encoding="utf-8") as file:
        file.write("one\ttwo\n" * 22)
    result = clew("import-kg", ships)
    assert result.exit_code == 3
    lines = result.stderr.splitlines()
    assert len(lines) == 21
    assert "ships.tsv, line 3: " in lines[0]
    assert lines[-1] == "clew: and 2 more"
    assert "22 problems in " in result.stdout
    data = json.loads(clew("import-kg", ships, "--json").stdout)
    assert len(data["skipped"]) == 22
    assert (data["n_triples"], data["n_unchanged"], data["index"]) == (2, 2, "my.clew")


def test_triples_of_texts_are_counted(clew, own_index, tmp_path):
    lines = [
        {"subject": "Fram", "relation": "is", "object": "a ship", "document": "polar/fram.md"},
        {"subject": "Maud", "relation": "is", "object": "a ship", "document": "polar/maud.md"},
    ]
    path = tmp_path / "of.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    result = clew("import-kg", path, "--into", own_index)
    assert "1 triple went to texts of the index" in result.stdout
    assert "1 triple named texts that the index lacks" in result.stdout
