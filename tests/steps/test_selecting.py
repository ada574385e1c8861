"""What an LLM or a reranker selects among the first hits, and what stays where neither does."""

import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import clew
from clew.base.types import Document
from clew.errors import BudgetSpent, InputError
from clew.methods.walk import Walk
from clew.models import Reply
from clew.models.budget import Budget
from clew.testing import (
    HashEmbedder,
    HashTokenEmbedder,
    MethodContract,
    ScriptedChat,
    ScriptedLLM,
    built,
    models,
)

CHAIN = [
    Document(id="a", title="Ada Lund", text="Ada Lund sailed with Bo Tarn. She wore a red coat."),
    Document(id="b", title="Bo Tarn", text="It rained. Bo Tarn had a teacher, Cy Venn."),
    Document(id="c", title="Cy Venn", text="Cy Venn kept bees in Moss."),
    Document(id="d", title="Fir Oster", text="Fir Oster wore a red coat in Holt."),
]
QUESTION = "Who taught the friend of Ada Lund?"
NO_NAMES = {"named_entities": []}  # what an LLM is asked first
METHODS = [Walk(anchored_units=0, seed_chunks=0)]


@pytest.fixture(scope="module")
def chain():
    with built(CHAIN) as snapshot:
        yield snapshot


@pytest.fixture(params=METHODS, ids=lambda method: type(method).__name__)
def method(request):
    return request.param


def ids(found):
    return [hit.document_id for hit in found.hits]


def listed(prompt):
    """Return the numbers of the passages of a prompt by their titles."""
    lines = prompt.user.rsplit("Passages\n", 1)[1].splitlines()
    read = (re.match(r"\[(\d+)\] ([^|]*) \| ", line) for line in lines)
    return {each[2]: int(each[1]) for each in read}


class Reader:
    """An LLM that selects the passages of some titles, and asks the questions it is given."""

    name = "reader"

    def __init__(self, *titles, questions=()):
        self.titles, self.questions, self.prompts = titles, list(questions), []

    def complete(self, prompts):
        return [self._reply(prompt) for prompt in prompts]

    def _reply(self, prompt):
        if prompt.version.startswith("query_entities"):
            return Reply(text="", data=NO_NAMES)
        self.prompts.append(prompt)
        question = self.questions.pop(0) if self.questions else ""
        numbers = [listed(prompt)[title] for title in self.titles if title in listed(prompt)]
        return Reply(text="", data={"chain": numbers, "question": question})


def retrieve(method, snapshot, llm, by="llm"):
    return replace(method, select=by).retrieve(QUESTION, snapshot, models(llm=llm))


def test_the_selected_ones_come_first_in_their_order(chain, method):
    """The others keep theirs; threads follow the hits, and scores say the places."""
    plain = method.retrieve(QUESTION, chain, models(llm=Reader()))
    last, first = CHAIN[3], CHAIN[2]
    found = retrieve(method, chain, Reader(last.title, first.title))
    rest = [each for each in ids(plain) if each not in ("c", "d")]
    assert ids(found) == ["d", "c", *rest]
    assert [hit.score for hit in found.hits] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    ends = [path.steps[-1].document_id for path in found.paths]
    assert ends == [each for each in ids(found) if each in ends]
    assert len(ends) == len(plain.paths)
    assert found.notes == plain.notes
    fewer = replace(method, chunks=3)
    assert ids(retrieve(fewer, chain, Reader(last.title, first.title))) == ids(found)[:3]


def test_a_repetition_that_is_selected_stands_behind_nothing():
    """`also` lists chunks further down, so not one that was put first."""
    text = "Ada Lund sailed with Bo Tarn on the brig Hesper from the town of Moss to Holt in May."
    documents = [
        Document(id="one", title="One", text=text),
        Document(id="two", title="Two", text=text.replace("in May", "in late May")),
    ]
    with built(documents) as snapshot:
        plain = METHODS[0].retrieve(QUESTION, snapshot, models(llm=Reader()))
        found = retrieve(METHODS[0], snapshot, Reader(plain.hits[1].title))
        kept = retrieve(METHODS[0], snapshot, Reader(plain.hits[0].title))
    assert plain.hits[0].also == (plain.hits[1].chunk_id,)
    assert ids(found) == ids(plain)[::-1]
    assert [hit.also for hit in found.hits] == [(), ()]
    assert kept.hits == plain.hits


def test_what_an_llm_reads(chain):
    """A line for each passage: its title, and sentences in the order of the text."""
    llm = Reader()
    found = retrieve(METHODS[0], chain, llm)
    [prompt] = llm.prompts
    titles = {each.id: each.title for each in CHAIN}
    assert listed(prompt) == {titles[each]: n for n, each in enumerate(ids(found), 1)}
    assert "Ada Lund | Ada Lund sailed with Bo Tarn. | She wore a red coat." in prompt.user
    assert f"Question: {QUESTION}" in prompt.user


