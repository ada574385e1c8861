"""`clew index`, `clew remove` and `clew compact`."""

import json
import shlex
from importlib.util import find_spec

import pytest

from clew.api import open_index
from clew.cli.options import open_index as open_with_models
from tests.cli.conftest import with_llm
from tests.index.reads import ReadsChat


def test_index_says_what_it_did_and_how_to_go_on(clew, articles):
    result = clew("index", articles)
    assert result.exit_code == 0
    assert "my.clew: 6 documents, 6 chunks" in result.stdout
    assert "6 added, 0 changed, 0 restored, 0 unchanged, 0 skipped" in result.stdout
    assert "0 tokens" in result.stdout
    assert '\nAsk it:  clew ask "What is known about Colin Archer?"\n' in result.stdout
    assert not result.stderr
    clew("index", articles)
    result = clew("index", articles)
    assert "0 added, 0 changed, 0 restored, 6 unchanged, 0 skipped" in result.stdout


def test_what_is_printed_for_programs_and_for_shells(clew, articles):
    data = json.loads(clew("index", articles, "--into", "a.clew", "--json").stdout)
    assert data["index"] == "a.clew"
    assert len(data["report"]["added"]) == data["n_documents"] == 6
    assert data["usage"]["llm_calls"] == 0
    result = clew("index", articles, "--into", "my notes.clew")
    asked = shlex.split(next_lines(result)[0].split(":  clew ")[1])
    assert asked == ["ask", "What is known about Colin Archer?", "--index", "my notes.clew"]
    assert '"my notes.clew"' in result.stdout  # as every shell has it


def next_lines(result):
    return [line for line in result.stdout.splitlines() if ":  clew " in line]


@pytest.mark.parametrize("where", ["--into", "--index", "variable", "file", "file above", ""])
def test_the_commands_to_go_on_work_as_printed(clew, articles, tmp_path, monkeypatch, where):
    """One rule says which index is meant, of what writes and what asks alike."""
    monkeypatch.setattr("click.get_app_dir", lambda _name: str(tmp_path / "home"))
    given, named = [], "d e.clew" if where else "my.clew"
    if where == "variable":
        monkeypatch.setenv("CLEW_INDEX", named)
    elif where.startswith("file"):
        (tmp_path / "clew.toml").write_text(f'index = "{named}"\n', encoding="utf-8")
        if where == "file above":
            (tmp_path / "below").mkdir()
            monkeypatch.chdir(tmp_path / "below")
    elif where:
        given = [where, named]
    result = clew("index", articles, *given)
    assert [each.name for each in tmp_path.rglob("*.clew")] == [named]
    assert (tmp_path / named).is_dir()  # beside the file that names it
    asked = shlex.split(next_lines(result)[0].split(":  clew ")[1])
    assert ("--index" in asked) == where.startswith("--")
    answer = clew(*asked)
    assert answer.exit_code == 0
    assert "Colin Archer" in answer.stdout
    assert (
        "6 chunks by rules" in clew("index", articles, *given, "--triples", "cooccurrence").stdout
    )
    assert [each.name for each in tmp_path.rglob("*.clew")] == [named]


def test_the_last_line_says_how_to_get_triples(clew, articles, tmp_path):
    last = clew("index", articles).stdout.splitlines()[-1]
    assert last == (
        "Methods bubble and agrag need triples: the same command with --triples cooccurrence"
    )
    done = clew("index", articles, "--triples", "cooccurrence").stdout
    assert "6 chunks by rules" in done
    assert "need triples" not in done


def test_triples_are_asked_for_once(clew, articles, tmp_path):
    (tmp_path / "more.txt").write_text("Nansen was late.", encoding="utf-8")
    hint = "need triples"
    assert hint in clew("index", articles).stdout
    assert hint not in clew("index", articles).stdout
    assert hint not in clew("index", "more.txt").stdout
    for option in ("--triples=none", "--triples=cooccurrence", "--json"):
        assert hint not in clew("index", articles, option, "--into", option[-3:]).stdout


