"""A text to a label of the index: candidates without an LLM, and what one makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew import methods
from clew.answers.question import Question
from clew.base.types import Document, Evidence, Table
from clew.errors import BudgetSpent, InputError
from clew.extras.evaluate.classify import (
    CANDIDATES,
    EXAMPLE_TOKENS,
    classify_question,
    classify_text,
    read_labels,
)
from clew.models import Reply
from clew.models.budget import Budget
from clew.testing import HashEmbedder, ScriptedChat, ScriptedLLM, built, models
from clew.text import tokens

TEXTS = {
    "anchor": ("sea ice", "The sea ice of the strait breaks in June and drifts south."),
    "berg": ("Sea-Ice", "Floes of sea ice are pressed into ridges by the wind."),
    "crew": ("ship crews", "Crews of a ship sleep in hammocks, and the cook sleeps by the stove."),
    "dogs": ("sled dogs", "Sled dogs pull loads over snow and eat dried fish."),
    "egg": (7, "Penguin eggs were carried to the museum in a tin."),
    "fog": (None, "The fog hides the headland every morning."),
}
ABOUT_DOGS = "How many sled dogs pull one sled, and what do dogs eat?"


def documents(texts=None):
    made = (texts or TEXTS).items()
    return [Document(id=i, text=text, metadata={"label": label}) for i, (label, text) in made]


@pytest.fixture(scope="module")
def snapshot():
    with built(documents()) as snapshot:
        yield snapshot


def found(snapshot, text, *ids, given=None):
    """Return evidence with the chunks of some documents, else with what hybrid finds."""
    evidence = methods.load("hybrid")().retrieve(text, snapshot, given or models())
    if not ids:
        return evidence
    hits = {hit.document_id: hit for hit in evidence.hits}
    return replace(evidence, hits=tuple(hits[each] for each in ids))


NOTHING = Evidence(query=ABOUT_DOGS, method="none")


def test_labels_that_differ_by_their_spelling_are_one(snapshot):
    """The first document decides how a label is written; numbers are labels, None is none."""
    known = read_labels(snapshot, "label")
    assert known.names == ("sea ice", "ship crews", "sled dogs", "7")
    assert known.of_document.tolist() == [0, 0, 1, 2, 3, -1]
    assert read_labels(snapshot, "label") is known
    with pytest.raises(InputError, match="has a label in 'topic'"):
        read_labels(snapshot, "topic")


def test_hits_and_names_give_labels(snapshot):
    """With no weight on names a label has the reciprocal rank of its first hit, as in the paper."""
    evidence = found(snapshot, ABOUT_DOGS, "crew", "fog", "anchor", "berg", "dogs")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0)
    assert given.candidates == (("ship crews", 1), ("sea ice", 1 / 2), ("sled dogs", 1 / 3))
    assert (given.label, given.out_of_set, given.name_weight) == ("ship crews", False, 0)
    assert (given.said, given.notes) == ("", ())
    evidence = found(snapshot, ABOUT_DOGS, "crew")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=1)
    assert given.candidates[0] == ("sled dogs", 1)
    assert len(given.candidates) == 4
    evidence = found(snapshot, ABOUT_DOGS, "crew", "dogs")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0.25)
    scores = dict(given.candidates)
    assert scores["sled dogs"] == pytest.approx(0.25 + 0.75 / 2)
    assert given.label == "ship crews"
    named = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0.8)
    assert named.label == "sled dogs"
    text = "The fog hides the headland. Sled dogs pull loads over snow and eat dried fish."
    given = classify_text(text, NOTHING, snapshot, models(), name_weight=0)
    assert (given.label, given.candidates) == ("sled dogs", ())


def test_a_text_that_is_gone_has_no_label():
    """What was found in it before another process removed it stands for no label."""
    texts = {"a": TEXTS["crew"], "b": TEXTS["dogs"]}
    with built(documents(TEXTS)) as before, built(documents(texts)) as snapshot:
        evidence = found(before, ABOUT_DOGS, "anchor")
        given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0)
        assert given.candidates == ()
        _, llm = ask(snapshot, "ship crews", evidence=evidence)
    assert TEXTS["anchor"][1] not in llm.prompts[0].user


def test_the_weight_of_names_is_how_often_they_are_right():
    """Two of three texts fit the name of their label best; always the same one is right for one."""
    texts = {
        "a": ("sea ice", "The sea ice drifts."),
        "b": ("sled dogs", "The sled dogs eat."),
        "c": ("ship crews", "The sled dogs sleep."),
    }
    with built(documents(texts)) as snapshot:
        given = classify_text(ABOUT_DOGS, NOTHING, snapshot, models())
        assert given.name_weight == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
        assert classify_text(ABOUT_DOGS, NOTHING, snapshot, models()) == given
    opaque = {
        f"{i:02d}": (f"{i * 37 % 100:02d}", text) for i, (_, text) in enumerate(TEXTS.values())
    }
    with built(documents(opaque)) as snapshot:
        evidence = found(snapshot, ABOUT_DOGS)
        given = classify_text(ABOUT_DOGS, evidence, snapshot, models())
        order = [opaque[hit.document_id][0] for hit in evidence.hits][:CANDIDATES]
    assert given.name_weight < 0.1
    assert [label for label, _ in given.candidates] == order


def test_one_label_is_the_label():
    with built(documents({"a": ("only", "The only text.")})) as snapshot:
        given = classify_text("Anything", NOTHING, snapshot, models())
    assert (given.label, given.name_weight, given.candidates) == ("only", 0, ())
    given = models(HashEmbedder())
    with built(documents(), given) as snapshot:
        classified = classify_text("sled dogs", NOTHING, snapshot, given, name_weight=1)
    assert classified.label == "sled dogs"


def test_a_long_text_keeps_its_label_in_every_chunk():
    long = " ".join(f"Sled dogs number {i} pull well." for i in range(200))
    with built(documents({**TEXTS, "zlong": ("long dogs", long)})) as snapshot:
        chunks = snapshot.layer("chunk").columns["document"]
        assert np.bincount(chunks)[-1] > 1
        text = "Sled dogs number 199 pull well."
        evidence = found(snapshot, text)
        given = classify_text(text, evidence, snapshot, models(), name_weight=0)
    assert evidence.hits[0].document_id == "zlong"
    assert given.label == "long dogs"


# -- with an LLM ----------------------------------------------------------------------------------


def ask(snapshot, *replies, evidence=None, **options):
    llm = ScriptedLLM(*replies)
    given = evidence or found(snapshot, ABOUT_DOGS, "crew", "dogs")
    options = {"name_weight": 0, **options}
    return classify_text(ABOUT_DOGS, given, snapshot, models(llm=llm), **options), llm


def test_an_llm_alone_reads_the_names_of_all_labels(snapshot):
    """A baseline of AGRAG's: no candidates, no examples, no facts; what is no label is counted."""
    nothing = methods.load("zero_shot")().retrieve(ABOUT_DOGS, snapshot, models(llm=ScriptedLLM()))
    given, llm = ask(snapshot, "ship crews", evidence=nothing, name_weight=None)
    assert (given.label, given.candidates, given.notes) == ("ship crews", (), ())
    between = llm.prompts[0].user.partition("\nLabels\n")[2]
    assert between.partition("\n\nText\n")[0] == (
        "- sea ice\n- ship crews\n- sled dogs\n- 7\n\nFacts\n(none)"
    )
    given, _ = ask(snapshot, "huskies", evidence=nothing)
    assert (given.label, given.out_of_set) == ("sled dogs", True)


