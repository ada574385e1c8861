"""Clue-RAG: the worked example from end to end, what each switch changes, and its threads."""

from dataclasses import asdict, replace

import pytest

from clew.base.types import Document
from clew.methods.clue import Clue, CluePaper
from clew.models import Reply
from clew.steps import mentions, nearest, rankings, read_query
from clew.testing import QUESTIONS, HashEmbedder, ScriptedLLM, built, small_documents
from clew.testing import models as hash_models
from tests.methods import football, memory
from tests.methods.football import K0, K1, K2, QUERY

PAPER = CluePaper()
BARE = replace(PAPER, entity_anchoring=False, unit_anchoring=False)  # starts from nowhere


def ids(found):
    return [hit.document_id for hit in found.hits]


def seeds(found):
    return {step.id for step in found.seeds}


def told(path):
    """Return a path as the texts of its steps."""
    return [step.text for step in path.steps]


def ask(method, **given):
    return method.retrieve(QUERY, football.snapshot(), football.models(**given))


# -- the worked example -------------------------------------------------------------------------


def test_worked_example_of_one_unit_at_a_time():
    """K=1 D=3 M=1 N=2: the chain k0, k2, k1 scores 0.5, 0.8, 0.8 and gives t0 and t2."""
    found = ask(replace(PAPER, k=1, depth=3, width=1, chunks=2))
    assert ids(found) == ["t0", "t2"]
    assert [hit.score for hit in found.hits] == pytest.approx([0.5, 0.5])
    assert seeds(found) == {"european cup", "fa cup"}
    first, second = found.paths
    assert [first.score, second.score] == pytest.approx([0.8, 0.8])
    assert told(first) == [QUERY, "european cup", K0, K0]
    assert told(second)[:5] == [QUERY, "european cup", K0, "nottingham forest", K2]
    assert second.steps[-1].id == found.hits[1].chunk_id


@pytest.mark.parametrize("query_updating", [True, False])
def test_worked_example_of_a_wider_beam(query_updating):
    """K=2 D=2 M=2 N=3: with and without query updating, {k1, k2} brings t1 in behind."""
    method = replace(
        PAPER, ways="union", k=2, depth=2, width=2, chunks=3, query_updating=query_updating
    )
    found = ask(method)
    assert ids(found) == ["t0", "t2", "t1"]
    assert [hit.score for hit in found.hits] == pytest.approx([0.5, 0.5, 0.3])
    assert [path.score for path in found.paths] == pytest.approx([0.8, 0.8, 0.5])


def test_two_ways_to_one_set_are_states_of_their_own_as_printed():
    """K=2 D=2 M=2: those of {k0, k2} are twins, which leave no room for {k1, k2} and so for t1."""
    method = replace(PAPER, k=2, depth=2, width=2, chunks=3)
    assert ids(ask(method)) == ids(ask(replace(method, ways="last")))[:2] == ["t0", "t2"]


def test_the_paper_s_setting():
    """The paper's parameters are K=3, D=3, M=5, N=5 with its three ablations on, and no more."""
    assert Clue(**asdict(PAPER)) == Clue(
        chunks=5,
        k=3,
        depth=3,
        width=5,
        ways="separate",
        entity_anchoring=True,
        unit_anchoring=True,
        query_updating=True,
        exact_names=False,
        seed_units=False,
        title_links=False,
        ranking="chunks",
        fill=False,
        as_set=False,
    )
    assert ask(PAPER).method == "clue_paper"


# -- switches -----------------------------------------------------------------------------------


def test_nothing_to_start_from_falls_back_to_dense():
    """No entity and no unit: the chunks nearest to the query, and a note that says so."""
    found = ask(replace(BARE, chunks=2))
    assert ids(found) == ["t1", "t0"]
    assert found.hits[0].score == pytest.approx(0.8)
    assert found.paths == ()
    assert found.notes == ("no entity or unit to start from: used the chunks nearest to the query",)


def test_entity_anchoring_starts_at_similar_entities():
    """Each name's K nearest entities are seeds: K=1 reaches k0 and k1, and never a date."""
    found = ask(replace(BARE, entity_anchoring=True, k=1, depth=1))
    assert sorted(ids(found)) == ["t0", "t1"]
    assert {step.reason for step in found.seeds} == {
        "the question names it: European Cup",
        "the question names it: FA Cup",
    }
    llm = ScriptedLLM({"named_entities": ["FA Cup"]})
    two = ask(replace(BARE, entity_anchoring=True, k=2, depth=1), llm=llm)
    [chelsea] = [step for step in two.seeds if step.id == "chelsea"]
    assert chelsea.reason == "like “FA Cup” in the question (0.80)"


