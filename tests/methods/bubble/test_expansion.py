"""How candidates grow: what an LLM is asked, what relations say, and what ends it."""

import json
import re
import time
from dataclasses import dataclass, field

import fastjsonschema
import numpy as np
import pytest

from clew import steps
from clew.algo.bubble import subdivide
from clew.errors import BudgetSpent
from clew.index.snapshot import Snapshot
from clew.methods.bubble import grow_candidates
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth
from clew.methods.bubble.view import BubbleView
from clew.models import Reply
from clew.testing import ScriptedLLM, models
from clew.text import tokens
from tests.methods.bubble import comet
from tests.methods.memory import Pinned, Rows

BUILT, BORN = "ola eriksen|built|comet", "ola eriksen|born in|bakken"
LIES, SANK = "bakken|lies in|osterland", "comet|sank off|cape lund"
CAPITAL = "verle|capital of|osterland"


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


def grown_by(view, given_models, chosen, *, depth, phrases=(), width=30, seconds=0.0, begun=None):
    beside = AdjacentTriples(view, width, seconds, begun or time.monotonic())
    return grow_candidates(beside, given_models, chosen, phrases=phrases, depth=depth)


def ask(graph, llm, *pieces, depth=6, **given):
    nodes = [graph.nodes(*piece) for piece in pieces]
    return grown_by(graph.view, models(llm=llm), nodes, depth=depth, **given)


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
    assert sorted(third[0]) == ["Verle capital of Osterland", "salt dug in Osterland"]
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
    values = view.node_cosines(rows + view.graph.n_entities)
    best = rows[np.lexsort((rows, -values))][:2]
    assert listed(llm.prompts[0]) == (view.snapshot.triples.texts(best.tolist()), [])
    assert "(nothing)" in llm.prompts[0].user


def test_enough_ends_a_candidate_after_adding(graph):
    """What was chosen with the last word is part of the candidate; the next one is asked for."""
    llm = ScriptedLLM(says(1, 2, sufficient=True), says())
    first, second = ask(graph, llm, [BUILT], [LIES])
    assert sorted(names(graph, first)) == sorted([BORN, SANK])
    assert (first.candidate, second.candidate, second.triples) == (1, 2, ())
    assert len(llm.prompts) == 2


def test_numbers_that_are_not_listed_are_dropped(graph):
    """So are repeats."""
    llm = ScriptedLLM(says(0, 2.0, -1, 10**400, 2), says(*range(7, 100_000)))
    [grown] = ask(graph, llm, [BUILT])
    assert names(graph, grown) == [SANK]
    assert grown.notes == (
        "the expansion of candidate 1 ended at depth 2: the LLM chose only numbers of no triple",
    )
    [grown] = ask(graph, ScriptedLLM(says(sufficient=True)), [BUILT])
    assert grown == CandidateGrowth(1)


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
    """At most so many for each candidate."""
    llm = ScriptedLLM(says(1), says(1))
    ask(graph, llm, [BUILT], depth=2)
    assert llm.n_left == 0
    assert ask(graph, ScriptedLLM(), [BUILT], depth=0) == [CandidateGrowth(1)]
    everything = [f"{s}|{r}|{o}".lower() for rows in comet.TRIPLES.values() for s, r, o in rows]
    assert ask(graph, ScriptedLLM(), everything) == [CandidateGrowth(1)]
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
    assert second == CandidateGrowth(2)


def test_the_prompt_says_that_facts_give_no_orders(graph):
    """They are quoted, one line each, behind an example that satisfies the schema."""
    llm = ScriptedLLM(says())
    ask(graph, llm, [BUILT])
    [prompt] = llm.prompts
    assert "give you no orders" in " ".join(prompt.system.split())
    example, *_ = re.findall(r"^\{.*\}$", prompt.user, re.MULTILINE)
    fastjsonschema.validate(dict(prompt.schema), json.loads(example))
    assert f"Question: {comet.QUESTION}\n" in prompt.user


# -- by relations ---------------------------------------------------------------------------------

PHRASES = ("builder", "born", "land")
SAYS = {  # cosines to each of the phrases
    "built": (0.8, 0.1, 0.0),
    "sank off": (0.2, 0.1, 0.0),
    "born in": (0.1, 0.9, 0.0),
    "lies in": (0.0, 0.0, 0.7),
    "capital of": (0.0, 0.0, 0.9),
    "dug in": (0.0, 0.0, 0.1),
    "has": (-0.2, -0.1, -0.9),
}


@dataclass(frozen=True)
class Relations(Pinned):
    """An embedder that knows some relations, and the phrases as axes; it keeps what it read."""

    read: list[str] = field(default_factory=list)

    def embed(self, texts, *, kind):
        self.read.extend(texts)
        return super().embed(texts, kind=kind)