@pytest.mark.parametrize(
    "reply", ["sled dogs", '"Sled Dogs."', "Label: sled-dogs", "They pull.\n\n**Sled dogs**\n"]
)
def test_the_llm_chooses(snapshot, reply):
    given, _ = ask(snapshot, reply)
    assert (given.label, given.out_of_set, given.notes) == ("sled dogs", False, ())
    assert given.said == reply.strip()


def test_the_prompt_has_candidates_with_examples_and_ends_with_the_text(snapshot):
    _, llm = ask(snapshot, "sled dogs")
    [prompt] = llm.prompts
    crews, dogs = TEXTS["crew"][1], TEXTS["dogs"][1]
    assert f"Labels\n- ship crews: {crews}\n- sled dogs: {dogs}\n" in prompt.user
    assert "sea ice" not in prompt.user
    assert "Facts\n(none)\n" in prompt.user
    assert prompt.user.endswith(ABOUT_DOGS)
    evidence = found(snapshot, ABOUT_DOGS, "dogs")
    table = Table(name="Facts", columns=("fact",), rows=(("dogs eat fish",),))
    _, llm = ask(snapshot, "sled dogs", evidence=replace(evidence, tables=(table,)))
    assert "Facts\nTable: Facts\nfact\ndogs eat fish\n---\n\nText\n" in llm.prompts[0].user
    given, llm = ask(snapshot, "7", evidence=NOTHING)
    shown = llm.prompts[0].user.partition("Labels\n")[2].partition("\n\n")[0].splitlines()
    texts = {"sea ice": "anchor", "ship crews": "crew", "sled dogs": "dogs", "7": "egg"}
    assert shown == [f"- {label}: {TEXTS[first][1]}" for label, first in texts.items()]
    assert given.label == "7"


