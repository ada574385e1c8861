"""`clew ask --proof`, `clew verify` and `clew hop`."""

import json
from pathlib import Path
from shutil import copytree

import pytest

QUESTION = "Who built the Fram?"


@pytest.fixture
def folder(articles, tmp_path):
    return Path(copytree(articles, tmp_path / "articles"))


@pytest.fixture
def index(clew, folder, tmp_path):
    made = tmp_path / "own.clew"
    assert clew("index", folder, "--into", made).exit_code == 0
    return made


@pytest.fixture
def proof(clew, index, tmp_path):
    path = tmp_path / "answer.json"
    assert clew("ask", QUESTION, "--index", index, "--proof", path).exit_code == 0
    return path


def test_a_proof_is_verified_until_a_quote_is_gone(clew, index, proof, folder):
    quotes = json.loads(proof.read_text())["quotes"]
    result = clew("verify", proof, "--index", index)
    assert result.exit_code == 0
    assert result.stdout.count("] stands  ") == len(quotes)
    (folder / "fram.md").write_text("# Fram\n\nA ship.")
    assert clew("index", folder, "--into", index).exit_code == 0
    result = clew("verify", proof, "--index", index)
    assert result.exit_code == 1
    assert "[1] gone\n    Colin Archer built the Fram for Nansen." in result.stdout
    told = json.loads(clew("verify", proof, "--index", index, "--json").stdout)
    assert told["is_sound"] is False
    assert [each["state"] for each in told["quotes"]][:1] == ["gone"]


def test_an_answer_without_quotes_proves_nothing(clew, index, tmp_path):
    path = tmp_path / "answer.json"
    result = clew("ask", "How is sourdough baked?", "--index", index, "--proof", path)
    assert result.exit_code == 5
    result = clew("verify", path, "--index", index)
    assert "quotes nothing, so there is nothing to verify" in result.stdout


def test_what_is_no_proof_is_told_in_one_line(clew, index, tmp_path):
    (tmp_path / "x.json").write_text("{}")
    result = clew("verify", tmp_path / "x.json", "--index", index)
    assert result.exit_code == 1
    assert "x.json holds no proof of an answer" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_hop_shows_the_entity_and_the_sentence(clew, index):
    result = clew("hop", "Colin Archer", "--index", index, "--chunks", 1, "--query", "ship")
    assert result.exit_code == 0
    assert "Colin Archer: " in result.stdout
    assert clew("hop", "nobody", "--index", index).exit_code == 1
