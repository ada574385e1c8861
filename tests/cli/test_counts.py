"""`clew ask` of all of something: the total, how it was computed, and each item with its place."""

import json

import pytest


@pytest.fixture
def indexed(clew, tmp_path):
    ports = ("Oslo", "Bergen", "Oslo")
    lines = [f"Ferry {n},{ports[n % 3]},{n}" for n in range(45)]
    (tmp_path / "ferries.csv").write_text("\n".join(["Ferry,Port,Cars", *lines]))
    assert clew("index", tmp_path / "ferries.csv").exit_code == 0
    return clew


def test_a_total_is_shown_with_its_items(indexed):
    result = indexed("ask", "How many ferries have Oslo as port?")
    assert result.exit_code == 0
    first, *lines = result.stdout.splitlines()
    assert first == "30  Port is Oslo; of 45 rows in ferries.csv"
    assert lines[1].startswith("  [1] Ferry 0 ")
    assert lines[1].endswith("ferries.csv:2")
    assert '"Ferry: Ferry 0; Port: Oslo; Cars: 0"' in lines[2]
    assert "  ... and 5 more, which --json has" in lines
    answer = json.loads(indexed("ask", "How many ferries have Oslo as port?", "--json").stdout)
    assert (answer["kind"], answer["short"]["text"]) == ("counted", "30")
    assert len(answer["citations"]) == len(answer["evidence"]["counted"]["items"]) == 30


def test_evidence_has_the_total(indexed):
    result = indexed("search", "Total of cars per port")
    assert result.stdout.startswith("Bergen: 330; Oslo: 660  sum of Cars; of 45 rows")