def test_a_label_that_was_no_candidate(snapshot):
    given, _ = ask(snapshot, "Sea ice")
    assert (given.label, given.out_of_set) == ("sea ice", False)
    assert given.notes == ("the LLM chose a label that was no candidate",)
    given, _ = ask(snapshot, "polar transport")
    assert (given.label, given.out_of_set, given.said) == ("ship crews", True, "polar transport")
    assert "no label of the index" in given.notes[0]


@pytest.mark.parametrize("reply", [Reply(text="", error="the model is ill"), Reply(text=" \n")])
def test_a_failed_call_leaves_the_best_candidate(snapshot, reply):
    given, _ = ask(snapshot, reply)
    assert (given.label, given.out_of_set, given.said) == ("ship crews", False, "")
    assert given.notes[0].startswith("the LLM gave no label (")


def test_a_spent_budget_leaves_the_best_candidate(snapshot):

    class Poor:
        name = "poor"

        def complete(self, _):
            raise BudgetSpent("there are 3 tokens left")

    evidence = found(snapshot, ABOUT_DOGS, "crew")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(llm=Poor()), name_weight=0)
    assert given.label == "ship crews"
    assert "there are 3 tokens left" in given.notes[0]


def test_examples_are_short():
    long = " ".join(f"Sled dogs number {i} pull well." for i in range(60))
    with built(documents({"long": ("dogs", long), "other": ("cats", "Cats sleep.")})) as snapshot:
        _, llm = ask(snapshot, "dogs", evidence=NOTHING)
    line = next(line for line in llm.prompts[0].user.splitlines() if line.startswith("- dogs: "))
    assert tokens.count(line.removeprefix("- dogs: ")) <= EXAMPLE_TOKENS


def test_without_tables_labels_take_what_the_text_leaves(snapshot):
    room = 20
    budget = tokens.count(ABOUT_DOGS) + room
    lines = sum(tokens.count(f"- {name}\n") for name in read_labels(snapshot, "label").names)
    assert room // 2 < lines <= room
    alone, _ = ask(snapshot, "7", evidence=NOTHING, budget_tokens=budget)
    assert alone.notes == ()
    table = Table(name="Facts", columns=("fact",), rows=(("dogs eat fish",),))
    beside, _ = ask(snapshot, "7", evidence=replace(NOTHING, tables=(table,)), budget_tokens=budget)
    assert beside.notes[0].endswith("of 4 labels did not fit into the LLM's prompt")


@given(budget=st.integers(1, 400))
def test_what_the_llm_is_shown_fits_the_budget(snapshot, budget):
    """Labels, examples, tables and the text together; what is left out is said."""
    text = f"{ABOUT_DOGS} " * 20
    table = Table(name="Facts", columns=("fact",), rows=(("dogs eat fish",),) * 50)
    evidence = replace(found(snapshot, text), tables=(table,))
    llm = ScriptedLLM("sled dogs")
    given = classify_text(
        text, evidence, snapshot, models(llm=llm), name_weight=0, budget_tokens=budget
    )
    cut = ("the LLM was given only the beginning of the text",)
    assert given.notes[:1] == cut[: budget < 2 * tokens.count(text)]
    if not llm.prompts:
        assert given.notes[-1].endswith("4 labels did not fit into the LLM's prompt")
        assert given.label == given.candidates[0][0]
        return
    _, _, shown = llm.prompts[0].user.partition("Labels\n")
    shown = "\n".join(
        line for line in shown.splitlines() if line not in {"Facts", "Text", "(none)"}
    )
    assert tokens.count(shown) <= budget


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name_weight": 1.5}, "0 and 1, not 1.5"),
        ({"name_weight": float("nan")}, "0 and 1, not nan"),
        ({"budget_tokens": 0}, "at least 1 token, not 0"),
    ],
)
def test_numbers_that_make_no_sense(snapshot, options, message):
    with pytest.raises(InputError, match=message):
        classify_text(ABOUT_DOGS, NOTHING, snapshot, models(), **options)


