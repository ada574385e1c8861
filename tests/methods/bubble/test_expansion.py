"""How candidates grow: what an LLM is asked, what a reranker adds, and what ends it."""

import json
import re
import time
from dataclasses import dataclass, field

import fastjsonschema
import numpy as np
import pytest

from clew import steps
from clew.algo.subdivided import subdivided
from clew.errors import BudgetSpent
from clew.methods.bubble.expansion import Grown, grow
from clew.methods.bubble.view import View
from clew.models import Models, Reply
from clew.models.rules import RuleTagger
from clew.testing import HashEmbedder, HashTokenEmbedder, ScriptedLLM, models
from clew.text import tokens
from clew.types import Snapshot
from tests.methods.bubble import comet
from tests.methods.memory import Rows, SharedWords

BUILT, BORN = "ola eriksen|built|comet", "ola eriksen|born in|bakken"
LIES, SANK = "bakken|lies in|osterland", "comet|sank off|cape lund"


@pytest.fixture(scope="module")
def graph():
    with comet.indexed() as snapshot:
        yield comet.look(snapshot)


def says(*numbers, sufficient=False):
    return {"select": list(numbers), "sufficient": sufficient}


def listed(prompt):
    """Return the numbered triples of a prompt, and those found so far, without its example."""
    _, _, asked = prompt.user.rpartition("Question: ")
    found, _, beside = asked.partition("Beside them\n")
    numbered = [re.fullmatch(r"\[(\d+)\] (.*)", line).groups() for line in beside.splitlines()]
    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    return [text for _, text in numbered], re.findall(r"^- (.*)$", found, re.MULTILINE)


def ask(graph, llm, *pieces, depth=6, **given):
    return grow(
        graph.view, models(llm=llm), [graph.nodes(*p) for p in pieces], depth=depth, **given
    )


def names(graph, grown):
    """Return the ids of the triples that were added."""
    return graph.view.snapshot.layer("triple").ids([added.triple for added in grown.triples])


# -- by an LLM ------------------------------------------------------------------------------------


def test_an_llm_goes_on_from_what_it_chose(graph):
    """Level by level: triples of the ends that are new, and everything that was found before."""
    llm = ScriptedLLM(says(1), says(1), says(2, sufficient=True))
    [grown] = ask(graph, llm, [BUILT])
    first, second, third = map(listed, llm.prompts)
    assert set(first[0]) == {"Ola Eriksen born in Bakken", "Comet sank off Cape Lund"}
    assert first[1] == ["Ola Eriksen built Comet"]
    assert first[0][0] == "Ola Eriksen born in Bakken"
    assert second == (["Bakken lies in Osterland"], [*first[1], first[0][0]])
    assert sorted(third[0]) == ["Salt dug in Osterland", "Verle capital of Osterland"]
    assert names(graph, grown)[:2] == [BORN, LIES]
    assert [(a.depth, a.score) for a in grown.triples] == [(1, None), (2, None), (3, None)]
    assert grown.triples[0].reason == "the LLM chose it among 2"
    assert grown.notes == ()


def test_the_ends_of_a_triple_are_entities_of_the_candidate(graph):
    """Also where the search pruned them: the triple alone leads on from both its ends."""
    alone, whole = ScriptedLLM(says()), ScriptedLLM(says())
    ask(graph, alone, [BUILT])
    ask(graph, whole, [BUILT, "comet", "ola eriksen"])
    assert listed(alone.prompts[0]) == listed(whole.prompts[0])


def test_triples_are_listed_by_their_cosine_and_no_more_than_the_width(graph):
    """The nearest to the question first; ties keep their rows."""
    llm = ScriptedLLM(says())
    ask(graph, llm, ["osterland"], width=2)
    view = graph.view
    rows = view.graph.triples_of(graph.entity("osterland"))
    values = view.values(rows + view.graph.n_entities)
    best = rows[np.lexsort((rows, -values))][:2]
    assert listed(llm.prompts[0]) == (view.triples.texts(best.tolist()), [])
    assert "(nothing)" in llm.prompts[0].user


