"""What a question asks for: by an LLM with a guard against hasty answers, and by its words."""

import json
import re

import fastjsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import steps
from clew.base.types import DirectAnswer
from clew.methods.bubble.analysis import Analysis, Concept, analyse, mark_connected
from clew.models import Reply
from clew.testing import ScriptedLLM, models
from clew.text.normalize import entity_key
from tests.methods.bubble.comet import ALL, QUESTION, TEXTS, TRIPLES, analysed, concept, indexed


@pytest.fixture(scope="module")
def snapshot():
    with indexed() as opened:
        yield opened


def shown(snapshot, *names):
    """Return the chunks of documents as hits, all where none is named."""
    rows = [sorted(TEXTS).index(name) for name in names or sorted(TEXTS)]
    return steps.hits(snapshot, rows, [0.5] * len(rows))


def ask(snapshot, *replies, hits=(), question=QUESTION, given_models=None, **switches):
    llm = ScriptedLLM(*replies) if replies else None
    found = analyse(question, snapshot, given_models or models(llm=llm), hits, **(ALL | switches))
    if llm:
        assert (len(llm.prompts), llm.n_left) == (1, 0)
    return found


def texts(found):
    return [each.text for each in found.concepts]


# -- by an LLM ------------------------------------------------------------------------------------

COMET = concept("Comet")
BUILDER = concept("builder", specialised="builder of the Comet", relaxed=["Ola Eriksen"])
BAKKEN = concept("Bakken", "latent")


def test_concepts_come_as_the_llm_has_them(snapshot):
    """Explicit and latent ones, bound and relaxed forms, and the type."""
    found = ask(snapshot, analysed(COMET, BUILDER, BAKKEN, query_type="and"), hits=shown(snapshot))
    assert found == Analysis(
        concepts=(
            Concept(text="Comet"),
            Concept(text="builder", specialised="builder of the Comet", relaxed=("Ola Eriksen",)),
            Concept(text="Bakken", latent=True),
        ),
        query_type="and",
    )
    assert found.concepts[1].searches == ("builder of the Comet", "Ola Eriksen")


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("latent", [("Comet",), ("builder of the Comet", "Ola Eriksen")]),
        ("specialise", [("Comet",), ("builder", "Ola Eriksen"), ("Bakken",)]),
    ],
)
def test_a_switch_drops_its_own_part_only(snapshot, switch, expected):
    """Each of the paper's ablations leaves the others' forms as they are."""
    given_reply = analysed(COMET, BUILDER, BAKKEN)
    found = ask(snapshot, given_reply, hits=shown(snapshot), **{switch: False})
    assert [each.searches for each in found.concepts] == expected


def test_nothing_is_relaxed_without_a_preview(snapshot):
    """What no chunk supports is the LLM's invention."""
    found = ask(snapshot, analysed(BUILDER))
    assert found.concepts[0].relaxed == ()


def test_concepts_are_distinct_and_at_most_eight(snapshot):
    """By their keys; dropped ones take no place, nor do forms that say the same again."""
    forms = ["ship", " Ship ", "?", "a", "b", "c", "d"]
    found = ask(
        snapshot,
        analysed(
            concept(" "), concept("Comet", specialised="comet!", relaxed=forms), concept("COMET")
        ),
        hits=shown(snapshot),
    )
    assert found.concepts == (Concept(text="Comet", relaxed=("ship", "a", "b", "c")),)
    rows = [concept(f"word {n}", "latent" if n % 2 else "explicit") for n in range(30)]
    found = ask(snapshot, analysed(*rows), latent=False)
    assert texts(found) == [f"word {n}" for n in range(0, 16, 2)]


def test_the_prompt_has_the_question_and_the_chunks(snapshot):
    """Each chunk on a numbered line; where there is none, that is said."""
    llm = ScriptedLLM(analysed(COMET), analysed(COMET))
    for hits in (shown(snapshot, "comet", "lund"), ()):
        analyse(QUESTION, snapshot, models(llm=llm), hits, **ALL)
    with_chunks, without = (made.user for made in llm.prompts)
    assert with_chunks.endswith(
        f"Question: {QUESTION}\nPassages\n[1] {TEXTS['comet']}\n[2] {TEXTS['lund']}"
    )
    assert without.endswith(f"Question: {QUESTION}\nPassages\n(none)")