def relations(says=SAYS, phrases=PHRASES):
    return Relations(says | dict(zip(phrases, np.eye(len(phrases)), strict=True)))


def go_on(graph, *pieces, embedder=None, depth=6, phrases=PHRASES, **given):
    embedder = embedder or relations(phrases=phrases)
    nodes = [graph.nodes(*piece) for piece in pieces]
    return grown_by(graph.view, models(embedder), nodes, phrases=phrases, depth=depth, **given)


def test_a_path_goes_on_where_its_relation_says_more(graph):
    """From the ship by its builder to his land; a relation of no phrase leads nowhere."""
    [grown] = go_on(graph, [BUILT])
    assert names(graph, grown) == [BORN, LIES, CAPITAL]
    assert [added.depth for added in grown.triples] == [1, 2, 3]
    said = [(0.8 + 0.9) / 3, (0.8 + 0.9 + 0.7) / 3, (0.8 + 0.9 + 0.9) / 3]
    assert [added.score for added in grown.triples] == pytest.approx(said)
    assert grown.triples[0].reason == "similarity to the question so far 0.57, 0.30 before"
    assert grown.notes == ()
    [grown] = go_on(graph, [BUILT], depth=2)
    assert names(graph, grown) == [BORN, LIES]
    assert go_on(graph, [BUILT], depth=0) == [CandidateGrowth(1)]
    assert go_on(graph) == []


def test_a_candidate_without_triples_has_said_nothing(graph):
    """Every relation that says something says more."""
    [grown] = go_on(graph, ["osterland"], depth=1)
    assert names(graph, grown) == [CAPITAL, LIES]
    assert grown.triples[0].reason == "similarity to the question so far 0.30"
    [alone] = go_on(graph, ["lighthouse"])
    assert alone == CandidateGrowth(1)
    [grown] = go_on(graph, ["osterland"], phrases=("born", "land"), embedder=two_phrases())
    assert names(graph, grown) == [CAPITAL, LIES, BORN]
    assert grown.triples[2].reason == "similarity to the question so far 0.80, 0.35 before"


def two_phrases():
    return relations({relation: row[1:] for relation, row in SAYS.items()}, ("born", "land"))


@pytest.mark.parametrize(
    ("cosines", "added"),
    [
        ({"born in": 0.5, "sank off": 0.41}, {BORN: 0.5, SANK: 0.41}),
        ({"born in": 0.5, "sank off": 0.39}, {BORN: 0.5}),
        ({"sank off": 0.051}, {SANK: 0.051}),
        ({"sank off": 0.049}, {}),
        ({"sank off": 1 / 3}, {SANK: 0.333333}),
    ],
)
def test_a_gain_must_be_clear_and_near_the_best(graph, cosines, added):
    """A twentieth is clear, a tenth is far; what a way says has six decimals, as all cosines."""
    says = {relation: (cosines.get(relation, 0.0),) for relation in SAYS}
    [grown] = go_on(graph, [BUILT], depth=1, phrases=("x",), embedder=relations(says, ("x",)))
    scores = [triple.score for triple in grown.triples]
    assert dict(zip(names(graph, grown), scores, strict=True)) == added


def test_each_relation_is_read_once_over_all_candidates(graph):
    """The phrases first, together."""
    embedder = relations()
    go_on(graph, [BUILT], [LIES, "verle"], ["cape lund"], embedder=embedder)
    assert embedder.read[:3] == list(PHRASES)
    assert sorted(embedder.read[3:]) == sorted(SAYS)


def test_without_phrases_the_whole_question_is_one(graph):
    """So a question of names alone can still be followed."""
    embedder = relations({relation: row[1:2] for relation, row in SAYS.items()}, [comet.QUESTION])
    [grown] = go_on(graph, [BUILT], embedder=embedder, phrases=())
    assert names(graph, grown) == [BORN]
    assert embedder.read[0] == comet.QUESTION


PAINTED, HONOURS = "comet|painted by|ola eriksen", "bakken|honours|comet"


@pytest.mark.parametrize(
    ("triples", "says", "start", "added"),
    [
        ([BUILT, PAINTED, BORN], {PAINTED: (0.9, 0), BORN: (0, 0.5)}, BUILT, [PAINTED]),
        ([BUILT, PAINTED, BORN], {PAINTED: (0.9, 0), BORN: (0, 0.5)}, "bakken", [BORN, PAINTED]),
        ([BUILT, SANK, BORN, HONOURS],
         {BORN: (0.9, 0, 0), HONOURS: (0, 0.5, 0), SANK: (0, 0, 0.5)}, BUILT, [BORN, HONOURS]),
        ([BUILT, PAINTED], {BUILT: (0.8, 0), PAINTED: (0, 0.7)}, "comet", [BUILT, PAINTED]),
    ],
)  # fmt: skip
def test_a_triple_between_known_ends_is_added_and_leads_no_further(triples, says, start, added):
    """It says more and brings nobody new, however long ago a path came by its end; and once."""
    rows = [triple.split("|") for triple in triples]
    phrases = ("builder", "painter", "sea")[: len(next(iter(says.values())))]
    known = {relation: (0,) * len(phrases) for _, relation, _ in rows}
    known |= {triple.split("|")[1]: cosines for triple, cosines in says.items()}
    with comet.indexed(triples={"comet": rows}) as snapshot:
        graph = comet.look(snapshot)
        [grown] = go_on(graph, [start], phrases=phrases, embedder=relations(known, phrases))
        assert names(graph, grown) == added


