"""An index in shards on the command line: made, filled, asked, listed and cut out of another."""

import json
import shutil

import pytest

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def parts(tmp_path_factory, articles):
    from click.testing import CliRunner

    from clew.cli import main

    home = tmp_path_factory.mktemp("shards") / "parts"
    done = CliRunner().invoke(main, ["index", str(articles), "--into", str(home), "--shards", "3"])
    assert done.exit_code == 0, done.output
    assert "parts: 6 documents, 6 chunks" in done.stdout
    return home


def test_shards_are_asked_as_one_index(clew, parts, articles):
    answer = clew("ask", "Where was the builder of the Fram born?", "--index", parts, obj=None)
    assert answer.exit_code == 0
    assert "polar/archer.md" in answer.stdout
    found = json.loads(clew("search", "ships", "--index", parts, "--json", obj=None).stdout)
    assert len({hit["document_id"] for hit in found["hits"]}) == 6
    again = clew("index", articles, "--into", parts, "--json", obj=None)
    assert json.loads(again.stdout)["report"]["n_unchanged"] == 6
    listed = json.loads(clew("list", "--index", parts, "--json", obj=None).stdout)
    assert [each["id"] for each in listed["documents"]] == sorted(
        f"polar/{each.name}" for each in articles.iterdir()
    )


def test_an_index_is_cut_and_written_to(clew, own_index, articles):
    cut = clew("split", "--index", own_index, "cut", "2", obj=None)
    asked = 'clew ask "What is known about Colin Archer?" --index cut'
    assert cut.stdout == f"cut has 2 shards.\n\nAsk it:  {asked}\n"
    gone = clew("remove", "polar/fram.md", "--index", "cut", obj=None)
    assert gone.stdout == "Removed 1 document from cut.\n"
    assert "MB now" in clew("compact", "--index", "cut", obj=None).stdout
    assert len(clew("list", "--index", "cut", obj=None).stdout.splitlines()) == 5
    assert len(clew("list", "--index", own_index).stdout.splitlines()) == 6
    part = clew("index", articles, "--into", "one", "--part", "0/1", obj=None)
    assert "6 added" in part.stdout
    none = clew("index", articles / "fram.md", "--into", "none", "--part", "6/7", obj=None)
    assert none.exit_code == 0
    assert "none: 0 documents, 0 chunks" in none.stdout


def test_a_shard_that_is_gone_is_missing_from_an_answer(clew, parts, tmp_path):
    """The reader is told, and so is a program; who wants no partial answer gets an error."""
    home = shutil.copytree(parts, tmp_path / "parts")
    shutil.rmtree(home / "shard-0001")
    asked = ("search", "ships", "--index", home)
    found = clew(*asked, obj=None)
    assert found.exit_code == 0
    assert "Note: partial: 1 shard of 3 did not reply (shard-0001)" in found.stdout
    told = json.loads(clew(*asked, "--json", obj=None).stdout)
    assert (told["partial"], told["missing"]) == (True, ["shard-0001"])
    listing = json.loads((home / "shards.json").read_text(encoding="utf-8"))
    (home / "shards.json").write_text(json.dumps({**listing, "strict": True}), encoding="utf-8")
    strict = clew(*asked, obj=None)
    assert strict.exit_code == 1
    assert "there is no index in the shard" in strict.stderr
    assert len(strict.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "--index"), "is an index in shards, of which this takes one: name that, such"),
        (("check", "--index"), "is an index in shards"),
        (("index", "x.md", "--shards", "4", "--into"), "has 3 shards, not 4: leave --shards out"),
        (("index", "x.md", "--part", "0/3", "--into"), "a part is of one shard, and these are all"),
    ],
)
def test_what_shards_cannot_do_is_one_sentence(clew, parts, tmp_path, arguments, said):
    (tmp_path / "x.md").write_text("Nansen was late.\n", encoding="utf-8")
    result = clew(*arguments, parts, obj=None)
    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
