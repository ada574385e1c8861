"""IRCoT: what is thought is searched for, until an answer, a limit or a fault ends it."""

import pytest

from clew.base.types import Document
from clew.errors import InputError
from clew.extras.baselines.ircot import Ircot
from clew.methods.bm25 import Bm25
from clew.testing import MethodContract, ScriptedLLM, built, models

DOCUMENTS = [
    Document(id="ship", title="Fram", text="The ship Fram was built by Colin Archer."),
    Document(id="man", title="Colin Archer", text="Colin Archer was born in Larvik."),
    Document(id="town", title="Larvik", text="Larvik is a harbour of whalers."),
    Document(id="other", title="Holt", text="Hens are kept in Holt."),
]
QUESTION = "Who sails from the birthplace of the builder of the Fram?"


@pytest.fixture(scope="module")
def index():
    with built(DOCUMENTS) as snapshot:
        yield snapshot


def thinks(text, *, done=False):
    return {"sentence": text, "done": done}


def ask(index, *replies, **parameters):
    """Return the evidence and the prompts; all replies must be asked for."""
    llm = ScriptedLLM(*replies)
    found = Ircot(**parameters).retrieve(QUESTION, index, models(llm=llm))
    assert llm.n_left == 0
    return found, [prompt.user for prompt in llm.prompts]


def documents(found):
    return [hit.document_id for hit in found.hits]


def test_each_thought_is_searched_for(index):
    """By BM25, as the question is; what is found stays in order, with the thought behind it."""
    replies = (
        thinks("Colin Archer was born somewhere."),
        thinks("Larvik is a harbour."),
        thinks("So the answer is whalers.", done=True),
    )
    found, prompts = ask(index, *replies, passages=1)
    assert documents(found) == ["ship", "man", "town"]
    for text, document in [(QUESTION, "ship"), ("Colin Archer was born somewhere.", "man")]:
        assert documents(Bm25(chunks=1).retrieve(text, index, models())) == [document]
    assert [path.steps[-1].reason for path in found.paths] == [
        "near the question",
        "near the thought: Colin Archer was born somewhere.",
        "near the thought: Larvik is a harbour.",
    ]
    assert [hit.score for hit in found.hits] == [1, 1 / 2, 1 / 3]
    asked = [prompt.rpartition("Question: ")[2] for prompt in prompts]
    assert asked[0].count("[1]") == 1
    assert "[2]" not in asked[0]
    assert "- Colin Archer was born somewhere." in asked[1]
    assert "Colin Archer was born in Larvik." in asked[1]


def test_an_answer_at_once_ends_it(index):
    """What the question found is all that there is."""
    found, _ = ask(index, thinks("Whalers do.", done=True), passages=1)
    assert documents(found) == ["ship"]


def test_limits(index):
    """Of thoughts, of passages for each, and of passages in all."""
    two = (thinks("Colin Archer born."), thinks("Larvik harbour."))
    found, _ = ask(index, *two, thoughts=2, passages=1)
    assert documents(found) == ["ship", "man", "town"]
    found, _ = ask(index, *two, thoughts=2, passages=1, chunks=2)
    assert len(found.hits) == 2


@pytest.mark.parametrize("last", [thinks(""), thinks("Colin Archer was born somewhere.")])
def test_nothing_new_ends_it(index, last):
    """An empty sentence, or one that was written before."""
    found, _ = ask(index, thinks("Colin Archer was born somewhere."), last, passages=1)
    assert documents(found) == ["ship", "man"]


def test_a_useless_reply_ends_it(index):
    """What was found until then stays, with a note."""
    found, _ = ask(index, thinks("Colin Archer was born somewhere."), "no JSON", passages=1)
    assert documents(found) == ["ship", "man"]
    assert found.notes == ("the LLM stopped thinking (the reply is not JSON)",)


@pytest.mark.parametrize("search", ["dense", "hybrid"])
def test_other_searches(index, search):
    """They find by meaning, too."""
    found, _ = ask(index, thinks("Larvik.", done=True), search=search, passages=4)
    assert len(found.hits) >= 2


def test_without_an_llm_it_is_refused(index):
    """In one sentence, which says what to do."""
    with pytest.raises(InputError, match=r"^ircot needs an LLM: name one with --llm, or choose"):
        Ircot().retrieve(QUESTION, index, models())


class Thinks:
    """An LLM that thinks the same each time."""

    name = "thinks"

    def complete(self, prompts):
        llm = ScriptedLLM(*[thinks("The Comet was built in Bakken.") for _ in prompts])
        return llm.complete(prompts)


class TestContract(MethodContract):
    @pytest.fixture
    def method(self):
        return Ircot()

    def llm(self):
        return Thinks()