def test_a_missing_step_is_searched_for():
    """What is found for the LLM's question is read with the rest, and its thread begins there."""
    far = [
        Document(id=f"x{i}", title=f"Lund {i}", text=f"Ada Lund met friend {i} of Lund {i}.")
        for i in range(40)
    ]
    asked = "Where did Zed Quill keep bees?"
    answer = Document(id="z", title="Zed Quill", text="Zed Quill kept bees in Moss.")
    with built([*far, answer]) as snapshot:
        plain = METHODS[0].retrieve(QUESTION, snapshot, models(llm=Reader()))
        second = plain.hits[1]
        llm = Reader(second.title, "Zed Quill", questions=[asked, "And who is that?"])
        found = retrieve(METHODS[0], snapshot, llm)
    assert "z" not in ids(plain)
    assert ids(found)[:2] == [second.document_id, "z"]
    assert len(found.hits) == len(plain.hits)
    assert found.query == QUESTION
    [thread] = [path for path in found.paths if path.steps[-1].document_id == "z"]
    assert thread.steps[0].text == asked
    assert {step.text for step in found.seeds} > {step.text for step in plain.seeds}
    assert found.notes == (*plain.notes, f"the LLM went on with a question of its own: {asked}")
    before, after = llm.prompts
    assert "Zed Quill" not in before.user
    assert f"Question: {QUESTION}" in after.user
    assert sorted(listed(after).values()) == list(range(1, 31))


def test_a_passage_is_read_anew_for_the_further_question():
    """Of three sentences the two nearest to the LLM's question stand in its second reading."""
    sentences = ("Ada Lund taught chess.", "Ada Lund taught Bo Tarn.", "Her bees flew to Moss.")
    text = " ".join(sentences)
    llm = Reader("Ada Lund", questions=["Where did her bees fly, to Moss?"])
    with built([Document(id="a", title="Ada Lund", text=text), *CHAIN[1:]]) as snapshot:
        retrieve(METHODS[0], snapshot, llm)
    before, after = llm.prompts
    assert sentences[2] not in before.user
    assert sentences[2] in after.user


BAD = [
    (Reply(text="no", error="the reply is not JSON"), "the reply is not JSON"),
    ({"chain": [0, 9, -1], "question": ""}, "it gave only numbers of no passage"),
]


@pytest.mark.parametrize(("reply", "why"), BAD, ids=["malformed", "numbers of nothing"])
def test_a_reply_of_no_use_changes_nothing(chain, method, reply, why):
    """The evidence is what it is without a selection, but for a note."""
    plain = method.retrieve(QUESTION, chain, models(llm=ScriptedLLM(NO_NAMES)))
    llm = ScriptedLLM(NO_NAMES, reply)
    found = retrieve(method, chain, llm)
    note = f"the LLM selected no passages ({why}): they are as they were found"
    assert found == replace(plain, notes=(*plain.notes, note))
    assert not llm.n_left


@pytest.mark.parametrize(("reply", "why"), BAD, ids=["malformed", "numbers of nothing"])
def test_a_second_reply_of_no_use_leaves_the_first_selection(chain, reply, why):
    first = {"chain": [3], "question": "Where is Moss?"}
    found = retrieve(METHODS[0], chain, ScriptedLLM(NO_NAMES, first, NO_NAMES, reply))
    plain = METHODS[0].retrieve(QUESTION, chain, models(llm=Reader()))
    assert ids(found)[0] == ids(plain)[2]
    assert found.notes[-1].endswith(f"Where is Moss? (and selected no more then: {why})")


@pytest.mark.parametrize("question", [QUESTION.upper(), "why " * 101, " \n"])
def test_questions_that_lead_nowhere_are_not_asked(chain, question):
    """The same one, one without an end, none."""
    llm = Reader("Cy Venn", questions=[question])
    found = retrieve(METHODS[0], chain, llm)
    assert ids(found)[0] == "c"
    assert len(llm.prompts) == 1


