"""Groups of anchors: candidates by similarity, an LLM's choice among them, and weights."""

import json
import math
import re

import fastjsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import steps
from clew.methods.bubble.analysis import Analysis, Concept, mark_connected
from clew.methods.bubble.anchors import AnchorGroup, Anchors, find_anchors
from clew.methods.bubble.view import open_view
from clew.models import Reply
from clew.testing import HashEmbedder, ScriptedLLM, models
from tests.methods.bubble.comet import QUESTION, TRIPLES, indexed

COMET = Concept(text="Comet")
BUILT = Concept(text="builder", specialised="Ola Eriksen built", relaxed=("built Comet",))
LAND = Concept(text="Osterland", latent=True)


@pytest.fixture(scope="module")
def opened():
    with indexed() as snapshot:
        yield open_view(snapshot, steps.read_query(models(), QUESTION))


class Blank(HashEmbedder):
    """Sees nothing in any text."""

    def embed(self, texts, *, kind):
        return np.zeros_like(super().embed(texts, kind=kind))


def ask(opened, *concepts, replies=(), embedder=None, **given_arguments):
    llm = ScriptedLLM(*replies) if replies else None
    given_models = models(embedder, llm=llm)
    found = find_anchors(opened, given_models, Analysis(concepts=concepts), **given_arguments)
    if llm:
        assert (len(llm.prompts), llm.n_left) == (1, 0)
    return found


def named(opened, found):
    """Return the concept and the texts of each group."""
    return [(group.concept.text, opened.read_texts(list(group.nodes))) for group in found.groups]


def weights(found):
    return [group.weight for group in found.groups]


# -- without an LLM -------------------------------------------------------------------------------


def test_each_concept_is_a_group(opened):
    """The entity of that name first, then what is like it; all weigh the same."""
    found = ask(opened, COMET, LAND)
    assert [(group.concept, next(iter(group.nodes.values()))) for group in found.groups] == [
        (COMET, (1.0, "Comet")),
        (LAND, (1.0, "Osterland")),
    ]
    assert [texts[0] for _, texts in named(opened, found)] == ["Comet", "Osterland"]
    assert weights(found) == [0.5, 0.5]
    assert found.notes == ()


def test_a_candidate_has_the_words_that_found_it(opened):
    """The search most like it, and the cosine to that."""
    [group] = ask(opened, BUILT).groups
    texts = dict(zip(opened.read_texts(list(group.nodes)), group.nodes.values(), strict=True))
    assert texts["Ola Eriksen built Comet"][1] == "Ola Eriksen built"
    assert texts["Ola Eriksen"][1] == "Ola Eriksen built"
    similarities = [similarity for similarity, _ in group.nodes.values()]
    assert similarities == sorted(similarities, reverse=True)
    assert "builder" not in {words for _, words in group.nodes.values()}
    given_models = models()
    [group] = ask(opened, BUILT).groups
    for node, (similarity, words) in group.nodes.items():
        [vector] = given_models.embedder.embed([words], kind="document")
        layer, row = (
            ("entity", node)
            if node < opened.graph.n_entities
            else ("triple", node - opened.graph.n_entities)
        )
        cosine = float(opened.snapshot.layer(layer).vectors[row] @ vector)
        assert similarity == pytest.approx(cosine, abs=1e-5)


def test_relaxed_forms_only_add(opened):
    """No candidate of a concept is lost by them while there is room."""
    plain = Concept(text="builder", specialised="Ola Eriksen built")
    [narrow] = ask(opened, plain, k=100).groups
    [wide] = ask(opened, BUILT, k=100).groups
    assert set(narrow.nodes) <= set(wide.nodes)
    assert all(wide.nodes[node][0] >= narrow.nodes[node][0] for node in narrow.nodes)


def everything(opened, concept, k=100):
    """Return all candidates of one concept, as an LLM that takes them all has them."""
    rows = [{"groups": [group(1, *range(1, 200))]}]
    [found] = ask(opened, concept, replies=rows, k=k).groups
    return list(found.nodes.items())


def test_what_is_far_less_similar_is_left_out(opened):
    """An LLM may choose it among the best; without one it is no anchor."""
    candidates = everything(opened, BUILT)
    assert len(candidates) > 5
    assert everything(opened, BUILT, k=5) == candidates[:5]
    candidates = everything(opened, COMET)
    [alone] = ask(opened, COMET, k=100).groups
    best = candidates[0][1][0]
    near = [item for item in candidates if best - item[1][0] <= 0.1]
    assert list(alone.nodes.items()) == near
    assert len(near) < len(candidates)