def test_unit_anchoring_starts_at_the_entities_of_near_units():
    """K=1: k1 is nearest, so its entities are seeds, its date too; no name is linked."""
    found = ask(replace(BARE, unit_anchoring=True, k=1, depth=1))
    assert ids(found) == ["t1"]
    assert found.seeds == ()
    [path] = found.paths
    assert [step.reason for step in path.steps] == [
        "",
        "in a sentence near the question",
        "mentions it",
        "holds it",
    ]


def test_exact_names_start_where_a_name_stands_in_the_query():
    """Without any model's help "European Cup" and "FA Cup" are found; the date is no seed."""
    found = ask(replace(BARE, exact_names=True, k=1, depth=1))
    assert seeds(found) == {"european cup", "fa cup"}
    assert sorted(ids(found)) == ["t0", "t1"]


def test_dates_are_walked_through_and_never_named():
    """From k2 the date 1898 leads on to k4; a query that names it does not start there."""
    query = "What opened in 1898?"
    vectors = {**football.VECTORS, query: [0.0, 0.0, 0.0, 1.0], "1898": [0.0, 0.0, 0.0, 1.0]}
    texts = {"t2": [K2], "t3": [football.K4]}
    mentions = {K2: ["1898", "fa cup"], football.K4: ["1898"]}
    index = memory.snapshot(texts, mentions, vectors, dates=football.DATES)
    method = replace(BARE, entity_anchoring=True, exact_names=True, k=1, depth=2)
    by_date = method.retrieve(query, index, memory.models(vectors, {"1898": "DATE"}))
    assert by_date.seeds == ()
    assert by_date.notes
    llm = ScriptedLLM({"named_entities": ["1898"]})
    by_llm = method.retrieve(query, index, memory.models(vectors, llm=llm))
    assert seeds(by_llm) == {"fa cup"}  # the nearest that is no date
    through = method.retrieve(QUERY, index, memory.models(vectors, ("FA Cup",)))
    assert told(through.paths[ids(through).index("t3")])[:5] == [
        QUERY,
        "fa cup",
        K2,
        "1898",
        football.K4,
    ]


def test_query_updating_looks_for_what_is_still_unsaid():
    """After u0 has said the first half of the query, u2 says the other; u1 repeats it."""
    u0, u1, u2 = "Ada met Bo", "Bo met Ada again", "Bo went to sea"
    vectors = {"q": [0.8, 0.6], u0: [1.0, 0.0], u1: [0.95, 0.3122], u2: [0.0, 1.0]}
    vectors |= {"ada": [1.0, 0.0], "bo": [0.0, 1.0]}
    mentions = {u0: ["ada", "bo"], u1: ["bo"], u2: ["bo"]}
    index = memory.snapshot({"a": [u0], "b": [u1], "c": [u2]}, mentions, vectors)
    given = memory.models(vectors, llm=ScriptedLLM(*[{"named_entities": ["ada"]}] * 2))
    method = replace(BARE, entity_anchoring=True, k=1, depth=2)
    assert set(ids(method.retrieve("q", index, given))) == {"a", "c"}
    without = replace(method, query_updating=False)
    assert set(ids(without.retrieve("q", index, given))) == {"a", "b"}


def test_seed_units_reach_units_without_entities():
    """The nearest unit mentions nothing: only as a seed itself can it be found."""
    bare, named = "it froze hard that night", "Ada slept"
    vectors = {"q": [1.0, 0.0], bare: [1.0, 0.0], named: [0.6, 0.8], "ada": [0.0, 1.0]}
    index = memory.snapshot({"a": [bare], "b": [named]}, {bare: [], named: ["ada"]}, vectors)
    method = replace(BARE, unit_anchoring=True, k=2)
    given = memory.models(vectors)
    assert ids(method.retrieve("q", index, given)) == ["b"]
    found = replace(method, seed_units=True).retrieve("q", index, given)
    assert set(ids(found)) == {"a", "b"}
    [path] = [p for p in found.paths if bare in told(p)]
    assert told(path) == ["q", bare, bare]
    assert path.steps[1].reason == "near the question"
    neither = replace(method, seed_units=True, unit_anchoring=False)
    assert neither.retrieve("q", index, given).paths == ()


def test_title_links_reach_sentences_that_do_not_repeat_the_title():
    """A sentence that says "it" is about the Comet because its document is."""
    sank, other = "It sank in 1911", "Boats wait"
    vectors = {"Comet?": [1.0, 0.0], sank: [0.0, 1.0], other: [0.6, 0.8], "comet": [1.0, 0.0]}
    index = memory.snapshot(
        {"c": [sank], "d": [other]},
        {sank: ["1911"], other: []},
        vectors,
        dates=("1911",),
        titles={"c": "Comet"},
    )
    method = replace(BARE, exact_names=True)
    given = memory.models(vectors)
    assert method.retrieve("Comet?", index, given).paths == ()
    found = replace(method, title_links=True).retrieve("Comet?", index, given)
    assert ids(found) == ["c"]
    assert told(found.paths[0])[:3] == ["Comet?", "comet", sank]