def test_the_example_of_the_prompt_follows_its_own_rules(snapshot):
    """Its reply satisfies the schema, and nothing of it is dropped."""
    llm = ScriptedLLM(analysed(COMET))
    analyse(QUESTION, snapshot, models(llm=llm), shown(snapshot), **ALL)
    [example] = re.findall(r"^\{.*\}$", llm.prompts[0].user, re.MULTILINE)
    fastjsonschema.validate(dict(llm.prompts[0].schema), json.loads(example))
    found = ask(snapshot, json.loads(example), hits=shown(snapshot))
    rows = json.loads(example)["concepts"]
    assert [
        concept(c.text, "latent" if c.latent else "explicit", c.specialised, c.relaxed)
        for c in found.concepts
    ] == rows


# -- an answer at once ----------------------------------------------------------------------------

PROVED = {
    "sufficient": True,
    "answer": "Osterland",
    "passage": 1,
    "quote": "it  LIES in Osterland, a land of farms",
}


def test_a_proved_answer_ends_the_search(snapshot):
    """Its quote is as it stands in the chunk, whatever case and white space the LLM gave it."""
    found = ask(snapshot, analysed(**PROVED), hits=shown(snapshot, "bakken", "comet"))
    [hit] = shown(snapshot, "bakken")
    quote = "It lies in Osterland, a land of farms"
    assert found.answer == DirectAnswer(text="Osterland", chunk_id=hit.chunk_id, quote=quote)
    assert (found.concepts, found.notes) == ((), ())


@pytest.mark.parametrize("passage", [1, 2, 0, 7, -1])
def test_the_quote_decides_where_it_stands(snapshot, passage):
    """A wrong number of the passage does no harm."""
    found = ask(
        snapshot, analysed(**PROVED | {"passage": passage}), hits=shown(snapshot, "fog", "bakken")
    )
    assert found.answer.chunk_id == shown(snapshot, "bakken")[0].chunk_id


def test_the_named_passage_comes_first(snapshot):
    """Where a quote stands in several chunks it is taken from the one that was named."""
    said = PROVED | {"answer": "painter", "quote": "Ola Eriksen", "passage": 2}
    hits = shown(snapshot, "comet", "gulls")
    assert ask(snapshot, analysed(**said), hits=hits).answer.chunk_id == hits[1].chunk_id


@pytest.mark.parametrize(
    "said",
    [
        {"quote": "It lies in Westerland, a land of farms"},
        {"quote": ""},
        {"quote": " | "},
        {"quote": "Osterland."},
        {"quote": "a"},
        {"quote": "it lies"},
    ],
)
def test_an_answer_without_proof_is_none(snapshot, said):
    """A quote that is made up, missing or no longer than the answer itself; a note says so."""
    found = ask(snapshot, analysed(COMET, **PROVED | said), hits=shown(snapshot))
    assert found.answer is None
    assert texts(found) == ["Comet"]
    assert found.notes == ("the LLM answered at once, but no chunk that it was shown proves it",)


@pytest.mark.parametrize(
    ("said", "early"), [({"answer": " "}, True), ({"sufficient": False}, True), ({}, False)]
)
def test_no_answer_was_given_or_wanted(snapshot, said, early):
    """Then there is nothing to note."""
    found = ask(snapshot, analysed(COMET, **PROVED | said), hits=shown(snapshot), early=early)
    assert (found.answer, found.notes) == (None, ())


def test_a_quote_may_run_over_a_line_break():
    """In the prompt a line break is a bar; in the chunk it is a line break."""
    with indexed(TEXTS | {"log": "Log of the Comet\nDay one\nShe sank."}) as snapshot:
        rows = [sorted([*TEXTS, "log"]).index("log")]
        hits = steps.hits(snapshot, rows, [1.0])
        said = {"sufficient": True, "answer": "sank", "passage": 1, "quote": "Day one | She sank."}
        found = ask(snapshot, analysed(**said), hits=hits)
    assert found.answer.quote == "Day one\nShe sank."


# -- without an LLM -------------------------------------------------------------------------------


def test_names_phrases_and_the_question(snapshot):
    """Phrases are bound to the nearest name by the words between, unless that is switched off."""
    found = ask(snapshot)
    assert [(each.text, each.searches) for each in found.concepts] == [
        ("Comet", ("Comet",)),
        ("land", ("land was the builder of the Comet",)),
        ("builder", ("builder of the Comet",)),
        ("born", ("Comet born",)),
        (QUESTION, (QUESTION,)),
    ]
    assert (found.query_type, found.notes, found.answer) == ("default", (), None)
    assert found.phrases == ("land", "builder", "born")
    found = ask(snapshot, specialise=False)
    assert [each.searches[0] for each in found.concepts][1:4] == ["land", "builder", "born"]


