"""Memory of a server that is asked and written to for long; CLEW_MINUTES says how long."""

import os

import pytest

import clew
from benchmarks.run import made
from benchmarks.serving import for_long, serving

pytest.importorskip("ctranslate2")


@pytest.mark.slow
def test_memory_stays_and_nothing_fails(tmp_path):
    documents, questions = made(500, 100)
    with clew.open(tmp_path / "made.clew") as index:
        index.add(documents)
    with serving(tmp_path / "made.clew") as server:
        samples, replies = for_long(server, questions, int(os.environ.get("CLEW_MINUTES", "6")))
    assert {status for _, status in replies} <= {0, 200, 400, 404, 405}
    found = [sum(each.memory_mb) for each in samples]
    assert len(found) > 3
    assert found[-1] < 1.1 * max(found[: len(found) // 2])
