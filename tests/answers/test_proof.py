"""Proofs of answers: what stands, what moved, what is gone, and what was made up."""

import hashlib
import json
from dataclasses import replace

import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError
from clew.testing import models

FRAM = "Colin Archer built the Fram for Nansen. She was launched in 1892."
ARCHER = "Colin Archer was a naval architect. He was born in Larvik."
QUEST = "Ernest Shackleton died aboard the Quest. She sank in 1962."
QUESTION = "Who built the Fram?"


def written(**texts):
    return [Document(id=name, text=text) for name, text in texts.items()]


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "a.clew", models=models()) as index:
        index.add(written(fram=FRAM, archer=ARCHER, quest=QUEST))
        yield index


@pytest.fixture
def proof(index):
    return index.prove(index.ask(QUESTION, min_support=0, quotes=1))


def states(index, proof):
    return [(each.state, each.document_id) for each in index.verify(proof).quotes]


def test_a_proof_has_what_it_takes_to_verify_it_without_clew(index, proof):
    [quote] = proof.quotes
    assert quote.quote == FRAM[quote.start : quote.end] == "Colin Archer built the Fram for Nansen."
    assert quote.sha256 == hashlib.sha256(FRAM.encode()).hexdigest()
    assert (proof.question, proof.text, proof.kind) == (QUESTION, f'"{quote.quote}"', "quoted")
    assert proof.generation == index.snapshot().generation


def test_what_was_not_touched_stands(index, proof):
    verified = index.verify(proof)
    assert verified.is_sound
    assert states(index, proof) == [("stands", "fram")]
    assert not verified.quotes[0].is_changed


def test_a_quote_stands_in_a_document_that_changed_behind_it(index, proof):
    index.add(written(fram=f"{FRAM} She is in a museum now."))
    [quote] = index.verify(proof).quotes
    assert (quote.state, quote.is_changed) == ("stands", True)


@pytest.mark.parametrize(
    ("texts", "where"),
    [
        ({"fram": f"A ship.\n\n{FRAM}"}, ("moved", "fram")),
        ({"fram": FRAM.replace(" built ", "\nbuilt  ")}, ("moved", "fram")),
        ({"fram": "Nothing is left.", "ships": f"Ships. {FRAM}"}, ("moved", "ships")),
        ({"fram": FRAM.replace("Archer", "Bowman")}, ("gone", "")),
    ],
)
def test_a_quote_is_looked_for_where_it_may_be_now(index, proof, texts, where):
    index.add(written(**texts))
    assert states(index, proof) == [where]
    [quote] = index.verify(proof).quotes
    assert bool(index.verify(proof).is_sound) == (where[0] != "gone")
    if where[0] == "moved":
        text = index.snapshot().documents(index.snapshot().layer("document").rows([where[1]]))[0]
        assert text.text[quote.start : quote.end].split() == quote.quote.split()


def test_the_place_nearest_to_the_old_one_is_taken(index, proof):
    index.add(written(fram=f"{FRAM} {'It is cold. ' * 20}{FRAM}"[1:]))
    [quote] = index.verify(proof).quotes
    assert quote.state == "moved"
    assert quote.start > len(FRAM)  # the first one has lost its first letter


def test_a_document_that_is_gone_is_said_to_be_so(index, proof):
    index.remove("fram")
    assert states(index, proof) == [("gone", "")]


@pytest.mark.parametrize("text", ["Colin Archer built the Gjøa for Nansen.", "", "He did."])
def test_an_answer_that_was_changed_is_no_longer_held(index, proof, text):
    verified = index.verify(replace(proof, text=text))
    assert verified.quotes[0].state == "stands"
    assert verified.unsupported == (text,)
    assert not verified.is_sound


def test_of_a_generated_answer_each_sentence_is_held_against_the_quotes(index, proof):
    said = "Colin Archer built the Fram. It cost 7,000 crowns."
    verified = index.verify(replace(proof, kind="generated", text=said))
    assert verified.unsupported == ("It cost 7,000 crowns.",)


@pytest.mark.parametrize(("short", "is_supported"), [("Colin Archer", True), ("Gerd Olsen", False)])
def test_a_short_answer_is_held_by_a_quote(index, proof, short, is_supported):
    assert index.verify(replace(proof, short=short)).is_sound == is_supported


def test_an_answer_that_is_no_longer_true_is_not_proved(index):
    answer = index.ask(QUESTION, min_support=0)
    index.add(written(fram=FRAM[1:]))
    with pytest.raises(
        InputError, match="'fram' has changed since the answer was given: ask again"
    ):
        index.prove(answer)


def test_a_proof_goes_through_a_file(index, proof, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof.to_dict()), encoding="utf-8")
    assert index.verify(path) == index.verify(str(path)) == index.verify(proof)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"quotes": 3}', "\udc80", "[" * 100_000])
def test_a_file_without_a_proof_is_refused(index, tmp_path, content):
    path = tmp_path / "proof.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="holds no proof of an answer"):
        index.verify(path)


def test_a_file_that_is_not_there_is_named(index, tmp_path):
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file"):
        index.verify(tmp_path / "none.json")