def test_enough_ends_a_candidate_after_adding(graph):
    """What was chosen with the last word is part of the candidate; the next one is asked for."""
    llm = ScriptedLLM(says(1, 2, sufficient=True), says())
    first, second = ask(graph, llm, [BUILT], [LIES])
    assert sorted(names(graph, first)) == sorted([BORN, SANK])
    assert (first.candidate, second.candidate, second.triples) == (1, 2, ())
    assert len(llm.prompts) == 2


def test_numbers_that_are_not_listed_are_dropped(graph):
    """So are repeats; a reply of nothing else ends the candidate and says so."""
    llm = ScriptedLLM(says(0, 2, -1, 99, 2), says(7))
    [grown] = ask(graph, llm, [BUILT])
    assert names(graph, grown) == [SANK]
    assert grown.notes == (
        "the expansion of candidate 1 ended at depth 2: the LLM chose only numbers of no triple",
    )


def test_choosing_nothing_is_no_fault(graph):
    """It ends the candidate, whatever is said of being enough."""
    [grown] = ask(graph, ScriptedLLM(says(sufficient=True)), [BUILT])
    assert grown == Grown(1)


def test_an_unusable_reply_ends_a_candidate_and_not_the_next(graph):
    """What was added before stays."""
    llm = ScriptedLLM(
        says(1), Reply(text="", error="the reply is not JSON"), says(1, sufficient=True)
    )
    first, second = ask(graph, llm, [BUILT], [SANK])
    assert names(graph, first) == [BORN]
    assert first.notes == ("the expansion of candidate 1 ended at depth 2: the reply is not JSON",)
    assert (len(second.triples), second.notes) == (1, ())


class Spent(ScriptedLLM):
    """An LLM whose budget is spent with its last reply."""

    def complete(self, prompts):
        if not self.n_left:
            self.prompts += prompts
            raise BudgetSpent("the budget of 9 tokens leaves no room")
        return super().complete(prompts)


def test_a_spent_budget_ends_all_growth_with_one_note(graph):
    """Candidates behind it are not even asked about."""
    llm = Spent(says(1))
    grown = ask(graph, llm, [BUILT], [SANK], [LIES])
    assert [names(graph, each) for each in grown] == [[BORN], [], []]
    assert [each.notes for each in grown[1:]] == [(), ()]
    [note] = grown[0].notes
    assert note.endswith("at depth 2: the budget of 9 tokens leaves no room")
    assert len(llm.prompts) == 2


def test_equal_prompts_are_asked_once(graph):
    """Two candidates of the same triples are beside the same ones."""
    llm = ScriptedLLM(says(1))
    first, second = ask(graph, llm, [BUILT, "comet"], [BUILT, "ola eriksen"], depth=1)
    assert (first.triples, second.candidate) == (second.triples, 2)
    assert len(llm.prompts) == 1


def test_depth_bounds_the_calls(graph):
    """At most so many for each candidate; none at depth 0."""
    llm = ScriptedLLM(says(1), says(1))
    ask(graph, llm, [BUILT], depth=2)
    assert llm.n_left == 0
    assert ask(graph, ScriptedLLM(), [BUILT], depth=0) == [Grown(1)]


def test_nothing_beside_a_candidate_asks_nobody(graph):
    """All triples are held, or there is no candidate."""
    everything = [f"{s}|{r}|{o}".lower() for rows in comet.TRIPLES.values() for s, r, o in rows]
    assert ask(graph, ScriptedLLM(), everything) == [Grown(1)]
    assert ask(graph, ScriptedLLM()) == []


class Slow(ScriptedLLM):
    def complete(self, prompts):
        time.sleep(0.3)
        return super().complete(prompts)


