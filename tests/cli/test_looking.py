"""`clew show` and `clew methods`."""

import json
import re

import pytest

from clew import methods
from clew.methods import DEFAULT as DEFAULT_METHOD
from tests.cli.conftest import open_with_doubles


def test_show_describes_the_index(clew, own_index):
    text = clew("show", "--index", own_index).stdout
    for part in ("layers", "links", "recipe", "documents", "polar/fram.md", "embedder"):
        assert part in text
    document = json.loads(clew("show", "polar/fram.md", "--index", own_index, "--json").stdout)
    chunk = clew("show", document["chunks"][0], "--index", own_index, "--json")
    assert json.loads(chunk.stdout)["kind"] == "chunk"
    for name, kind, neighbour in (
        ("polar/archer.md", "document", "polar/archer.md:"),
        ("Colin Archer", "entity", "Colin Archer was a naval architect."),
    ):
        text = clew("show", name, "--index", own_index).stdout
        assert kind in text.splitlines()[0]
        assert neighbour in text


def test_show_says_how_many_more_documents_there_are(clew, tmp_path):
    (tmp_path / "many.jsonl").write_text(
        "".join(f'{{"id": "d{i}", "text": "Text number {i}."}}\n' for i in range(25)),
        encoding="utf-8",
    )
    clew("index", tmp_path / "many.jsonl")
    assert clew("show").stdout.endswith("  … and 5 more\n")
    assert len(json.loads(clew("show", "--json").stdout)["documents"]) == 25


def test_show_of_an_index_is_in_words(clew, own_index):
    """Shares are percentages, counts say of what, and a seed that nothing uses is left out."""
    with open_with_doubles(own_index) as index:
        index.add([], value="cos")
    text = clew("show", "--index", own_index).stdout
    assert "0.0% of the rows\n" in text
    assert "sentences only" in text
    assert "without triples" in text
    assert "seed" not in text
    shown = json.loads(clew("show", "--index", own_index, "--json").stdout)
    assert shown["extraction"]["wanted"]["seed"] == shown["wasted"] == 0
    clew("remove", "polar/fram.md", "--index", own_index)
    with open_with_doubles(own_index) as index:
        index.add([], value="random")
    text = clew("show", "--index", own_index).stdout
    assert "seed" in text
    assert "% of the rows: 'clew compact' erases them" in text


def test_show_says_what_made_a_chunk_and_what_it_cost(clew, own_index, articles):
    clew("index", articles, "--into", own_index, "--triples", "cooccurrence")
    document = json.loads(clew("show", "polar/fram.md", "--index", own_index, "--json").stdout)
    text = clew("show", document["chunks"][0], "--index", own_index).stdout
    assert "units made by    sentence\n" in text
    assert "triples made by  cooccurrence\n" in text
    assert "  Colin Archer built the Fram for Nansen\n" in text
    text = clew("show", "--index", own_index).stdout
    assert re.search(r"(?m)^cost\n  llm calls +0\n  tokens +0$", text)
    assert "seconds by stage" in text
    (own_index / "calls.sqlite").unlink()
    assert re.search(r"(?m)^cost +unknown$", clew("show", "--index", own_index).stdout)


@pytest.fixture
def named(clew, tmp_path):
    """Make an index of names that are alike."""
    texts = ["Erik Erikson sailed.", "Erikson was late.", "Then Erik Eriksen came to Cape Lund."]
    (tmp_path / "names.txt").write_text(" ".join(texts), encoding="utf-8")
    clew("index", tmp_path / "names.txt")


@pytest.mark.usefixtures("named")
def test_aliases_are_readable(clew):
    text = clew("show", "--aliases").stdout
    assert re.search(r"^  Erik Eriksen -> Erik Erikson +0\.\d\d  spelling$", text, re.MULTILINE)
    one = clew("show", "ERIKSON", "--aliases").stdout
    assert "Erikson -> Erik Erikson" in one
    assert "Erik Eriksen" not in one
    assert "No two names" in clew("show", "Cape Lund", "--aliases").stdout
    assert clew("show", "Nobody", "--aliases").exit_code == 1


@pytest.mark.usefixtures("named")
def test_merged_names_are_listed(clew):
    clew("merge", "Erikson", "Erik Erikson")
    for arguments in ([], ["erikson"], ["Erik Erikson"]):
        text = clew("show", *arguments, "--aliases").stdout
        assert text.startswith("Erikson stands for Erik Erikson\n")
    found = json.loads(clew("show", "Cape Lund", "--aliases", "--json").stdout)
    assert found == {"merged": {}, "names": {}, "proposed": []}