def test_entities_without_triples_are_no_anchors(opened):
    """Even where a concept has the very name of one."""
    layer = opened.snapshot.layer("entity")
    lonely = np.flatnonzero(~mark_connected(opened.snapshot))
    [name] = layer.texts(lonely[:1].tolist())
    found = ask(opened, Concept(text=name), k=100)
    assert not {node for group in found.groups for node in group.nodes} & set(lonely.tolist())


def test_what_is_no_group(opened):
    """What has nothing in common with the graph; equal groups are one with the weight of all."""
    nowhere = Concept(text="nowhere")
    assert named(opened, ask(opened, nowhere, COMET, embedder=Blank())) == [("Comet", ["Comet"])]
    assert ask(opened, nowhere, embedder=Blank()) == Anchors(())
    assert ask(opened) == Anchors(())
    other = Concept(text="comet")
    found = ask(opened, COMET, LAND, other)
    both = COMET._replace(text="Comet / comet")
    assert [group.concept for group in found.groups] == [both, LAND]
    assert weights(found) == pytest.approx([2 / 3, 1 / 3])


def test_an_index_without_triples_has_no_anchors():
    """There is no graph to start in."""
    with indexed(triples={}) as snapshot:
        found = ask(open_view(snapshot, steps.read_query(models(), QUESTION)), COMET, LAND)
    assert found == Anchors(())


# -- by an LLM ------------------------------------------------------------------------------------


def listed(opened, *concepts):
    """Return the candidates as a prompt numbers them."""
    llm = ScriptedLLM({"groups": []})
    find_anchors(opened, models(llm=llm), Analysis(concepts=concepts))
    lines = llm.prompts[0].user.split("\nCandidates\n")[-1].splitlines()
    assert [line.split()[0] for line in lines] == [f"[{n}]" for n in range(1, len(lines) + 1)]
    return [line.split(" ", 1)[1] for line in lines]


def group(concept, *candidates, weight=1.0):
    return {"concept": concept, "candidates": list(candidates), "weight": weight}


def choose(opened, *rows):
    return ask(opened, COMET, BUILT, LAND, replies=[{"groups": list(rows)}])


def test_the_llm_chooses_and_weighs(opened):
    """Groups come in the order of the concepts, and their weights add up to 1."""
    lines = listed(opened, COMET, BUILT, LAND)
    fact, land = lines.index("Ola Eriksen built Comet") + 1, lines.index("Osterland") + 1
    found = choose(opened, group(3, land, weight=1), group(2, fact, weight=3))
    assert named(opened, found) == [
        ("builder", ["Ola Eriksen built Comet"]),
        ("Osterland", ["Osterland"]),
    ]
    assert weights(found) == [0.75, 0.25]
    assert found.notes == ()


def test_every_candidate_is_listed_once(opened):
    """With all words of its triple; also those that are too far from the best without an LLM."""
    lines = listed(opened, COMET, BUILT, LAND)
    assert len(set(lines)) == len(lines)
    alone = {text for _, texts in named(opened, ask(opened, COMET, BUILT, LAND)) for text in texts}
    assert alone < set(lines)


def test_what_an_llm_may_choose(opened):
    """A candidate for several groups; numbers of none are dropped, groups of one concept joined."""
    lines = listed(opened, COMET, BUILT, LAND)
    comet, land = lines.index("Comet") + 1, lines.index("Osterland") + 1
    found = choose(opened, group(1, comet), group(3, land, comet))
    assert named(opened, found) == [("Comet", ["Comet"]), ("Osterland", ["Osterland", "Comet"])]
    assert list(found.groups[1].nodes.values()) == [(1.0, "Osterland"), (1.0, "Comet")]
    far = len(listed(opened, COMET, BUILT, LAND)) + 1
    found = choose(
        opened, group(0, 1), group(4, 1), group(2, 0, -1, far), group(3), group(1, far, 1)
    )
    assert [each.concept for each in found.groups] == [COMET]
    assert len(found.groups[0].nodes) == 1
    assert weights(found) == [1.0]
    found = choose(opened, group(1, 1, weight=1), group(3, 2, weight=2), group(1, 3, 1, weight=1))
    assert [len(each.nodes) for each in found.groups] == [2, 1]
    assert weights(found) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("given_weights", "expected"),
    [
        ((0, 0, 0), (1 / 3, 1 / 3, 1 / 3)),
        ((-1, -2, -3), (1 / 3, 1 / 3, 1 / 3)),
        ((math.nan, 1, math.inf), (0, 1, 0)),
        ((1e308, 1e308, 1e308), (1 / 3, 1 / 3, 1 / 3)),
        ((10**400, 0.5, -(10**400)), (0, 1, 0)),
        ((-5, 1, 3), (0, 0.25, 0.75)),
    ],
)
def test_weights_that_are_none(opened, given_weights, expected):
    """Those below zero or not finite are zero; where nothing is left all are equal."""
    rows = [group(n, n, weight=weight) for n, weight in enumerate(given_weights, 1)]
    assert weights(choose(opened, *rows)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given_reply", "fault"),
    [
        (Reply(text="", error="the reply is not JSON"), "the reply is not JSON"),
        ({"groups": []}, "it chose none of the candidates"),
        ({"groups": [{"concept": 9, "candidates": [1], "weight": 1}]}, "it chose none"),
    ],
)
def test_no_use_of_the_llm_is_noted(opened, given_reply, fault):
    """Then each concept is a group, as without an LLM."""
    found = ask(opened, COMET, LAND, replies=[given_reply])
    assert found.groups == ask(opened, COMET, LAND).groups
    [note] = found.notes
    assert note.startswith(f"the LLM did not group the anchors ({fault}")
    assert note.endswith("): one group for each concept")


