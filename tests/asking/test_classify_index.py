"""Classifying from Python: an index of labelled texts, a text, a label."""

import pytest

import clew
from clew.errors import InputError
from clew.models.budget import Budget
from clew.testing import ScriptedChat, ScriptedLLM, models
from clew.types import Document

TEXTS = {"ice": "Sea ice drifts south in June.", "dogs": "Sled dogs eat dried fish."}
ABOUT_DOGS = "Which fish do sled dogs eat?"


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens an index of two labelled texts, with an LLM or without."""

    def open_with(llm=None):
        index = clew.open(tmp_path / "labelled.clew", models=models(llm=llm))
        index.add([Document(id=i, text=t, metadata={"topic": i}) for i, t in TEXTS.items()])
        return index

    return open_with


def test_a_text_has_a_label(opened):
    """The label, what was found for it, and what that took."""
    with opened() as index:
        found = index.classify(ABOUT_DOGS, label="topic", chunks=1)
    assert (found.label, found.text) == ("dogs", ABOUT_DOGS)
    assert [hit.document_id for hit in found.evidence.hits] == ["dogs"]
    assert found.evidence.method == "hybrid"
    assert {"search", "classify"} <= set(found.usage.seconds)
    assert found.usage.llm_calls == 0


def test_a_subgraph_may_lead_to_the_label(tmp_path):
    """With AGRAG the chunks of its subgraph come first."""
    texts = {"crews": "Tom Crean sailed with Frank Wild.", "ice": "Pack ice closed round the hull."}
    documents = [Document(id=i, text=t, metadata={"label": i}) for i, t in texts.items()]
    with clew.open(tmp_path / "named.clew", models=models()) as index:
        index.add(documents, triples="cooccurrence")
        found = index.classify("Tom Crean and Frank Wild", method="agrag")
    assert found.label == "crews"
    assert found.evidence.hits[0].channel == "subgraph"


def test_the_llm_is_asked_and_counted(opened):
    """One call for one text, and none where the same is asked again."""
    chat = ScriptedChat(lambda *_: "ice")
    with opened(chat) as index:
        found = index.classify(ABOUT_DOGS, label="topic")
        again = index.classify(ABOUT_DOGS, label="topic")
    assert (found.label, found.usage.llm_calls) == ("ice", 1)
    assert (again.label, again.usage.llm_calls, again.usage.recorded_calls) == ("ice", 0, 1)
    assert len(chat.asked) == 1


def test_a_budget_without_room_needs_no_llm(opened):
    """The best candidate without it is taken, and a note says why."""
    chat = ScriptedChat(lambda *_: "ice")
    with opened(chat) as index:
        found = index.classify(ABOUT_DOGS, label="topic", budget=Budget(tokens=1))
    assert found.label == "dogs"
    assert "the LLM gave no label" in found.notes[0]
    assert not chat.asked


def test_a_method_and_its_parameters_are_the_callers(opened):
    """What the method is given is checked as in a search."""
    with opened() as index:
        found = index.classify(ABOUT_DOGS, label="topic", method="bm25", name_weight=0)
        assert (found.evidence.method, found.name_weight) == ("bm25", 0)
        with pytest.raises(InputError, match="has no parameter 'fusion'"):
            index.classify(ABOUT_DOGS, label="topic", method="bm25", fusion="rrf")


def test_what_cannot_be_classified(opened):
    """An empty text, and an index without such labels; no LLM is paid for either."""
    llm = ScriptedLLM()
    with opened(llm) as index:
        with pytest.raises(InputError, match="the text is empty"):
            index.classify(" \n", label="topic")
        with pytest.raises(InputError, match="no document of this index has a label in 'label'"):
            index.classify(ABOUT_DOGS, method="clue")
    assert not llm.prompts