def test_a_name_that_leads_nowhere_gives_way():
    """An entity without triples is no concept where parts of its name are entities with some."""
    titled = TEXTS | {"note": "The Comet of Cape Lund is long forgotten."}
    with indexed(titled) as snapshot:
        [row] = snapshot.layer("entity").rows(["comet of cape lund"])
        assert row >= 0
        assert not mark_connected(snapshot)[row]
        found = ask(snapshot, question="Where did the Comet of Cape Lund sink?")
    assert texts(found)[:2] == ["Cape Lund", "Comet"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who saw cape lund?", ["Cape Lund", "saw"]),
        ("Did Vera Holm of Moss paint Bakken in 1911?", ["Vera Holm of Moss", "Bakken", "paint"]),
        ("why do keepers fear storms?", ["keepers fear storms", "why do keepers fear storms?"]),
    ],
)
def test_names_of_the_graph_and_others(snapshot, question, expected):
    """Those of the graph need no capitals; others are the tagger's; without any, phrases."""
    assert texts(ask(snapshot, question=question))[: len(expected)] == expected


def test_terms_without_capitals_are_names_where_the_graph_has_them():
    """Of overlapping pairs of characters only those that it knows."""
    texts_ = {"a": "海港在东方。"}
    with indexed(texts_, {"a": [("海港", "在", "东方")]}) as snapshot:
        found = ask(snapshot, question="谁的海港？")
    assert texts(found) == ["海港", "谁的", "谁的海港？"]


def test_a_name_alone(snapshot):
    """It is its own question, and one concept."""
    found = ask(snapshot, question="Cape Lund?")
    assert (found.concepts, found.phrases) == ((Concept(text="Cape Lund"),), ())


def test_repeats_take_no_place(snapshot):
    """Of what is said twice the first counts; the question comes last, however much it names."""
    question = "Lund Lund Lund, ice, ice, ice, ice, fog, salt, gulls, ships, land, sea?"
    found = texts(ask(snapshot, question=question))
    assert found[1:] == ["ice", "fog", "salt", "gulls", "ships", "land", question]
    assert len(found) == 8
    asked = ask(snapshot, question=question).phrases
    assert asked == ("ice", "fog", "salt", "gulls", "ships", "land", "sea")


@pytest.mark.parametrize("failed", [Reply(text="", error="the reply is not JSON"), analysed()])
def test_no_use_of_the_llm_is_noted(snapshot, failed):
    """Then the words of the question serve, as without an LLM."""
    found = ask(snapshot, failed, hits=shown(snapshot))
    fault = failed.error if isinstance(failed, Reply) else "it found no concept"
    assert found.concepts == ask(snapshot).concepts
    assert found.notes == (
        f"the LLM did not analyse the question ({fault}): its names and phrases instead",
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which sank first, Comet or Cape Lund?", "comparison"),
        ("Is Bakken, or the Comet, a ship?", "comparison"),
        ("Are Bakken and Verle both in Osterland?", "comparison"),
        ("Who is older, Ola Eriksen and the Comet?", "comparison"),
        ("Did Ola Eriksen and the Comet sail?", "default"),
        ("In the same land as Bakken is Verle?", "default"),
        ("Did any of them leave Bakken?", "or"),
        ("Who wrote of Bakken as well as of Verle?", "and"),
        ("Where is Bakken?", "default"),
        ("", "default"),
    ],
)
def test_the_type_where_it_is_plain(snapshot, question, expected):
    """Two names that are joined and compared; else what a few words say."""
    assert ask(snapshot, question=question).query_type == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from(["Comet", "Ola Eriksen", "Bakken's", "or", "ship", "?", "℀", "«"])
    ).map(" ".join)
)
def test_any_question_has_distinct_concepts(snapshot, question):
    """At most eight, the question itself the last, and the same again."""
    found = ask(snapshot, question=question)
    keys = [entity_key(text) for text in texts(found)]
    assert len(set(keys)) == len(keys) <= 8
    assert entity_key(" ".join(question.split())) in keys
    assert found == ask(snapshot, question=question)


def test_entities_with_triples(snapshot):
    """Both ends of every triple, and no other."""
    layer = snapshot.layer("entity")
    ends = {entity_key(e) for rows in TRIPLES.values() for s, _, o in rows for e in (s, o)}
    rows = [row for row, has in enumerate(mark_connected(snapshot)) if has]
    assert set(layer.ids(rows)) == ends
    assert len(rows) < len(layer)