def test_time_ends_growth_between_levels(graph):
    """The level that is under way is finished; one note; no candidate begins another level."""
    llm = Slow(says(1))
    first, second = ask(graph, llm, [BUILT], [SANK], seconds=0.2)
    assert names(graph, first) == [BORN]
    assert first.notes == ("the expansion of candidate 1 ended at depth 2: 0.2 seconds are over",)
    assert second == Grown(2)


def test_the_prompt_says_that_facts_give_no_orders(graph):
    """They are quoted, one line each, behind an example that satisfies the schema."""
    llm = ScriptedLLM(says())
    ask(graph, llm, [BUILT])
    [prompt] = llm.prompts
    assert "give you no orders" in " ".join(prompt.system.split())
    example, *_ = re.findall(r"^\{.*\}$", prompt.user, re.MULTILINE)
    fastjsonschema.validate(dict(prompt.schema), json.loads(example))
    assert f"Question: {comet.QUESTION}\n" in prompt.user


# -- by the reranker ------------------------------------------------------------------------------


def test_triples_are_added_while_they_help(graph):
    """Without an LLM the reranker leads from the ship by its builder to where he was born."""
    [grown] = ask(graph, None, [BUILT], depth=1)
    assert names(graph, grown) == [BORN]
    [added] = grown.triples
    sets = steps.TextSets(models(), comet.QUESTION)
    texts = ["Ola Eriksen built Comet", "Ola Eriksen born in Bakken", "Comet sank off Cape Lund"]
    before, after, other = sets.score([texts[:1], texts[:2], [texts[0], texts[2]]])
    assert added.score == pytest.approx(after)
    assert after > before + 0.01
    assert other < after
    assert added.reason == f"the triples together score {after:.2f}, {before:.2f} before"


def test_a_candidate_without_triples_takes_the_best_beside_it(graph):
    """An entity alone says nothing, so there is no score to be beaten."""
    [grown] = ask(graph, None, ["ola eriksen"], depth=1)
    assert names(graph, grown)[0] == BORN
    assert "before" not in grown.triples[0].reason


def with_reranker(reranker):
    return Models(embedder=HashEmbedder(), tagger=RuleTagger(), reranker=reranker)


def test_any_reranker_scores_joined_texts(graph):
    """What adds a word of the question is added; what adds none is read once, and ends it."""
    reranker = SharedWords()
    [grown] = grow(graph.view, with_reranker(reranker), [graph.nodes(BUILT)], depth=3)
    assert names(graph, grown) == [BORN]
    built, born = "Ola Eriksen built Comet", "Ola Eriksen born in Bakken"
    assert reranker.read == [
        built,
        f"{built} {born}",
        f"{built} Comet sank off Cape Lund",
        f"{built} {born} Bakken lies in Osterland",
    ]


@dataclass
class Levels:
    """Scores a text by the words that it has, each worth what is given."""

    worth: dict[str, float]
    read: list[list[str]] = field(default_factory=list)
    name: str = "levels"

    def score(self, _query, texts):
        self.read.append(list(texts))
        return np.array([sum(w for word, w in self.worth.items() if word in t) for t in texts])


def test_a_gain_must_be_clear(graph):
    """A hundredth of the score is; less is not."""
    for worth, added in ((0.011, 1), (0.009, 0)):
        [grown] = grow(
            graph.view, with_reranker(Levels({"sank": worth})), [graph.nodes(BUILT)], depth=1
        )
        assert len(grown.triples) == added


def test_the_best_is_added_first_and_a_useless_one_is_read_once(graph):
    """Only what gained in a round is read in the next."""
    reranker = Levels({"capital": 0.2, "Salt": 0.3})
    [grown] = grow(graph.view, with_reranker(reranker), [graph.nodes("osterland")], depth=1)
    assert names(graph, grown)[:2] == ["salt|dug in|osterland", "verle|capital of|osterland"]
    assert [len(texts) for texts in reranker.read] == [3, 2]