@pytest.mark.parametrize(("most", "selected"), [(7, 6), (15, 6), (16, 0), (30, 0)])
def test_who_lists_everything_selects_nothing(most, selected):
    """The six first of up to half of the passages are taken; of more none, and a note says so."""
    documents = [
        Document(id=f"x{i}", title=f"Lund {i}", text=f"Ada Lund met friend {i} of Lund {i}.")
        for i in range(30)
    ]
    reply = {"chain": list(range(30, 30 - most, -1)), "question": ""}
    method = replace(METHODS[0], chunks=30)
    with built(documents) as snapshot:
        plain = method.retrieve(QUESTION, snapshot, models(llm=Reader()))
        found = retrieve(method, snapshot, ScriptedLLM(NO_NAMES, reply))
    last_first = ids(plain)[::-1][:selected]
    assert ids(found) == [*last_first, *(each for each in ids(plain) if each not in last_first)]
    assert [f"it selected {most} of 30" in note for note in found.notes] == [True] * (not selected)


def test_without_an_llm_it_is_refused(chain, method):
    with pytest.raises(InputError, match="^select=llm needs an LLM: name one"):
        retrieve(method, chain, None)


def test_a_spent_budget_changes_nothing(chain):
    class Spent(Reader):
        def _reply(self, prompt):
            if prompt.version.startswith("passage_chain"):
                raise BudgetSpent("the budget of 9 tokens leaves no room")
            return super()._reply(prompt)

    plain = METHODS[0].retrieve(QUESTION, chain, models(llm=Reader()))
    found = retrieve(METHODS[0], chain, Spent())
    assert found.hits == plain.hits
    assert "the budget of 9 tokens leaves no room" in found.notes[-1]


def test_an_index_asks_within_the_budget_counts_and_records(tmp_path):
    """A question's budget bounds the selection, its usage has the calls, its ledger the replies."""

    def answer(prompt, _turns):
        if prompt.version.startswith("query_entities"):
            return NO_NAMES
        return {"chain": [listed(prompt)["Fir Oster"]], "question": ""}

    chat = ScriptedChat(answer, price=(1.0, 1.0))
    with closing(clew.open(tmp_path / "index", models=models(llm=chat))) as index:
        index.add(CHAIN)
        found = index.search(QUESTION, method="walk", select="llm")
        again = index.search(QUESTION, method="walk", select="llm")
        spent = index.search(QUESTION[:-1], method="walk", select="llm", budget=Budget(tokens=1))
        with pytest.raises(InputError, match="select is 'none' or 'llm' or 'reranker', not 'best'"):
            index.search(QUESTION, method="walk", select="best")
    assert ids(found)[0] == ids(again)[0] == "d"
    assert found.hits == again.hits
    assert (found.usage.llm_calls, again.usage.llm_calls) == (2, 0)
    assert found.usage.prompt_tokens > 100
    assert again.usage.recorded_calls == 2
    assert len(chat.asked) == 2
    assert ids(spent)[0] != "d"
    assert "leaves no room" in spent.notes[-1]


class Titles:
    """A reranker that likes the texts whose title stands in the query."""

    name = "titles"

    def __init__(self):
        self.queries = []

    def score(self, query, texts):
        self.queries.append(query)
        return np.array([float(text.splitlines()[0] in query) for text in texts])


def test_a_reranker_reads_each_passage_behind_those_before_it(chain, method):
    """Ada Lund stands in the question, Bo Tarn in the passage of hers, Cy Venn in that of his."""
    reranker = Titles()
    given = replace(models(), reranker=reranker)
    found = replace(method, select="reranker").retrieve(QUESTION, chain, given)
    assert ids(found)[:3] == ["a", "b", "c"]
    own = [query for query in reranker.queries if query.count("\n")]
    assert own[0] == f"{QUESTION}\nAda Lund\nAda Lund sailed with Bo Tarn.\nShe wore a red coat."
    assert [hit.score for hit in found.hits] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


@pytest.mark.parametrize("embedder", [HashEmbedder(), HashTokenEmbedder()])
def test_a_reranker_by_vectors_is_refused(chain, embedder):
    """Those by cosine and by late interaction know no more than the method did."""
    with pytest.raises(InputError, match="^select=reranker needs a reranker that reads"):
        replace(METHODS[0], select="reranker").retrieve(QUESTION, chain, models(embedder))


class TestSelection(MethodContract):
    """Evidence that was selected from is evidence: the contract of methods holds for it."""

    @pytest.fixture(autouse=True)
    def _reranker(self, monkeypatch):
        def with_titles(*, llm):
            return replace(models(llm=llm), reranker=Titles())

        monkeypatch.setattr("clew.testing.contracts.models", with_titles)

    @pytest.fixture(params=[(m, by) for m in METHODS for by in ("llm", "reranker")])
    def method(self, request):
        method, by = request.param
        return replace(method, select=by)

    def llm(self):
        class Alphabetic(Reader):
            def _reply(self, prompt):
                if prompt.version.startswith("passage_chain"):
                    self.titles, self.questions = sorted(listed(prompt))[:2], ["Where is the ice?"]
                return super()._reply(prompt)

        return Alphabetic()
