"""Indexes of format 7, with more bits and tokens of all words, are read and converted."""

import json
from contextlib import closing

import numpy as np
import pytest

from clew import testing
from clew.algo.coding import code_width
from clew.api import open_index
from clew.layers import vectors
from clew.runtime import sqlite
from clew.store import schema, segments
from clew.testing.stores import check_consistent
from clew.types import Document

DOCUMENTS = testing.small_documents()
QUESTION = testing.QUESTIONS[0]
EMBEDDER = testing.HashTokenEmbedder()
D = EMBEDDER.dimension
BITS = {"chunk": 8, "sentence": 8, "name": 8, "token": 2}
BITS_NOW = {"chunk": 8, "sentence": 4, "name": 4, "token": 1}


def built(folder):
    with open_index(folder, models=testing.models(EMBEDDER)) as opened:
        opened.add(DOCUMENTS)
    return folder


@pytest.fixture
def old(tmp_path):
    """An index as the version before wrote it."""

    def all_tokens(_text, tokens):
        return np.ones(len(tokens.vectors), dtype=bool)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vectors, "_mark_term_tokens", all_tokens)
        patched.setattr(schema, "vector_bits", lambda name, _: BITS.get(name.partition(".")[0], 8))
        patched.setattr(schema, "narrow", lambda column: column)
        folder = built(tmp_path / "old.clew")
    with closing(sqlite.connect(folder / "index.sqlite", wait=1)) as connection:
        [(text,)] = connection.execute("SELECT value FROM meta WHERE name = 'recipe'")
        recipe = json.dumps({**json.loads(text), "vector_bits": 8, "token_bits": 2})
        for pair in ((recipe, "recipe"), ("7", "format")):
            connection.execute("UPDATE meta SET value = ? WHERE name = ?", pair)
    return folder


def bits(folder):
    """Return the bits of the vectors of each layer in all segments."""
    found = {}
    for path in (folder / "segments").iterdir():
        for name, array in segments.open_segment(path).items():
            if name.endswith(".vectors"):
                of = [b for b in (1, 2, 4, 8) if array.shape[1] == code_width(D, b)]
                found.setdefault(name.partition(".")[0], set()).update(of)
    return {name: found[name] for name in BITS}


def just(wanted):
    return {name: {n} for name, n in wanted.items()}


def scores(folder):
    with open_index(folder, models=testing.models(EMBEDDER)) as opened:
        check_consistent(opened.snapshot())
        hits = opened.search(QUESTION, method="dense").hits
        return {hit.chunk_id: hit.score for hit in hits}


def test_it_is_read_as_it_is(old, tmp_path):
    """Reading changes nothing: chunks have the vectors that they have in a new index."""
    assert bits(old) == just(BITS)
    assert scores(old) == scores(built(tmp_path / "new.clew"))
    assert bits(old) == just(BITS)


def test_its_tokens_are_all(old, tmp_path):
    """A sentence has the tokens that were stored of it, and in a new index those of its terms."""
    [text] = [d.text for d in DOCUMENTS if d.id == "comet"]
    numbers = []
    for folder in (old, built(tmp_path / "new.clew")):
        with open_index(folder, models=testing.models(EMBEDDER)) as opened:
            units = opened.snapshot().layer("unit")
            row = next(i for i in range(len(units)) if units.ids([i])[0].startswith("comet:0-"))
            numbers.append(len(units.tokens(row)))
    n_words = len(text[: int(units.ids([row])[0].rpartition("-")[2])].split())
    assert n_words == numbers[0] > numbers[1] > 0


def test_what_is_added_stands_beside_it(old):
    """New rows have fewer bits, and both are read; a compaction makes the old ones like them."""
    more = Document(id="more", title="", text="The Comet met a ship off Verle.")
    with open_index(old, models=testing.models(EMBEDDER)) as opened:
        opened.add([more])
        assert opened.search("Verle").hits
    assert bits(old) == {name: {BITS[name], BITS_NOW[name]} for name in BITS}
    before = scores(old)
    with open_index(old, models=testing.models(EMBEDDER)) as opened:
        opened.compact()
    assert bits(old) == just(BITS_NOW)
    assert scores(old) == before  # chunks have as many bits as they had


@pytest.mark.parametrize("token_bits", [2, 8])
def test_chosen_bits_are_kept(old, token_bits):
    """Bits that were no default stay what they are; two, which were, are one from now on."""
    with closing(sqlite.connect(old / "index.sqlite", wait=1)) as connection:
        [(text,)] = connection.execute("SELECT value FROM meta WHERE name = 'recipe'")
        recipe = json.dumps({**json.loads(text), "token_bits": token_bits})
        connection.execute("UPDATE meta SET value = ? WHERE name = 'recipe'", (recipe,))
    with open_index(old, models=testing.models(EMBEDDER)) as opened:
        opened.compact()
        assert opened.snapshot().recipe["token_bits"] == (1 if token_bits == 2 else 8)
    assert bits(old)["token"] == {1 if token_bits == 2 else 8}
    with open_index(old, models=testing.models(EMBEDDER)) as opened:
        assert opened.snapshot().recipe["token_bits"] == (1 if token_bits == 2 else 8)