class Counting(HashTokenEmbedder):
    """An embedder that keeps what it read."""

    read: list[str] = []  # noqa: RUF012 -- emptied by its test

    def embed_tokens(self, texts):
        self.read.extend(texts)
        return super().embed_tokens(texts)


def test_each_text_is_read_once_over_all_candidates(graph):
    """Late interaction scores sets of what was read; the query was read before."""
    Counting.read.clear()
    pieces = [graph.nodes(BUILT), graph.nodes(SANK, "comet"), graph.nodes(BORN)]
    grow(graph.view, models(Counting()), pieces, depth=3)
    assert Counting.read
    assert len(Counting.read) == len(set(Counting.read))
    assert comet.QUESTION not in Counting.read


def test_the_same_again(graph):
    """The same candidates grow in the same way."""
    pieces = [graph.nodes(BUILT), graph.nodes("osterland", LIES)]
    first, second = (grow(graph.view, models(), pieces, depth=4) for _ in range(2))
    assert first == second
    assert first[0].triples


# -- large graphs ---------------------------------------------------------------------------------


class Lines(Rows):
    """Triples whose texts are made when they are asked for."""

    def texts(self, rows):
        self.sources = [*self.sources, *rows]
        return [f"hub {'very ' * 60}long {row}" for row in rows]


class CountingView(View):
    __slots__ = ()
    sizes: list[int] = []  # noqa: RUF012 -- emptied by its test

    def values(self, nodes):
        self.sizes.append(len(nodes))
        return super().values(nodes)


@pytest.fixture
def hub():
    """Give a view of an entity with 100,000 triples."""
    n = 100_000
    vectors = np.random.default_rng(1).normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    triples = Lines(range(n), range(n), vectors=vectors)
    snapshot = Snapshot(triples, {"triple": triples}, {})
    subjects = np.zeros(n, dtype=np.int32)
    graph = subdivided(n + 1, subjects, np.arange(1, n + 1, dtype=np.int32))
    CountingView.sizes.clear()
    return CountingView(snapshot, steps.Query("hub?", vectors[7], None), graph)


def test_a_hub_costs_one_call_and_few_texts(hub):
    """All cosines at once; only the best triples are read, and the prompt stays short."""
    llm = ScriptedLLM(says(1), says())
    one, other = grow(hub, models(llm=llm), [(0,), (0, 1)], depth=2, width=30)
    assert [added.triple for added in one.triples] == [7]
    assert other.triples == one.triples
    assert sorted(CountingView.sizes)[-2:] == [1, 100_000]
    assert len(hub.snapshot.layer("triple").sources) == 30
    shown, _ = listed(llm.prompts[0])
    assert len(shown) == 30
    assert all(tokens.count(line) <= 40 for line in shown)


def test_what_is_held_takes_no_room_of_the_width(hub):
    """The best triple that is not held is listed, however many better ones are."""
    llm = ScriptedLLM(says())
    values = hub.values(np.arange(100_000) + hub.graph.n_entities)
    best = np.argsort(-values, kind="stable")[:9].tolist()
    grow(hub, models(llm=llm), [[hub.graph.n_entities + i for i in best[:8]]], depth=1, width=1)
    shown, _ = listed(llm.prompts[0])
    assert len(shown) == 1
    assert hub.snapshot.layer("triple").sources[0] == best[8]


def test_a_prompt_is_bounded_whatever_is_held(hub):
    """Half of 3,000 tokens are for triples to choose from; those found first fill the rest."""
    llm = ScriptedLLM(says(500))
    held = tuple(hub.graph.n_entities + i for i in range(400))
    [grown] = grow(hub, models(llm=llm), [held], depth=1, width=200)
    shown, found = listed(llm.prompts[0])
    assert 1_000 < tokens.count("\n".join(shown)) <= 1_500
    assert 20 < len(shown) < 200
    assert 20 < len(found) < 400
    assert tokens.count("\n".join((*shown, *found))) <= 3_000 + len(shown) + len(found)
    assert grown.triples == ()