TWO = {"ice": "Sea ice drifts south in June.", "dogs": "Sled dogs eat dried fish."}
ASKED = "Which fish do sled dogs eat?"


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens an index of two labelled texts, with an LLM or without."""

    def open_with(llm=None):
        index = clew.open(tmp_path / "labelled.clew", models=models(llm=llm))
        index.add([Document(id=i, text=t, metadata={"topic": i}) for i, t in TWO.items()])
        return index

    return open_with


def classify(
    index, text, *, label="label", name_weight=None, method="hybrid", budget=None, **given
):
    question = Question(text=text, method=method, budget=budget, parameters=given)
    return classify_question(question, index, label, name_weight)


def test_a_text_has_a_label(opened):
    with opened() as index:
        found = classify(index, ASKED, label="topic", chunks=1)
    assert (found.label, found.text) == ("dogs", ASKED)
    assert [hit.document_id for hit in found.evidence.hits] == ["dogs"]
    assert found.evidence.method == "hybrid"
    assert {"search", "classify"} <= set(found.usage.seconds)
    assert found.usage.llm_calls == 0
    with opened() as index:
        found = classify(index, ASKED, label="topic", method="bm25", name_weight=0)
        assert (found.evidence.method, found.name_weight) == ("bm25", 0)
        with pytest.raises(InputError, match="has no parameter 'fusion'"):
            classify(index, ASKED, label="topic", method="bm25", fusion="rrf")


def test_a_subgraph_may_lead_to_the_label(tmp_path):
    texts = {"crews": "Tom Crean sailed with Frank Wild.", "ice": "Pack ice closed round the hull."}
    documents = [Document(id=i, text=t, metadata={"label": i}) for i, t in texts.items()]
    with clew.open(tmp_path / "named.clew", models=models()) as index:
        index.add(documents, triples="cooccurrence")
        found = classify(index, "Tom Crean and Frank Wild", method="agrag")
    assert found.label == "crews"
    assert found.evidence.hits[0].channel == "subgraph"


def test_the_llm_is_asked_and_counted(opened):
    chat = ScriptedChat(lambda *_: "ice")
    with opened(chat) as index:
        found = classify(index, ASKED, label="topic")
        again = classify(index, ASKED, label="topic")
    assert (found.label, found.usage.llm_calls) == ("ice", 1)
    assert (again.label, again.usage.llm_calls, again.usage.recorded_calls) == ("ice", 0, 1)
    assert len(chat.asked) == 1
    llm = ScriptedLLM()
    refused = pytest.raises(InputError, match="no document of this index has a label in 'label'")
    with opened(llm) as index, refused:
        classify(index, ASKED, method="clue")
    assert not llm.prompts


def test_a_budget_without_room_needs_no_llm(opened):
    chat = ScriptedChat(lambda *_: "ice")
    with opened(chat) as index:
        found = classify(index, ASKED, label="topic", budget=Budget(tokens=1))
    assert found.label == "dogs"
    assert "the LLM gave no label" in found.notes[0]
    assert not chat.asked


def test_of_a_long_text_the_beginning_is_read(opened):
    with opened() as index:
        found = classify(index, "Sled dogs eat fish. " * 2_000, label="topic")
        assert found.label == "dogs"
        assert any(
            "of the 40,000 characters of the text were read" in n for n in found.evidence.notes
        )
        assert not classify(index, "Sled dogs eat fish.", label="topic").evidence.notes


def test_only_labels_of_filtered_documents_are_candidates(opened):
    with opened() as index:
        question = Question(text=ASKED, method="hybrid", where="topic != 'dogs'")
        assert classify_question(question, index, "topic").label == "ice"