def test_options_of_index(clew, articles, tmp_path):
    clew("index", articles, "--into", "small.clew", "--chunk-size", 16, "--chunk-overlap", 0)
    shown = json.loads(clew("show", "--index", "small.clew", "--json").stdout)
    assert shown["layers"]["chunk"] > 6
    assert shown["recipe"]["chunk_size"] == 16
    clew("index", articles, "--into", "lapped.clew", "--chunk-overlap", 8)
    shown = json.loads(clew("show", "--index", "lapped.clew", "--json").stdout)
    assert (shown["recipe"]["chunk_size"], shown["recipe"]["chunk_overlap"]) == (256, 8)
    env = {"CLEW_INDEX": "other.clew"}
    clew("index", articles, env=env)
    assert (tmp_path / "other.clew").is_dir()
    assert clew("search", "Fram", env=env).exit_code == 0
    result = clew("index", articles, "--triples", "cooccurrence", "--core", 0.5)
    assert result.exit_code == 1
    assert result.stderr == (
        "clew: core is about triples by an LLM, but triples are set to 'cooccurrence': use llm, or "
        "leave core out\n"
    )


def test_skipped_input_is_named_and_gives_status_3(clew, articles, tmp_path):
    (tmp_path / "broken.md").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "empty.txt").touch()
    result = clew("index", articles, tmp_path / "broken.md", tmp_path / "empty.txt")
    assert result.exit_code == 3
    lines = result.stderr.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["clew:", "clew:"]
    assert "broken.md" in lines[0]
    assert "empty.txt: is empty" in lines[1]
    assert "6 added" in result.stdout
    assert "2 skipped" in result.stdout
    assert f"\n  skipped: {tmp_path / 'empty.txt'}: is empty\n" in result.stdout


def test_the_summary_names_three_of_many_skipped_files(clew, articles, tmp_path):
    """All are named on stderr, above it."""
    names = [f"{letter}.txt" for letter in "abcde"]
    for name in names:
        (tmp_path / name).touch()
    result = clew("index", articles, *(tmp_path / name for name in names))
    assert result.stderr.count(": is empty") == 5
    assert [line for line in result.stdout.splitlines() if line.startswith("  skipped: ")] == [
        *(f"  skipped: {tmp_path / name}: is empty" for name in names[:3]),
        "  skipped: 2 more, named above",
    ]


def test_remove_deletes_documents(clew, own_index):
    result = clew("remove", "polar/fram.md", "--index", own_index, "--json")
    assert json.loads(result.stdout)["removed"] == ["polar/fram.md"]
    result = clew("remove", "polar/quest.md", "--index", own_index)
    assert "Removed 1 document" in result.stdout
    assert "MB before" in clew("compact", "--index", own_index).stdout
    result = clew("compact", "--index", own_index, "--json")
    assert json.loads(result.stdout)["size_bytes"] > 0
    shown = json.loads(clew("show", "--index", own_index, "--json").stdout)
    assert shown["layers"]["document"] == 4
    assert "polar/fram.md" not in shown["documents"]


@pytest.mark.parametrize("by", ["pagerank", "random"])
def test_core_limits_what_the_llm_reads(clew, articles, by):
    reads = with_llm(ReadsChat())
    command = ("index", articles, "--triples", "llm", "--core-by", by)
    result = clew(*command, "--core", 0, "--into", "none.clew", obj=reads)
    assert result.exit_code == 0
    assert "0 tokens, 0 LLM calls" in result.stdout
    assert "by the LLM" not in result.stdout
    assert "triples: 3 chunks by the LLM\n" in clew(*command, "--core", 0.5, obj=reads).stdout
    shown = json.loads(clew("show", "--json").stdout)["extraction"]
    assert shown["graph"] == {"none": 3, "llm": 3, "waiting": 0}
    assert (shown["wanted"]["core"], shown["wanted"]["core_by"]) == (0.5, by)


@pytest.mark.parametrize("command", [["remove", "polar/fram.md", "no-such.md"], ["compact"]])
def test_a_command_that_fails_or_compacts_deletes_nothing(clew, own_index, command):
    clew(*command, "--index", own_index)
    with open_index(own_index) as index:
        assert len(index.snapshot().layer("document")) == 6


PACKAGES = ("ctranslate2", "tokenizers")


@pytest.mark.skipif(
    any(find_spec(name) is None for name in PACKAGES), reason="the model is not installed"
)
def test_index_then_ask(clew, articles):
    result = clew("index", articles, obj=open_with_models)
    assert result.exit_code == 0, result.stderr
    question = "In which town was the builder of the Fram born?"
    answer = json.loads(clew("ask", question, "--json", obj=open_with_models).stdout)
    found = [hit["document_id"] for hit in answer["evidence"]["hits"]]
    assert {"polar/fram.md", "polar/archer.md"} <= set(found[:3])
    assert answer["usage"]["llm_calls"] == 0
    assert "Colin Archer" in clew("ask", question, obj=open_with_models).stdout
