"""`clew import`, of a file of triples and of what other systems keep."""

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def ships(tmp_path):
    path = tmp_path / "ships.tsv"
    path.write_text("Fram\tbuilt_by\tColin Archer\nColin Archer\tborn_in\tLarvik\n", "utf-8")
    return path


@pytest.mark.satellite
def test_it_says_what_it_did_and_how_to_go_on(clew, ships):
    result = clew("import", ships)
    assert result.exit_code == 0, result.stderr
    assert "my.clew: 2 triples, 3 entities, 2 documents" in result.stdout
    assert "subjects: 2 added, 0 changed, 0 removed, 0 unchanged" in result.stdout
    assert "0 tokens" in result.stdout
    assert result.stdout.endswith('clew ask --method paths "What is known about Colin Archer?"\n')
    assert not result.stderr
    assert "2 unchanged" in clew("import", ships).stdout
    for name in ("ships.tsv#fram", "ships.tsv#fram:0-27", "Fram", "fram|built by|colin archer"):
        result = clew("show", name)
        assert result.exit_code == 0
        assert "Fram" in result.stdout
    assert "Removed 1 document" in clew("remove", "ships.tsv#fram").stdout
    assert clew("compact").exit_code == 0
    assert "1 added, 0 changed, 0 removed, 1 unchanged" in clew("import", ships).stdout


@pytest.mark.satellite
def test_the_folder_and_the_chunk_size_are_the_users(clew, ships):
    result = clew("import", ships, "--into", "other.clew", "--chunk-size", 64)
    assert result.stdout.endswith("--index other.clew\n")
    shown = json.loads(clew("show", "--index", "other.clew", "--json").stdout)
    assert shown["recipe"]["chunk_size"] == 64
    assert shown["extraction"]["units"] == {"imported": 2, "waiting": 0}
    assert "imported  2" in clew("show", "--index", "other.clew").stdout
    result = clew("import", "none.tsv")
    assert result.exit_code == 1
    assert result.stderr.startswith("clew: there is no file or folder 'none.tsv'")
    assert clew("show").exit_code == 1


@pytest.mark.satellite
def test_what_cannot_be_used_is_named(clew, ships):
    with ships.open("a", encoding="utf-8") as file:
        file.write("one\ttwo\n" * 22)
    result = clew("import", ships)
    assert result.exit_code == 3
    lines = result.stderr.splitlines()
    assert len(lines) == 21
    assert "ships.tsv, line 3: " in lines[0]
    assert lines[-1] == "clew: and 2 more"
    assert "22 problems in " in result.stdout
    data = json.loads(clew("import", ships, "--json").stdout)
    assert len(data["skipped"]) == 22
    assert (data["n_triples"], data["n_unchanged"], data["index"]) == (2, 2, "my.clew")


@pytest.mark.satellite
def test_triples_of_texts_are_counted(clew, own_index, tmp_path):
    lines = [
        {"subject": "Fram", "relation": "is", "object": "a ship", "document": "polar/fram.md"},
        {"subject": "Maud", "relation": "is", "object": "a ship", "document": "polar/maud.md"},
    ]
    path = tmp_path / "of.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    result = clew("import", path, "--into", own_index)
    assert "1 triple went to texts of the index" in result.stdout
    assert "1 triple named texts that the index lacks" in result.stdout


@pytest.mark.satellite
def test_an_import_is_mirrored_and_asked(clew, tmp_path):
    """A second run changes nothing; what the system has no more goes."""
    place = tmp_path / "rag"
    shutil.copytree(Path(__file__).parents[1] / "extras/connect/imports/kept/lightrag", place)
    result = clew("import", place)
    assert result.exit_code == 0, result.stderr
    assert "7 triples" in result.stdout
    assert "texts of LightRAG: 3 added" in result.stdout
    assert "7 triples went to texts of the index" in result.stdout
    generation = json.loads(clew("show", "--json").stdout)["generation"]
    again = json.loads(clew("import", place, "--json").stdout)
    assert again["texts"]["n_unchanged"] == 3
    assert json.loads(clew("show", "--json").stdout)["generation"] == generation
    full = place / "kv_store_full_docs.json"
    texts = json.loads(full.read_text())
    full.write_text(json.dumps({k: v for k, v in texts.items() if v["file_path"] != "gjoa.txt"}))
    result = clew("import", place)
    assert "0 added" in result.stdout
    assert "1 removed" in result.stdout
    assert "Colin Archer" in clew("search", "--method", "bm25", "Larvik").stdout
    assert "rag/gjoa.txt" not in clew("list").stdout
    assert clew("import", tmp_path / "none").stderr.startswith("clew: there is no file or folder")


@pytest.mark.satellite
def test_texts_have_what_a_graph_said_of_them_last(clew, own_index, tmp_path):
    """The same again changes nothing; after another graph, or triples of a file, it comes back."""
    paths = []
    for name in ("one", "two"):
        line = {"subject": "Fram", "relation": f"is {name}", "object": "a ship"}
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text(json.dumps({**line, "document": "polar/fram.md"}), "utf-8")
    (tmp_path / "file.jsonl").write_text('{"id": "polar/fram.md", "triples": [["a", "b", "c"]]}')
    shown = []
    for path in (paths[0], paths[0], paths[1], paths[0], None, paths[0]):
        if path is None:
            clew("import-triples", tmp_path / "file.jsonl", "--index", own_index)
        else:
            assert clew("import", path, "--into", own_index).exit_code == 0
        clew("export", "t.tsv", "--index", own_index)
        generation = json.loads(clew("show", "--index", own_index, "--json").stdout)["generation"]
        shown.append(((tmp_path / "t.tsv").read_text("utf-8").split("\n")[1], generation))
    triples = [triple for triple, _ in shown]
    one, two = (f"Fram\tis {name}\ta ship" for name in ("one", "two"))
    assert triples == [one, one, two, one, "a\tb\tc", one]
    assert shown[0][1] == shown[1][1]
