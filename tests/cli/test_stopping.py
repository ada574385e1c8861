"""Ctrl-C and SIGTERM while a real process indexes: what is whole is kept, and told."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from clew import testing
from clew.api import open_index
from clew.cli.progress import describe_kept
from clew.stopping import Stop

# A program that is `clew` with models that take their time, and says where it is.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
from clew import testing
from clew.index import adding
from clew.api import open_index
from clew.cli import main
from clew.testing import HashTokenEmbedder

adding.BATCH_CHARACTERS = 5_000

class Slow(HashTokenEmbedder):
    def embed_tokens(self, texts):
        print("embedding", file=sys.stderr, flush=True)
        time.sleep(0.3)
        return super().embed_tokens(texts)

def opener(folder, **given):
    print("opening", file=sys.stderr, flush=True)
    time.sleep(0.5)
    given.pop("specs", None)
    return open_index(folder, models=testing.models(Slow()), **given)

main(sys.argv[1:], obj=opener, prog_name="clew")
"""


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(20):
        words = " ".join(f"Ada Lund {i} wound rope {n} round the pole." for n in range(40))
        (folder / f"n{i:02}.md").write_text(words, encoding="utf-8")
    return tmp_path


def start(folder, *more):
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "index", "notes", "--into", "i.clew", *more],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def wait_for(process, word, times=1):
    seen = []
    while times:
        line = process.stderr.readline()
        assert line, seen
        seen.append(line)
        times -= word in line


def n_kept(folder):
    with open_index(folder / "i.clew", models=testing.models(testing.HashTokenEmbedder())) as index:
        return len(index.documents())


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 3)])
def test_the_documents_at_hand_are_kept(texts, clew, number, times):
    process = start(texts)
    wait_for(process, "embedding", times)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopping after these documents" in err
    [n] = re.findall(
        r"clew: stopped: (\d+) documents? \w+ kept; run the same command again to continue", err
    )
    assert 0 < int(n) < 20
    assert n_kept(texts) == int(n)
    assert "Traceback" not in out + err
    if times == 1:
        return
    assert clew("index", "notes", "--into", "i.clew").exit_code == 0
    assert n_kept(texts) == 20


def test_a_second_signal_ends_at_once(texts):
    process = start(texts)
    wait_for(process, "embedding", 2)
    process.send_signal(signal.SIGINT)
    wait_for(process, "stopping after")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert re.search(r"clew: stopped", err)
    assert "Traceback" not in err


def test_before_anything_was_read(texts):
    """While models load there is nothing to wait for."""
    process = start(texts)
    wait_for(process, "opening")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_json_says_that_it_stopped(texts):
    process = start(texts, "--json")
    wait_for(process, "embedding")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    report = json.loads(out)["report"]
    assert report["stopped"] is True
    assert report["gone"] == []


def test_another_thread_may_stop(texts, tmp_path, monkeypatch):
    """In Python it is `Stop`; what was asked for before the first batch stops before it."""
    monkeypatch.setattr("clew.index.adding.BATCH_CHARACTERS", 5_000)
    stop, seen = Stop(), []

    def progress(_):
        seen.append(stop.is_heeded)
        threading.Thread(target=stop.ask).start()
        while not stop.is_asked:
            time.sleep(0.001)

    with open_index(tmp_path / "i.clew", models=testing.models()) as index:
        added = index.add(texts / "notes", on_progress=progress, stop=stop, prune=True)
        assert added.report.stopped
        assert 0 < added.n_documents < 20
        assert seen == [True]
        done = index.add(texts / "notes", stop=stop)
        assert done.report.stopped
        assert done.n_documents == added.n_documents
        assert index.add(texts / "notes", prune=True).n_documents == 20


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (0, "stopped before the first document was complete; the same command starts again"),
        (1, "stopped: 1 document is kept; run the same command again to continue"),
        (2, "stopped: 2 documents are kept; run the same command again to continue"),
    ],
)
def test_what_is_told(n, message):
    assert describe_kept(n) == message