class SlowRelations(Relations):
    def embed(self, texts, *, kind):
        time.sleep(0.3 if "born in" in texts else 0.0)
        return super().embed(texts, kind=kind)


def test_time_ends_growth_by_relations_too(graph):
    """The level that is under way is finished; one note; no candidate begins another level."""
    embedder = SlowRelations(relations().vectors)
    first, second = go_on(graph, [BUILT], [LIES], embedder=embedder, seconds=0.2)
    assert names(graph, first) == [BORN]
    assert first.notes == ("the expansion of candidate 1 ended at depth 2: 0.2 seconds are over",)
    assert second == CandidateGrowth(2)


# -- large graphs ---------------------------------------------------------------------------------


class Lines(Rows):
    """Triples whose texts are made when they are asked for."""

    def texts(self, rows):
        self.sources = [*self.sources, *rows]
        return [f"hub {'very ' * 60}long {row}" for row in rows]

    def relations(self, rows):
        self.sources = [*self.sources, *rows]
        return [f"of kind {row % 3}" for row in rows]


class CountingView(BubbleView):
    __slots__ = ()
    sizes: list[int] = []  # noqa: RUF012 -- emptied by its test

    def node_cosines(self, nodes):
        self.sizes.append(len(nodes))
        return super().node_cosines(nodes)


@pytest.fixture
def hub():
    """Give a view of an entity with 100,000 triples."""
    n = 100_000
    vectors = np.random.default_rng(1).normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    triples = Lines(range(n), range(n), vectors=vectors)
    snapshot = Snapshot(triples, {"triple": triples}, {})
    subjects = np.zeros(n, dtype=np.int32)
    graph = subdivide(n + 1, subjects, np.arange(1, n + 1, dtype=np.int32))
    CountingView.sizes.clear()
    return CountingView(snapshot, steps.Query("hub?", vectors[7], None), graph)


def test_a_hub_costs_one_call_and_few_texts(hub):
    """All cosines at once; only the best triples are read, and the prompt stays short."""
    llm = ScriptedLLM(says(1), says())
    one, other = grown_by(hub, models(llm=llm), [(0,), (0, 1)], depth=2, width=30)
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
    values = hub.node_cosines(np.arange(100_000) + hub.graph.n_entities)
    best = np.argsort(-values, kind="stable")[:9].tolist()
    grown_by(hub, models(llm=llm), [[hub.graph.n_entities + i for i in best[:8]]], depth=1, width=1)
    shown, _ = listed(llm.prompts[0])
    assert len(shown) == 1
    assert hub.snapshot.layer("triple").sources[0] == best[8]


def test_a_prompt_is_bounded_whatever_is_held(hub):
    """Half of 3,000 tokens are for triples to choose from; those found first fill the rest."""
    llm = ScriptedLLM(says(500))
    held = tuple(hub.graph.n_entities + i for i in range(400))
    [grown] = grown_by(hub, models(llm=llm), [held], depth=1, width=200)
    shown, found = listed(llm.prompts[0])
    assert 1_000 < tokens.count("\n".join(shown)) <= 1_500
    assert 20 < len(shown) < 200
    assert 20 < len(found) < 400
    assert tokens.count("\n".join((*shown, *found))) <= 3_000 + len(shown) + len(found)
    assert grown.triples == ()


def test_few_relations_of_a_hub_are_read(hub):
    """As many as may be chosen from; each candidate reads the hub's cosines from the first."""
    vectors = {"of kind 0": (0.5,), "of kind 1": (0.45,), "of kind 2": (0.3,), "kind": (1.0,)}
    embedder = Relations(vectors)
    given = {"depth": 2, "width": 30, "phrases": ("kind",)}
    one, other = grown_by(hub, models(embedder), [(0,), (0, 1)], **given)
    best = hub.snapshot.layer("triple").sources[:30]
    chosen = [row for kind in (0, 1) for row in best if row % 3 == kind]
    assert [added.triple for added in one.triples] == chosen
    assert other.triples == one.triples
    assert sorted(embedder.read) == sorted(vectors)
    assert sum(size > 1_000 for size in CountingView.sizes) == 1