def test_ranking_by_sets_counts_what_each_chunk_supports():
    """By hand: {k2} and {k0}, then {k0, k2} and {k1, k2}, each 1 / its place among two.

    So t2 has 1 + 1 + 1/2 votes, t0 has 1/2 + 1, t1 has 1/2; the relevance is 0.5, 0.5, 0.3.
    """
    method = replace(PAPER, ways="union", k=2, depth=2, width=2, chunks=3, ranking="sets")
    found = ask(method)
    assert ids(found) == ["t2", "t0", "t1"]
    assert [hit.score for hit in found.hits] == pytest.approx([1 + 0.5, 0.5 + 0.5, 0.0])


def test_chosen_as_a_set_all_candidates_stay():
    """The order may differ from that of the votes, and each path still ends in its hit."""
    method = replace(PAPER, chunks=4, ranking="sets", fill=True)
    plain, chosen = ask(method), ask(replace(method, as_set=True))
    assert sorted(ids(plain)) == sorted(ids(chosen))
    assert [hit.score for hit in chosen.hits] == [1, 1 / 2, 1 / 3, 1 / 4]
    ends = [path.steps[-1].id for path in chosen.paths]
    assert ends == [hit.chunk_id for hit in chosen.hits if hit.chunk_id in ends]
    assert len(ends) == len(plain.paths)


def test_fill_adds_hybrid_chunks_behind():
    """Where threads reach three chunks and four are wanted, the fourth comes last."""
    method = replace(PAPER, ways="union", k=2, depth=2, width=2, chunks=4, ranking="sets")
    assert len(ask(method).hits) == 3
    found = ask(replace(method, fill=True))
    assert ids(found) == ["t2", "t0", "t1", "t3"]
    assert found.hits[3].score <= 0 <= found.hits[2].score  # however near it is to the query
    assert len(found.paths) == 3
    assert [len(ask(Clue(chunks=n)).hits) for n in (0, 1, 2, 9)] == [0, 1, 2, 4]


# -- names --------------------------------------------------------------------------------------


def test_a_query_without_capitals_links_names_of_several_words():
    """Lower-case typing finds "Ola Eriksen", which the tagger cannot see in it."""
    with built(small_documents()) as index:
        method = replace(BARE, exact_names=True)
        found = method.retrieve("where did ola eriksen die", index, hash_models())
        assert seeds(found) == {"ola eriksen"}
        assert found.hits[0].document_id == "eriksen"
        blind = replace(BARE, entity_anchoring=True)
        assert blind.retrieve("where did ola eriksen die", index, hash_models()).seeds == ()


def test_the_llm_s_names_are_used_where_there_is_an_llm():
    """The tagger would say European Cup; the LLM's FA Cup is the only seed."""
    llm = ScriptedLLM({"named_entities": ["FA Cup", " ", "FA Cup"]})
    found = ask(replace(BARE, entity_anchoring=True, k=1), llm=llm)
    assert seeds(found) == {"fa cup"}
    assert found.notes == ()
    [prompt] = llm.prompts
    assert prompt.user.endswith(f"Question: {QUERY}")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("where is bakken", {"bakken"}),
        ("Where is bakken", set()),
        ("Where is Bakken", {"bakken"}),
        ("BAKKEN?", {"bakken"}),
        ("Bakken's town", {"bakken"}),
    ],
)
def test_a_lone_word_is_a_name_by_its_capital(query, named):
    """Unless the query has no capitals at all, a lower-case word names nothing."""
    with built(small_documents()) as index:
        found = replace(BARE, exact_names=True).retrieve(query, index, hash_models())
        assert seeds(found) == named


@pytest.mark.parametrize("reply", ["no JSON at all", Reply(text="", error="refused")])
def test_an_unusable_reply_leaves_the_tagger_and_a_note(reply):
    """The tagger's names stand in, and the evidence says that they do."""
    found = ask(replace(BARE, entity_anchoring=True, k=1), llm=ScriptedLLM(reply))
    assert seeds(found) == {"european cup", "fa cup"}
    [note] = found.notes
    assert note.startswith("the LLM named no entities (")
    assert note.endswith("): the tagger's instead")


def test_an_llm_that_finds_no_names_is_believed():
    """An empty list is an answer, not a failure."""
    found = ask(replace(BARE, entity_anchoring=True), llm=ScriptedLLM({"named_entities": []}))
    assert found.seeds == ()
    assert found.notes == ("no entity or unit to start from: used the chunks nearest to the query",)
    llm = ScriptedLLM()
    assert ask(Clue(entity_anchoring=False), llm=llm).hits
    assert llm.prompts == []