def test_many_proposals_are_cut_in_the_text_only(clew, tmp_path):
    pairs = "".join(f"Then {a}{b}ansen saw {a}{b}anson. " for a in "BDGKLMNTPR" for b in "aeiouy")
    (tmp_path / "many.txt").write_text(pairs, encoding="utf-8")
    clew("index", tmp_path / "many.txt")
    n = len(json.loads(clew("show", "--aliases", "--json").stdout)["proposed"])
    assert n > 50
    assert clew("show", "--aliases").stdout.endswith(f"  … and {n - 50} more\n")


def test_methods_lists_every_method(clew):
    listed = json.loads(clew("methods", "--json").stdout)
    assert [method["name"] for method in listed] == methods.names()
    assert all(method["summary"] for method in listed)
    assert [method["name"] for method in listed if method["default"]] == [DEFAULT_METHOD]
    text = clew("methods").stdout
    assert all(f"\n  {name} " in text for name in methods.names())
    assert re.findall(r"(\w+) \(default\) ", text) == [DEFAULT_METHOD]
    assert clew("methods", DEFAULT_METHOD).stdout.startswith(f"{DEFAULT_METHOD} (default)\n")
    assert clew("methods", "bm25").stdout.startswith("bm25\n")


def test_methods_are_in_groups(clew):
    """Clew's own, those of papers and what they are compared with; JSON says which it is."""
    blocks = clew("methods").stdout.split("\n\n")
    heads = ["Clew's own", "Of papers", "To compare with"]
    assert [block.splitlines()[0] for block in blocks[:-1]] == heads
    own, papers, compared = (re.findall(r"(?m)^  (\w+) ", block) for block in blocks[:-1])
    assert "auto" in own
    assert papers[:2] == ["agrag", "agrag_paper"]
    assert {"bubble", "clue", "ket", "ket_rag_p"} <= {*papers}
    assert {"bm25", "dense", "hybrid", "pagerank", "text_rag", "zero_shot"} <= {*compared}
    groups = {each["name"]: each["group"] for each in json.loads(clew("methods", "--json").stdout)}
    for group, names in (("own", own), ("paper", papers), ("baseline", compared)):
        assert {name for name, said in groups.items() if said == group} == {*names}


def test_a_module_that_says_no_group_is_clews_own(monkeypatch):
    """So a new method is one new file and appears in the list."""
    monkeypatch.delattr("clew.methods.bm25.GROUP")
    assert "bm25" in methods.group_names()["own"]
    monkeypatch.undo()
    assert "bm25" in methods.group_names()["baseline"]


@pytest.mark.parametrize("name", methods.names())
def test_every_parameter_has_a_default_and_a_meaning(clew, name):
    described = json.loads(clew("methods", name, "--json").stdout)
    text = clew("methods", name).stdout
    assert name != "clue" or "sets or chunks" in text  # where only some words are allowed
    for parameter in described["parameters"]:
        assert parameter["default"] is not None
        assert parameter["description"] or parameter["choices"], parameter["name"]
        assert parameter["name"] in text


@pytest.mark.satellite
def test_export_writes_the_graph(clew, own_index, articles, tmp_path):
    clew("index", articles, "--into", own_index, "--triples", "cooccurrence")
    result = clew("export", "g.graphml", "--index", own_index)
    assert result.exit_code == 0
    assert re.fullmatch(r"g\.graphml has \d+ nodes and \d+ edges\n", result.stdout)
    assert (tmp_path / "g.graphml").read_text(encoding="utf-8").startswith("<?xml")
    summary = json.loads(clew("export", "g.json", "--index", own_index, "--json").stdout)
    written = json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))
    counts = {"n_nodes": len(written["nodes"]), "n_edges": len(written["edges"])}
    assert summary == {"file": "g.json", "edges_are": "triples", **counts}
    assert summary["n_edges"] > 0


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["g.gexf"], "is written to .graphml, .json, .jsonl, .tsv, .parquet"),
        (["g.json", "--types", "planet"], "no entity has the type 'planet'"),
    ],
)
def test_export_says_what_cannot_be(clew, own_index, articles, tmp_path, arguments, message):
    clew("index", articles, "--into", own_index, "--triples", "cooccurrence")
    result = clew("export", *arguments, "--index", own_index)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
    assert not list(tmp_path.glob("g.*"))


@pytest.mark.satellite
def test_export_of_triples_that_are_not_there(clew, own_index, tmp_path):
    result = clew("export", "g.tsv", "--index", own_index)
    assert result.exit_code == 1
    assert result.stderr == (
        "clew: this index has no triples, and a .tsv file contains nothing else: run 'clew index "
        "PATH --triples cooccurrence' (no LLM), or '--triples llm', first\n"
    )
    assert not list(tmp_path.glob("g.*"))


@pytest.mark.satellite
def test_export_of_sentences(clew, own_index, tmp_path):
    result = clew("export", "g.graphml", "--index", own_index)
    assert result.exit_code == 0
    assert result.stdout.endswith("edges: no triples, so names that stand in one sentence\n")
    assert "occurs with" in (tmp_path / "g.graphml").read_text(encoding="utf-8")