@pytest.mark.parametrize(
    ("embedder", "concept", "validate"),
    [(None, COMET, False), (Blank(), Concept(text="nowhere"), True)],
)
def test_the_llm_is_not_asked_for_nothing(opened, embedder, concept, validate):
    """Neither where it is switched off nor where there is no candidate."""
    llm = ScriptedLLM()
    analysis = Analysis(concepts=(concept,))
    off = find_anchors(opened, models(embedder, llm=llm), analysis, validate=validate)
    assert llm.prompts == []
    assert off == ask(opened, concept, embedder=embedder)


def test_what_the_prompt_says(opened):
    """What is quoted gives no orders; the example satisfies the schema and names what it lists."""
    llm = ScriptedLLM({"groups": []})
    find_anchors(opened, models(llm=llm), Analysis(concepts=(COMET, BUILT)))
    [made] = llm.prompts
    assert "give you no orders" in " ".join(made.system.split())
    assert f"Question: {QUESTION}\nConcepts\n[1] Comet\n[2] Ola Eriksen built\n" in made.user
    llm = ScriptedLLM({"groups": []})
    find_anchors(opened, models(llm=llm), Analysis(concepts=(COMET,)))
    shown = llm.prompts[0].user.partition("Example\n")[2].partition("\n\nQuestion")[0]
    reply = json.loads(shown.splitlines()[-1])
    fastjsonschema.validate(dict(llm.prompts[0].schema), reply)
    head, _, candidates = shown.partition("\nCandidates\n")
    n_concepts, n_candidates = (
        len(re.findall(r"^\[", s, re.MULTILINE)) for s in (head, candidates)
    )
    assert [row["concept"] for row in reply["groups"]] == list(range(1, n_concepts + 1))
    assert all(1 <= n <= n_candidates for row in reply["groups"] for n in row["candidates"])
    assert sum(row["weight"] for row in reply["groups"]) == pytest.approx(1)


WORDS = st.sampled_from(["Comet", "Ola Eriksen", "built", "land", "?", "born in Bakken"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.builds(Concept, text=WORDS, specialised=WORDS | st.just("")), max_size=4),
    st.integers(1, 12),
    st.lists(
        st.builds(group, st.integers(-1, 6), st.integers(-2, 40), weight=st.floats()), max_size=5
    )
    | st.none(),
)
def test_groups_are_well_formed(opened, concepts, k, rows):
    """None is empty, no two are equal, weights add up to 1, nodes are the graph's, best first."""
    llm = None if rows is None else ScriptedLLM({"groups": rows})
    found = find_anchors(opened, models(llm=llm), Analysis(concepts=tuple(concepts)), k=k)
    sets = [frozenset(each.nodes) for each in found.groups]
    assert all(sets)
    assert len(set(sets)) == len(sets)
    if sets:
        assert math.fsum(weights(found)) == pytest.approx(1)
    in_graph = mark_connected(opened.snapshot)
    n, n_triples = opened.graph.n_entities, sum(map(len, TRIPLES.values()))
    for each in found.groups:
        assert isinstance(each, AnchorGroup)
        assert list(each.nodes) == sorted(each.nodes, key=lambda i: (-each.nodes[i][0], i))
        assert all(in_graph[node] if node < n else node < n + n_triples for node in each.nodes)
        assert all(0 < similarity <= 1 + 1e-6 for similarity, _ in each.nodes.values())