# -- rerankers and threads ----------------------------------------------------------------------


def test_a_text_reranker_reads_each_text_once():
    """Sets and chunks that come up again at another depth are not scored again."""
    reranker = memory.SharedWords()
    found = ask(replace(PAPER, k=3, depth=3, width=5), reranker=reranker)
    assert len(reranker.read) == len(set(reranker.read)) > 10
    assert found.paths


def test_a_set_is_read_as_one_text():
    """Its units in alphabetic order, whatever their rows and the way to them."""
    reranker = memory.SharedWords()
    index = memory.snapshot(
        football.TEXTS, football.MENTIONS, football.VECTORS, dates=football.DATES
    )
    PAPER.retrieve(QUERY, index, football.models(reranker=reranker))
    assert {f"{K1} {K2}", f"{K2} {K0}"} <= set(reranker.read)
    assert f"{K0} {K2}" not in reranker.read


def test_chunks_are_read_with_their_titles():
    """A title tells a reranker what "it" is; one that begins the text is not repeated."""
    texts = {"a": ["It sank. Ada wept"], "b": ["Ada swam"]}
    mentions = {"It sank. Ada wept": ["ada"], "Ada swam": ["ada"]}
    vectors = {"Ada?": [1.0, 0.0], "It sank. Ada wept": [0.6, 0.8], "Ada swam": [0.8, 0.6]}
    titles = {"a": "The Comet", "b": "Ada"}
    index = memory.snapshot(texts, mentions, vectors, titles=titles)
    reranker = memory.SharedWords()
    Clue(entity_anchoring=False).retrieve("Ada?", index, memory.models(vectors, reranker=reranker))
    assert "The Comet\nIt sank. Ada wept" in reranker.read
    assert "Ada\nAda swam" not in reranker.read


@pytest.mark.parametrize("late", [True, False])
def test_threads_lead_from_the_query_to_the_hit(late):
    """Whichever kind of reranker, path i starts at the query and ends at the chunk of hit i."""
    given = hash_models() if late else hash_models(HashEmbedder())
    with built(small_documents(), given) as index:
        for question in QUESTIONS:
            found = Clue().retrieve(question, index, given)
            assert 0 < len(found.paths) <= len(found.hits)
            for hit, path in zip(found.hits, found.paths, strict=False):
                kinds = [step.layer for step in path.steps]
                assert path.steps[0].text == question
                assert path.steps[-1].id == hit.chunk_id
                assert kinds[0] == "query"
                assert kinds[-2:] == ["unit", "chunk"]
                assert set(kinds[1:-1]) <= {"entity", "unit"}
                last = path.steps[-2]
                assert hit.start <= last.start < last.end <= hit.end
                assert last.text == hit.text[last.start - hit.start : last.end - hit.start]


def test_of_an_entity_in_many_units_those_of_near_chunks_are_tried(monkeypatch):
    """In a large index, and no others; with room for all of them nothing changes."""
    method, given = Clue(seed_units=False, title_links=False, fill=False), hash_models()
    with built(small_documents()) as snapshot:
        question = QUESTIONS[0]
        before = method.retrieve(question, snapshot, given)
        monkeypatch.setattr(rankings, "MANY_UNITS", 0)
        monkeypatch.setattr(mentions, "_MOST_UNITS", 0)
        assert method.retrieve(question, snapshot, given).hits == before.hits
        monkeypatch.setattr(rankings, "CANDIDATES", 2)
        asked = read_query(given, question)
        near = nearest(snapshot, "chunk", asked, 2)[0].tolist()
        units = snapshot.link("chunk", "unit")[near].indices
        inside = set(snapshot.layer("unit").ids(units.tolist()))
        found = method.retrieve(question, snapshot, given)
        assert found.hits != before.hits
        tried = {step.id for path in found.paths for step in path.steps if step.layer == "unit"}
        assert tried
        assert tried <= inside


def test_a_sentence_in_two_documents_supports_both():
    """A copied sentence leads to each of its chunks, and says so at its first place."""
    same = "Ada Lund built the Comet."
    documents = [
        Document(id="a", text=f"{same} She was proud."),
        Document(id="b", text=f"{same} It sank."),
        Document(id="c", text="Grain was cheap."),
    ]
    with built(documents) as index:
        found = Clue(fill=False).retrieve("Who built the Comet?", index, hash_models())
        assert {"a", "b"} <= set(ids(found))
        for hit, path in zip(found.hits, found.paths, strict=True):
            assert path.steps[-1].id == hit.chunk_id
