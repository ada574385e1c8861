"""A text to a label of the index: candidates without an LLM, and what one makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import methods
from clew.asking.classify import CANDIDATES, EXAMPLE_TOKENS, classify_text, read_labels
from clew.errors import BudgetSpent, InputError
from clew.models import Reply
from clew.testing import HashEmbedder, ScriptedLLM, built, models
from clew.text import tokens
from clew.types import Document, Evidence, Table

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


def test_an_index_without_labels_says_what_to_do(snapshot):
    """The column that was looked in is named."""
    with pytest.raises(InputError, match="has a label in 'topic'"):
        read_labels(snapshot, "topic")


def test_hits_alone_give_their_labels_in_order(snapshot):
    """With no weight on names a label has the reciprocal rank of its first hit, as in the paper."""
    evidence = found(snapshot, ABOUT_DOGS, "crew", "fog", "anchor", "berg", "dogs")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0)
    assert given.candidates == (("ship crews", 1), ("sea ice", 1 / 2), ("sled dogs", 1 / 3))
    assert (given.label, given.out_of_set, given.name_weight) == ("ship crews", False, 0)
    assert (given.said, given.notes) == ("", ())


def test_a_text_that_is_gone_has_no_label():
    """What was found in it before another process removed it stands for no label."""
    texts = {"a": TEXTS["crew"], "b": TEXTS["dogs"]}
    with built(documents(TEXTS)) as before, built(documents(texts)) as snapshot:
        evidence = found(before, ABOUT_DOGS, "anchor")
        given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0)
        assert given.candidates == ()
        _, llm = ask(snapshot, "ship crews", evidence=evidence)
    assert TEXTS["anchor"][1] not in llm.prompts[0].user


def test_names_alone_give_the_label_that_the_text_names(snapshot):
    """What a method found does not matter then."""
    evidence = found(snapshot, ABOUT_DOGS, "crew")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=1)
    assert given.candidates[0] == ("sled dogs", 1)
    assert len(given.candidates) == 4


def test_both_are_added_by_their_weight(snapshot):
    """The sum of the two reciprocal ranks; what was found first wins a tie."""
    evidence = found(snapshot, ABOUT_DOGS, "crew", "dogs")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0.25)
    scores = dict(given.candidates)
    assert scores["sled dogs"] == pytest.approx(0.25 + 0.75 / 2)
    assert given.label == "ship crews"
    named = classify_text(ABOUT_DOGS, evidence, snapshot, models(), name_weight=0.8)
    assert named.label == "sled dogs"


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


def test_names_that_say_nothing_have_no_weight():
    """Labels that are numbers leave the order of the hits as it is."""
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
    """There is nothing to measure, and nothing else to say."""
    with built(documents({"a": ("only", "The only text.")})) as snapshot:
        given = classify_text("Anything", NOTHING, snapshot, models())
    assert (given.label, given.name_weight, given.candidates) == ("only", 0, ())


def test_without_candidates_the_nearest_labelled_text_decides(snapshot):
    """A text without a label is never nearest."""
    text = "The fog hides the headland. Sled dogs pull loads over snow and eat dried fish."
    given = classify_text(text, NOTHING, snapshot, models(), name_weight=0)
    assert (given.label, given.candidates) == ("sled dogs", ())


def test_an_embedder_without_tokens_reads_names_whole():
    """The names are compared by one vector each."""
    given = models(HashEmbedder())
    with built(documents(), given) as snapshot:
        classified = classify_text("sled dogs", NOTHING, snapshot, given, name_weight=1)
    assert classified.label == "sled dogs"


def test_a_long_text_keeps_its_label_in_every_chunk():
    """A hit in any chunk of a labelled text stands for its label."""
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


@pytest.mark.parametrize(
    "reply", ["sled dogs", '"Sled Dogs."', "Label: sled-dogs", "They pull.\n\n**Sled dogs**\n"]
)
def test_the_llm_chooses(snapshot, reply):
    """Its label is found in what it says, whatever the spelling."""
    given, _ = ask(snapshot, reply)
    assert (given.label, given.out_of_set, given.notes) == ("sled dogs", False, ())
    assert given.said == reply.strip()


def test_the_prompt_has_candidates_with_examples_and_ends_with_the_text(snapshot):
    """Labels that are no candidates are not shown."""
    _, llm = ask(snapshot, "sled dogs")
    [prompt] = llm.prompts
    crews, dogs = TEXTS["crew"][1], TEXTS["dogs"][1]
    assert f"Labels\n- ship crews: {crews}\n- sled dogs: {dogs}\n" in prompt.user
    assert "sea ice" not in prompt.user
    assert "Facts\n(none)\n" in prompt.user
    assert prompt.user.endswith(ABOUT_DOGS)


def test_tables_of_the_evidence_are_shown(snapshot):
    """What a method found beside texts stands before the text."""
    evidence = found(snapshot, ABOUT_DOGS, "dogs")
    table = Table(name="Facts", columns=("fact",), rows=(("dogs eat fish",),))
    _, llm = ask(snapshot, "sled dogs", evidence=replace(evidence, tables=(table,)))
    assert "Facts\nTable: Facts\nfact\ndogs eat fish\n---\n\nText\n" in llm.prompts[0].user


def test_without_candidates_the_llm_is_shown_all_labels(snapshot):
    """Each with the beginning of the first text that has it."""
    given, llm = ask(snapshot, "7", evidence=NOTHING)
    shown = llm.prompts[0].user.partition("Labels\n")[2].partition("\n\n")[0].splitlines()
    texts = {"sea ice": "anchor", "ship crews": "crew", "sled dogs": "dogs", "7": "egg"}
    assert shown == [f"- {label}: {TEXTS[first][1]}" for label, first in texts.items()]
    assert given.label == "7"


def test_another_label_of_the_index_is_in_the_set(snapshot):
    """It is taken, with a note."""
    given, _ = ask(snapshot, "Sea ice")
    assert (given.label, given.out_of_set) == ("sea ice", False)
    assert given.notes == ("the LLM chose a label that was no candidate",)


def test_what_is_no_label_is_out_of_the_set(snapshot):
    """The best candidate is the label then, and what was said is kept."""
    given, _ = ask(snapshot, "polar transport")
    assert (given.label, given.out_of_set, given.said) == ("ship crews", True, "polar transport")
    assert "no label of the index" in given.notes[0]


@pytest.mark.parametrize("reply", [Reply(text="", error="the model is ill"), Reply(text=" \n")])
def test_a_failed_call_leaves_the_best_candidate(snapshot, reply):
    """A note says so; it does not count as out of the set."""
    given, _ = ask(snapshot, reply)
    assert (given.label, given.out_of_set, given.said) == ("ship crews", False, "")
    assert given.notes[0].startswith("the LLM gave no label (")


def test_a_spent_budget_leaves_the_best_candidate(snapshot):
    """The reason is the budget's own."""

    class Poor:
        name = "poor"

        def complete(self, _):
            raise BudgetSpent("there are 3 tokens left")

    evidence = found(snapshot, ABOUT_DOGS, "crew")
    given = classify_text(ABOUT_DOGS, evidence, snapshot, models(llm=Poor()), name_weight=0)
    assert given.label == "ship crews"
    assert "there are 3 tokens left" in given.notes[0]


def test_examples_are_short():
    """A long labelled text shows its beginning only."""
    long = " ".join(f"Sled dogs number {i} pull well." for i in range(60))
    with built(documents({"long": ("dogs", long), "other": ("cats", "Cats sleep.")})) as snapshot:
        _, llm = ask(snapshot, "dogs", evidence=NOTHING)
    line = next(line for line in llm.prompts[0].user.splitlines() if line.startswith("- dogs: "))
    assert tokens.count(line.removeprefix("- dogs: ")) <= EXAMPLE_TOKENS


def test_without_tables_labels_take_what_the_text_leaves(snapshot):
    """Half of it would not hold the four labels here; with tables it is all that they get."""
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
    cut = ("the LLM was given the beginning of the text only",)
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
        ({"name_weight": 1.5}, "0 to 1, not 1.5"),
        ({"name_weight": float("nan")}, "0 to 1, not nan"),
        ({"budget_tokens": 0}, "at least 1 token, not 0"),
    ],
)
def test_numbers_that_make_no_sense(snapshot, options, message):
    """They are refused before anything is computed."""
    with pytest.raises(InputError, match=message):
        classify_text(ABOUT_DOGS, NOTHING, snapshot, models(), **options)
