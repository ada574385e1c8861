"""The command line on an index in PostgreSQL: each command does its work, or says what does."""

import json

import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.extras.cluster.postgres.address import parse_address
from clew.index.store.opening import folder_of
from tests.cli.conftest import ARTICLES, open_with_doubles


@pytest.fixture
def run(tmp_path, s3_address):
    """Give what runs a command on an index of six articles, and returns what came of it."""
    folder = tmp_path / "polar"
    folder.mkdir()
    for name, text in ARTICLES.items():
        (folder / name).write_text(text, encoding="utf-8")

    def command(*words):
        return CliRunner().invoke(main, [str(word) for word in words], obj=open_with_doubles)

    assert command("index", folder, "--into", s3_address).exit_code == 0
    return command


def failed(result):
    """Return the one sentence of a command that failed."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    [line] = result.output.splitlines()
    return line


def test_each_command_does_its_work(run, s3_address):
    """What changes an index, and what asks it."""
    assert "Archer" in run("search", "Who built the Fram?", "--index", s3_address).output
    assert len(run("list", "--index", s3_address).output.splitlines()) == len(ARTICLES)
    shown = json.loads(run("show", "--index", s3_address, "--json").output)
    assert shown["folder"] == parse_address(s3_address).shown
    assert run("remove", "*quest.md", "--index", s3_address).exit_code == 0
    compacted = json.loads(run("compact", "--index", s3_address, "--json").output)
    assert compacted["size_bytes"] > 100_000


def test_size_is_that_of_the_index(run, s3_address, monkeypatch, tmp_path):
    """It does not depend on what copies this machine has."""
    before = json.loads(run("show", "--index", s3_address, "--json").output)["size_bytes"]
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "another machine"))
    folder_of(s3_address)
    assert json.loads(run("show", "--index", s3_address, "--json").output)["size_bytes"] == before


def test_check_looks_at_every_byte(run, s3_address, postgres):
    """Of the database and of the storage."""
    assert "no damage, all checksums match" in run("check", "--index", s3_address).output
    schema = parse_address(s3_address).schema
    postgres.psql(f'UPDATE "{schema}".document SET text = title WHERE row = 0')  # noqa: S608
    result = run("check", "--index", s3_address)
    assert result.exit_code == 1
    assert "database" in result.output
    assert "is damaged (the text of" in result.output


def test_backups_are_those_of_the_database(run, s3_address, tmp_path):
    """`clew backup` says by what."""
    said = failed(run("backup", tmp_path / "b.tar.gz", "--index", s3_address))
    assert f"pg_dump --schema '\"{parse_address(s3_address).schema}\"'" in said
    assert not (tmp_path / "b.tar.gz").exists()


def test_what_is_no_index(s3_address, run):
    """An address without an index, without a place for objects, or of another form."""
    other = s3_address.replace("/test-", "/other-")
    assert "is not a Clew index" in failed(run("search", "x", "--index", other))
    bare = other.partition("&objects=")[0]
    assert "add ?objects=s3://BUCKET/PREFIX" in failed(run("index", ".", "--into", bare))
    wrong = f"{s3_address}-elsewhere"
    assert "leave 'objects' out" in failed(run("search", "x", "--index", wrong))
    assert "an address of PostgreSQL is" in failed(run("show", "--index", "postgresql://h/d"))
